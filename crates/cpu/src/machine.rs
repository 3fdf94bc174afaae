//! The machine code of a kernel: for several invocations together, for one at a time, or both.

use crate::compile::{Compiled, without_barriers_in_calls};
use crate::error::Fault;
use crate::program::Program;
use crate::run::GridRun;
use crate::trial::Trial;
use crate::width::{WIDEST_APART, widths};
use fencepost_kernels::report;
use std::sync::Arc;
use std::time::Instant;

/// Number of parts into which a run is divided while a trial is open.
const PARTS: u64 = 16;

/// Machine code of a kernel.
pub(crate) enum Machine {
    One(Box<Compiled>),
    /// Two forms. If lanes leave a loop at different times, they may be slower than scalar code.
    Two {
        forms: Box<[Compiled; 2]>,
        trial: Trial,
    },
}

impl Machine {
    /// Compiles a program, with vectors if possible. If the compilation fails, logs the reason.
    pub(crate) fn new(program: &Arc<Program>) -> Option<Self> {
        let program = &without_barriers_in_calls(program);
        let name = program.name();
        for lanes in widths(program) {
            match Compiled::new(program, lanes) {
                Ok(compiled) if compiled.diverges() && lanes > WIDEST_APART => {
                    report!(
                        Debug,
                        "invocations of kernel `{name}` leave loops at different times, so fewer than {lanes} execute together"
                    );
                }
                Ok(compiled) => {
                    report!(Debug, "kernel `{name}` is compiled for {lanes} invocations together");
                    return Some(Self::with_scalars(program, compiled));
                }
                Err(refused) => {
                    let place =
                        program.place(refused.span).map(|place| format!("{place}: ")).unwrap_or_default();
                    let reason = refused.reason;
                    report!(
                        Debug,
                        "{place}kernel `{name}` is not compiled for {lanes} invocations together: {reason}"
                    );
                }
            }
        }
        None
    }

    /// Wraps a single form.
    pub(crate) fn of(code: Compiled) -> Self {
        Self::One(Box::new(code))
    }

    /// Returns how many invocations the code executes together, at most.
    pub(crate) fn width(&self) -> u32 {
        match self {
            Self::One(code) => code.lanes(),
            Self::Two { forms, .. } => forms[0].lanes(),
        }
    }

    /// Adds the form that executes one invocation after the other, if it may be faster.
    fn with_scalars(program: &Arc<Program>, lanes: Compiled) -> Self {
        if !lanes.diverges() {
            return Self::of(lanes);
        }
        match Compiled::new(program, 1) {
            Ok(scalars) => Self::Two { forms: Box::new([lanes, scalars]), trial: Trial::new() },
            Err(_) => Self::of(lanes),
        }
    }

    /// Returns `true` if the code can execute a run.
    pub(crate) fn takes(&self, run: &GridRun<'_>) -> bool {
        match self {
            Self::One(code) => code.takes(run),
            Self::Two { forms, .. } => forms.iter().all(|form| form.takes(run)),
        }
    }

    /// Executes the workgroups of a run that the code [takes](Self::takes).
    ///
    /// # Errors
    /// [`Fault::Stopped`] if the caller stopped the run.
    pub(crate) fn run(&self, run: &GridRun<'_>) -> Result<(), Fault> {
        let (forms, trial) = match self {
            Self::One(code) => return code.run(run),
            Self::Two { forms, trial } => (forms, trial),
        };
        trial.count_run();
        let part = ((run.range.end - run.range.start) / PARTS).max(1);
        let mut start = run.range.start;
        while start < run.range.end {
            if let Some(winner) = trial.winner() {
                return forms[winner].run(&GridRun { range: start..run.range.end, ..run.clone() });
            }
            let form = trial.next();
            let end = run.range.end.min(start + part);
            let begun = Instant::now();
            forms[form].run(&GridRun { range: start..end, ..run.clone() })?;
            trial.record(form, end - start, begun.elapsed());
            start = end;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::interpret::Interpreter;
    use crate::run::Cells;
    use std::sync::atomic::AtomicBool;

    /// A kernel that counts the Collatz steps of each invocation's number.
    const STEPS: &str = "
        @group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(16) fn steps(@builtin(global_invocation_id) id: vec3<u32>) {
            var n = id.x + 1u; var count = 0u;
            while n > 1u { n = select(3u * n + 1u, n / 2u, n % 2u == 0u); count++; }
            out[id.x] += count;
        }";

    #[test]
    fn invocations_that_leave_a_loop_apart_have_fewer_lanes() {
        let widths = [("n > 1u", 8), ("count < out[0]", 16)].map(|(condition, width)| {
            let program = Program::of_text(STEPS.replace("n > 1u", condition));
            (Machine::new(&program).expect("the program is compiled").width(), width)
        });
        assert!(widths.iter().all(|(found, expected)| found == expected), "{widths:?}");
    }

    #[test]
    fn each_workgroup_runs_once_before_and_after_the_choice() {
        let program = Program::of_text(STEPS);
        let machine = Machine::new(&program).expect("the program is compiled");
        let Machine::Two { trial, .. } = &machine else { panic!("the kernel diverges, so it has two forms") };
        let interpreter = Interpreter::new(program.clone()).expect("the interpreter takes the program");
        let stop = AtomicBool::new(false);
        let words = |kernel: &dyn Fn(&GridRun<'_>) -> Result<(), Fault>, range| {
            let mut words = vec![0_u128; 37 * 4];
            let buffers = [Cells::new(bytemuck::cast_slice_mut(&mut words))];
            let run =
                GridRun { groups: [37, 1, 1], range, params: &[], buffers: &buffers, seed: 0, stop: &stop };
            kernel(&run).expect("the run ends");
            words
        };
        for range in [0..37, 5..6, 3..36] {
            let expected = words(&|run| interpreter.run(run), range.clone());
            let mut runs = 0;
            while runs < 2 || trial.winner().is_none() {
                let found = words(&|run| machine.run(run), range.clone());
                assert!(found == expected, "range {range:?}, run {runs}");
                runs += 1;
            }
        }
    }
}
