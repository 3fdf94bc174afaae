//! Random kernels against the interpreter.
//!
//! The invocations of a kernel exchange values through workgroup memory, in branches and loops that all of them take
//! together. Between barriers, each invocation has its own control flow: loops with `break` and `continue`, `switch`,
//! calls of functions that return early, atomic operations, indexed variables. No kernel has a race.

use super::Test;
use crate::compile::Compiled;
use crate::program::Program;
use fastrand::Rng;
use std::fmt::Write as _;

const SIZE: u32 = 16;

/// Jumps that are possible at the current place.
#[derive(Clone, Copy, Default)]
struct Around {
    a_loop: bool,
    a_switch: bool,
}

/// Part of the kernel that is being generated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Entry point up to its last barrier.
    Kernel,
    /// Entry point after its last barrier.
    Tail,
    /// Function of the invocation's number and a pointer.
    Helper,
    /// Function of two numbers.
    Pure,
}

/// Generator of a kernel's text.
struct Maker {
    rng: Rng,
    text: String,
    /// Number of names that the kernel has used.
    names: usize,
    /// Visible `let`s, each with `true` if it is equal in all invocations.
    lets: Vec<(String, bool)>,
    part: Part,
}

impl Maker {
    fn name(&mut self, first: char) -> String {
        self.names += 1;
        format!("{first}{}", self.names)
    }

    /// Generates a value that is the same in all invocations.
    fn common(&mut self, size: u32) -> String {
        let lets: Vec<&String> =
            self.lets.iter().filter(|(_, common)| *common).map(|(name, _)| name).collect();
        let pick =
            lets.get(self.rng.usize(..lets.len().max(1))).map_or("7u", |name| name.as_str()).to_owned();
        match self.rng.u32(..if size == 0 { 6 } else { 9 }) {
            0 => "u0".into(),
            1 => "u1.x".into(),
            2 => "wid.x".into(),
            3 => pick,
            4 => "fixed[wid.x % 3u]".into(),
            5 => format!("{}u", self.rng.u32(..9)),
            6 => format!("({} + {})", self.common(size - 1), self.common(size - 1)),
            7 => format!("({} ^ {})", self.common(size - 1), self.common(size - 1)),
            _ => format!("min({}, {})", self.common(size - 1), self.common(size - 1)),
        }
    }

    /// Returns `true` if the current part may call functions.
    fn may_call(&self) -> bool {
        matches!(self.part, Part::Kernel | Part::Tail)
    }

