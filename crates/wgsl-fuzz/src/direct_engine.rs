//! The engines that run a program on the CPU, without a context.

use std::time::Duration;

use fencepost_cpu::{Cells, CpuKernel, Error, Fault, GridRun};

use crate::engine::{Answer, Engine};
use crate::program::Program;
use crate::watchdog::Watchdog;

/// Time limit of one program. A program normally takes less than a millisecond.
const LIMIT: Duration = Duration::from_secs(20);

/// Maximum number of expressions of a program for each number of lanes. For larger kernels, the library uses fewer
/// lanes, and Cranelift takes long to compile them.
const MOST_EXPRESSIONS: [(u32, usize); 2] = [(16, 500), (8, 800)];

/// An engine that runs programs in the interpreter, or as machine code of one width.
pub struct DirectEngine {
    name: String,
    /// Number of invocations that execute together; `None` for the interpreter.
    lanes: Option<u32>,
    watchdog: Watchdog,
}

impl DirectEngine {
    /// Makes the engine of the interpreter.
    pub fn interpreter() -> Self {
        Self { name: "interpreter".into(), lanes: None, watchdog: Watchdog::new() }
    }

    /// Makes the engine of the machine code that executes 1, 4, 8 or 16 invocations together.
    pub fn compiled(lanes: u32) -> Self {
        Self { name: format!("code of {lanes}"), lanes: Some(lanes), watchdog: Watchdog::new() }
    }

    fn try_run(&self, program: &Program) -> Result<Answer, String> {
        let parsed = program.parsed()?;
        let most = MOST_EXPRESSIONS.iter().find(|(lanes, _)| self.lanes == Some(*lanes));
        if let Some((_, most)) = most.filter(|(_, most)| parsed.expressions() > *most) {
            return Ok(Answer::Refused(format!("more than {most} expressions")));
        }
        let kernel = match self.lanes {
            None => CpuKernel::interpreted(parsed.program.clone()),
            Some(lanes) => CpuKernel::with_lanes(parsed.program.clone(), lanes),
        };
        let kernel = match kernel {
            Ok(kernel) => kernel,
            // Code that Cranelift rejects is a defect of the compiler.
            Err(Error::NotCompiled { reason, .. }) if !reason.contains("Cranelift") => {
                return Ok(Answer::Refused(reason));
            }
            Err(error) => return Err(error.to_string()),
        };
        let mut copies: Vec<Vec<u128>> = program.buffers.iter().map(|buffer| words(&buffer.words)).collect();
        let mut cells: Vec<Option<Cells<'_>>> = copies
            .iter_mut()
            .zip(&program.buffers)
            .map(|(copy, buffer)| {
                Some(Cells::new(&mut bytemuck::cast_slice_mut(copy)[..4 * buffer.words.len()]))
            })
            .collect();
        let mut bound = Vec::new();
        for binding in &parsed.interface.bindings {
            let at = program.buffers.iter().position(|buffer| buffer.name == binding.name);
            bound.push(at.and_then(|at| cells[at].take()).ok_or("bug: a binding has no buffer")?);
        }
        let params = parsed.block(&program.params);
        let timer = self.watchdog.start(LIMIT);
        let groups = program.groups;
        let range = 0..GridRun::all(program.groups);
        let run = GridRun { groups, range, params: &params, buffers: &bound, seed: 0, stop: &timer.stop };
        if self.lanes.is_some() && !kernel.executes_code(&run) {
            return Err("the machine code does not take the run".into());
        }
        match kernel.run_groups(&run) {
            Ok(()) => Ok(Answer::Results(outputs(program, &copies))),
            Err(Fault::Stopped) => Err(format!("no result after {} s", LIMIT.as_secs())),
            Err(fault) => Err(fault.to_string()),
        }
    }
}

impl Engine for DirectEngine {
    fn name(&self) -> &str {
        &self.name
    }

    fn is_exact(&self) -> bool {
        true
    }

    fn run(&self, program: &Program) -> Answer {
        self.try_run(program).unwrap_or_else(Answer::Failed)
    }
}

/// Returns a copy of words, aligned to 16 bytes.
fn words(of: &[u32]) -> Vec<u128> {
    let mut copy = vec![0_u128; of.len().div_ceil(4)];
    bytemuck::cast_slice_mut(&mut copy)[..of.len()].copy_from_slice(of);
    copy
}

/// Returns the words of the written buffers.
fn outputs(program: &Program, copies: &[Vec<u128>]) -> Vec<Vec<u32>> {
    let written = copies.iter().zip(&program.buffers).filter(|(_, buffer)| buffer.is_written);
    written.map(|(copy, buffer)| bytemuck::cast_slice(copy)[..buffer.words.len()].to_vec()).collect()
}
