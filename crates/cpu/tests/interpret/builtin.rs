//! The built-in shaders against their references.

use crate::harness::prepare_source;
use fencepost_kernels::{
    DType, HostBuffer, HostKernel, Module, Scalar, ShaderSource, builtins, reference_of,
};

/// Returns bytes of random words. Floats are small numbers.
fn random(random: &mut fastrand::Rng, dtype: Option<Scalar>, words: usize) -> Vec<u8> {
    let float = dtype.is_none_or(|dtype| dtype == Scalar::F32);
    let word = |random: &mut fastrand::Rng| {
        if float { (random.i32(-99..99) as f32 * 0.25).to_bits() } else { random.u32(..) }
    };
    (0..words).flat_map(|_| word(random).to_le_bytes()).collect()
}

/// Compares a shader with its reference on random inputs.
fn agrees(source: &ShaderSource, reference: &dyn HostKernel, dtype: Option<Scalar>, seed: u64) {
    let module = Module::parse(source).unwrap();
    let entry = module.entries().next().unwrap().to_owned();
    let interface = module.interface(&entry, &[]).unwrap();
    let kernel = prepare_source(source, &[]).unwrap_or_else(|error| panic!("{error}"));
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut params = random(&mut rng, dtype, interface.params.as_ref().map_or(0, |p| p.size as usize / 4));
    let numbers: &[u32] = match &*entry {
        "spin" => &[20],
        "blake3_chunks" => &[2900, 7, 8, 0],
        "blake3_parents" => &[19, 0],
        _ => &[],
    };
    params[..4 * numbers.len()].copy_from_slice(bytemuck::cast_slice(numbers));
    let inputs: Vec<Vec<u8>> = interface.bindings.iter().map(|_| random(&mut rng, dtype, 768)).collect();
    let mut results = Vec::new();
    for kernel in [&kernel as &dyn HostKernel, reference] {
        let mut bytes = inputs.clone();
        let mut buffers: Vec<HostBuffer<'_>> = Vec::new();
        for (bytes, binding) in bytes.iter_mut().zip(&interface.bindings) {
            let writes = binding.declared.writes();
            buffers.push(if writes { HostBuffer::Write(bytes) } else { HostBuffer::Read(bytes) });
        }
        kernel.run([4, 1, 1], interface.workgroup, &params, &mut buffers);
        results.push(bytes);
    }
    assert!(results[0] == results[1], "{entry} differs from its reference");
    assert!(results[0] != inputs, "{entry} writes nothing");
}

/// The shaders of the algorithms have no reference: their conformance cases compare them with host functions.
#[test]
fn every_built_in_shader_computes_what_its_reference_computes() {
    for (seed, (name, _)) in builtins().iter().enumerate() {
        let source = ShaderSource::builtin(name).unwrap();
        let Some(reference) = source.reference() else { continue };
        let dtype = (!["add.wgsl", "saxpy.wgsl"].contains(name)).then_some(Scalar::U32);
        agrees(&source, &*reference, dtype, seed as u64);
    }
}

#[test]
fn built_in_shaders_agree_with_their_references_for_every_element_type() {
    for stem in ["add", "fill", "iota", "saxpy"] {
        for scalar in [Scalar::F32, Scalar::I32, Scalar::U32] {
            let source = ShaderSource::builtin(&format!("{stem}.wgsl")).unwrap();
            let source = source.with_type("T", DType::Scalar(scalar)).unwrap();
            let reference = reference_of(stem, DType::Scalar(scalar)).unwrap();
            agrees(&source, &*reference, Some(scalar), 7);
        }
    }
}
