//! Every built-in shader is valid alone, with the interface that its users rely on.

use fencepost_kernels::{DType, Module, Needs, Scalar, ShaderSource, builtins};

fn stem(name: &str) -> &str {
    name.strip_suffix(".wgsl").expect("a shader's name ends in .wgsl")
}

#[test]
fn every_builtin_validates_alone_and_its_entry_is_its_stem() {
    for (name, _) in builtins() {
        let module =
            Module::parse(&ShaderSource::builtin(name).unwrap()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(module.entries().collect::<Vec<_>>(), [stem(name)]);
    }
}

#[test]
fn every_builtin_has_the_interface_of_its_snapshot() {
    for (name, _) in builtins() {
        let module = Module::parse(&ShaderSource::builtin(name).unwrap()).unwrap();
        let interface = module.interface(stem(name), &[]).unwrap();
        insta::assert_debug_snapshot!(stem(name), interface);
    }
}

#[test]
fn every_builtin_with_an_alias_is_valid_for_all_its_types() {
    let mut found = 0;
    // A kernel whose elements are indices has an alias for its snippets, with only one type.
    let is_typed =
        |(name, text): &&(&str, &str)| text.contains("\nalias T = ") && *name != "arg_segments.wgsl";
    for (name, text) in builtins().iter().filter(is_typed) {
        assert!(text.contains("// f32 | i32 | u32"), "{name} does not list its types");
        found += 1;
        for scalar in [Scalar::F32, Scalar::I32, Scalar::U32] {
            let source = ShaderSource::builtin(name).unwrap().with_type("T", DType::Scalar(scalar)).unwrap();
            let module =
                Module::parse(&source).unwrap_or_else(|error| panic!("{name} with {scalar:?}: {error}"));
            let interface = module.interface(stem(name), &[]).unwrap();
            let elements: Vec<&str> = interface.bindings.iter().map(|b| &*b.element).collect();
            assert!(elements.contains(&scalar.name()), "{name} has no array of {scalar:?}");
            // Keys, indices, states and groups of elements are words for every type.
            let groups = ["vec4<u64>", "mat4x4<f32>"];
            let is_typed =
                |element: &&str| [scalar.name(), "u32"].contains(element) || groups.contains(element);
            assert!(elements.iter().all(is_typed), "{name}");
            let without = ShaderSource::builtin(name).unwrap().reference().is_none();
            assert_eq!(source.reference().is_none(), without, "the reference of {name} for {scalar:?}");
        }
    }
    assert_eq!(
        found, 22,
        "add, fill, inner_product, iota, saxpy, seven of reductions, two of scans, two of verbs by key, two of filters and four of \
         sparse matrices"
    );
}

#[test]
fn the_products_of_matrices_are_valid_for_all_their_types() {
    use Scalar::{F16, F32, I32, U32};
    let of_types = [[F32; 3], [I32; 3], [U32; 3], [F16, F32, F16], [F16, F32, F32]];
    for name in [
        "convolve_channels.wgsl",
        "matmul_columns.wgsl",
        "matmul_rows.wgsl",
        "matmul_sums.wgsl",
        "matmul_tiles.wgsl",
    ] {
        for types in of_types {
            let aliases = ["Factor", "Number", "Product"].into_iter().zip(types);
            let mut source = ShaderSource::builtin(name).unwrap();
            for (alias, scalar) in aliases.skip(usize::from(name == "matmul_sums.wgsl")) {
                source = source.with_type(alias, DType::Scalar(scalar)).unwrap();
            }
            let module =
                Module::parse(&source).unwrap_or_else(|error| panic!("{name} with {types:?}: {error}"));
            let interface = module.interface(stem(name), &[]).unwrap();
            let results = interface.bindings.last().expect("it has results");
            assert_eq!((&*results.name, &*results.element), ("out", types[2].name()), "{name}");
            let has_halves = types.contains(&F16) && (name != "matmul_sums.wgsl" || types[2] == F16);
            assert_eq!(
                interface.needs,
                Needs { f16: has_halves, ..Needs::default() },
                "{name} with {types:?}"
            );
        }
    }
}

#[test]
fn transforms_of_long_lines_have_their_tiles_in_an_array() {
    for name in ["fft.wgsl", "fft_in_place.wgsl", "fft_real.wgsl", "fft_to_real.wgsl"] {
        let source = ShaderSource::builtin(name).unwrap();
        let long = source.clone().with_snippet("fft_memory", "fft_long");
        let [usual, long] = [source, long].map(|source| {
            let module = Module::parse(&source).unwrap_or_else(|error| panic!("{name}: {error}"));
            module.interface(stem(name), &[]).unwrap()
        });
        assert!(usual.workgroup_memory > 0 && long.workgroup_memory == 0, "{name}");
        let names = |interface: &fencepost_kernels::Interface| {
            interface.bindings.iter().map(|binding| binding.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(names(&long), [names(&usual), vec!["tiles".into()]].concat());
    }
}

#[test]
fn every_builtin_runs_on_any_device_and_with_immediates() {
    for (name, _) in builtins() {
        let module = Module::parse(&ShaderSource::builtin(name).unwrap()).unwrap();
        let entry = module.entry(stem(name), &[]).unwrap();
        let interface = entry.interface();
        assert_eq!(interface.needs, Needs::default(), "{name}");
        let moved = entry.with_immediates().unwrap();
        let immediates =
            moved.global_variables.iter().filter(|(_, v)| v.space == naga::AddressSpace::Immediate);
        assert_eq!(immediates.count(), usize::from(interface.params.is_some()), "{name}");
    }
}

#[test]
fn every_shader_has_a_complete_header() {
    for (name, text) in builtins() {
        assert!(text.starts_with(&format!("// {}: ", stem(name))), "{name}");
        for heading in ["// Shape ", "// Dispatch ", "// Workgroup ", "// Barriers ", "// Tolerance "] {
            assert!(text.contains(heading), "{name} has no line `{heading}`");
        }
    }
}
