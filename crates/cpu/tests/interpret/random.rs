//! Random programs against a plain evaluation of their trees.
//!
//! A program has functions with four variables and a pointer to an array of the kernel. It nests branches, loops,
//! switches, constants of blocks and calls.

use crate::harness::{Buffer, OUT, prepare, run};
use fastrand::Rng;
use std::fmt::Write;

/// Number of elements of the array.
const LEN: usize = 5;
const OPERATORS: [&str; 8] = ["+", "-", "*", "/", "%", "^", "&", "<<"];

#[derive(Debug)]
enum Expr {
    Number(u32),
    Variable(usize),
    /// A `let` of a block.
    Constant(usize),
    /// The counter of the loop at a depth.
    Counter(usize),
    Element(Box<Expr>),
    Binary(usize, Box<Expr>, Box<Expr>),
    Select(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A component of a vector of two values.
    Component(Box<Expr>, Box<Expr>, Box<Expr>),
    Call(usize, Box<Expr>, Box<Expr>),
}

#[derive(Debug)]
enum Stmt {
    Set(usize, Expr),
    SetElement(Expr, Expr),
    Let(usize, Expr),
    If(Expr, Vec<Stmt>, Vec<Stmt>),
    /// A loop at a depth, with its number of iterations, its body and its continuing block.
    Loop(usize, u32, Vec<Stmt>, Vec<Stmt>),
    Switch(Expr, Vec<Vec<Stmt>>),
    Break(Expr),
    Continue(Expr),
    Return(Expr, Expr),
}

/// Generator of a function, with the names that its next expression may use.
struct Maker<'r> {
    rng: &'r mut Rng,
    /// Number of functions that the function may call.
    callees: usize,
    lets: usize,
    visible: Vec<usize>,
    depth: usize,
    /// `true` where `break` and `continue` leave a loop at once.
    in_loop: bool,
}

impl Maker<'_> {
    fn expr(&mut self, size: u32) -> Expr {
        let next = |this: &mut Self| Box::new(this.expr(size / 2));
        match self.rng.u32(0..if size == 0 { 4 } else { 10 }) {
            0 => Expr::Number(self.rng.u32(0..9)),
            2 if !self.visible.is_empty() => {
                Expr::Constant(self.visible[self.rng.usize(0..self.visible.len())])
            }
            3 if self.depth > 0 => Expr::Counter(self.rng.usize(0..self.depth)),
            1..=3 => Expr::Variable(self.rng.usize(0..4)),
            4 => Expr::Element(next(self)),
            5 => Expr::Select(next(self), next(self), next(self)),
            6 => Expr::Component(next(self), next(self), next(self)),
            7 if self.callees > 0 => Expr::Call(self.rng.usize(0..self.callees), next(self), next(self)),
            _ => Expr::Binary(self.rng.usize(0..OPERATORS.len()), next(self), next(self)),
        }
    }

    fn block(&mut self, nesting: u32) -> Vec<Stmt> {
        let before = self.visible.len();
        let count = self.rng.usize(1..5);
        let block = (0..count).map(|_| self.stmt(nesting)).collect();
        self.visible.truncate(before);
        block
    }

    fn stmt(&mut self, nesting: u32) -> Stmt {
        match self.rng.u32(0..if nesting == 0 { 4 } else { 9 }) {
            0 => Stmt::SetElement(self.expr(2), self.expr(6)),
            1 => {
                let value = self.expr(6);
                self.lets += 1;
                self.visible.push(self.lets - 1);
                Stmt::Let(self.lets - 1, value)
            }
            4 => Stmt::If(self.expr(3), self.block(nesting - 1), self.block(nesting - 1)),
            5 => self.repeat(nesting),
            6 => {
                let selector = self.expr(4);
                let cases = (0..3).map(|_| self.block(nesting - 1)).collect();
                Stmt::Switch(selector, cases)
            }
            7 if self.in_loop && self.rng.bool() => Stmt::Break(self.expr(3)),
            7 if self.in_loop => Stmt::Continue(self.expr(3)),
            8 => Stmt::Return(self.expr(3), self.expr(3)),
            _ => Stmt::Set(self.rng.usize(0..4), self.expr(8)),
        }
    }

    fn repeat(&mut self, nesting: u32) -> Stmt {
        let depth = self.depth;
        let outer = self.in_loop;
        self.depth += 1;
        self.in_loop = true;
        let count = self.rng.u32(1..4);
        let body = self.block(nesting - 1);
        self.in_loop = false;
        let step = self.rng.usize(0..4);
        let continuing = vec![Stmt::Set(step, self.expr(3))];
        self.depth = depth;
        self.in_loop = outer;
        Stmt::Loop(depth, count, body, continuing)
    }
}

