//! Tests that interfaces are read from WGSL.

use fencepost_kernels::{Access, Interface, Layout, Module, ShaderSource};

fn parse(wgsl: &'static str) -> Module {
    Module::parse(&ShaderSource::text("test.wgsl", wgsl)).unwrap_or_else(|error| panic!("{error}"))
}

fn interface(wgsl: &'static str, entry: &str) -> Interface {
    parse(wgsl).interface(entry, &[]).unwrap()
}

fn fails(wgsl: &'static str) -> String {
    let module = Module::parse(&ShaderSource::text("test.wgsl", wgsl));
    module.and_then(|module| module.interface("k", &[])).unwrap_err().to_string()
}

const HELPERS: &str = "
    @group(0) @binding(3) var<storage, read_write> both: array<u32>;
    @group(0) @binding(1) var<storage, read_write> written: array<u32>;
    @group(0) @binding(2) var<storage, read> seen: array<u32>;
    @group(0) @binding(4) var<storage, read_write> count: atomic<u32>;
    @group(0) @binding(5) var<storage, read_write> untouched: array<f32>;
    @group(0) @binding(6) var<storage, read_write> measured: array<f32>;
    fn store(i: u32, v: u32) { written[i] = v; }
    fn load(i: u32) -> u32 { return seen[i] + arrayLength(&measured); }
    fn outer(i: u32) { store(i, load(i)); both[i] += 1u; }
    @compute @workgroup_size(8, 4) fn k(@builtin(global_invocation_id) gid: vec3<u32>) {
        outer(gid.x);
        atomicAdd(&count, 1u);
    }
    @compute @workgroup_size(1) fn reader(@builtin(global_invocation_id) gid: vec3<u32>) {
        both[gid.x] = written[gid.x];
    }";

#[test]
fn the_access_includes_that_of_the_called_functions() {
    let found = interface(HELPERS, "k");
    let used: Vec<_> = found.bindings.iter().map(|b| (b.name.as_str(), b.index, b.used)).collect();
    assert_eq!(
        used,
        [
            ("written", 1, Some(Access::Write)),
            ("seen", 2, Some(Access::Read)),
            ("both", 3, Some(Access::ReadWrite)),
            ("count", 4, Some(Access::ReadWrite)),
            ("untouched", 5, None),
            ("measured", 6, None),
        ]
    );
    assert_eq!(found.workgroup, [8, 4, 1]);
}

#[test]
fn another_entry_point_has_its_own_access_and_bindings() {
    let found = interface(HELPERS, "reader");
    let used: Vec<_> = found.bindings.iter().map(|b| (b.name.as_str(), b.declared, b.used)).collect();
    assert_eq!(
        used,
        [
            ("written", Access::ReadWrite, Some(Access::Read)),
            ("both", Access::ReadWrite, Some(Access::Write)),
            ("untouched", Access::ReadWrite, None),
        ]
    );
}

/// Describes each number: its path, its offset, and the length and stride of each dimension.
fn told(layout: Option<&Layout<'_>>) -> String {
    let Some(layout) = layout else { return "none".into() };
    let leaf = |leaf: &fencepost_kernels::Leaf<'_>| {
        let dims: String = leaf.dims.iter().map(|dim| format!("{}*{} ", dim.len, dim.stride)).collect();
        format!("{} {} {dims}{}", leaf.path, leaf.offset, leaf.scalar.name()).trim_start().to_string()
    };
    layout.leaves.iter().map(leaf).collect::<Vec<_>>().join(", ")
}

#[test]
fn nested_structs_arrays_and_matrices_are_listed_number_by_number() {
    let found = interface(
        "struct Inner { a: vec2<f32>, b: array<u32, 3> }
         struct Outer { flags: u32, inner: Inner, many: array<Inner, 2>, turn: mat3x3<f32>, tall: mat2x4<f32> }
         @group(0) @binding(0) var<storage> outers: array<Outer>;
         @compute @workgroup_size(1) fn k() {}",
        "k",
    );
    assert_eq!(
        told(found.bindings[0].layout.as_ref()),
        "flags 0 u32, inner.a 8 2*4 f32, inner.b 16 3*4 u32, many.a 32 2*24 2*4 f32, many.b 40 2*24 3*4 u32, \
         turn 80 3*16 3*4 f32, tall 128 2*16 4*4 f32"
    );
}

