//! Compiled kernels against plain Rust.

mod barriers;
mod builtins;
mod control;
mod memory;
mod numbers;
mod refusals;

use super::{Compiled, NotCompiled};
use crate::error::Fault;
use crate::program::Program;
use crate::run::{Cells, GridRun};
use fencepost_kernels::{Module, ShaderSource};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Holds a kernel and the bytes that it runs on.
struct Test {
    program: Arc<Program>,
    compiled: Compiled,
    params: Vec<u8>,
    buffers: Vec<Vec<u128>>,
    lens: Vec<usize>,
}

fn program(wgsl: &str, overrides: &[(&str, f64)]) -> Arc<Program> {
    let module = Module::parse(&ShaderSource::text("test.wgsl", wgsl.to_owned()));
    let module = Arc::new(module.unwrap_or_else(|error| panic!("{error}")));
    let entry = module.entries().next().expect("the text has an entry point").to_owned();
    let interface = module.interface(&entry, overrides).unwrap_or_else(|error| panic!("{error}"));
    let program = Program::new(&module, &interface, overrides);
    Arc::new(program.unwrap_or_else(|error| panic!("{error}")))
}

fn refused(wgsl: &str) -> NotCompiled {
    let program = program(wgsl, &[]);
    Compiled::new(&program, 1).err().expect("the kernel is not compiled")
}

impl Test {
    fn new(wgsl: &str) -> Self {
        Self::of(program(wgsl, &[]))
    }

    fn of(program: Arc<Program>) -> Self {
        let compiled = Compiled::new(&program, 1).unwrap_or_else(|refused| {
            panic!("{:?}: {}", program.place(refused.span).map(|place| place.text), refused.reason)
        });
        Self { program, compiled, params: Vec::new(), buffers: Vec::new(), lens: Vec::new() }
    }

    fn params<T: bytemuck::NoUninit>(mut self, params: &[T]) -> Self {
        self.params = bytemuck::cast_slice(params).to_vec();
        self
    }

    fn buffer<T: bytemuck::NoUninit>(mut self, values: &[T]) -> Self {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let mut words = vec![0_u128; bytes.len().div_ceil(16)];
        bytemuck::cast_slice_mut::<_, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
        self.buffers.push(words);
        self.lens.push(bytes.len());
        self
    }

    fn try_run(&mut self, groups: [u32; 3], stop: &AtomicBool) -> Result<(), Fault> {
        let cells: Vec<Cells<'_>> = self
            .buffers
            .iter_mut()
            .zip(&self.lens)
            .map(|(words, &len)| Cells::new(&mut bytemuck::cast_slice_mut(words)[..len]))
            .collect();
        let range = 0..GridRun::all(groups);
        let run = GridRun { groups, range, params: &self.params, buffers: &cells, seed: 0, stop };
        self.compiled.run(&run)
    }

    fn run(mut self, groups: [u32; 3]) -> Self {
        let done = self.try_run(groups, &AtomicBool::new(false));
        assert_eq!(done, Ok(()), "kernel {}", self.program.name());
        self
    }

    fn get<T: bytemuck::AnyBitPattern>(&self, buffer: usize) -> Vec<T> {
        let bytes: &[u8] = bytemuck::cast_slice(&self.buffers[buffer]);
        bytes[..self.lens[buffer]].chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
    }
}
