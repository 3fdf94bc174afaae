//! Shaders on which naga or one of its back ends fails.

use fencepost_kernels::{Error, Module, ShaderLanguage, ShaderSource, legalize};
use naga::valid::{Capabilities, ValidationFlags, Validator};

/// Returns the marked part of the error for a text.
fn marked(text: &str) -> (String, usize) {
    match Module::parse(&ShaderSource::text("k", text.to_owned())) {
        Err(Error::Wgsl { message, excerpt, line, .. }) => {
            assert!(message.contains("naga"), "{message}");
            let start = excerpt.column - 1;
            (excerpt.text[start..(start + excerpt.length).min(excerpt.text.len())].into(), line)
        }
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn a_panic_of_the_parser_is_an_error_at_the_words_before_a_block() {
    let text = format!(
            "{HEAD}
@compute @workgroup_size(1) fn main() {{
    if out[0] > 1u {{ out[1] = 1u; }} else if u32(f16(70000i)) > out[0] {{ out[2] = 2u; }} else {{ out[3] = 2u; }}
    switch out[5] {{ case 1u {{ out[4] = 5u; }} default {{ out[6] = 7u; }} }}
}}"
        );
    assert_eq!(marked(&text), ("else if u32(f16(70000i)) > out[0]".into(), 4));
}

const HEAD: &str = "enable f16;
@group(0) @binding(0) var<storage, read_write> out: array<u32>;";

#[test]
fn a_panic_of_the_parser_is_an_error_at_its_statement() {
    let wrong =
        ["u32(f16(70000i))", "u32(f16(70000u))", "i32(f16(1e6f))", "u32(vec2<f16>(vec2(1, 90000)).y)"];
    for value in wrong {
        let text = format!(
            "{HEAD}
fn other(x: u32) -> u32 {{ if x > 1u {{ return 2u; }} return x; }}
@compute @workgroup_size(1) fn main() {{
    let a = other(3u);
    for (var i = 0u; i < 3u; i++) {{
        if a > i {{ out[i] = other(i); out[1] = {value}; out[2] = 3u; }}
    }}
    out[3] = other(7u);
}}"
        );
        assert_eq!(marked(&text), (format!("out[1] = {value}"), 7), "{value}");
    }
}

#[test]
fn a_panic_of_the_parser_is_an_error_at_its_declaration() {
    let text = format!(
        "{HEAD}
const A = 70000i;
const B = u32(f16(A));
const C = 3u;
@compute @workgroup_size(1) fn main() {{ out[0] = B + C; }}"
    );
    assert_eq!(marked(&text), ("const B = u32(f16(A));".into(), 4));
}

#[test]
fn a_location_of_a_compute_entry_point_is_refused_at_its_place() {
    let refused = [
        ("", "fn main(@location(0) a: u32) { out[0] = a; }", 4, "@location(0)", "var<storage>"),
        ("", "fn main() -> @location(1) u32 { out[0] = 1u; return 2u; }", 4, "@location(1)", "read_write"),
        ("", "fn main() -> @location(0) vec4<f32> { return vec4(1.0); }", 4, "@location(0)", "read_write"),
        (
            "struct I { @builtin(global_invocation_id) id: vec3<u32>, @location(2) a: f32 }",
            "fn main(i: I) { out[i.id.x] = u32(i.a); }",
            3,
            "@location(2)",
            "var<storage>",
        ),
        (
            "struct R { @location(3) a: u32, @location(4) b: f32 }",
            "fn main() -> R { return R(1u, 2.0); }",
            3,
            "@location(3)",
            "read_write",
        ),
    ];
    for (structure, entry, at, part, remedy) in refused {
        let text = format!("{HEAD}\n{structure}\n@compute @workgroup_size(1) {entry}");
        match Module::parse(&ShaderSource::text("k", text.clone())) {
            Err(Error::Wgsl { message, excerpt, line, .. }) => {
                assert!(message.contains("compute entry point") && message.contains(remedy), "{message}");
                assert_eq!((line, &excerpt.text[excerpt.column - 1..][..excerpt.length]), (at, part));
            }
            other => panic!("{text}: {other:?}"),
        }
    }
}

#[test]
fn a_location_of_another_stage_is_no_mistake() {
    let text = format!(
        "{HEAD}
struct V {{ @builtin(position) at: vec4<f32>, @location(0) shade: f32 }}
@vertex fn v(@location(0) x: f32) -> V {{ return V(vec4(x), x); }}
@fragment fn f(v: V) -> @location(0) vec4<f32> {{ return vec4(v.shade); }}
@compute @workgroup_size(1) fn main(@builtin(local_invocation_index) i: u32) {{ out[i] = 1u; }}"
    );
    Module::parse(&ShaderSource::text("k", text.clone())).unwrap();
}

/// Prepares a shader for a back end, and validates the module.
fn legalized(text: &str, shader_language: ShaderLanguage) -> naga::Module {
    let module = Module::parse(&ShaderSource::text("k", text.to_owned())).unwrap();
    let mut naga = module.naga().clone();
    legalize(&mut naga, shader_language);
    let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
    validator.validate(&naga).unwrap_or_else(|error| panic!("{shader_language:?}: {text}: {error:?}"));
    naga
}

const ALL: [ShaderLanguage; 5] = [
    ShaderLanguage::Spirv,
    ShaderLanguage::Glsl,
    ShaderLanguage::Hlsl,
    ShaderLanguage::Msl,
    ShaderLanguage::Wgsl,
];

#[test]
fn no_continuing_block_uses_a_value_of_the_body_in_glsl_hlsl_and_msl() {
    let text = format!(
        "{HEAD}
fn twice(x: u32) -> u32 {{ return x * 2u; }}
@compute @workgroup_size(1) fn main() {{
    var list = array(1u, 2u, 3u);
    var n = 0u;
    loop {{
        let a = n;
        let p = &list[a];
        let b = twice(a);
        if a > 4u {{ break; }}
        loop {{ let c = n + b; continuing {{ n += c; break if c > a; }} }}
        continuing {{ n += 1u; *p += a + b; break if b > 2u; }}
    }}
}}"
    );
    let kept = |shader_language| {
        let module = legalized(&text, shader_language);
        let locals = &module.entry_points[0].function.local_variables;
        locals.iter().filter(|(_, local)| local.name.as_deref() == Some("kept")).count()
    };
    // The values are `a`, `b` and `c`; the pointer needs no variable.
    assert_eq!(ALL.map(kept), [0, 3, 3, 3, 0]);
    let untouched = format!(
        "{HEAD}\n@compute @workgroup_size(1) fn main() {{ for (var i = 0u; i < 3u; i++) {{ let a = i; out[a] = a; }} }}"
    );
    let module = Module::parse(&ShaderSource::text("k", untouched.clone())).unwrap();
    assert_eq!(format!("{:?}", legalized(&untouched, ShaderLanguage::Msl)), format!("{:?}", module.naga()));
}

#[test]
fn bit_functions_of_64_bits_become_calls_where_drivers_take_them() {
    let text = format!(
        "{HEAD}
fn own(x: vec3<i64>) -> i64 {{ return countOneBits(x).y; }}
@compute @workgroup_size(1) fn main() {{
    let a = u64(out[0]);
    out[1] = u32(insertBits(a, firstLeadingBit(a), 3u, out[2])) + countOneBits(out[3]);
    out[2] = u32(own(vec3(i64(a), 1li, reverseBits(i64(a)))));
}}"
    );
    for shader_language in [ShaderLanguage::Spirv, ShaderLanguage::Hlsl, ShaderLanguage::Msl] {
        let module = legalized(&text, shader_language);
        let names: Vec<_> = module.functions.iter().filter_map(|(_, known)| known.name.as_deref()).collect();
        for name in ["insertBits_u64", "firstLeadingBit_u64", "countOneBits_i64_3", "reverseBits_i64"] {
            assert!(names.contains(&&*format!("fencepost_{name}")), "{name}: {names:?}");
        }
        assert!(!names.iter().any(|name| name.contains("extractBits")), "{names:?}");
        assert_eq!(names.last(), Some(&"own"));
    }
}
