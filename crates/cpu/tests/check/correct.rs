//! Random kernels that are correct by construction, in which a check finds nothing.
//!
//! A kernel has phases with barriers between them. In one phase, all invocations read a memory that is not atomic, or
//! each invocation accesses its own element of it.

use crate::harness::{Kernel, Launch, texts};

/// Number of workgroups, of 16 invocations. Each has 16 elements of each array.
const GROUPS: u32 = 2;

const HEAD: &str = "@group(0) @binding(0) var<storage, read> x: array<u32>;
    @group(0) @binding(1) var<storage, read_write> new_a: array<u32>;
    @group(0) @binding(2) var<storage, read_write> out: array<vec2<u32>>;
    @group(0) @binding(3) var<storage, read_write> n: array<atomic<u32>>;
    var<workgroup> w: array<u32, 16>;
    var<workgroup> own: array<atomic<u32>, 4>;
    fn bounded(value: u32) -> u32 { return min(value, 15u); }
    fn add(to: ptr<function, u32>, value: u32) { *to = *to * 3u + value; }
    @compute @workgroup_size(16) fn k(
        @builtin(local_invocation_index) i: u32, @builtin(workgroup_id) g: vec3<u32>) {
        var sum = i + 7u * g.x;
        new_a[g.x * 16u + i] = sum;
        out[g.x * 16u + i] = vec2(i, sum);
        w[i] = sum;
        workgroupBarrier();
        storageBarrier();
";

/// A memory whose elements are not atomic.
#[derive(Clone, Copy)]
enum Array {
    Workgroup,
    New,
    Out,
}

const ARRAYS: [Array; 3] = [Array::Workgroup, Array::New, Array::Out];

/// Use of each of [`ARRAYS`] in a phase.
#[derive(Clone, Copy)]
enum Use {
    /// All invocations read all elements of their workgroup.
    Shared,
    /// Each invocation accesses one element, which these numbers choose.
    Own { factor: u32, add: u32 },
}

/// Generator of a kernel's text.
struct Writer {
    rng: fastrand::Rng,
    uses: [Use; 3],
    /// Number of loops, for the names of their variables.
    loops: u32,
}

impl Writer {
    fn text(seed: u64) -> String {
        let mut writer = Self { rng: fastrand::Rng::with_seed(seed), uses: [Use::Shared; 3], loops: 0 };
        let mut text = HEAD.to_owned();
        for _ in 0..writer.rng.u32(1..5) {
            for use_ in &mut writer.uses {
                // An odd factor and an offset, modulo 16, give each invocation a different element.
                let factor = 2 * writer.rng.u32(0..8) + 1;
                let add = writer.rng.u32(0..16);
                *use_ = if writer.rng.bool() { Use::Shared } else { Use::Own { factor, add } };
            }
            for _ in 0..writer.rng.u32(1..6) {
                text += &writer.statement(2);
            }
            text += "workgroupBarrier();\nstorageBarrier();\n";
        }
        text + "atomicAdd(&n[9], sum);\n}\n"
    }

    /// Returns an index from 0 to 15, computed from any value.
    fn index(&mut self, depth: u32) -> String {
        let value = self.value(depth);
        if self.rng.bool() { format!("({value} % 16u)") } else { format!("bounded({value})") }
    }

    /// Returns an element of an array that the invocation may read now.
    fn element(&mut self, array: usize, depth: u32) -> String {
        let index = match self.uses[array] {
            Use::Own { factor, add } => format!("((i * {factor}u + {add}u) % 16u)"),
            Use::Shared => self.index(depth),
        };
        match ARRAYS[array] {
            Array::Workgroup => format!("w[{index}]"),
            Array::New => format!("new_a[g.x * 16u + {index}]"),
            Array::Out => format!("out[g.x * 16u + {index}].{}", if self.rng.bool() { "x" } else { "y" }),
        }
    }

    /// Returns an expression without a mistake.
    fn value(&mut self, depth: u32) -> String {
        if depth == 0 {
            return match self.rng.u32(0..4) {
                0 => "i".into(),
                1 => "sum".into(),
                2 => "g.x".into(),
                _ => format!("{}u", self.rng.u32(0..40)),
            };
        }
        match self.rng.u32(0..9) {
            0 => format!("x[{} * 4u + 3u]", self.index(depth - 1)),
            1 | 2 => {
                let array = self.rng.usize(0..3);
                self.element(array, depth - 1)
            }
            // A variable keeps the compiler from evaluating the expression, which it would refuse on overflow.
            3 => format!("({} / ((sum ^ {}) | 1u))", self.value(depth - 1), self.value(depth - 1)),
            4 => format!("({} << ((sum ^ {}) & 31u))", self.value(depth - 1), self.value(depth - 1)),
            5 => format!("select({}, {}, sum > 9u)", self.value(depth - 1), self.value(depth - 1)),
            6 => format!("u32(sqrt(f32({} % 1000u)))", self.value(depth - 1)),
            7 => format!("atomicLoad(&n[{}])", self.index(depth - 1)),
            _ => format!("({} + {})", self.value(depth - 1), self.value(depth - 1)),
        }
    }

    /// Returns a statement without barriers, so that any invocations may execute it.
    fn statement(&mut self, depth: u32) -> String {
        match self.rng.u32(0..if depth == 0 { 6 } else { 8 }) {
            0..=2 => {
                let owned: Vec<usize> =
                    (0..3).filter(|&at| matches!(self.uses[at], Use::Own { .. })).collect();
                let value = self.value(2);
                match owned.get(self.rng.usize(0..3)) {
                    Some(&array) => format!("{} = {value};\n", self.element(array, 1)),
                    None => format!("add(&sum, {value});\n"),
                }
            }
            3 => format!("sum ^= {};\n", self.value(2)),
            4 => format!("atomicAdd(&own[{} % 4u], {});\n", self.index(1), self.value(1)),
            5 => format!("sum += atomicMax(&n[{}], {});\n", self.index(1), self.value(1)),
            6 => {
                let condition = format!("{} > {}", self.value(1), self.value(1));
                format!(
                    "if {condition} {{\n{}}} else {{\n{}}}\n",
                    self.statement(depth - 1),
                    self.statement(depth - 1)
                )
            }
            _ => {
                self.loops += 1;
                let name = format!("r{}", self.loops);
                let rounds = self.rng.u32(1..4);
                format!(
                    "for (var {name} = 0u; {name} < {rounds}u; {name}++) {{\n{}}}\n",
                    self.statement(depth - 1)
                )
            }
        }
    }
}

/// Checks the kernels of some seeds, each in two orders of its invocations.
fn silent(seeds: std::ops::Range<u64>) {
    for seed in seeds {
        let text = Writer::text(seed);
        let launch = Launch::new(Kernel::text(text.clone())).groups(GROUPS);
        for order in [0, seed + 1] {
            let findings = launch.check(order);
            let shown = texts(&findings);
            assert!(findings.is_empty(), "seed {seed}, order {order}\n{}\n{text}", shown.join("\n"));
        }
    }
}

#[test]
fn r07_a_check_finds_nothing_in_correct_random_kernels() {
    silent(0..300);
}

#[test]
#[ignore = "takes minutes: the full suite runs it"]
fn r07_a_check_finds_nothing_in_ten_thousand_correct_random_kernels() {
    silent(300..10_300);
}

#[test]
fn r07_a_random_kernel_without_its_barriers_has_races() {
    let races = (0..40).filter(|&seed| {
        let text = Writer::text(seed).replace("workgroupBarrier();\n", "").replace("storageBarrier();\n", "");
        !Launch::new(Kernel::text(text)).groups(GROUPS).check(0).is_empty()
    });
    assert!(races.count() > 20);
}
