//! Runs of built-in kernels on lists of words, for the tests of the twins.

use super::Twin;
use crate::error::Fault;
use crate::kernel::CpuKernel;
use crate::program::Program;
use crate::run::{Cells, GridRun};
use fencepost_kernels::{Module, ShaderSource};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Returns the program of the entry point with the name of the file.
pub(super) fn program(source: &ShaderSource, overrides: &[(&str, f64)]) -> Arc<Program> {
    let module = Module::parse(source).expect("the text is valid");
    let entry = module.entries().next().expect("the text has an entry point").to_owned();
    let entry = module.entry(&entry, overrides).expect("the text has these overrides");
    Arc::new(Program::new(&module, &entry).expect("the text is a program"))
}

pub(super) fn built_in(name: &str, overrides: &[(&str, f64)]) -> Arc<Program> {
    program(&ShaderSource::builtin(name).expect("the shader is built in"), overrides)
}

/// A launch of a kernel.
pub(super) struct Launch<'a> {
    pub(super) groups: [u32; 3],
    pub(super) params: &'a [u8],
    pub(super) buffers: &'a [Vec<f32>],
}

impl Launch<'_> {
    /// Calls `run` for ranges of workgroups, one after the other, and returns the numbers of all buffers after that.
    fn run(&self, ranges: &[Range<u64>], run: impl Fn(&GridRun<'_>) -> Result<(), Fault>) -> Vec<Vec<f32>> {
        let mut copies: Vec<Vec<u128>> = self
            .buffers
            .iter()
            .map(|numbers| {
                let mut copy = vec![0_u128; numbers.len().div_ceil(4)];
                bytemuck::cast_slice_mut::<_, f32>(&mut copy)[..numbers.len()].copy_from_slice(numbers);
                copy
            })
            .collect();
        let cells: Vec<Cells<'_>> = copies
            .iter_mut()
            .zip(self.buffers)
            .map(|(copy, numbers)| Cells::new(&mut bytemuck::cast_slice_mut(copy)[..4 * numbers.len()]))
            .collect();
        let stop = AtomicBool::new(false);
        let Launch { groups, params, .. } = *self;
        for range in ranges {
            let run_of =
                GridRun { groups, range: range.clone(), params, buffers: &cells, seed: 0, stop: &stop };
            run(&run_of).expect("nothing stops the run");
        }
        let numbers = copies.iter().zip(self.buffers);
        numbers.map(|(copy, numbers)| bytemuck::cast_slice(copy)[..numbers.len()].to_vec()).collect()
    }

    fn all(&self) -> Range<u64> {
        0..GridRun::all(self.groups)
    }

    /// Returns the numbers after a run of the twin alone, which must execute all workgroups.
    pub(super) fn of_twin(&self, program: &Program) -> Vec<Vec<f32>> {
        self.of_twin_in(program, &[self.all()])
    }

    /// Returns the numbers after runs of the twin alone, which must execute all of their workgroups.
    pub(super) fn of_twin_in(&self, program: &Program, ranges: &[Range<u64>]) -> Vec<Vec<f32>> {
        let twin = Twin::of(program).expect("the kernel has a twin");
        self.run(ranges, |run| {
            assert_eq!(twin.run(run)?, run.range.end, "workgroups are left");
            Ok(())
        })
    }

    /// Returns the number of the first workgroup that the twin leaves.
    pub(super) fn left_by_twin(&self, program: &Program) -> u64 {
        let twin = Twin::of(program).expect("the kernel has a twin");
        let left = std::cell::Cell::new(0);
        self.run(&[self.all()], |run| {
            left.set(twin.run(run)?);
            Ok(())
        });
        left.get()
    }

    /// Returns the numbers after a run of the kernel, by its twin if possible.
    pub(super) fn of_kernel(&self, program: &Arc<Program>) -> Vec<Vec<f32>> {
        let kernel = CpuKernel::new(program.clone()).expect("the kernel is prepared");
        self.run(&[self.all()], |run| kernel.run_groups(run))
    }

    /// Returns the numbers after a run of the text.
    pub(super) fn of_text(&self, program: &Arc<Program>) -> Vec<Vec<f32>> {
        let kernel = CpuKernel::interpreted(program.clone()).expect("the kernel is interpreted");
        self.run(&[self.all()], |run| kernel.run_groups(run))
    }

    /// Asserts that the twin executes nothing of a run that is stopped.
    #[track_caller]
    pub(super) fn check_stop(&self, program: &Program) {
        let twin = Twin::of(program).expect("the kernel has a twin");
        let stop = AtomicBool::new(true);
        let after = self.run(&[self.all()], |run| {
            assert_eq!(twin.run(&GridRun { stop: &stop, ..run.clone() }), Err(Fault::Stopped));
            Ok(())
        });
        assert_eq!(bits(&after), bits(self.buffers));
    }
}

/// Returns the bits of numbers.
pub(super) fn bits(numbers: &[Vec<f32>]) -> Vec<Vec<u32>> {
    numbers.iter().map(|numbers| numbers.iter().map(|x| x.to_bits()).collect()).collect()
}
