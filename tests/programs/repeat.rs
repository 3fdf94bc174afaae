//! Tests rule R02: without threads a seed determines every result.

use super::case::{Cpu, Trial};
use super::generate::{Style, program};
use super::guarded::guarded;
use super::legal::Legal;
use super::machine::{Machine, Outcome};
use super::op::{Op, Wait};
use fastrand::Rng;
use fencepost::Policy;
use fencepost::testing::{self, CpuFaults};

/// Test that runs each program twice.
pub struct Repeated;

impl Trial for Repeated {
    fn program(&self, seed: u64) -> Vec<Op> {
        program(&mut Rng::with_seed(seed), Style { indirect: true, ..Style::with_faults() })
            .into_iter()
            .map(timeless)
            .collect()
    }

    fn policy(&self) -> Policy {
        Policy::Ordered
    }

    fn run(&self, seed: u64, ops: &[Op]) -> Result<(), String> {
        let first = trace(seed, ops)?;
        let second = trace(seed, ops)?;
        let differs = first.iter().zip(&second).find(|(first, second)| first != second);
        differs.map_or(Ok(()), |(first, second)| Err(format!("once:  {first}\nagain: {second}")))
    }
}

/// Returns the operation without a time limit, so that it does not depend on a clock.
fn timeless(op: Op) -> Op {
    let at_once = |how| if matches!(how, Wait::Within(_)) { Wait::Within(0) } else { how };
    match op {
        Op::WaitRead { r, how } => Op::WaitRead { r, how: at_once(how) },
        Op::WaitEvent { e, how } => Op::WaitEvent { e, how: at_once(how) },
        Op::Finish { q, how } => Op::Finish { q, how: at_once(how) },
        Op::Synchronize { at, how } => Op::Synchronize { at, how: at_once(how) },
        op => op,
    }
}

/// Returns the results of every operation, on a device that fails some submissions.
fn trace(seed: u64, ops: &[Op]) -> Result<Vec<String>, String> {
    let options = Cpu::of_seed(seed, Policy::Ordered).options.threads(false);
    let faults = CpuFaults { refusals: 0.05, ..CpuFaults::default() };
    let ops = ops.to_vec();
    guarded(move |watch| {
        let ctx = testing::on_cpu(options, faults, Policy::Ordered);
        let _ = watch.send(ctx.diagnostics().watch());
        let mut machine = Machine::new(vec![ctx.clone()], false, true);
        let mut legal = Legal::default();
        let mut trace = Vec::new();
        for op in ops {
            if !legal.admits(&op) {
                continue;
            }
            let outcome = machine.step(&op);
            if !matches!(outcome, Outcome::Failed(_)) {
                legal.apply(&op);
            }
            trace.push(format!("{op:?}: {outcome:?}"));
        }
        machine.unmap_all();
        machine.signal_all();
        let last = ctx.queue("last");
        for &a in legal.arrays.keys() {
            trace.push(format!("a{a}: {:?}", machine.elements(&last, a)));
        }
        Ok(trace)
    })
}