/// Writes an expression.
fn text(expr: &Expr) -> String {
    match expr {
        Expr::Number(value) => format!("{value}u"),
        Expr::Variable(at) => format!("v{at}"),
        Expr::Constant(at) => format!("c{at}"),
        Expr::Counter(at) => format!("i{at}"),
        Expr::Element(index) => format!("(*p)[{} ^ v3]", text(index)),
        Expr::Binary(op, a, b) => format!("({} {} ({} + v3))", text(a), OPERATORS[*op], text(b)),
        Expr::Select(a, b, c) => format!("select({}, {}, {} > 3u)", text(a), text(b), text(c)),
        Expr::Component(a, b, c) => format!("vec2({}, {})[({} ^ v3) & 3u]", text(a), text(b), text(c)),
        Expr::Call(f, a, b) => format!("f{f}(p, {}, {})", text(a), text(b)),
    }
}

/// Writes a block.
fn write(out: &mut String, block: &[Stmt]) {
    for stmt in block {
        let _ = match stmt {
            Stmt::Set(at, value) => writeln!(out, "v{at} = {};", text(value)),
            Stmt::SetElement(index, value) => writeln!(out, "(*p)[{} ^ v3] = {};", text(index), text(value)),
            Stmt::Let(at, value) => writeln!(out, "let c{at} = {};", text(value)),
            Stmt::Break(condition) => writeln!(out, "if {} > 9u {{ break; }}", text(condition)),
            Stmt::Continue(condition) => writeln!(out, "if {} > 5u {{ continue; }}", text(condition)),
            Stmt::Return(condition, value) => {
                writeln!(out, "if {} > 999u {{ return {}; }}", text(condition), text(value))
            }
            Stmt::If(condition, accept, reject) => {
                let _ = writeln!(out, "if {} > 2u {{", text(condition));
                write(out, accept);
                out.push_str("} else {\n");
                write(out, reject);
                writeln!(out, "}}")
            }
            Stmt::Loop(depth, count, body, continuing) => {
                let _ = writeln!(out, "{{ var i{depth} = 0u;\nloop {{ if i{depth} >= {count}u {{ break; }}");
                write(out, body);
                out.push_str("continuing {\n");
                write(out, continuing);
                writeln!(out, "i{depth} += 1u; }} }} }}")
            }
            Stmt::Switch(selector, cases) => {
                let _ = writeln!(out, "switch {} % 4u {{", text(selector));
                for (label, case) in ["case 1u", "default", "case 0u, 3u"].iter().zip(cases) {
                    let _ = writeln!(out, "{label}: {{");
                    write(out, case);
                    out.push_str("}\n");
                }
                writeln!(out, "}}")
            }
        };
    }
}

/// End of a statement.
enum Flow {
    Next,
    Break,
    Continue,
    Return(u32),
}

/// Evaluator of a function.
struct Frame<'a> {
    functions: &'a [Vec<Stmt>],
    variables: [u32; 4],
    lets: Vec<u32>,
    counters: Vec<u32>,
}

/// Calls a function.
fn call(functions: &[Vec<Stmt>], number: usize, array: &mut [u32; LEN], a: u32, b: u32) -> u32 {
    let variables = [a, b, 0, number as u32];
    let mut frame = Frame { functions, variables, lets: vec![0; 999], counters: vec![0; 9] };
    match frame.block(&functions[number], array) {
        Flow::Return(value) => value,
        _ => frame.variables.iter().fold(0, |sum, value| sum ^ value),
    }
}