#[test]
fn elements_strides_and_sizes_follow_wgsl() {
    let found = interface(
        "struct Cell { at: vec3<f32>, id: u32, more: f32 }
         struct Tail { count: u32, rest: array<u32> }
         @group(0) @binding(0) var<storage> scalars: array<u32>;
         @group(0) @binding(1) var<storage> quads: array<vec4<f32>, 5>;
         @group(0) @binding(2) var<storage> threes: array<vec3<f32>>;
         @group(0) @binding(3) var<storage> cells: array<Cell>;
         @group(0) @binding(4) var<storage> tail: Tail;
         @group(0) @binding(5) var<storage, read_write> bins: array<atomic<i32>, 4>;
         @group(0) @binding(6) var<storage> matrices: array<mat2x2<f32>>;
         @compute @workgroup_size(1) fn k() {}",
        "k",
    );
    let shape = |at: usize| {
        let b = &found.bindings[at];
        (b.element.as_str(), told(b.layout.as_ref()), b.stride, b.min_size, b.runtime_sized)
    };
    assert_eq!(shape(0), ("u32", "0 u32".into(), 4, 4, true));
    assert_eq!(shape(1), ("vec4<f32>", "0 4*4 f32".into(), 16, 80, false));
    assert_eq!(shape(2), ("vec3<f32>", "0 3*4 f32".into(), 16, 16, true));
    assert_eq!(shape(3), ("Cell", "at 0 3*4 f32, id 12 u32, more 16 f32".into(), 32, 32, true));
    assert_eq!(shape(4), ("Tail", "none".into(), 8, 8, true));
    assert_eq!(shape(5), ("atomic<i32>", "0 i32".into(), 4, 16, false));
    assert_eq!(shape(6), ("mat2x2<f32>", "0 2*8 2*4 f32".into(), 16, 16, true));
    assert_eq!(found.bindings[5].text, "array<atomic<i32>, 4>");
}

#[test]
fn params_have_wgsl_offsets() {
    let found = interface(
        "struct Params { n: u32, scale: vec4<f32>, small: f32, pair: vec2<i32>, three: vec3<f32> }
         @group(0) @binding(7) var<uniform> params: Params;
         @compute @workgroup_size(1) fn k() { _ = params.n; }",
        "k",
    );
    let params = found.params.unwrap();
    let layout: Vec<_> =
        params.fields.iter().map(|f| (f.name.as_str(), f.offset, f.size, f.text.as_str())).collect();
    assert_eq!(
        layout,
        [
            ("n", 0, 4, "u32"),
            ("scale", 16, 16, "vec4<f32>"),
            ("small", 32, 4, "f32"),
            ("pair", 40, 8, "vec2<i32>"),
            ("three", 48, 12, "vec3<f32>"),
        ]
    );
    assert_eq!((params.index, params.size), (7, 64));
    let told: Vec<_> = params.fields.iter().map(|field| told(field.layout.as_ref())).collect();
    assert_eq!(told, ["0 u32", "0 4*4 f32", "0 f32", "0 2*4 i32", "0 3*4 f32"]);
}

const SIZES: &str = "
    override WIDTH: u32 = 8;
    override HALF: u32 = (WIDTH + 1u) / 2u;
    const ROWS = 3u;
    override SCALE: f32 = 1.5;
    var<workgroup> tile: array<f32, WIDTH>;
    @compute @workgroup_size(WIDTH * 2u, HALF, ROWS) fn k() { tile[0] = SCALE; }";

#[test]
fn workgroup_size_follows_overrides_and_arithmetic_on_them() {
    let module = parse(SIZES);
    assert_eq!(module.interface("k", &[]).unwrap().workgroup, [16, 4, 3]);
    assert_eq!(module.interface("k", &[("WIDTH", 32.0)]).unwrap().workgroup, [64, 16, 3]);
    assert_eq!(module.interface("k", &[("HALF", 1.0)]).unwrap().workgroup, [16, 1, 3]);
}

#[test]
fn workgroup_memory_counts_the_variables_that_the_entry_point_uses() {
    let wgsl = "
        override N: u32 = 3u;
        var<workgroup> sums: array<u32, 2 * N>;
        var<workgroup> last: u32;
        var<workgroup> of_another: array<u32, 1000>;
        fn helper() { sums[1] = 1u; }
        @compute @workgroup_size(1) fn k() { helper(); last = sums[0]; }
        @compute @workgroup_size(1) fn other() { of_another[0] = 1u; }";
    let bytes = |entry, overrides: &[_]| parse(wgsl).interface(entry, overrides).unwrap().workgroup_memory;
    assert_eq!(bytes("k", &[]), 32 + 16);
    assert_eq!(bytes("k", &[("N", 100.0)]), 800 + 16);
    assert_eq!(bytes("other", &[]), 4000);
}