    /// Generates a value that may differ between invocations.
    fn own(&mut self, size: u32) -> String {
        let lets = self.lets.len();
        match self.rng.u32(..if size == 0 { 8 } else { 16 }) {
            0 => "x0".into(),
            1 => "x1[lid % 2u]".into(),
            2 => "lid".into(),
            3 if lets > 0 => self.lets[self.rng.usize(..lets)].0.clone(),
            3 | 4 => "list[x0 % 4u]".into(),
            5 if self.part != Part::Pure => "hidden".into(),
            5 => "x1.y".into(),
            6 => self.common(0),
            7 => "fixed[lid + wid.x - 1u]".into(),
            8 => format!("({} * {})", self.own(size - 1), self.own(size - 1)),
            9 => format!("({} - {})", self.own(size - 1), self.common(size - 1)),
            10 => {
                format!("select({}, {}, {} > 9u)", self.own(size - 1), self.own(size - 1), self.own(size - 1))
            }
            11 if self.may_call() => {
                let name = ["mixed", "pure"][self.rng.usize(..2)];
                format!("{name}({}, {})", self.own(size - 1), self.own(size - 1))
            }
            12 if self.may_call() => format!("helper({}, lid, wid, &x1)", self.own(size - 1)),
            13 if self.may_call() => format!("pure({}, {})", self.common(size - 1), self.common(size - 1)),
            13 | 14 => format!("u32(flag != ({} < {}))", self.own(size - 1), self.own(size - 1)),
            _ => format!("({} / ({} ^ x0))", self.own(size - 1), self.own(size - 1)),
        }
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Writes an atomic operation on an element of this invocation alone, or on an element that all invocations use.
    fn atomic(&mut self) {
        let value = self.own(1);
        let other = self.own(0);
        let place = "&owned[wid.x * 16u + lid]";
        match self.rng.u32(..7) {
            0 => self.line(&format!("x0 ^= atomicAdd({place}, {value});")),
            1 => self.line(&format!("x1.x += atomicExchange({place}, {value});")),
            2 => {
                let name = self.name('c');
                self.line(&format!(
                    "let {name} = atomicCompareExchangeWeak({place}, {other} % 3u, {value});"
                ));
                self.line(&format!("x0 += {name}.old_value + select(0u, 100u, {name}.exchanged);"));
            }
            3 => self.line(&format!("atomicStore({place}, {value} + atomicLoad({place}));")),
            4 => self.line(&format!("atomicAdd(&bins[{other} % 2u], {value});")),
            5 => self.line(&format!("atomicMax(&bins[2u + {other} % 2u], {value});")),
            _ => self.line(&format!("atomicXor(&total, {value} | 1u);")),
        }
    }

    /// Writes a jump that some invocations take, if one is possible.
    fn jump(&mut self, around: Around) {
        let value = self.own(1);
        let mut jumps = Vec::new();
        if around.a_loop {
            jumps.extend(["continue;", "break;"]);
        }
        if around.a_switch {
            jumps.push("break;");
        }
        match self.part {
            Part::Kernel => {}
            Part::Tail => jumps.push("return;"),
            Part::Helper | Part::Pure => jumps.push("return x0 + 3u;"),
        }
        if jumps.is_empty() {
            return self.line(&format!("x0 += {value};"));
        }
        let jump = jumps[self.rng.usize(..jumps.len())];
        let value = if self.rng.u32(..4) == 0 { self.common(1) } else { value };
        self.line(&format!("if {value} % 4u == 1u {{ x1.x += 1u; {jump} }}"));
    }

    /// Writes a statement that invocations execute independently.
    fn alone(&mut self, depth: u32, around: Around) {
        let value = self.own(2);
        let index = self.own(1);
        let stores = self.part != Part::Pure;
        match self.rng.u32(..if depth == 0 { 11 } else { 17 }) {
            0 => self.line(&format!("x0 = {value};")),
            1 => self.line(&format!("x1.y = {value};")),
            2 => self.line(&format!("list[{index} % 4u] += {value};")),
            3 if stores => self.line(&format!("hidden ^= {value};")),
            4 if self.may_call() => self.line(&format!("grow(&x1, {value});")),
            5 if stores => self.line(&format!("out[wid.x * 160u + 480u + lid] = {value};")),
            6 if stores => self.line(&format!("out[wid.x * 160u + 496u + lid * 2u % 32u] = {value};")),
            7 if stores => self.atomic(),
            8 => self.line(&format!("flag = ({value} % 2u == 0u) != flag;")),
            11 | 12 => {
                self.line(&format!("if {value} % 3u == 0u {{"));
                self.block(|maker| maker.alone(depth - 1, around));
                self.line("} else {");
                self.block(|maker| maker.alone(depth - 1, around));
                self.line("}");
            }
            13 => {
                let value = if self.rng.bool() { self.common(1) } else { value };
                self.line(&format!("switch {value} % 6u {{"));
                let around = Around { a_switch: true, ..around };
                for case in ["case 1u, 4u", "case 2u, default", "case 5u"] {
                    self.line(&format!("{case}: {{"));
                    self.block(|maker| maker.alone(depth - 1, around));
                    self.line("}");
                }
                self.line("}");
            }
            14 | 15 => {
                let around = Around { a_loop: true, a_switch: false };
                let counter = self.name('i');
                let count = if self.rng.bool() { self.common(1) } else { value };
                self.line(&format!("for (var {counter} = 0u; {counter} < {count} % 4u; {counter}++) {{"));
                self.block(|maker| maker.alone(depth - 1, around));
                self.line("}");
            }
            16 => {
                let around = Around { a_loop: true, a_switch: false };
                let counter = self.name('i');
                self.line(&format!("var {counter} = 0u;\nloop {{"));
                self.block(|maker| maker.alone(depth - 1, around));
                self.line(&format!("continuing {{ {counter} += 1u; x1.y ^= {counter};"));
                self.line(&format!("break if {counter} > x0 % 3u || {counter} > 3u; }} }}"));
            }
            _ => self.jump(around),
        }
    }

    fn block(&mut self, mut statement: impl FnMut(&mut Self)) {
        let lets = self.lets.len();
        for _ in 0..self.rng.u32(1..4) {
            statement(self);
        }
        self.lets.truncate(lets);
    }

    /// Writes a statement that all invocations execute together.
    fn together(&mut self, depth: u32, in_loop: bool) {
        let condition = self.common(1);
        match self.rng.u32(..if depth == 0 { 7 } else { 11 }) {
            0 | 1 => self.alone(3, Around::default()),
            2 => {
                let value = self.own(1);
                let shift = self.rng.u32(1..SIZE);
                self.line(&format!("ring[lid] = {value};\nworkgroupBarrier();"));
                self.line(&format!("x0 += ring[(lid + {shift}u) % {SIZE}u];\nworkgroupBarrier();"));
            }
            3 => {
                let value = self.common(2);
                let target = ["u0", "u1"][self.rng.usize(..2)];
                let value = if target == "u1" { format!("vec2<u32>({value}, u0)") } else { value };
                self.line(&format!("{target} = {value};"));
            }
            4 => {
                let common = self.rng.bool();
                let value = if common { self.common(2) } else { self.own(2) };
                let name = self.name('c');
                self.line(&format!("let {name} = {value};"));
                self.lets.push((name, common));
            }
            5 => {
                let value = self.own(1);
                let name = self.name('c');
                self.line(&format!("if lid == 3u {{ told = {value}; }}"));
                self.line(&format!("let {name} = workgroupUniformLoad(&told);"));
                self.lets.push((name, true));
            }
            6 if in_loop => {
                let jump = ["break", "continue", "return"][self.rng.usize(..3)];
                self.line(&format!("if {condition} % 7u == 1u {{ {jump}; }}"));
            }
            6 | 7 => {
                let name = self.name('v');
                self.line(&format!("var {name} = {};", self.text.len() % 5));
                self.line(&format!("{name} += i32(lid); workgroupBarrier(); x0 += u32({name});"));
            }
            8 => {
                self.line("workgroupBarrier();");
                self.line("x1.y += atomicLoad(&bins[lid % 4u]);\nworkgroupBarrier();");
            }
            9 => {
                self.line(&format!("if {condition} % 2u == 0u {{"));
                self.block(|maker| maker.together(depth - 1, in_loop));
                self.line("} else {");
                self.block(|maker| maker.together(depth - 1, in_loop));
                self.line("}");
            }
            _ => {
                let counter = self.name('i');
                self.line(&format!("for (var {counter} = 0u; {counter} < 3u; {counter}++) {{"));
                self.block(|maker| maker.together(depth - 1, true));
                self.line("workgroupBarrier();\n}");
            }
        }
    }

    /// Generates a part that invocations execute independently.
    fn part(&mut self, part: Part, least: u32) -> String {
        self.part = part;
        self.lets.clear();
        for _ in 0..self.rng.u32(least..least + 3) {
            self.alone(2, Around::default());
        }
        std::mem::take(&mut self.text)
    }
}

/// Generates the text of a kernel, with or without barriers.
fn kernel(seed: u64, barriers: bool) -> String {
    let mut maker = Maker {
        rng: Rng::with_seed(seed),
        text: String::new(),
        names: 0,
        lets: Vec::new(),
        part: Part::Kernel,
    };
    let pure = maker.part(Part::Pure, 0);
    let helper = maker.part(Part::Helper, 0);
    maker.part = Part::Kernel;
    if barriers {
        for _ in 0..maker.rng.u32(4..10) {
            maker.together(2, false);
        }
        maker.line("workgroupBarrier();");
    }
    let body = std::mem::take(&mut maker.text);
    let tail = maker.part(Part::Tail, if barriers { 0 } else { 4 });
    let mut text = format!(
        "var<workgroup> ring: array<u32, {SIZE}>;
        var<workgroup> told: u32;
        var<workgroup> bins: array<atomic<u32>, 4>;
        var<private> hidden: u32 = 5u;
        @group(0) @binding(0) var<storage, read> fixed: array<u32, 3>;
        @group(0) @binding(1) var<storage, read_write> out: array<u32>;
        @group(0) @binding(2) var<storage, read_write> owned: array<atomic<u32>>;
        @group(0) @binding(3) var<storage, read_write> total: atomic<u32>;
        fn mixed(a: u32, b: u32) -> u32 {{ if a > b {{ return a - b; }} return a * 3u + b; }}
        fn grow(v: ptr<function, vec2<u32>>, by: u32) {{ (*v).x += by; hidden += (*v).y; }}
        fn pure(a: u32, b: u32) -> u32 {{
        var x0 = a; var x1 = vec2<u32>(b, 4u); var list = array<u32, 4>(); var flag = a > b;
        let u0 = b % 5u; let u1 = vec2<u32>(a, 1u); let lid = b; let wid = vec2<u32>(a % 2u, 1u);
        {pure}
        return x0 + x1.x * 3u + x1.y + list[b % 4u] + u32(flag);
        }}
        fn helper(a: u32, lid: u32, wid: vec3<u32>, v: ptr<function, vec2<u32>>) -> u32 {{
        var x0 = a; var x1 = *v; var list = array<u32, 4>(1u, 2u, lid, a); var flag = true;
        let u0 = wid.x + 1u; let u1 = wid.xx;
        {helper}
        if x0 % 2u == 0u {{ (*v)[x0 / 2u % 2u] = x1.y; }} else {{ *v = x1; }}
        return x0 + list[3] + u32(flag);
        }}
        @compute @workgroup_size({SIZE})
        fn random(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wid: vec3<u32>) {{
        var x0 = lid; var x1 = vec2<u32>(lid, 4u); var list = array<u32, 4>(); var u0 = 2u; var u1 = vec2<u32>(6u, 1u);
        var flag = false;
        {body}\n"
    );
    let at = format!("out[(wid.x * {SIZE}u + lid) * 10u");
    let values = [
        "x0",
        "x1.x",
        "x1.y",
        "list[0] + u32(flag)",
        "list[1]",
        "list[2]",
        "list[3]",
        "hidden",
        "u0",
        "u1.x + u1.y",
    ];
    for round in 0..2 {
        for (index, value) in values.iter().enumerate() {
            writeln!(text, "{at} + {index}u] += {value};").expect("a string takes all text");
        }
        if round == 0 {
            text.push_str(&tail);
        }
    }
    text + "}"
}

#[test]
fn random_kernels_agree_with_the_interpreter() {
    let count =
        std::env::var("FENCEPOST_RANDOM_KERNELS").map_or(40, |count| count.parse().expect("a number"));
    let first = std::env::var("FENCEPOST_RANDOM_FIRST").map_or(0, |first| first.parse().expect("a number"));
    let mut compiled = 0;
    let mut vectors = 0;
    for seed in first..first + count {
        let text = kernel(seed, seed % 3 > 0);
        let program = Program::of_text(text.as_str());
        match Compiled::new(&program, 1) {
            Ok(_) => {
                compiled += 1;
                let vector = Compiled::new(&program, 4);
                if let Err(refused) = &vector
                    && std::env::var_os("FENCEPOST_RANDOM_KERNELS").is_some()
                {
                    println!("seed {seed}: {}", refused.reason);
                }
                vectors += u64::from(vector.is_ok());
                let result = std::panic::catch_unwind(|| {
                    let test = Test::of(program).buffer(&[3_u32, 11, 2]).buffer(&[0_u32; 1024]);
                    test.buffer(&[0_u32; 48]).buffer(&[0_u32]).run([3, 1, 1]);
                });
                assert!(result.is_ok(), "seed {seed}:\n{text}");
            }
            Err(refused) => {
                assert!(!refused.reason.contains("Cranelift"), "seed {seed}: {refused:?}\n{text}")
            }
        }
    }
    assert!(compiled * 10 > count * 9, "{compiled} of {count} kernels are compiled");
    assert!(vectors * 10 > count * 7, "{vectors} of {count} kernels use vectors");
}
