//! Tests that shaders with thousands of nested or chained constructs give a result or an error on a small stack, and
//! never overflow it.
#![allow(missing_docs, reason = "the names of the tests say what they test")]

mod prepared;

use prepared::{Outcome, on_small_stack, outcome};
use std::fmt::Write as _;

/// Number of repetitions of a construct.
const DEEP: usize = 7_000;

/// Start of each kernel, with the invocation's index.
const LANE: &str = "k(@builtin(local_invocation_index) i: u32)";

/// Buffer declaration of each shader.
const OUT: &str = "@group(0) @binding(0) var<storage, read_write> out: array<u32>;\n";

/// Returns a kernel with a body.
fn kernel(before: &str, body: &str) -> String {
    format!("{OUT}{before}\n@compute @workgroup_size(4) fn k() {{\n{body}\n}}")
}

/// Returns `open` and `close` around `inside`, [`DEEP`] times.
fn nested(open: &str, inside: &str, close: &str) -> String {
    format!("{}{inside}{}", open.repeat(DEEP), close.repeat(DEEP))
}

/// Prepares and runs a text on a thread with a small stack.
fn check(text: String) -> Outcome {
    on_small_stack(move || outcome(&text, 64))
}

/// Checks that a text has a result: 1 in the first word.
fn succeeds(text: String) {
    assert_eq!(check(text), Outcome::Word(1));
}

/// Checks that a text has an error whose message contains `part`.
fn fails(text: String, part: &str) {
    let Outcome::Error(error) = check(text) else { panic!("there is no limit") };
    assert!(error.contains(part), "{error}");
}

#[test]
fn nested_expressions_are_an_error() {
    for (open, close) in [("(", ")"), ("-(", ")"), ("min(", ", 1)"), ("out[", "]"), ("u32(", ")")] {
        fails(kernel("", &format!("out[0] = {};", nested(open, "1", close))), "nest");
    }
    fails(kernel("", &format!("out[0] = {}out[1];", "~".repeat(DEEP))), "nest");
}

#[test]
fn the_error_of_a_nested_expression_names_its_place() {
    let text = kernel("", &format!("out[0] = {}1u{};", "(".repeat(250), ")".repeat(250)));
    fails(text, "k.wgsl:4:259: this is nested too deeply");
}

#[test]
fn nested_types_are_an_error() {
    fails(kernel("", &format!("var x: {};", nested("array<", "u32", ", 1>"))), "nest");
}

#[test]
fn open_brackets_without_an_end_are_an_error() {
    for open in ["(", "[", "{", "<", "array<", "out[", "f(", "if (", "vec2(", "/*", ".x", "[0]"] {
        fails(kernel("", &format!("out[0] = {}", open.repeat(DEEP))), "k.wgsl");
    }
}

#[test]
fn nested_statements_are_an_error() {
    for (open, close) in [
        ("{", "}"),
        ("if out[1] == 0u {", "}"),
        ("loop {", " break; }"),
        ("while out[1] == 0u {", "break; }"),
        ("switch out[1] { default: {", "} }"),
    ] {
        fails(kernel("", &nested(open, "out[0] = 1u;", close)), "nest");
    }
}

#[test]
fn a_chain_of_branches_has_a_limit() {
    let chain = |count: usize| {
        kernel("", &format!("{}{{ out[0] = 1u; }}", "if out[1] == 1u { } else ".repeat(count)))
    };
    succeeds(chain(500));
    fails(chain(DEEP), "more than 500 branches");
}

#[test]
fn a_chain_of_operators_has_a_limit() {
    for (part, before, after) in [
        (" + out[1]", "1u", ""),
        (" + 0u", "1u", ""),
        (" | out[1]", "1u", ""),
        (" && out[1] == 0u", "u32(true", ")"),
    ] {
        let chain = |count: usize| kernel("", &format!("out[0] = {before}{}{after};", part.repeat(count)));
        succeeds(chain(300));
        fails(chain(DEEP), "more than 1000 operators");
    }
}

/// Returns declarations that each need the previous one, in both orders.
fn chains(count: usize, first: &str, next: impl Fn(usize) -> String) -> [String; 2] {
    let mut all: Vec<String> = (1..count).map(next).collect();
    all.insert(0, first.into());
    let forwards = all.join("\n");
    all.reverse();
    [forwards, all.join("\n")]
}

#[test]
fn a_chain_of_declarations_has_a_limit() {
    let constant = |n: usize| format!("const c{n} = c{};", n - 1);
    let alias = |n: usize| format!("alias c{n} = c{};", n - 1);
    let structure = |n: usize| format!("struct c{n} {{ m: c{} }}", n - 1);
    let function = |n: usize| format!("fn c{n}() -> u32 {{ return c{}(); }}", n - 1);
    for count in [1900, DEEP] {
        let last = count - 1;
        let all = [
            (chains(count, "const c0 = 1u;", constant), format!("out[0] = c{last};")),
            (chains(count, "alias c0 = u32;", alias), format!("var x: c{last} = 1u; out[0] = x;")),
            (chains(count, "struct c0 { m: u32 }", structure), format!("var x: c{last}; out[0] = 1u;")),
            (chains(count, "fn c0() -> u32 { return 1u; }", function), format!("out[0] = c{last}();")),
        ];
        for (before, body) in all {
            for before in before {
                let text = kernel(&before, &body);
                if count == DEEP { fails(text, "a chain of more than 2000") } else { succeeds(text) }
            }
        }
    }
}