#[test]
fn overrides_are_listed_with_type_and_default() {
    let found = interface(SIZES, "k");
    let listed: Vec<_> =
        found.overrides.iter().map(|o| (o.name.as_str(), o.text.as_str(), o.default)).collect();
    assert_eq!(
        listed,
        [("WIDTH", "u32", Some(8.0)), ("HALF", "u32", Some(4.0)), ("SCALE", "f32", Some(1.5))]
    );
}

#[test]
fn wrong_overrides_are_errors_that_name_the_valid_ones() {
    let fails = |overrides: &[(&str, f64)]| parse(SIZES).interface("k", overrides).unwrap_err().to_string();
    assert_eq!(
        fails(&[("WITDH", 1.0)]),
        "kernel `k` has no override `WITDH`; it has `WIDTH`, `HALF`, `SCALE`"
    );
    assert_eq!(
        fails(&[("WIDTH", 1.5)]),
        "kernel `k`, override `WIDTH`: 1.5 is not a value of u32, which has whole numbers from 0 to 4294967295"
    );
    assert_eq!(
        fails(&[("WIDTH", -1.0)]),
        "kernel `k`, override `WIDTH`: -1 is not a value of u32, which has whole numbers from 0 to 4294967295"
    );
    assert_eq!(
        fails(&[("SCALE", 1e300)]),
        "kernel `k`, override `SCALE`: 1e300 is not a value of f32, which has numbers from -3.4028234663852886e38 to \
         3.4028234663852886e38"
    );
    assert_eq!(fails(&[("SCALE", f64::NAN)]), "kernel `k`, override `SCALE`: NaN is not a finite number");
    assert_eq!(
        fails(&[("WIDTH", 0.0)]),
        "kernel `k`: workgroup size along axis 0 is 0, it must be at least 1"
    );
}

#[test]
fn an_override_of_type_f16_has_the_range_of_f16() {
    let module = parse("enable f16; override H = 1.0h; @compute @workgroup_size(1) fn k() { _ = H; }");
    assert!(module.interface("k", &[("H", -65504.0)]).is_ok());
    assert_eq!(
        module.interface("k", &[("H", 65505.0)]).unwrap_err().to_string(),
        "kernel `k`, override `H`: 65505 is not a value of f16, which has numbers from -65504 to 65504"
    );
}

#[test]
fn the_error_of_a_late_directive_names_the_main_file() {
    let main = "//#use \"b.wgsl\"\n@compute @workgroup_size(1) fn k() {}";
    let source = ShaderSource::text("a.wgsl", main).with_file("b.wgsl", "enable f16;\nconst b = 1h;");
    let error = Module::parse(&source).unwrap_err().to_string();
    assert!(
        error.starts_with(
            "b.wgsl:1:1: a directive must come before all declarations, so only the main file can have it: move this line \
             to the beginning of `a.wgsl`\n"
        ),
        "{error}"
    );
}

#[test]
fn an_override_without_default_needs_a_value() {
    let module = parse("override N: u32; @compute @workgroup_size(N) fn k() {}");
    let error = module.interface("k", &[]).unwrap_err().to_string();
    assert_eq!(error, "kernel `k`, override `N`: has no default and was given no value");
    assert_eq!(module.interface("k", &[("N", 5.0)]).unwrap().workgroup, [5, 1, 1]);
}

#[test]
fn the_error_of_an_unknown_entry_lists_the_known_entries() {
    let error = parse(HELPERS).interface("main", &[]).unwrap_err().to_string();
    assert_eq!(error, "test.wgsl has no compute entry point `main`; it has `k`, `reader`");
}

