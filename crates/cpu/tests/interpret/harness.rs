//! Kernels from texts, and runs of them.

use fencepost_cpu::{Cells, CpuKernel, Error, Fault, GridRun, Program};
use fencepost_kernels::{Module, ShaderSource};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Declaration of an output buffer of words. It goes after the text, as directives must come first.
pub(crate) const OUT: &str = "@group(0) @binding(0) var<storage, read_write> out: array<u32>;";

/// Prepares the first entry point of a text.
pub(crate) fn prepare(wgsl: &str) -> Result<CpuKernel, Error> {
    prepare_source(&ShaderSource::text("k.wgsl", wgsl.to_owned()), &[])
}

/// Prepares the first entry point of a source with overrides.
pub(crate) fn prepare_source(source: &ShaderSource, overrides: &[(&str, f64)]) -> Result<CpuKernel, Error> {
    let module = Arc::new(Module::parse(source).unwrap_or_else(|error| panic!("{error}")));
    let entry = module.entries().next().expect("a test has an entry point").to_owned();
    let entry = module.entry(&entry, overrides).unwrap_or_else(|error| panic!("{error}"));
    CpuKernel::new(Arc::new(Program::new(&module, &entry)?))
}

/// A buffer that is aligned to 16 bytes.
pub(crate) struct Buffer {
    words: Vec<u128>,
    len: usize,
}

impl Buffer {
    /// Copies values.
    pub(crate) fn new<T: bytemuck::NoUninit>(values: &[T]) -> Self {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let mut words = vec![0; bytes.len().div_ceil(16)];
        bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Self { words, len: bytes.len() }
    }

    /// Returns the values.
    pub(crate) fn values<T: bytemuck::AnyBitPattern>(&self) -> Vec<T> {
        bytemuck::cast_slice::<_, u8>(&self.words)[..self.len]
            .chunks_exact(size_of::<T>())
            .map(bytemuck::pod_read_unaligned)
            .collect()
    }

    /// Lends the bytes to a run.
    pub(crate) fn cells(&mut self) -> Cells<'_> {
        Cells::new(&mut bytemuck::cast_slice_mut(&mut self.words)[..self.len])
    }
}

/// Runs a kernel with a seed.
pub(crate) fn run(
    kernel: &CpuKernel,
    groups: [u32; 3],
    seed: u64,
    params: &[u8],
    buffers: &mut [Buffer],
) -> Result<(), Fault> {
    let cells: Vec<Cells<'_>> = buffers.iter_mut().map(Buffer::cells).collect();
    let stop = AtomicBool::new(false);
    let range = 0..GridRun::all(groups);
    kernel.run_groups(&GridRun { groups, range, params, buffers: &cells, seed, stop: &stop })
}

/// Runs one workgroup of a text whose only buffer is [`OUT`], and returns `len` words.
pub(crate) fn words(wgsl: &str, len: usize) -> Vec<u32> {
    words_of_grid(wgsl, 1, 0, len)
}

/// Runs workgroups of a text whose only buffer is [`OUT`] with a seed, and returns `len` words.
pub(crate) fn words_of_grid(wgsl: &str, groups: u32, seed: u64, len: usize) -> Vec<u32> {
    let kernel = prepare(&format!("{wgsl}\n{OUT}")).unwrap_or_else(|error| panic!("{error}"));
    let mut buffers = [Buffer::new(&vec![0_u32; len])];
    run(&kernel, [groups, 1, 1], seed, &[], &mut buffers).unwrap_or_else(|fault| panic!("{fault}"));
    buffers[0].values()
}

/// Runs the statements of one invocation, which may write to `out`.
pub(crate) fn statements(before: &str, body: &str, len: usize) -> Vec<u32> {
    words(&format!("{before}\n@compute @workgroup_size(1) fn k() {{\n{body}\n}}"), len)
}

/// Returns values as floats.
pub(crate) fn floats(words: &[u32]) -> Vec<f32> {
    words.iter().map(|&word| f32::from_bits(word)).collect()
}
