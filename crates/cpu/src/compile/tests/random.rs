//! Random kernels with barriers against the interpreter.
//!
//! The invocations of a kernel exchange values through workgroup memory, in branches and loops that all of them take
//! together, and change variables of their own between the barriers. No kernel has a race.

use super::{Test, program};
use crate::compile::Compiled;
use fastrand::Rng;
use std::fmt::Write as _;

const SIZE: u32 = 16;

/// Writes the text of a kernel.
struct Maker {
    rng: Rng,
    text: String,
    /// Counts the names that the kernel has used.
    names: usize,
    /// Lists the `let`s that the current place sees, and whether all invocations have one value.
    lets: Vec<(String, bool)>,
    /// Is `true` for a kernel that four invocations can execute together.
    plain: bool,
}

impl Maker {
    fn name(&mut self, first: char) -> String {
        self.names += 1;
        format!("{first}{}", self.names)
    }

    /// Makes a value that is the same in all invocations.
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

    /// Makes a value that may differ between invocations.
    fn own(&mut self, size: u32) -> String {
        let lets = self.lets.len();
        match self.rng.u32(..if size == 0 { 7 } else { 12 }) {
            1 | 5 | 10 if self.plain => "x1.y".into(),
            4 if self.plain => "fixed[lid + wid.x - 1u]".into(),
            0 => "x0".into(),
            1 => "x1[lid % 2u]".into(),
            2 => "lid".into(),
            3 if lets > 0 => self.lets[self.rng.usize(..lets)].0.clone(),
            3 if self.plain => "f32(x0 % 64u)".replace("f32", "u32"),
            3 | 4 => "list[x0 % 4u]".into(),
            5 => "hidden".into(),
            6 => self.common(0),
            7 => format!("({} * {})", self.own(size - 1), self.own(size - 1)),
            8 => format!("({} - {})", self.own(size - 1), self.common(size - 1)),
            9 => {
                format!("select({}, {}, {} > 9u)", self.own(size - 1), self.own(size - 1), self.own(size - 1))
            }
            10 => format!("mixed({}, {})", self.own(size - 1), self.own(size - 1)),
            _ => format!("({} / ({} ^ x0))", self.own(size - 1), self.own(size - 1)),
        }
    }

    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// Writes something that each invocation does alone.
    fn alone(&mut self, depth: u32) {
        let (value, index) = (self.own(2), self.own(1));
        match self.rng.u32(..if depth == 0 { 5 } else { 8 }) {
            2 if self.plain => self.line(&format!("out[wid.x * 160u + 480u + lid] = {value};")),
            3 if self.plain => self.line(&format!("out[wid.x * 160u + 496u + lid * 2u % 32u] = {value};")),
            4 if self.plain => self.line(&format!("x1.x += {value};")),
            7 if self.plain => {
                let apart = self.rng.bool();
                let (counter, count) = (self.name('i'), if apart { self.own(1) } else { self.common(1) });
                self.line(&format!("for (var {counter} = 0u; {counter} < {count} % 4u; {counter}++) {{"));
                self.block(|maker| maker.alone(depth - 1));
                for jump in ["continue", "break"] {
                    if apart && self.rng.bool() {
                        self.line(&format!("if {value} % 5u == 1u {{ x1.x += {counter}; {jump}; }}"));
                        self.block(|maker| maker.alone(depth - 1));
                    }
                }
                self.line("}");
            }
            0 => self.line(&format!("x0 = {value};")),
            1 => self.line(&format!("x1.y = {value};")),
            2 => self.line(&format!("list[{index} % 4u] += {value};")),
            3 => self.line(&format!("hidden ^= {value};")),
            4 => self.line(&format!("grow(&x1, {value});")),
            5 | 6 => {
                self.line(&format!("if {value} % 3u == 0u {{"));
                self.block(|maker| maker.alone(depth - 1));
                self.line("} else {");
                self.block(|maker| maker.alone(depth - 1));
                self.line("}");
            }
            _ => {
                let counter = self.name('i');
                self.line(&format!("for (var {counter} = 0u; {counter} < {value} % 4u; {counter}++) {{"));
                self.block(|maker| maker.alone(depth - 1));
                self.line(&format!("if {index} % 5u == 1u {{ break; }}"));
                self.line("}");
            }
        }
    }