#[test]
fn an_unsupported_variable_is_refused_by_name() {
    assert_eq!(
        fails("@group(1) @binding(0) var<storage> x: array<u32>; @compute @workgroup_size(1) fn k() {}"),
        "test.wgsl, `x`: arguments are in `@group(0)`, no other"
    );
    assert_eq!(
        fails("@group(0) @binding(0) var image: texture_2d<f32>; @compute @workgroup_size(1) fn k() {}"),
        "test.wgsl, `image`: textures, samplers and acceleration structures cannot be arguments"
    );
    assert_eq!(
        fails(
            "struct P { n: u32 }
             @group(0) @binding(0) var<uniform> a: P; @group(0) @binding(1) var<uniform> b: P;
             @compute @workgroup_size(1) fn k() { _ = a.n + b.n; }"
        ),
        "test.wgsl, `b`: a kernel has one uniform block; put all values into it"
    );
}

#[test]
fn syntax_errors_show_file_line_column_and_the_line() {
    insta::assert_snapshot!(fails("\n@compute @workgroup_size(1) fn k() {\n    let a = ;\n}"));
}

#[test]
fn type_errors_show_file_line_column_and_the_line() {
    insta::assert_snapshot!(fails("@compute @workgroup_size(1)\nfn k() {\n    var a: u32 = 1.5;\n}"));
}

#[test]
fn validation_errors_show_file_line_column_and_the_line() {
    insta::assert_snapshot!(fails(
        "@group(0) @binding(0) var<storage, read> x: array<u32>;\n@compute @workgroup_size(1)\nfn k() {\n    x[0] = 1u;\n}"
    ));
}

#[test]
fn needs_lists_exactly_the_features_that_the_module_uses() {
    let needs = |wgsl| interface(wgsl, "k").needs;
    let plain = needs("@compute @workgroup_size(1) fn k() {}");
    assert_eq!(plain, fencepost_kernels::Needs::default());
    let half = needs("enable f16; @compute @workgroup_size(1) fn k() { var a = 1.0h; a += 1h; }");
    assert!(half.f16 && !half.f64 && !half.int64 && !half.subgroups && !half.float32_atomics);
    let double = needs("@compute @workgroup_size(1) fn k() { var a = 1.0lf; a += 1.0lf; }");
    assert!(double.f64 && !double.f16);
    let long = needs("@compute @workgroup_size(1) fn k() { var a = 1lu; a += 1lu; }");
    assert!(long.int64 && !long.f64);
    let subgroup = needs("@compute @workgroup_size(1) fn k() { var a = subgroupAdd(1u); a += 1u; }");
    assert!(subgroup.subgroups && !subgroup.int64);
    let atomic = needs(
        "@group(0) @binding(0) var<storage, read_write> x: atomic<f32>;
         @compute @workgroup_size(1) fn k() { atomicAdd(&x, 1.0); }",
    );
    assert!(atomic.float32_atomics && !atomic.subgroups);
}

#[test]
fn an_immediate_variable_is_the_block_of_parameters_at_a_free_binding() {
    let module = parse(
        "struct A { n: u32 } struct B { f: f32 }
         @group(0) @binding(0) var<storage, read_write> x: array<u32>;
         @group(0) @binding(2) var<storage, read_write> y: array<f32>;
         var<immediate> first: A;
         var<immediate> second: B;
         @compute @workgroup_size(1) fn k() { x[0] = first.n; }
         @compute @workgroup_size(1) fn l() { y[0] = second.f; }",
    );
    for (entry, name) in [("k", "first"), ("l", "second")] {
        let params = module.interface(entry, &[]).unwrap().params.unwrap();
        assert_eq!((params.name.as_str(), params.index, params.size), (name, 1, 4), "{entry}");
        let moved = module.entry(entry, &[]).and_then(|entry| entry.with_immediates()).unwrap();
        let immediate =
            moved.global_variables.iter().filter(|(_, v)| v.space == naga::AddressSpace::Immediate);
        assert_eq!(immediate.map(|(_, v)| v.name.clone().unwrap()).collect::<Vec<_>>(), [name], "{entry}");
    }
}

#[test]
fn a_block_that_is_no_struct_is_its_one_field() {
    for block in ["@group(0) @binding(0) var<uniform>", "var<immediate>"] {
        let wgsl = format!("{block} size: vec3<u32>; @compute @workgroup_size(1) fn k() {{ _ = size.x; }}");
        let module = Module::parse(&ShaderSource::text("test.wgsl", wgsl)).unwrap();
        let params = module.interface("k", &[]).unwrap().params.unwrap();
        assert_eq!((params.name.as_str(), params.index, params.size), ("size", 0, 12), "{block}");
        let [field] = &params.fields[..] else { panic!("one field") };
        assert_eq!(
            (field.name.as_str(), field.text.as_str(), field.offset, field.size),
            ("size", "vec3<u32>", 0, 12)
        );
        module
            .entry("k", &[])
            .and_then(|entry| entry.with_immediates())
            .expect("a device may get the block as immediates");
    }
}

