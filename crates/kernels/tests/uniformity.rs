//! Operations that all invocations of a workgroup must reach together (rule K13).
#![allow(missing_docs, reason = "the names of the tests say what they test")]

use fencepost_kernels::{Module, ShaderSource};

const HEAD: &str = "enable subgroups;
    struct Ids { @builtin(workgroup_id) group: vec3u, @builtin(local_invocation_index) lane: u32 }
    @group(0) @binding(0) var<storage, read_write> out: array<u32>;
    @group(0) @binding(1) var<storage, read> given: array<u32>;
    @group(0) @binding(2) var<uniform> p: vec4u;
    var<workgroup> w: array<u32, 64>; var<private> own: u32;";

/// Returns the messages for the body of a kernel, after some functions.
fn warned(functions: &str, body: &str) -> Vec<String> {
    let text = format!(
        "{HEAD}\n{functions}
        @compute @workgroup_size(64) fn k(@builtin(local_invocation_index) i: u32, @builtin(workgroup_id) g: vec3u,
            @builtin(num_workgroups) n: vec3u) {{ _ = &out; _ = &given; _ = &p; _ = &w; _ = own;\n{body}\n}}"
    );
    let module =
        Module::parse(&ShaderSource::text("k.wgsl", text.clone())).unwrap_or_else(|error| panic!("{error}"));
    let warnings = module.arguments("k").expect("it has the entry point").warnings;
    warnings.iter().map(ToString::to_string).collect()
}

/// Words of the warning for a pointer to a part of a variable.
const PART: &str = "no pointer to a part of a variable as an argument";

#[test]
fn a_pointer_to_a_part_of_a_variable_is_found_as_an_argument() {
    let add = "fn f(a: ptr<function, u32>) { *a += 1u; }";
    let warnings = warned(add, "var v = array(1u, 2u); f(&v[1]); out[i] = v[1];");
    let [warning] = &warnings[..] else { panic!("{warnings:?}") };
    assert!(warning.contains(PART) && warning.contains("f(&v[1]);"), "{warning}");
    assert!(warned(add, "var v = 1u; let p = &v; f(p); out[i] = v;").is_empty());
}

#[test]
fn a_variable_that_a_call_gets_or_uses_by_two_names_is_found_if_it_is_written() {
    let both = "fn f(a: ptr<function, u32>, b: ptr<function, u32>) { *a = *b; }";
    let reads = "fn f(a: ptr<function, u32>, b: ptr<function, u32>) -> u32 { return *a + *b; }";
    let global = "fn f(a: ptr<private, u32>) { *a = own; }";
    let found = [
        (both, "var v = 1u; f(&v, &v);", "`f` gets `v` twice, as `a` and as `b`"),
        (both, "var v = array(1u, 2u); f(&v[0], &v[i & 1u]);", "`f` gets `v` twice"),
        (both, "var v = 1u; let p = &v; f(p, &v);", "`f` gets `v` twice"),
        (
            "fn f(a: ptr<function, u32>, b: ptr<function, u32>) { *b += 1u; _ = *a; }",
            "var v = 1u; f(&v, &v);",
            "twice",
        ),
        (
            "fn g(a: ptr<function, u32>) { *a = 1u; }
             fn f(a: ptr<function, u32>, b: ptr<function, u32>) -> u32 { g(a); return *b; }",
            "var v = 1u; out[i] = f(&v, &v);",
            "`f` gets `v` twice",
        ),
        (
            &format!("{both} fn g2(c: ptr<function, u32>) {{ f(c, c); }}"),
            "var v = 1u; g2(&v);",
            "`f` gets `c` twice",
        ),
        (global, "f(&own);", "`f` gets `own` as `a` and uses `own` itself too"),
        (
            "fn f(a: ptr<private, u32>) -> u32 { own = 2u; return *a; }",
            "out[i] = f(&own);",
            "`own` itself too",
        ),
        (
            "fn g() { own = 2u; } fn f(a: ptr<private, u32>) -> u32 { g(); return *a; }",
            "out[i] = f(&own);",
            "itself too",
        ),
    ];
    for (functions, body, words) in found {
        let mut warnings = warned(functions, body);
        warnings.retain(|warning| !warning.contains(PART));
        let [warning] = &warnings[..] else { panic!("{body}: {warnings:?}") };
        assert!(warning.contains(words) && warning.contains("WGSL forbids"), "{warning}");
    }
    for (functions, body) in [
        (both, "var v = 1u; var z = 1u; f(&v, &z);"),
        (reads, "var v = 1u; out[i] = f(&v, &v);"),
        ("fn f(a: ptr<function, u32>, b: ptr<function, u32>) { *a = 1u; }", "var v = 1u; f(&v, &v);"),
        ("fn f(a: ptr<private, u32>) -> u32 { return *a + own; }", "out[i] = f(&own);"),
        ("fn f(a: ptr<function, u32>) { *a = own; }", "var v = 1u; f(&v);"),
        (both, "var v = 1u; var z = v; f(&z, &v);"),
    ] {
        assert_eq!(warned(functions, body), Vec::<String>::new(), "{body}");
    }
}