#[test]
fn a_chain_of_functions_with_large_values_overflows_no_stack() {
    // Each function keeps 256 values while it calls the next one.
    let keeps =
        |n: usize| format!("fn g{n}() {{ let kept = matrices[0]; g{}(); matrices[1] = kept; }}", n - 1);
    let [before, _] = chains(700, "fn g0() { out[0] = 1u; }", keeps);
    let matrices = "@group(0) @binding(1) var<storage, read_write> matrices: array<array<mat4x4f, 16>, 2>;";
    succeeds(kernel(&format!("{matrices}{before}"), "g699();"));
}

#[test]
fn a_chain_of_functions_with_memory_overflows_no_stack() {
    let memory = |n: usize| {
        let inner = n - 1;
        format!(
            "fn f{n}(i: u32) -> u32 {{ var a: array<u32, 64>; a[i & 63u] = f{inner}(i + 1u); return a[i & 63u]; }}"
        )
    };
    let [before, _] = chains(1900, "fn f0(i: u32) -> u32 { return 1u; }", memory);
    succeeds(kernel(&before, "out[0] = f1899(out[1]);"));
}

#[test]
fn many_values_that_live_at_once_overflow_no_stack() {
    let mut values = String::from("let v0 = mat4x4f() + mat4x4f(); var sum = v0;\n");
    for n in 1..600 {
        let _ = writeln!(values, "let v{n} = f32(out[{}]) * v{};", n % 64, n - 1);
    }
    for n in 0..600 {
        let _ = writeln!(values, "sum += v{n};");
    }
    succeeds(kernel("", &format!("{values} out[0] = 1u + u32(sum[0].x);")));
}

#[test]
fn a_chain_of_values_succeeds() {
    let mut values = String::from("let v0 = out[1] + 1u;\n");
    for n in 1..DEEP {
        let _ = writeln!(values, "let v{n} = v{0} & v{0};", n - 1);
    }
    succeeds(kernel("", &format!("{values} out[0] = v{};", DEEP - 1)));
}

#[test]
fn many_cases_functions_and_statements_succeed() {
    let mut cases = String::new();
    for case in 1..DEEP {
        let _ = writeln!(cases, "case {case}u: {{ out[0] = 2u; }}");
    }
    succeeds(kernel("", &format!("switch out[1] {{ {cases} default: {{ out[0] = 1u; }} }}")));

    let mut before = String::new();
    let mut body = String::from("out[0] = 1u;\n");
    for n in 0..3400 {
        let _ = writeln!(before, "fn f{n}(x: u32) -> u32 {{ return x & {n}u; }}");
        let _ = writeln!(body, "out[1] = f{n}(out[0]);");
    }
    succeeds(kernel(&before, &body));
}

#[test]
fn functions_that_call_twice_are_translated_once() {
    let twice = |n: usize| {
        format!("fn f{n}() -> u32 {{ if out[1] == 0u {{ return f{0}(); }} return f{0}(); }}", n - 1)
    };
    let [before, _] = chains(200, "fn f0() -> u32 { return 1u; }", twice);
    succeeds(kernel(&before, "out[0] = f199();"));
}

#[test]
fn recursion_is_an_error() {
    for before in [
        "fn f() { f(); }",
        "fn f() { g(); } fn g() { f(); }",
        "struct S { m: S }",
        "const c = d; const d = c;",
    ] {
        let outcome = check(kernel(before, "out[0] = 1u;"));
        assert!(matches!(outcome, Outcome::Error(_)), "{before}: {outcome:?}");
    }
}

#[test]
fn nested_comments_succeed_and_many_attributes_are_an_error() {
    succeeds(kernel(&nested("/*", "", "*/"), "out[0] = 1u;"));
    fails(kernel("", &format!("out[0] = 1u; {}", "@diagnostic(off, x) ".repeat(DEEP))), "k.wgsl");
}

#[test]
fn chains_of_functions_with_barriers_have_a_result_on_a_small_stack() {
    let memory = "var<workgroup> w: array<u32, 4>;";
    let first = "fn b0(i: u32) -> u32 { workgroupBarrier(); w[i] = 1u; workgroupBarrier(); return w[i]; }";
    for body in [
        "return b{}(i);",
        "if out[1] == 7u { return i; } return b{}(i);",
        "var r = 0u; if out[1] == 0u { for (var n = 0; n < 1; n++) { if i < 4u { r = b{}(i); } } } return r;",
    ] {
        let next =
            |n: usize| format!("fn b{n}(i: u32) -> u32 {{ {} }}", body.replace("{}", &(n - 1).to_string()));
        for count in [5, 60, 700] {
            let [before, _] = chains(count, first, next);
            let call = format!("out[i] = b{}(i);", count - 1);
            let text = kernel(&format!("{memory}{before}"), &call).replace("k()", LANE);
            succeeds(text);
        }
    }
}

#[test]
fn calls_of_functions_with_barriers_that_double_are_not_expanded() {
    let memory = "var<workgroup> w: array<u32, 4>;";
    let first = "fn b0(i: u32) -> u32 { workgroupBarrier(); w[i] = 1u; workgroupBarrier(); return w[i]; }";
    let next = |n: usize| format!("fn b{n}(i: u32) -> u32 {{ return b{0}(i) * b{0}(i); }}", n - 1);
    for levels in [8, 12] {
        let [before, _] = chains(levels, first, next);
        let text = kernel(&format!("{memory}{before}"), &format!("out[i] = b{}(i);", levels - 1));
        succeeds(text.replace("k()", LANE));
    }
    // The kernel is only compiled: its execution would take 2^40 calls.
    let [before, _] = chains(40, first, next);
    let call = "if out[1] == 7u { out[i] = b39(i); } else { out[i] = 1u; }";
    succeeds(kernel(&format!("{memory}{before}"), call).replace("k()", LANE));
}
