//! `print` and `assert` in WGSL: the WGSL that replaces them, and the messages for mistakes in them.

use fencepost_kernels::{Error, Interface, Messages, Module, ShaderSource};
use proptest::prelude::*;
use std::sync::LazyLock;

const HEAD: &str = "struct Params { n: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(4) var<storage, read_write> x: array<f32>;
";

fn parse(text: &str) -> Result<Module, Error> {
    Module::parse(&ShaderSource::text("k.wgsl", text.to_owned()))
}

fn module(text: &str) -> Module {
    parse(text).unwrap_or_else(|error| panic!("{error}"))
}

fn kernel(body: &str) -> String {
    format!(
        "{HEAD}@compute @workgroup_size(64) fn k(@builtin(global_invocation_id) id: vec3<u32>) {{\n{body}\n}}"
    )
}

/// Returns the error message for a body with a mistake, without the place.
fn refused(body: &str) -> String {
    parse(&kernel(body)).expect_err(body).to_string()
}

#[test]
fn a_text_without_messages_is_unchanged() {
    for body in
        ["let printed = 1u; _ = printed; const_assert 1 == 1;", "x[0] = 1.0; // print(\"a\") and assert(b)"]
    {
        let text = kernel(body);
        let module = module(&text);
        assert_eq!(module.text(), text);
        let interface = module.interface("k", &[]).unwrap();
        assert!(interface.messages.is_none());
        assert_eq!(interface.bindings.len(), interface.array_bindings().len());
    }
}

#[test]
fn an_entry_point_without_messages_has_no_buffer_for_them_beside_one_that_has() {
    let text = format!(
        "{HEAD}fn say() {{ print(\"a\"); }}
        @compute @workgroup_size(1) fn quiet() {{ x[0] = 1.0; }}
        @compute @workgroup_size(1) fn says() {{ x[0] = 1.0; say(); }}"
    );
    let module = module(&text);
    assert!(module.text().contains("fn quiet() { x[0] = 1.0; }"), "{}", module.text());
    let interface = |entry: &str| module.interface(entry, &[]).unwrap();
    let names = |interface: &Interface| interface.argument_names().map(str::to_owned).collect::<Vec<_>>();
    let [quiet, says] = ["quiet", "says"].map(interface);
    assert_eq!((quiet.bindings.len(), quiet.messages.is_none()), (1, true));
    assert_eq!((says.bindings.len(), says.array_bindings().len()), (2, 1));
    let messages = says.messages.as_ref().unwrap();
    assert!(messages.prints() && !messages.asserts());
    assert_eq!(says.bindings[1].index, 5, "the first index after those of the program");
    assert_eq!([names(&quiet), names(&says)], [["n", "x"]; 2].map(|names| names.map(str::to_owned).to_vec()));
}