#[test]
fn barriers_that_only_some_invocations_may_reach_are_found() {
    for (functions, body) in [
        ("", "if i < 16u { workgroupBarrier(); }"),
        ("", "if i < 16u { return; } workgroupBarrier();"),
        ("", "if out[0] == 1u { storageBarrier(); }"),
        ("", "if w[0] == 1u { workgroupBarrier(); }"),
        ("", "if own == 1u { workgroupBarrier(); }"),
        ("", "if given[i] == 1u { workgroupBarrier(); }"),
        ("", "for (var j = 0u; j < i; j++) { workgroupBarrier(); }"),
        ("", "var j = 0u; loop { if j > i { break; } workgroupBarrier(); j++; }"),
        (
            "",
            "var j = 0u; loop { if j > i { continue; } workgroupBarrier(); continuing { j++; break if j > 3u; } }",
        ),
        ("", "switch i { case 1u: { workgroupBarrier(); } default: { } }"),
        ("", "var x = 1u; if i == 3u { x = 2u; } if x == 1u { workgroupBarrier(); }"),
        ("", "var x = array<u32, 4>(); x[i & 3u] = 1u; if x[0] == 1u { workgroupBarrier(); }"),
        ("", "let x = atomicLoad(&a); if x == 1u { workgroupBarrier(); }"),
        ("", "if i < 4u && workgroupUniformLoad(&w[0]) == 1u { out[0] = 1u; }"),
        ("", "out[0] = workgroupUniformLoad(&w[i]);"),
        ("", "if i == 1u { out[i] = subgroupAdd(i); }"),
        ("fn f() { workgroupBarrier(); }", "if i == 1u { f(); }"),
        ("fn f(x: u32) { if x == 1u { workgroupBarrier(); } }", "f(i);"),
        ("fn g() { workgroupBarrier(); } fn f(x: u32) { if x == 1u { g(); } }", "f(i);"),
        (
            "fn f(x: u32) -> u32 { if x == 1u { return 1u; } return 2u; }",
            "if f(i) == 1u { workgroupBarrier(); }",
        ),
        ("fn f() -> u32 { return out[0]; }", "if f() == 1u { workgroupBarrier(); }"),
        (
            "fn f(x: ptr<function, u32>) { *x = out[0]; }",
            "var x = 1u; f(&x); if x == 1u { workgroupBarrier(); }",
        ),
        ("fn f(x: ptr<function, u32>) { if *x == 1u { workgroupBarrier(); } }", "var x = i; f(&x);"),
        (
            "fn f(x: ptr<function, u32>, y: u32) { if y == 1u { *x = 2u; } }",
            "var x = 1u; f(&x, i); if x == 1u { workgroupBarrier(); }",
        ),
    ] {
        let functions = format!("{functions} var<workgroup> a: atomic<u32>;");
        let found = warned(&functions, body);
        assert_eq!(found.len(), 1, "{functions} {body}: {found:?}");
        assert!(found[0].contains("must be reached by all invocations"), "{}", found[0]);
    }
}