    fn block(&mut self, mut statement: impl FnMut(&mut Self)) {
        let lets = self.lets.len();
        for _ in 0..self.rng.u32(1..4) {
            statement(self);
        }
        self.lets.truncate(lets);
    }

    /// Writes something that all invocations do together.
    fn together(&mut self, depth: u32, in_loop: bool) {
        let condition = self.common(1);
        match self.rng.u32(..if depth == 0 { 7 } else { 10 }) {
            0 | 1 => self.alone(2),
            2 => {
                let (value, shift) = (self.own(1), self.rng.u32(1..SIZE));
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
                let (value, name) = (self.own(1), self.name('c'));
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
}

fn kernel(seed: u64) -> String {
    let plain = seed % 2 == 1;
    let mut maker =
        Maker { rng: Rng::with_seed(seed), text: String::new(), names: 0, lets: Vec::new(), plain };
    for _ in 0..maker.rng.u32(4..12) {
        maker.together(2, false);
    }
    let hidden = if plain { "const hidden = 5u;" } else { "var<private> hidden: u32 = 5u;" };
    let list = if plain { "let list = array<u32, 4>();" } else { "var list = array<u32, 4>();" };
    let grow = if plain {
        ""
    } else {
        "fn grow(v: ptr<function, vec2<u32>>, by: u32) { (*v).x += by; hidden += (*v).y; }"
    };
    let mut text = format!(
        "var<workgroup> ring: array<u32, {SIZE}>;
        var<workgroup> told: u32;
        {hidden}
        @group(0) @binding(0) var<storage, read> fixed: array<u32, 3>;
        @group(0) @binding(1) var<storage, read_write> out: array<u32>;
        fn mixed(a: u32, b: u32) -> u32 {{ if a > b {{ return a - b; }} return a * 3u + b; }}
        {grow}
        @compute @workgroup_size({SIZE})
        fn random(@builtin(local_invocation_index) lid: u32, @builtin(workgroup_id) wid: vec3<u32>) {{
        var x0 = lid; var x1 = vec2<u32>(lid, 4u); {list} var u0 = 2u; var u1 = vec2<u32>(6u, 1u);
        {}
        workgroupBarrier();\n",
        maker.text
    );
    let at = format!("out[(wid.x * {SIZE}u + lid) * 10u");
    let values =
        ["x0", "x1.x", "x1.y", "list[0]", "list[1]", "list[2]", "list[3]", "hidden", "u0", "u1.x + u1.y"];
    for (index, value) in values.iter().enumerate() {
        writeln!(text, "{at} + {index}u] = {value};").expect("a string takes all text");
    }
    text + "}"
}

#[test]
fn random_kernels_with_barriers_agree_with_the_interpreter() {
    let count =
        std::env::var("FENCEPOST_RANDOM_KERNELS").map_or(60, |count| count.parse().expect("a number"));
    let (mut compiled, mut vectors) = (0, 0);
    for seed in 0..count {
        let text = kernel(seed);
        let program = program(&text, &[]);
        match Compiled::new(&program, 1) {
            Ok(_) => {
                compiled += 1;
                vectors += usize::from(Compiled::new(&program, 4).is_ok());
                let out = vec![0_u32; 1024];
                let result = std::panic::catch_unwind(|| {
                    Test::of(program).buffer(&[3_u32, 11, 2]).buffer(&out).run([3, 1, 1]);
                });
                assert!(result.is_ok(), "seed {seed}:\n{text}");
            }
            Err(refused) => {
                assert!(!refused.reason.contains("Cranelift"), "seed {seed}: {refused:?}\n{text}")
            }
        }
    }
    assert!(compiled * 10 > count * 9, "{compiled} of {count} kernels are compiled");
    assert!(vectors * 10 > count as usize * 3, "{vectors} of {count} kernels use vectors");
}
