//! A program that runs as a kernel of the host.

#[cfg(all(feature = "compile", not(target_family = "wasm")))]
use crate::compile::Compiled;
use crate::error::{Fault, Result};
use crate::interpret::Interpreter;
use crate::program::Program;
use crate::run::{Cells, GridRun};
use fencepost_kernels::{HostBuffer, HostKernel};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Runs a program: as machine code where the compiler translates it, and in the interpreter elsewhere.
///
/// A subgroup is 4 invocations with adjacent numbers, its lanes. The lanes that wait at the place that comes first in the
/// program take part in an operation of the subgroup. A lane that reads a value from a lane that takes no part gets its own value.
pub struct CpuKernel {
    interpreter: Interpreter,
    #[cfg(all(feature = "compile", not(target_family = "wasm")))]
    compiled: Option<Compiled>,
}

impl CpuKernel {
    /// Prepares a program.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported), with the line.
    pub fn new(program: Arc<Program>) -> Result<Self> {
        #[cfg(all(feature = "compile", not(target_family = "wasm")))]
        let compiled = compile(&program);
        Ok(Self {
            #[cfg(all(feature = "compile", not(target_family = "wasm")))]
            compiled,
            interpreter: Interpreter::new(program)?,
        })
    }

    /// Returns `true` if the kernel runs as machine code. A run in an order of its own, and one with a buffer that is
    /// smaller than its variable, is interpreted nevertheless.
    pub fn is_compiled(&self) -> bool {
        #[cfg(all(feature = "compile", not(target_family = "wasm")))]
        return self.compiled.is_some();
        #[cfg(not(all(feature = "compile", not(target_family = "wasm"))))]
        return false;
    }

    /// Runs a range of workgroups on the calling thread.
    ///
    /// # Errors
    /// Returns the fault that ended the run early. Writes before the fault stay.
    pub fn run_groups(&self, run: &GridRun<'_>) -> std::result::Result<(), Fault> {
        #[cfg(all(feature = "compile", not(target_family = "wasm")))]
        if let Some(compiled) = self.compiled.as_ref().filter(|compiled| compiled.takes(run)) {
            return compiled.run(run);
        }
        self.interpreter.run(run)
    }

    /// Runs a whole grid on copies of the buffers, and copies the results back. `seed` is [`GridRun::seed`].
    ///
    /// # Errors
    /// Returns the fault that ended the run early. The buffers keep their earlier bytes then.
    pub fn run_on_copies(
        &self,
        groups: [u32; 3],
        params: &[u8],
        buffers: &mut [HostBuffer<'_>],
        seed: u64,
    ) -> std::result::Result<(), Fault> {
        // The engines need whole words at multiples of 16 bytes, which the caller's slices may not be.
        let mut copies: Vec<Vec<u128>> = buffers.iter().map(|buffer| words(buffer.bytes())).collect();
        let lens: Vec<usize> = buffers.iter().map(|buffer| buffer.bytes().len()).collect();
        let cells: Vec<Cells<'_>> =
            copies.iter_mut().zip(&lens).map(|(copy, &len)| cells(copy, len)).collect();
        let (stop, range) = (AtomicBool::new(false), 0..GridRun::all(groups));
        self.run_groups(&GridRun { groups, range, params, buffers: &cells, seed, stop: &stop })?;
        for (copy, buffer) in copies.iter().zip(buffers) {
            if let HostBuffer::Write(bytes) = buffer {
                bytes.copy_from_slice(&bytemuck::cast_slice(copy)[..bytes.len()]);
            }
        }
        Ok(())
    }
}

impl HostKernel for CpuKernel {
    /// # Panics
    /// Panics if the run ends early.
    fn run(&self, groups: [u32; 3], _: [u32; 3], params: &[u8], buffers: &mut [HostBuffer<'_>]) {
        if let Err(fault) = self.run_on_copies(groups, params, buffers, 0) {
            panic!("{fault}");
        }
    }
}

/// Compiles a program, with vectors where that is possible, and logs why if that fails.
#[cfg(all(feature = "compile", not(target_family = "wasm")))]
fn compile(program: &Arc<Program>) -> Option<Compiled> {
    let name = program.name();
    for lanes in [4, 1] {
        match Compiled::new(program, lanes) {
            Ok(compiled) => {
                log::debug!("kernel `{name}` is compiled, with {lanes} invocations together");
                return Some(compiled);
            }
            Err(refused) => {
                let place = program.place(refused.span).map(|place| format!("{place}: ")).unwrap_or_default();
                let reason = refused.reason;
                log::debug!(
                    "{place}kernel `{name}` is not compiled with {lanes} invocations together: {reason}"
                );
            }
        }
    }
    None
}

/// Returns a copy of bytes at a multiple of 16, with zeros up to the next one.
fn words(bytes: &[u8]) -> Vec<u128> {
    let mut words = vec![0_u128; bytes.len().div_ceil(16)];
    bytemuck::cast_slice_mut::<_, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
    words
}

fn cells(words: &mut [u128], len: usize) -> Cells<'_> {
    Cells::new(&mut bytemuck::cast_slice_mut(words)[..len.next_multiple_of(4)])
}
