//! Kernels whose engine the caller chooses.

use super::CpuKernel;
#[cfg(all(feature = "compile", not(target_family = "wasm")))]
use crate::compile::{Compiled, without_barriers_in_calls};
#[cfg(all(feature = "compile", not(target_family = "wasm")))]
use crate::error::Error;
use crate::error::Result;
use crate::interpret::Interpreter;
#[cfg(all(feature = "compile", not(target_family = "wasm")))]
use crate::machine::Machine;
use crate::program::Program;
use crate::run::GridRun;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};

impl CpuKernel {
    /// Prepares a program for the interpreter, and compiles nothing.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported), with the line.
    #[doc(hidden)]
    pub fn interpreted(program: Arc<Program>) -> Result<Self> {
        let kernel = Self::without_code(program)?;
        kernel.dump_instructions();
        Ok(kernel)
    }

    fn without_code(program: Arc<Program>) -> Result<Self> {
        Ok(Self {
            interpreter: Interpreter::new(program)?,
            sites: OnceLock::new(),
            workgroup_nanos: AtomicU64::new(0),
            width: None,
            #[cfg(all(feature = "compile", not(target_family = "wasm")))]
            compiled: None,
            #[cfg(all(feature = "twins", not(target_family = "wasm")))]
            twin: None,
        })
    }

    /// Compiles a program to machine code that executes 1, 4, 8 or 16 invocations together.
    ///
    /// # Errors
    /// [`Error::NotCompiled`] if the compiler does not translate the program for that many invocations, and
    /// [`Error::Unsupported`] if the interpreter lacks something, each with the line.
    ///
    /// # Panics
    /// Panics for any other number of lanes.
    #[doc(hidden)]
    #[cfg(all(feature = "compile", not(target_family = "wasm")))]
    pub fn with_lanes(program: Arc<Program>, lanes: u32) -> Result<Self> {
        let expanded = without_barriers_in_calls(&program);
        let compiled = Compiled::new(&expanded, lanes).map_err(|refused| Error::NotCompiled {
            kernel: program.name().into(),
            lanes,
            reason: refused.reason,
            place: program.place(refused.span),
        })?;
        Ok(Self { compiled: Some(Machine::of(compiled)), width: Some(lanes), ..Self::without_code(program)? })
    }

    /// Returns `true` if machine code executes a run, and `false` if the interpreter does.
    #[doc(hidden)]
    #[cfg_attr(
        not(all(feature = "compile", not(target_family = "wasm"))),
        expect(unused_variables, reason = "the interpreter takes each run")
    )]
    pub fn executes_code(&self, run: &GridRun<'_>) -> bool {
        #[cfg(all(feature = "compile", not(target_family = "wasm")))]
        return self.compiled.as_ref().is_some_and(|compiled| compiled.takes(run));
        #[cfg(not(all(feature = "compile", not(target_family = "wasm"))))]
        return false;
    }
}

#[cfg(all(test, feature = "compile", not(target_family = "wasm")))]
mod tests {
    use super::*;
    use crate::run::Cells;
    use std::sync::atomic::AtomicBool;
    use std::time::Duration;

    /// Creates the program of a kernel with 8 invocations.
    fn program(statements: &str) -> Arc<Program> {
        Program::of_text(format!(
            "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
             var<workgroup> cell: u32;
             @compute @workgroup_size(8) fn k(@builtin(local_invocation_index) i: u32) {{ {statements} }}"
        ))
    }

    /// Runs a kernel on 8 words, and returns whether machine code executes the run.
    fn run(kernel: &CpuKernel, seed: u64) -> (bool, Vec<u32>) {
        let mut words = [0_u128; 2];
        let buffers = [Cells::new(bytemuck::bytes_of_mut(&mut words))];
        let groups = [1; 3];
        let range = 0..1;
        let stop = AtomicBool::new(false);
        let run = GridRun { groups, range, params: &[], buffers: &buffers, seed, stop: &stop };
        kernel.run_groups(&run).expect("nothing stops the run");
        (kernel.executes_code(&run), bytemuck::cast_slice(&words).to_vec())
    }

    #[test]
    fn the_chosen_engine_executes_a_run() {
        let program = program("out[i] = i * 3u;");
        let expected: Vec<u32> = (0..8).map(|i| i * 3).collect();
        let interpreted = CpuKernel::interpreted(program.clone()).expect("it is interpreted");
        assert_eq!(run(&interpreted, 0), (false, expected.clone()));
        for lanes in [1, 4, 8] {
            let kernel = CpuKernel::with_lanes(program.clone(), lanes).expect("it is compiled");
            assert_eq!(run(&kernel, 0), (true, expected.clone()), "{lanes} lanes");
            assert!(!run(&kernel, 1).0, "machine code has one order of execution");
        }
    }

    #[test]
    fn the_expected_time_is_that_of_the_last_measured_workgroups() {
        let kernel = CpuKernel::interpreted(program("out[i] = i;")).expect("it is interpreted");
        assert_eq!(kernel.expected_time(8), Duration::ZERO);
        kernel.note_time(4, Duration::from_micros(40));
        assert_eq!(kernel.expected_time(8), Duration::from_micros(80));
        kernel.note_time(1, Duration::from_micros(3));
        assert_eq!(kernel.expected_time(8), Duration::from_micros(24));
    }

    #[test]
    fn a_refusal_names_the_width_the_reason_and_the_line() {
        let wide =
            CpuKernel::with_lanes(program("out[i] = i;"), 16).err().expect("8 is not a multiple of 16");
        let text = wide.to_string();
        assert!(text.contains("`k`") && text.contains("16") && text.contains("multiple"), "{text}");
        let misses = program("if i < out[0] { workgroupBarrier(); } out[i] = cell;");
        let misses = CpuKernel::with_lanes(misses, 1).err().expect("a divergent barrier is refused");
        assert!(matches!(&misses, Error::NotCompiled { lanes: 1, place: Some(_), .. }), "{misses}");
    }
}
