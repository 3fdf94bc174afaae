//! Prepares and runs texts on a thread with a small stack.

use fencepost_cpu::{Cells, CpuKernel, GridRun, Program};
use fencepost_kernels::{Module, ShaderSource, on_stack_of};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Bytes of the stack: a quarter of the stack on which kernels are compiled.
const STACK: usize = 4 << 20;

/// Outcome of a text.
#[derive(Debug, PartialEq)]
pub(crate) enum Outcome {
    /// First word of the output.
    Word(u32),
    Error(String),
}

/// Calls a function on a thread with a stack of 4 MiB.
pub(crate) fn on_small_stack<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    on_stack_of(STACK, run).expect("a thread")
}

/// Prepares the entry point of a text, and runs one workgroup. The first binding is an output of some words, the second
/// one 32 matrices.
pub(crate) fn outcome(text: &str, words: usize) -> Outcome {
    match run(text, words) {
        Ok(word) => Outcome::Word(word),
        Err(error) => Outcome::Error(error.to_string().chars().take(200).collect()),
    }
}

fn run(text: &str, words: usize) -> Result<u32, Box<dyn std::error::Error>> {
    let module = Arc::new(Module::parse(&ShaderSource::text("k.wgsl", text.to_owned()))?);
    let entry = module.entry("k", &[])?;
    let interface = entry.interface();
    let kernel = CpuKernel::new(Arc::new(Program::new(&module, &entry)?))?;
    let mut out = vec![0_u128; words.div_ceil(4)];
    let mut matrices = vec![0_u128; 128];
    let buffers = [&mut out, &mut matrices].map(|words| Cells::new(bytemuck::cast_slice_mut(words)));
    let buffers = &buffers[..interface.bindings.len()];
    let stop = AtomicBool::new(false);
    kernel.run_groups(&GridRun {
        groups: [1; 3],
        range: 0..1,
        params: &[],
        buffers,
        seed: 0,
        stop: &stop,
    })?;
    Ok(bytemuck::cast_slice(&out)[0])
}