#[test]
fn every_kind_of_value_and_of_entry_point_is_valid() {
    let values = "print(\"{} {} {} {} {}\", id.x, -1, 1.5, id.x > 1u, vec3(1.0, 2.0, 3.0));
        print(\"{} {} {}\", vec4<bool>(true), vec2<i32>(1, 2), id);
        { if id.x == 1u { print(\"in a block\"); } assert(x[0] > 0.0); }
        loop { print(\"once\"); break; }";
    let heads = [
        "@workgroup_size(64) fn k(@builtin(global_invocation_id) id: vec3<u32>)",
        "@workgroup_size(W) fn k(@builtin(num_workgroups) groups: vec3<u32>, @builtin(global_invocation_id) id: vec3<u32>)",
        "@workgroup_size(W, 2 * W) fn k(in: In)",
        "@workgroup_size(4, 4, 4) fn k()",
    ];
    for head in heads {
        let id = if head.contains("In)") {
            "let id = in.id;"
        } else if head.contains("k()") {
            "let id = vec3<u32>(1u);"
        } else {
            ""
        };
        let text = format!(
            "{HEAD}override W = 2u; struct In {{ @builtin(global_invocation_id) id: vec3<u32> }}
            @compute {head} {{ {id} {values} }}"
        );
        let interface = module(&text).interface("k", &[]).unwrap();
        assert!(interface.messages.is_some_and(|messages| messages.prints() && messages.asserts()), "{head}");
    }
    let f16 = "enable f16; @compute @workgroup_size(1) fn k() { print(\"{} {}\", 1.0h, vec2<f16>(1.0h)); }";
    assert!(module(f16).interface("k", &[]).unwrap().needs.f16);
}

#[test]
fn a_kernel_that_numbers_its_invocations_folds_with_messages_too() {
    let folds = |statement: &str| {
        let text = format!("//#use linear\n{HEAD}@compute @workgroup_size(64) fn k(@builtin(global_invocation_id) id: vec3<u32>,
            @builtin(num_workgroups) groups: vec3<u32>) {{ let i = linear_id(id, groups, 64u); {statement} x[i] = 1.0; }}");
        module(&text).interface("k", &[]).unwrap().folds
    };
    assert!(folds("") && folds("print(\"{}\", i);") && folds("assert(i < 10u, \"{}\", i);"));
    assert!(!folds("print(\"{}\", id.x);"), "the statement shows the position");
}

#[test]
fn mistakes_have_the_place_of_the_program_s_text() {
    assert_eq!(
        refused("  print(\"x = {}\", x[0], x[1]);"),
        "k.wgsl:5:9: this text has 1 `{}` for values, and 2 values follow it\n  |   print(\"x = {}\", x[0], x[1]);\n  |         ^^^^^^^^"
    );
    assert_eq!(
        refused("  print(\"{} {}\", id.x, params);"),
        "k.wgsl:5:24: a value of a message has the type `bool`, `i32`, `u32`, `f32` or `f16`, or is a vector of them, found \
         `Params`: convert the value, or name its parts\n  |   print(\"{} {}\", id.x, params);\n  |                        ^^^^^^"
    );
    assert_eq!(
        refused("  assert(id.x,\n \"m\");"),
        "k.wgsl:5:10: the condition of `assert` has the type `bool`, found `u32`\n  |   assert(id.x,\n  |          ^^^^"
    );
    let unknown = refused("  print(\"{}\",\n  unknown); let y = 1;");
    assert!(unknown.starts_with("k.wgsl:6:3: ") && unknown.contains("`unknown`"), "{unknown}");
    let later = refused("  print(\"a\"); print(\"{}\",\n id.x); let y: u32 = 1.5;");
    assert!(later.starts_with("k.wgsl:6:13: "), "{later}");
    let invalid = refused("  assert(id.x == 0u); x[0] = f32(params);");
    assert!(invalid.starts_with("k.wgsl:5:34: "), "{invalid}");
}

/// WGSL names in the code that messages add.
const USED: &str = "array arrayLength atomic atomicAdd atomicLoad atomicMax bitcast bool f16 f32 i32 u32 vec2 \
    vec3 vec4";

#[test]
fn local_names_hide_no_name_that_messages_use() {
    let values =
        "print(\"{} {} {} {}\", id.x, -1, 1.5, id.x > 1); print(\"{}\", id); assert(id.x > 1, \"{}\", x[0]);";
    for name in USED.split(' ') {
        for local in [format!("let {name} = 1;"), format!("var {name} = 1; {name} += 1;")] {
            module(&kernel(&format!("{local} {values}")));
        }
        let parameter = format!(
            "fn say({name}: u32) {{ print(\"{{}} {{}}\", {name}, x[0]); assert({name} > 1, \"{{}}\", -1); }}"
        );
        if name != "u32" {
            module(&format!("{parameter}\n{}", kernel("say(id.x);")));
        }
    }
}

#[test]
fn a_declaration_that_hides_a_name_that_messages_use_is_an_error_with_its_line() {
    for name in USED.split(' ') {
        for declared in
            [format!("alias {name} = vec2<bool>;"), format!("fn {name}() {{}}"), format!("const {name} = 1;")]
        {
            let text = format!("{}\n{declared}", kernel("print(\"a\");"));
            let error = parse(&text).map(drop).expect_err(&declared).to_string();
            let column = declared.find(name).unwrap() + 1;
            let start = format!(
                "k.wgsl:7:{column}: a shader with `print` or `assert` needs the `{name}` of WGSL, which this declaration hides: \
                 give it another name\n"
            );
            assert!(error.starts_with(&start), "{error}");
        }
    }
    module("fn bitcast() {} @compute @workgroup_size(1) fn k() { bitcast(); }");
}

#[test]
fn names_with_accents_and_every_end_of_a_line_are_those_of_wgsl() {
    let name = "e\u{301}te\u{301}";
    let text = format!(
        "fn {name}print() {{}}
        @compute @workgroup_size(1) fn {name}() {{ let {name} = 7; {name}print(); print(\"{{}}\", {name}); }}"
    );
    let accented = module(&text);
    assert!(accented.interface(name, &[]).unwrap().messages.is_some());
    assert!(accented.text().contains("fp0_enter_0(fp0_gid);"), "{}", accented.text());
    for end in ["\n", "\r", "\r\n", "\u{b}", "\u{c}", "\u{85}", "\u{2028}", "\u{2029}"] {
        let text = kernel(&format!("// a comment{end} print(\"a\");"));
        assert!(module(&text).interface("k", &[]).unwrap().messages.is_some(), "{end:?}");
    }
}

#[test]
fn a_value_of_a_type_without_values_is_an_error_in_the_words_of_the_program() {
    for (value, ty) in [
        ("&v", "ptr<function, i32>"),
        ("&x", "ptr<storage, array<f32>, read_write>"),
        ("x", "array<f32>"),
        ("params", "Params"),
        ("mat2x2f()", "mat2x2<f32>"),
    ] {
        let error = refused(&format!("var v = 1; print(\"{{}}\", {value});"));
        assert!(error.starts_with("k.wgsl:5:24: a value of a message has the type"), "{error}");
        assert!(error.contains(&format!("found `{ty}`: ")), "{error}");
    }
    let error = refused("var v = true; assert(&v);");
    assert!(
        error.contains("the condition of `assert` has the type `bool`, found `ptr<function, bool>`"),
        "{error}"
    );
}

#[test]
fn a_whole_number_without_a_type_is_an_i32_or_a_u32() {
    let words = |value: &str| {
        let module = module(&kernel(&format!("print(\"{{}}\", {value});")));
        let messages = module.interface("k", &[]).unwrap().messages.unwrap();
        let report = messages.report(&[0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 3_000_000_000]);
        report.lines[0].text.clone()
    };
    assert_eq!(
        [words("3000000000"), words("1"), words("0xB2D05E00")],
        ["3000000000", "-1294967296", "3000000000"]
    );
    assert_eq!(
        [words("3e9"), words("4294967296.0")].map(|text| text.contains('.') || text.contains('e')),
        [true; 2]
    );
    for value in ["1 << 40", "-3000000000", "4294967296", "vec2(-1, 3000000000)", "0x100000000"] {
        let error = refused(&format!("print(\"{{}}\", {value});"));
        assert!(error.starts_with("k.wgsl:5:13: this number fits neither `i32` nor `u32`"), "{error}");
    }
}

#[test]
fn a_message_in_a_used_file_has_the_place_in_that_file() {
    let tools = "\nfn check(v: f32) { assert(v >= 0.0, \"{}\", vec2(v); }";
    let text = format!("//#use \"tools.wgsl\"\n{}", kernel("check(x[0]);"));
    let source = ShaderSource::text("k.wgsl", text).with_file("tools.wgsl", tools);
    let error = Module::parse(&source).expect_err("a bracket is missing").to_string();
    assert!(error.starts_with("tools.wgsl:2:20: the closing `)` of this `assert` is missing"), "{error}");
}

/// Returns parts of texts from which random texts are made.
fn part() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "print",
        "assert",
        "(",
        ")",
        "\"",
        "{}",
        "{",
        "}",
        ",",
        ";",
        "<",
        ">",
        ">>",
        "[",
        "]",
        "//",
        "/*",
        "*/",
        "\n",
        "\\",
        "id",
        "x[0]",
        "1",
        "fn f",
        "fn print",
        "é",
        " ",
        "&&",
        "array<u32, 2>",
        "\"a {}\"",
        "print(\"{}\", id.x);",
        "if true {",
        "@compute @workgroup_size(1)",
        "var",
        "=",
        "u32",
        "assert(true, \"\");",
    ])
}

/// Messages with values of several sizes.
static RANDOM: LazyLock<Messages> = LazyLock::new(|| {
    let module = module(&kernel("print(\"{}\", id); print(\"a\"); assert(id.x > 1u, \"{}\", x[0]);"));
    module.interface("k", &[]).unwrap().messages.unwrap()
});

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn no_text_panics(parts in prop::collection::vec(part(), 0..24), inside in any::<bool>()) {
        let text = parts.concat();
        let text = if inside { kernel(&text) } else { text };
        if let Ok(module) = parse(&text) {
            for entry in module.entries() {
                prop_assert!(module.interface(entry, &[]).is_ok());
            }
        }
    }

    #[test]
    fn random_words_of_a_message_buffer_panic_nothing(words in prop::collection::vec(prop_oneof![0..6_u32, any::<u32>()], 0..2000)) {
        let messages = &*RANDOM;
        let report = messages.report(&words);
        prop_assert!(report.lines.len() <= words.len());
    }
}