#[test]
fn a_text_may_enable_subgroups_as_wgsl_demands() {
    let module = parse(
        "enable subgroups; @group(0) @binding(0) var<storage, read_write> x: array<u32>;
         @compute @workgroup_size(4) fn k() { x[0] = subgroupAdd(x[1]); }",
    );
    assert!(module.interface("k", &[]).unwrap().needs.subgroups);
}

#[test]
fn a_block_of_immediates_may_be_larger_than_those_of_any_device() {
    let module = parse(
        "var<immediate> p: array<vec4<u32>, 17>;
         @compute @workgroup_size(1) fn k() { _ = p[16].y; }",
    );
    assert_eq!(module.interface("k", &[]).unwrap().params.unwrap().size, 272);
    assert!(
        module.entry("k", &[]).and_then(|entry| entry.with_immediates()).is_err(),
        "the values stay a uniform block"
    );
}

#[test]
fn a_block_that_no_entry_point_mentions_leaves_the_other_the_values() {
    let module = parse(
        "var<immediate> s: u32; var<immediate> t: vec4<f32>;
         @compute @workgroup_size(1) fn k() { _ = s; }",
    );
    assert_eq!(module.interface("k", &[]).unwrap().params.unwrap().name, "s");
}

#[test]
fn a_kernel_has_one_block_of_parameters() {
    let both = fails(
        "struct A { n: u32 } var<immediate> direct: A; @group(0) @binding(0) var<uniform> params: A;
         @compute @workgroup_size(1) fn k() { _ = direct.n + params.n; }",
    );
    assert!(both.contains("one uniform block"), "{both}");
    let two = fails(
        "struct A { n: u32 } var<immediate> direct: A; var<immediate> other: A;
         @compute @workgroup_size(1) fn k() { _ = direct.n + other.n; }",
    );
    assert!(two.contains("more than one `var<immediate>`"), "{two}");
}

#[test]
fn a_block_moved_to_immediates_keeps_its_struct_and_loses_its_binding() {
    let module = parse(
        "struct A { n: u32 }
         @group(0) @binding(0) var<uniform> params: A;
         @compute @workgroup_size(1) fn k() { _ = params.n; }",
    );
    let moved = module.entry("k", &[]).and_then(|entry| entry.with_immediates()).unwrap();
    let (_, variable) = moved.global_variables.iter().next().unwrap();
    assert_eq!((variable.space, &variable.binding), (naga::AddressSpace::Immediate, &None));
    assert!(matches!(moved.types[variable.ty].inner, naga::TypeInner::Struct { .. }));
    assert!(module.entry("main", &[]).and_then(|entry| entry.with_immediates()).is_err());
}

#[test]
fn each_entry_point_moves_its_own_block_to_immediates() {
    let module = parse(
        "struct A { n: u32 } struct B { f: f32 }
         @group(0) @binding(0) var<uniform> first: A;
         @group(0) @binding(0) var<uniform> second: B;
         @compute @workgroup_size(1) fn k() { _ = first.n; }
         @compute @workgroup_size(1) fn l() { _ = second.f; }",
    );
    assert_eq!(module.interface("k", &[]).unwrap().params.unwrap().name, "first");
    assert_eq!(module.interface("l", &[]).unwrap().params.unwrap().name, "second");
    let moved = module.entry("l", &[]).and_then(|entry| entry.with_immediates()).unwrap();
    let spaces: Vec<_> =
        moved.global_variables.iter().map(|(_, v)| (v.name.as_deref().unwrap(), v.space)).collect();
    assert_eq!(
        spaces,
        [("second", naga::AddressSpace::Immediate)],
        "the other entry point's block is not there"
    );
}

#[test]
fn a_block_with_f16_cannot_be_immediate() {
    let module = parse(
        "enable f16; struct A { n: f16 }
         @group(0) @binding(0) var<uniform> params: A;
         @compute @workgroup_size(1) fn k() { _ = params.n; }",
    );
    assert!(module.entry("k", &[]).and_then(|entry| entry.with_immediates()).is_err());
}