impl Frame<'_> {
    fn value(&self, expr: &Expr, array: &mut [u32; LEN]) -> u32 {
        match expr {
            Expr::Number(value) => *value,
            Expr::Variable(at) => self.variables[*at],
            Expr::Constant(at) => self.lets[*at],
            Expr::Counter(at) => self.counters[*at],
            Expr::Element(index) => {
                let index = self.value(index, array) ^ self.variables[3];
                array[(index as usize).min(LEN - 1)]
            }
            Expr::Binary(op, a, b) => {
                let a = self.value(a, array);
                let b = self.value(b, array).wrapping_add(self.variables[3]);
                match OPERATORS[*op] {
                    "+" => a.wrapping_add(b),
                    "-" => a.wrapping_sub(b),
                    "*" => a.wrapping_mul(b),
                    "/" => a.checked_div(b).unwrap_or(a),
                    "%" => a.checked_rem(b).unwrap_or(0),
                    "^" => a ^ b,
                    "&" => a & b,
                    _ => a.wrapping_shl(b),
                }
            }
            Expr::Select(a, b, c) => {
                let values = [self.value(a, array), self.value(b, array)];
                values[usize::from(self.value(c, array) > 3)]
            }
            Expr::Component(a, b, c) => {
                let values = [self.value(a, array), self.value(b, array)];
                values[((self.value(c, array) ^ self.variables[3]) as usize & 3).min(1)]
            }
            Expr::Call(f, a, b) => {
                let a = self.value(a, array);
                let b = self.value(b, array);
                call(self.functions, *f, array, a, b)
            }
        }
    }

    fn block(&mut self, block: &[Stmt], array: &mut [u32; LEN]) -> Flow {
        for stmt in block {
            match self.stmt(stmt, array) {
                Flow::Next => {}
                flow => return flow,
            }
        }
        Flow::Next
    }

    fn stmt(&mut self, stmt: &Stmt, array: &mut [u32; LEN]) -> Flow {
        match stmt {
            Stmt::Set(at, value) => self.variables[*at] = self.value(value, array),
            Stmt::SetElement(index, value) => {
                let index = self.value(index, array) ^ self.variables[3];
                let index = (index as usize).min(LEN - 1);
                array[index] = self.value(value, array);
            }
            Stmt::Let(at, value) => self.lets[*at] = self.value(value, array),
            Stmt::Break(condition) if self.value(condition, array) > 9 => return Flow::Break,
            Stmt::Continue(condition) if self.value(condition, array) > 5 => return Flow::Continue,
            Stmt::Return(condition, value) => {
                if self.value(condition, array) > 999 {
                    return Flow::Return(self.value(value, array));
                }
            }
            Stmt::Break(_) | Stmt::Continue(_) => {}
            Stmt::If(condition, accept, reject) => {
                let chosen = if self.value(condition, array) > 2 { accept } else { reject };
                return self.block(chosen, array);
            }
            Stmt::Loop(depth, count, body, continuing) => {
                for counter in 0..*count {
                    self.counters[*depth] = counter;
                    match self.block(body, array) {
                        Flow::Break => break,
                        Flow::Return(value) => return Flow::Return(value),
                        Flow::Next | Flow::Continue => {}
                    }
                    self.block(continuing, array);
                }
            }
            Stmt::Switch(selector, cases) => {
                let case = [2, 0, 1, 2][self.value(selector, array) as usize % 4];
                return match self.block(&cases[case], array) {
                    Flow::Break => Flow::Next,
                    flow => flow,
                };
            }
        }
        Flow::Next
    }
}

/// Generates three functions, each of which may call the ones before it.
fn program(rng: &mut Rng) -> (Vec<Vec<Stmt>>, String) {
    let mut functions = Vec::new();
    let mut wgsl = String::new();
    for callees in 0..3 {
        let mut maker = Maker { rng, callees, lets: 0, visible: Vec::new(), depth: 0, in_loop: false };
        let body = maker.block(3);
        let head = format!("fn f{callees}(p: ptr<function, array<u32, {LEN}>>, a: u32, b: u32) -> u32");
        let _ = writeln!(wgsl, "{head} {{ var v0 = a; var v1 = b; var v2: u32; var v3 = {callees}u;");
        write(&mut wgsl, &body);
        wgsl.push_str("return v0 ^ v1 ^ v2 ^ v3; }\n");
        functions.push(body);
    }
    (functions, wgsl)
}

#[test]
fn random_programs_compute_what_their_trees_say() {
    let mut rng = Rng::with_seed(11);
    for round in 0..150 {
        let (functions, wgsl) = program(&mut rng);
        let main = format!(
            "@compute @workgroup_size(4) fn k(@builtin(local_invocation_index) i: u32) {{
                var a: array<u32, {LEN}>; a[1] = i; let r = f2(&a, i, 7u); out[i * 6u] = r;
                for (var n = 0u; n < {LEN}u; n++) {{ out[i * 6u + n + 1u] = a[n]; }} }}"
        );
        let text = format!("{wgsl}{main}{OUT}");
        let mut buffers = [Buffer::new(&[0_u32; 24])];
        let kernel = prepare(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        run(&kernel, [1; 3], round, &[], &mut buffers).unwrap();
        let mut expected = Vec::new();
        for i in 0..4 {
            let mut array = [0, i, 0, 0, 0];
            expected.push(call(&functions, 2, &mut array, i, 7));
            expected.extend(array);
        }
        assert_eq!(buffers[0].values::<u32>(), expected, "round {round}\n{text}");
    }
}
