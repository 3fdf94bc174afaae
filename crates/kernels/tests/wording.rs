//! The messages for invalid shaders.

use fencepost_kernels::{Module, ShaderSource};

/// Statements of an entry point, or declarations before one, each with one mistake.
const WRONG: &[(&str, &str)] = &[
    ("types of an operator", "x[0] = n * 2.0 * f32(n);"),
    ("types of a comparison", "if x[0] < n { return; }"),
    ("operand", "let b = -vec2(true, false);"),
    ("assignment", "x[0] = n;"),
    ("assignment to a member", "p.position = vec3<u32>(1u);"),
    ("read-only", "y[0] = 1.0;"),
    ("read-only uniform", "params.n = 1u;"),
    ("argument of a function", "x[0] = twice(n);"),
    ("number of arguments", "x[0] = twice(1.0, 2.0);"),
    ("argument of a built-in function", "x[0] = sqrt(n);"),
    ("two arguments of a built-in function", "x[0] = max(x[0], n);"),
    ("number of arguments of a built-in function", "x[0] = max(x[0]);"),
    ("condition", "if n { return; }"),
    ("select", "x[0] = select(1.0, n, true);"),
    ("condition of select", "x[0] = select(1.0, 2.0, n);"),
    ("vector", "let v = vec3<f32>(1.0, n, 2.0);"),
    ("vector too long", "let v = vec2<f32>(1.0, 2.0, 3.0);"),
    ("index out of range", "let two = array<f32, 2>(1.0, 2.0); x[0] = two[2];"),
    ("index of a constant", "x[0] = array<f32, 4>()[7];"),
    ("index type", "x[0] = x[1.5];"),
    ("no such member", "x[0] = p.mass;"),
    ("swizzle", "let v = vec2<f32>(1.0, 2.0); x[0] = v.z;"),
    ("cast", "x[0] = f32(p);"),
    ("return", "return 1.0;"),
    ("array length", "let l = arrayLength(&w);"),
    ("break", "break;"),
    ("switch", "switch n { case 1u: { } }"),
    ("switch twice", "switch n { case 1u: { } case 1u: { } default: { } }"),
    ("atomic", "atomicAdd(&x[0], 1.0);"),
    ("atomic operand", "atomicAdd(&a, 1.0);"),
    ("uniform load", "let u = workgroupUniformLoad(&x);"),
    ("division by zero", "let z = 1u / 0u;"),
    ("remainder by zero", "let z = 1 % 0;"),
    ("shift", "let z = 1u << 40u;"),
    ("variable", "var v: f32 = 1u;"),
    ("constant assigned", "let v = 1.0; v = 2.0;"),
    ("unknown name", "x[0] = unknown;"),
    ("unknown function", "x[0] = unknown(1.0);"),
    ("semicolon", "x[0] = 1.0"),
    ("reserved word", "let filter = 1.0;"),
    ("word of the language", "let loop = 1.0;"),
    ("reserved prefix", "let __x = 1.0;"),
    ("keyword", "float v = 1.0;"),
    ("f16", "var v: f16 = 1.0h;"),
];

const DECLARATIONS: &[(&str, &str)] = &[
    (
        "two at one binding",
        "@group(0) @binding(1) var<storage, read> second: array<f32>; fn r() -> f32 { return second[0]; }",
    ),
    ("no binding", "var<storage, read> second: array<f32>;"),
    ("binding of workgroup", "@group(0) @binding(7) var<workgroup> second: array<f32, 4>;"),
    ("bool in a buffer", "@group(0) @binding(7) var<storage, read> second: array<bool>;"),
    ("uniform array", "@group(0) @binding(7) var<uniform> second: array<f32, 4>;"),
    (
        "length in front",
        "struct S { a: array<f32>, b: f32 } @group(0) @binding(7) var<storage, read> second: S;",
    ),
    ("initial value", "var<workgroup> second: f32 = 1.0;"),
    ("constant", "const C: f32 = 1u;"),
    ("override", "override O: f32 = true;"),
    ("array length", "const N = 0; var<workgroup> second: array<f32, N>;"),
    ("recursion", "fn r(i: u32) -> u32 { return r(i); }"),
    ("reserved argument", "@group(0) @binding(7) var<storage, read> target: array<f32>;"),
    ("reserved member", "struct S { filter: f32 }"),
    ("reserved function", "fn move() { }"),
    ("twice", "fn twice() {}"),
    ("matrix", "var<private> second: mat2x2<u32>;"),
    (
        "pointer argument",
        "fn r(i: ptr<storage, f32>) -> f32 { return *i; } fn s() -> f32 { return r(&x[0]); }",
    ),
    ("result", "fn r() -> f32 { return 1u; }"),
    ("no result", "fn r() -> f32 { }"),
];

