//! The shaders of `fencepost-kernels` against their references.

use super::Test;
use crate::program::Program;
use fencepost_kernels::{Access, HostBuffer, Module, ShaderSource, builtins, reference};
use std::sync::Arc;

/// Runs a shader and its reference on the same bytes.
fn check(stem: &str, count: usize) {
    let source = ShaderSource::builtin(&format!("{stem}.wgsl")).expect("the shader is built in");
    let module = Arc::new(Module::parse(&source).expect("the shader is valid"));
    let entry = module.entry(stem, &[]).expect("the shader has its entry point");
    let interface = entry.interface();
    let program = Arc::new(Program::new(&module, &entry).expect("the shader is a program"));
    let mut rng = fastrand::Rng::with_seed(count as u64);
    let float = stem == "add" || stem == "saxpy" || stem == "fill";
    let mut word = || if float { rng.f32().to_bits() } else { rng.u32(..64) };
    let bytes = interface.params.as_ref().map_or(0, |params| params.size as usize);
    let params: Vec<u32> = (0..bytes / 4).map(|_| word()).collect();
    let buffers: Vec<Vec<u32>> =
        interface.bindings.iter().map(|_| (0..count * 16).map(|_| word()).collect()).collect();
    let mut test = Test::of(program).params(&params);
    for buffer in &buffers {
        test = test.buffer(buffer);
    }
    let groups = [(count as u32 * 16).div_ceil(interface.workgroup[0]), 1, 1];
    let test = test.run(groups);
    let mut expected = buffers.clone();
    let mut host: Vec<HostBuffer<'_>> = expected
        .iter_mut()
        .zip(&interface.bindings)
        .map(|(words, binding)| match binding.declared {
            Access::Read => HostBuffer::Read(bytemuck::cast_slice(words)),
            _ => HostBuffer::Write(bytemuck::cast_slice_mut(words)),
        })
        .collect();
    let kernel = reference(stem).expect("the shader has a reference");
    kernel.run(groups, interface.workgroup, bytemuck::cast_slice(&params), &mut host);
    drop(host);
    for (at, expected) in expected.iter().enumerate() {
        assert_eq!(&test.get::<u32>(at), expected, "buffer {at} of {stem} with {count} blocks");
    }
}

#[test]
fn every_built_in_shader_agrees_with_its_reference() {
    for (name, _) in builtins() {
        if let Some(stem) = name.strip_suffix(".wgsl")
            && reference(stem).is_some()
        {
            for count in [1, 5, 33] {
                check(stem, count);
            }
        }
    }
}