#[test]
fn damaged_shaders_are_errors_or_valid_but_never_panics() {
    let mut refused = 0;
    for (name, text) in fencepost_kernels::builtins() {
        for (at, _) in text.char_indices().step_by(11) {
            let parsed = Module::parse(&ShaderSource::text(*name, text[..at].to_string()));
            refused += usize::from(parsed.is_err());
        }
        let lines: Vec<_> = text.lines().collect();
        for gone in 0..lines.len() {
            let damaged = [&lines[..gone], &lines[gone + 1..]].concat().join("\n");
            if let Ok(module) = Module::parse(&ShaderSource::text(*name, damaged)) {
                let entries: Vec<_> = module.entries().collect();
                entries.iter().for_each(|entry| drop(module.interface(entry, &[])));
            }
        }
    }
    assert!(refused > 100, "most of the truncated shaders are wrong, {refused} were refused");
}

#[test]
fn a_grid_folds_only_if_the_position_goes_to_linear_id_alone() {
    let folds = |overrides: &[(&str, f64)], head: &str, body: &str, size: &str| {
        let text = format!(
            "//#use linear\n{head}\n@group(0) @binding(0) var<storage, read_write> x: array<u32>;
            @compute @workgroup_size({size})
            fn k(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {{ {body} }}"
        );
        Module::parse(&ShaderSource::text("k.wgsl", text)).unwrap().interface("k", overrides).unwrap().folds
    };
    let call = |width: &str| format!("x[linear_id(id, groups, {width})] = 1u;");
    assert!(folds(&[], "", &call("64u"), "64"));
    assert!(!folds(&[], "", &call("64u"), "32"), "another width");
    assert!(folds(&[], "const W = 32u;", &call("W"), "W"));
    assert!(folds(&[("W", 16.0)], "override W = 64u;", &call("W"), "W"));
    assert!(!folds(&[], "override W = 64u; override V = 64u;", &call("V"), "W"), "another override");
    assert!(
        !folds(&[], "", "for (var i = id.x; i < 100u; i += groups.x * 64u) { x[i] += 1u; }", "64"),
        "no call"
    );
    let helper = "fn at(id: vec3<u32>, groups: vec3<u32>) -> u32 { return linear_id(id, groups, 64u); }";
    let called = "if arrayLength(&x) > 0u { x[at(id, groups)] = 1u; }";
    assert!(folds(&[], helper, called, "64"), "through a function");
    let helper =
        "fn at(id: vec3<u32>, groups: vec3<u32>) -> u32 { return linear_id(id, groups, 64u) + id.y; }";
    assert!(!folds(&[], helper, called, "64"), "a function uses the place besides");
    for besides in [
        "x[id.x] += 1u;",
        "for (var i = linear_id(id, groups, 64u); i < 9u; i += groups.x * 64u) { x[i] += 1u; }",
        "var place = id; x[place.x] = 1u;",
        "x[linear_id(groups, id, 64u)] = 1u;",
        "x[linear_id(id + vec3(1u), groups, 64u)] = 1u;",
        "x[linear_id(vec3(1u), groups, 64u)] = 1u;",
    ] {
        assert!(!folds(&[], "", &(call("64u") + besides), "64"), "{besides}");
    }
}

#[test]
fn a_grid_does_not_fold_for_another_linear_id_or_for_workgroup_id() {
    let folds = |function: &str, arguments: &str| {
        let text = format!(
            "{function}\n@group(0) @binding(0) var<storage, read_write> x: array<u32>;
            @compute @workgroup_size(64)
            fn k({arguments} @builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>)
            {{ x[linear_id(id, groups, 64u)] = 1u; }}"
        );
        Module::parse(&ShaderSource::text("k.wgsl", text)).unwrap().interface("k", &[]).unwrap().folds
    };
    let own = |body: &str| {
        format!("fn linear_id(id: vec3<u32>, groups: vec3<u32>, width: u32) -> u32 {{ return {body}; }}")
    };
    assert!(folds("//#use linear", "@builtin(local_invocation_index) here: u32,"));
    assert!(folds(&own("(id.z * groups.y + id.y) * (groups.x * width) + id.x"), ""), "the same code");
    assert!(!folds(&own("id.x"), ""));
    assert!(!folds(&own("(id.z * groups.y + id.x) * (groups.x * width) + id.y"), ""));
    assert!(!folds("//#use linear", "@builtin(workgroup_id) group: vec3<u32>,"));
}