fn shader(declaration: &str, statement: &str) -> String {
    let call = if declaration.contains("fn r() -> f32 { return second") { "x[2] = r();" } else { "" };
    format!(
        "struct P {{ position: vec3<f32> }}
struct Params {{ n: u32 }}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> x: array<f32>;
@group(0) @binding(2) var<storage, read> y: array<f32>;
@group(0) @binding(3) var<storage, read_write> p: P;
var<workgroup> w: array<f32, 4>;
var<workgroup> a: atomic<u32>;
fn twice(v: f32) -> f32 {{ return 2.0 * v; }}
{declaration}
@compute @workgroup_size(4) fn k() {{
    let n = params.n;
    {statement}
    x[1] = y[0] + w[1] + f32(atomicLoad(&a));
    {call}
}}"
    )
}

#[test]
fn messages() {
    let wrong = WRONG.iter().map(|(name, statement)| (name, shader("", statement)));
    let declared = DECLARATIONS.iter().map(|(name, declaration)| (name, shader(declaration, "")));
    let mut all = String::new();
    for (name, text) in wrong.chain(declared) {
        let said = match Module::parse(&ShaderSource::text("k.wgsl", text)) {
            Ok(_) => "valid".into(),
            Err(error) => error.to_string(),
        };
        all += &format!("{name}\n{said}\n\n");
    }
    insta::assert_snapshot!(all);
}

#[test]
fn the_limit_of_nested_brackets_is_named() {
    // The statement and the number inside the brackets are levels too.
    let nested = |count: usize| {
        let text = shader("", &format!("x[0] = {}1.0{};", "(".repeat(count), ")".repeat(count)));
        Module::parse(&ShaderSource::text("k.wgsl", text)).map(drop).map_err(|error| error.to_string())
    };
    assert_eq!(nested(197), Ok(()));
    let error = nested(198).unwrap_err();
    assert!(error.contains("nested too deeply, and the limit is 199 levels of brackets"), "{error}");
}

#[test]
fn a_type_of_too_many_bytes_is_named_at_its_first_declaration() {
    let huge = "array<u32, 1000000000>";
    let cases = [
        format!("var<private> huge: {huge};"),
        "var<workgroup> huge: array<array<vec4<f32>, 40000>, 40000>;".to_owned(),
        format!("struct S {{ a: u32, huge: {huge} }}"),
        format!("fn f() {{ var huge: {huge}; }}"),
        format!("alias Huge = {huge};"),
        format!("@group(0) @binding(0) var<storage> huge: {huge};"),
    ];
    for text in cases {
        let source = ShaderSource::text("k.wgsl", format!("const first = 1;\n\n{text}\nconst last = 2;"));
        let error = Module::parse(&source).expect_err(&text).to_string();
        assert!(error.starts_with("k.wgsl:3:") && error.contains("2147483647 bytes"), "{text}\n{error}");
    }
}

#[test]
fn the_error_of_a_file_that_ends_too_early_is_at_its_end() {
    let cases = [
        ("//#use \"b.wgsl\"\nfn k() {\n    let x = 1;\n", "a.wgsl:3:15: "),
        ("//#use \"b.wgsl\"\nconst a = 1", "a.wgsl:2:12: "),
        ("//#use \"b.wgsl\"\nconst a = (1 + \n\n", "a.wgsl:2:15: "),
        ("//#use \"b.wgsl\"\nconst a = wrong;", "a.wgsl:2:11: "),
        ("//#use \"b.wgsl\"\n@compute @workgroup_size(1) fn k() { wrong", "a.wgsl:2:43: "),
        (
            "//#use \"c.wgsl\"\n//#use \"b.wgsl\"\nconst a = 1;",
            "c.wgsl:2:5: expected statement, found the end of the file",
        ),
    ];
    for (text, place) in cases {
        let source = ShaderSource::text("a.wgsl", text).with_file("b.wgsl", "const b = 1;");
        let source = source.with_file("c.wgsl", "fn c() {\n  {}");
        let error = Module::parse(&source).unwrap_err().to_string();
        assert!(error.starts_with(place), "{text:?}: {error}");
    }
}