#[test]
fn barriers_that_all_invocations_reach_are_not_found() {
    for (functions, body) in [
        ("", "if g.x < n.x { workgroupBarrier(); }"),
        ("", "if p.x == 1u || given[g.x] == 2u { workgroupBarrier(); }"),
        ("", "if arrayLength(&out) > 3u { workgroupBarrier(); }"),
        ("", "if i < 16u { out[i] = 1u; } workgroupBarrier();"),
        ("", "if i < 16u { out[i] = 1u; } else { out[i] = 2u; } workgroupBarrier();"),
        (
            "",
            "for (var j = 0u; j < p.x; j++) { workgroupBarrier(); if i > j { out[j] = 1u; } workgroupBarrier(); }",
        ),
        ("", "var s = 32u; while s > 0u { if i < s { w[i] += w[i + s]; } workgroupBarrier(); s >>= 1u; }"),
        ("", "for (var j = 0u; j < i; j++) { out[j] = 1u; if out[j] == 9u { break; } } workgroupBarrier();"),
        (
            "",
            "switch i { case 1u: { out[0] = 1u; } case 2u: { if out[1] == 1u { break; } out[0] = 2u; } default: { } } workgroupBarrier();",
        ),
        ("", "if p.x == 1u { return; } workgroupBarrier();"),
        ("", "if workgroupUniformLoad(&w[0]) == 1u { workgroupBarrier(); }"),
        ("", "loop { workgroupBarrier(); let stop = workgroupUniformLoad(&w[1]); if stop == 1u { break; } }"),
        ("", "var x = i; x = p.x; if x == 1u { workgroupBarrier(); }"),
        ("", "out[i] = subgroupAdd(i);"),
        (
            "fn f(x: u32) -> u32 { if x == 1u { return 1u; } return 2u; }",
            "out[i] = f(i); workgroupBarrier();",
        ),
        (
            "fn f(x: u32) -> u32 { if x == 1u { return 1u; } return 2u; }",
            "if f(p.x) == 1u { workgroupBarrier(); }",
        ),
        ("fn f(x: u32, y: u32) { out[y] = x; if x == 1u { workgroupBarrier(); } }", "f(p.x, i);"),
        ("fn f(x: ptr<function, u32>) { *x = p.x; }", "var x = i; f(&x); if x == 1u { workgroupBarrier(); }"),
        ("fn never(i: u32) { if i == 1u { workgroupBarrier(); } }", "out[i] = 1u;"),
        ("fn f(ids: Ids) -> u32 { return ids.group.x; }", "if f(Ids(g, 1u)) == 2u { workgroupBarrier(); }"),
    ] {
        assert_eq!(warned(functions, body), Vec::<String>::new(), "{functions} {body}");
    }
}

#[test]
fn the_built_in_values_of_a_struct_are_known_apart() {
    let text = |condition: &str| {
        let text = format!(
            "{HEAD}\n@compute @workgroup_size(64) fn k(ids: Ids) {{ if {condition} {{ workgroupBarrier(); }} }}"
        );
        let module = Module::parse(&ShaderSource::text("k.wgsl", text)).unwrap();
        module.arguments("k").unwrap().warnings.len()
    };
    assert_eq!((text("ids.group.x == 1u"), text("ids.lane == 1u")), (0, 1));
}

#[test]
fn a_message_names_the_operation_its_place_and_what_differs() {
    let found = warned("fn f() {\n storageBarrier(); }", "if out[1] == 2u { f(); }");
    let wanted = "k.wgsl:11:19: `f` calls `storageBarrier`, which must be reached by all invocations of a workgroup, and \
                  `out[1]` in line 11 may differ between them: ";
    assert!(found[0].starts_with(wanted), "{}", found[0]);
}

#[test]
fn operations_of_subgroups_need_the_directive_and_another_directive_allows_them_anywhere() {
    let warnings = |directives: &str| {
        let text = format!(
            "{directives} @group(0) @binding(0) var<storage, read_write> out: array<u32>;
            @compute @workgroup_size(64) fn k(@builtin(local_invocation_index) i: u32) {{ if i == 1u {{ out[0] = subgroupAdd(i); }} }}"
        );
        let module =
            Module::parse(&ShaderSource::text("k.wgsl", text)).unwrap_or_else(|error| panic!("{error}"));
        module
            .arguments("k")
            .unwrap()
            .warnings
            .iter()
            .map(|warning| warning.message.clone())
            .collect::<Vec<_>>()
    };
    assert!(warnings("")[0].contains("need `enable subgroups;`") && warnings("").len() == 2);
    assert_eq!(warnings("enable subgroups;").len(), 1);
    assert_eq!(warnings("enable subgroups; diagnostic(off, subgroup_uniformity);"), Vec::<String>::new());
}

#[test]
fn no_shader_and_no_snippet_of_the_library_has_a_warning() {
    for (name, _) in fencepost_kernels::builtins() {
        let module = Module::parse(&ShaderSource::builtin(name).unwrap()).unwrap();
        for entry in module.entries() {
            assert_eq!(module.arguments(entry).unwrap().warnings, [], "{name}");
        }
    }
}
