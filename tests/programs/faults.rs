//! Tests rule R02. Programs run on a device that fails submissions, runs out of memory or is lost, and on a device
//! whose driver fails calls. Other programs have delays or abandon their user events. Every result must equal the
//! oracle's, or be an error that the fault may cause.

use super::case::{Adapter, Cpu, Trial};
use super::common::refusing::{self, Driver, Rule};
use super::common::subject::device_switches;
use super::generate::{Style, program};
use super::guarded::guarded;
use super::legal::Legal;
use super::machine::{Machine, Outcome};
use super::op::{Contents, Id, Maker, Op};
use super::oracle::Oracle;
use super::run::{compare, run};
use fastrand::Rng;
use fencepost::prelude::*;
use fencepost::testing;
use fencepost::{AdoptOptions, Context, ContextOptions, Error, ErrorDetail, RecorderChoice};
use std::cell::Cell;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Maximum number of attempts of an operation that may be hit by a fault, but must succeed in the end.
const PATIENCE: usize = 200;

/// Fault of a program.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Fault {
    Refusals,
    Memory,
    Loss,
    Abandoned,
    /// The host sleeps between calls; nothing fails.
    Delays,
    /// The driver fails some allocations, and may lose the device.
    Driver,
}

/// One operation and its outcome.
struct Entry {
    op: Op,
    outcome: Outcome,
    /// Result of the enqueued work. `None` if the operation enqueued no work that a marker covers.
    done: Option<Result<(), Error>>,
}

/// Place where programs with faults run.
#[derive(Clone)]
pub enum Where {
    Cpu,
    Adapter(Box<ContextOptions>),
    /// A Vulkan adapter whose driver fails calls.
    Driver(wgpu::Adapter, RecorderChoice),
}

/// Test of programs with one fault each.
pub struct Faulty {
    pub place: Where,
}

impl Trial for Faulty {
    fn program(&self, seed: u64) -> Vec<Op> {
        program(&mut Rng::with_seed(seed), Style::with_faults())
    }

    fn policy(&self) -> Policy {
        Policy::Ordered
    }

    fn run(&self, seed: u64, ops: &[Op]) -> Result<(), String> {
        let fault = self.place.fault(seed);
        let place = self.place.clone();
        let later = ops.to_vec();
        let ops = later.clone();
        guarded(move |watch| {
            let (ctx, driver) = place.open(seed)?;
            let _ = watch.send(ctx.diagnostics().watch());
            Faults::new(fault, ctx, driver, place.host(seed, ops.len())).run(place.threads(seed), &ops)
        })
        .map_err(|what| format!("{fault:?}: {what}"))?;
        if fault == Fault::Loss && seed.is_multiple_of(2) {
            let again = self.place.run_whole(seed, &later);
            again.map_err(|what| format!("after a loss, on a new context: {what}"))?;
        }
        Ok(())
    }
}

impl Where {
    /// Returns the fault of the program of a seed.
    fn fault(&self, seed: u64) -> Fault {
        let faults: &[Fault] = match self {
            Where::Cpu => &[Fault::Refusals, Fault::Memory, Fault::Loss, Fault::Abandoned],
            Where::Adapter(_) => &[Fault::Delays, Fault::Abandoned, Fault::Loss],
            Where::Driver(..) => &[Fault::Driver],
        };
        faults[seed as usize % faults.len()]
    }

    /// Opens a context. Also returns the driver, if it must fail calls.
    fn open(&self, seed: u64) -> Result<(Context, Option<Arc<Driver>>), String> {
        let opened = match self {
            Where::Cpu => {
                let Cpu { options, faults, policy } = faulty_cpu(seed);
                Ok((testing::on_cpu(options, faults, policy), None))
            }
            Where::Adapter(options) => {
                testing::open((**options).clone(), device_switches()).wait().map(|ctx| (ctx, None))
            }
            Where::Driver(adapter, recorder) => self.adopt(adapter, *recorder, seed),
        };
        opened.map_err(|error| error.to_string())
    }

    /// Opens a context on a device whose driver fails calls as the seed determines.
    fn adopt(
        &self,
        adapter: &wgpu::Adapter,
        recorder: RecorderChoice,
        seed: u64,
    ) -> fencepost::Result<(Context, Option<Arc<Driver>>)> {
        let (device, queue, driver) = refusing::open(adapter);
        let exclusive = recorder == RecorderChoice::Direct;
        let threads = self.threads(seed);
        let options = AdoptOptions::default().recorder(recorder).exclusive(exclusive).threads(threads);
        let ctx = Context::adopt(device, queue, options)?;
        let mut rng = Rng::with_seed(seed ^ 0xD1CE);
        let lost_after = (rng.u32(0..3) == 0).then(|| rng.u64(0..100));
        let often = rng.u32(0..60);
        driver.set(Rule::Seeded(rng, often, lost_after));
        Ok((ctx, Some(driver)))
    }

    fn threads(&self, seed: u64) -> bool {
        match self {
            Where::Cpu => faulty_cpu(seed).options.threads,
            Where::Adapter(_) => true,
            Where::Driver(..) => !seed.is_multiple_of(3),
        }
    }

    /// Returns the host's actions during a program of `ops` operations.
    fn host(&self, seed: u64, ops: usize) -> Host {
        let mut rng = Rng::with_seed(seed ^ 0xDE1A);
        match self {
            Where::Cpu | Where::Driver(..) => Host { rng, delays: false, destroys_before: None },
            Where::Adapter(_) => {
                let at = rng.usize(0..=ops);
                let destroys_before = (self.fault(seed) == Fault::Loss).then_some(at);
                Host { rng, delays: true, destroys_before }
            }
        }
    }

    /// Runs a program on a place without faults.
    fn run_whole(&self, seed: u64, ops: &[Op]) -> Result<(), String> {
        match self {
            Where::Cpu => run(&Cpu::of_seed(seed, Policy::Ordered), ops),
            Where::Adapter(options) => run(&Adapter { options: (**options).clone(), seed }, ops),
            Where::Driver(..) => Ok(()), // every other program opens a new device
        }
    }
}

/// Disturbances by the host during a program: delayed calls, or the destruction of the device.
struct Host {
    rng: Rng,
    /// `true` if the host sleeps before some calls.
    delays: bool,
    /// Operation before which the host destroys the device.
    destroys_before: Option<usize>,
}

impl Host {
    fn before(&mut self, at: usize, ctx: &Context) {
        if self.delays && self.rng.u32(0..4) == 0 {
            thread::sleep(Duration::from_micros(self.rng.u64(0..1500)));
        }
        if let (true, Some((device, _))) = (self.destroys_before == Some(at), ctx.wgpu()) {
            device.destroy();
        }
    }
}

impl Fault {
    /// Returns `true` if the fault prevents submissions.
    fn refuses(self) -> bool {
        matches!(self, Fault::Refusals | Fault::Driver)
    }

    /// Returns `true` if the fault may cause this error.
    fn allows(self, error: &Error) -> bool {
        match error.detail() {
            ErrorDetail::Device { message, .. } => {
                (self == Fault::Refusals && message.contains("by `CpuFaults::refusals`"))
                    || (self.refuses() && unsaved(error))
            }
            ErrorDetail::OutOfMemory { object, .. } => {
                self == Fault::Memory || (self == Fault::Driver && !object.is_empty())
            }
            ErrorDetail::DeviceLost { .. } => matches!(self, Fault::Loss | Fault::Driver),
            ErrorDetail::Abandoned { .. } => self == Fault::Abandoned,
            _ => false,
        }
    }
}

fn unsaved(error: &Error) -> bool {
    matches!(error.detail(), ErrorDetail::Device { message, .. } if message.contains("should have copied the bytes failed"))
}

fn faulty_cpu(seed: u64) -> Cpu {
    let mut cpu = Cpu::of_seed(seed, Policy::Ordered);
    let mut rng = Rng::with_seed(seed ^ 0xFA17);
    match Where::Cpu.fault(seed) {
        Fault::Refusals => cpu.faults.refusals = rng.f64() * 0.3,
        Fault::Memory => cpu.options.memory = rng.u64(0..8192),
        Fault::Loss => cpu.faults.lost_after = Some(rng.u64(0..40)),
        Fault::Abandoned | Fault::Delays | Fault::Driver => {}
    }
    cpu
}

/// A program that is running.
struct Faults {
    fault: Fault,
    ctx: Context,
    driver: Option<Arc<Driver>>,
    host: Host,
    entries: Vec<Entry>,
    /// `true` if work of the context itself failed.
    context_failed: Cell<bool>,
}

impl Faults {
    fn new(fault: Fault, ctx: Context, driver: Option<Arc<Driver>>, host: Host) -> Self {
        Self { fault, ctx, driver, host, entries: Vec::new(), context_failed: Cell::default() }
    }

    fn run(mut self, threads: bool, ops: &[Op]) -> Result<(), String> {
        let mut machine = Machine::new(vec![self.ctx.clone()], threads, true);
        let marks = self.step_all(&mut machine, ops);
        machine.unmap_all();
        if self.fault == Fault::Abandoned {
            machine.abandon()
        } else {
            machine.signal_all()
        }
        for (at, mark) in marks {
            self.entries[at].done = Some(mark.wait());
        }
        if let Some(driver) = &self.driver {
            driver.set(Rule::Nothing);
        }
        if self.fault == Fault::Loss || (self.fault.refuses() && self.ends_lost()?) {
            return self.check_loss();
        }
        let oracle = self.replay()?;
        self.check_end(&mut machine, &oracle)
    }

    /// Executes every operation that is still valid, and marks its enqueued work.
    fn step_all(&mut self, machine: &mut Machine, ops: &[Op]) -> Vec<(usize, Event)> {
        let mut legal = Legal::default();
        let mut marks = Vec::new();
        for (at, op) in ops.iter().enumerate() {
            self.host.before(at, &self.ctx);
            if !legal.admits(op) {
                continue;
            }
            let outcome = machine.step(op);
            if !matches!(outcome, Outcome::Failed(_)) {
                legal.apply(op);
                marks.extend(op.queue().map(|q| (self.entries.len(), machine.mark(q))));
            }
            self.entries.push(Entry { op: op.clone(), outcome, done: None });
        }
        marks
    }

    /// Executes the completed operations on the oracle, and compares the results.
    fn replay(&self) -> Result<Oracle, String> {
        let mut oracle = Oracle::default();
        let mut undone = BTreeSet::new();
        let mut gathered = BTreeSet::new();
        let context_failed = self.context_failed.get();
        for (at, Entry { op, outcome, done }) in self.entries.iter().enumerate() {
            let wrong = |what: String| format!("operation {at}, {op:?}: {what}");
            self.check_error(outcome, done).map_err(wrong)?;
            if let Op::ReadRegion { r, .. } | Op::ReadRows { r, .. } = op {
                gathered.insert(*r);
            }
            if let Op::WaitRead { r, .. } = op
                && !(gathered.contains(r) && out_of_memory(outcome))
                && !(context_failed && matches!(outcome, Outcome::Failed(_)))
            {
                check_read(*r, &undone, outcome).map_err(wrong)?;
            }
            if let (Outcome::Data(found), Some(expected)) = (outcome, oracle.shown(op)) {
                compare(found, &expected).map_err(wrong)?;
            }
            match (outcome, done) {
                (Outcome::Failed(_), _) => {}
                (_, Some(Err(_))) => {
                    oracle.doubt(op);
                    undone.extend(op.begins_read());
                }
                _ if context_failed && written_by_context(op) => oracle.doubt(op),
                _ => oracle.apply(op),
            }
        }
        Ok(oracle)
    }

    fn check_error(&self, outcome: &Outcome, done: &Option<Result<(), Error>>) -> Result<(), String> {
        let failed = if let Outcome::Failed(error) = outcome { Some(error) } else { None };
        let errors = failed.into_iter().chain(done.iter().filter_map(|done| done.as_ref().err()));
        for error in errors {
            if !self.fault.allows(error) {
                return Err(format!("{:?} cannot give: {error}", self.fault));
            }
            if self.fault == Fault::Memory && done.is_some() {
                return Err(format!("enqueued work ran out of memory after its call: {error}"));
            }
        }
        Ok(())
    }

    /// Takes the context's errors, and records that there was one.
    fn take_error(&self) {
        while self.ctx.take_error().is_some() {
            self.context_failed.set(true);
        }
    }

    /// Makes the context complete its own work. Returns `true` if its device is lost.
    fn ends_lost(&self) -> Result<bool, String> {
        let lost = self.at_last(|| {
            self.take_error();
            let queue = self.ctx.queue("after the context's own");
            let read = queue.full([1], 0_u32).and_then(|x| queue.read(&x).wait());
            match read {
                Err(error) if is_loss(&error) => Ok(true),
                read => read.map(|_| false),
            }
        })?;
        if lost && self.fault != Fault::Driver {
            return Err("the device is lost without a fault that loses it".into());
        }
        Ok(lost)
    }

    /// Checks that the remaining arrays are correct, and that every queue works again once its error is taken.
    fn check_end(&self, machine: &mut Machine, oracle: &Oracle) -> Result<(), String> {
        for (&a, expected) in &oracle.arrays {
            let found = self.at_last(|| {
                // A map returns the error of the array's last write until the program takes it.
                machine.queues().for_each(|queue| _ = queue.take_error());
                self.take_error();
                match self.fault {
                    // A read of a padded array would allocate memory for its elements, and the device is out of memory.
                    Fault::Memory => machine.mapped(a),
                    _ => machine.elements(&self.ctx.queue("last"), a),
                }
            })?;
            compare(&found, expected).map_err(|what| format!("at the end, a{a}: {what}"))?;
        }
        // The check needs memory, and the device is out of memory.
        for queue in machine.queues().filter(|_| self.fault != Fault::Memory) {
            self.at_last(|| {
                queue.take_error();
                self.take_error();
                let x = queue.full([3], 7_u32)?;
                queue.read(&x).wait()
            })
            .and_then(|found| compare(&found, &[Some(7); 3]))
            .map_err(|what| format!("at the end, queue `{}`: {what}", queue.options().label))?;
        }
        Ok(())
    }

    /// Repeats an attempt until it is not hit by the fault.
    fn at_last<T>(&self, mut attempt: impl FnMut() -> fencepost::Result<T>) -> Result<T, String> {
        let mut last = None;
        for _ in 0..PATIENCE {
            match attempt() {
                Ok(done) => return Ok(done),
                Err(error) if self.fault.allows(&error) => last = Some(error),
                Err(error) => return Err(error.to_string()),
            }
        }
        Err(format!(
            "still fails after {PATIENCE} times: {}",
            last.map_or_else(String::new, |error| error.to_string())
        ))
    }

    /// Checks that results before the loss are correct, and that every call after it reports the loss.
    fn check_loss(&self) -> Result<(), String> {
        let mut oracle = Oracle::default();
        let mut lost = false;
        for (at, Entry { op, outcome, done }) in self.entries.iter().enumerate() {
            let wrong = |what: String| format!("operation {at}, {op:?}: {what}");
            self.check_error(outcome, done).map_err(wrong)?;
            if let (Outcome::Data(found), Some(expected)) = (outcome, oracle.shown(op)) {
                compare(found, &expected).map_err(wrong)?;
            }
            if let Outcome::Failed(error) = outcome {
                lost |= is_loss(error);
                continue;
            }
            // A read reports the loss when the program waits for it.
            if lost && op.queue().is_some() && op.begins_read().is_none() {
                return Err(wrong("accepted after the loss".into()));
            }
            let undone = matches!(done, Some(Err(error)) if !is_loss(error));
            if undone || (self.fault == Fault::Driver && written_by_context(op)) {
                oracle.doubt(op);
            } else {
                oracle.apply(op);
            }
        }
        let says_so = |result: Result<(), Error>| result.is_err_and(|error| self.fault.allows(&error));
        let queue = self.ctx.queue("late");
        let all = says_so(queue.finish().wait())
            && says_so(queue.flush())
            && says_so(self.ctx.zeros::<u32, 1>([1]).map(drop));
        if lost && !all {
            return Err("a call after the loss does not report it".into());
        }
        Ok(())
    }
}

/// Checks that a completed read has elements, and that a failed read has none.
fn check_read(r: Id, undone: &BTreeSet<Id>, outcome: &Outcome) -> Result<(), String> {
    match (outcome, undone.contains(&r)) {
        // Another queue's work overwrote the bytes of the read, and copying them first failed twice.
        (Outcome::Failed(error), false) if unsaved(error) => Ok(()),
        (Outcome::Failed(error), false) => Err(format!("the read was done, but: {error}")),
        (Outcome::Data(_), true) => Err("the read failed, but it shows elements".into()),
        _ => Ok(()),
    }
}

/// Returns `true` if the operation ran out of memory. A read of a region allocates memory for its elements.
fn out_of_memory(outcome: &Outcome) -> bool {
    matches!(outcome, Outcome::Failed(error) if matches!(error.detail(), ErrorDetail::OutOfMemory { .. }))
}

fn is_loss(error: &Error) -> bool {
    matches!(error.detail(), ErrorDetail::DeviceLost { .. })
}

/// Returns `true` if the context itself may have to write the array. It may write a mapped array when the guard
/// is dropped.
fn written_by_context(op: &Op) -> bool {
    matches!(op, Op::Array { by: Maker::Context(_), contents, .. } if !matches!(contents, Contents::Empty))
        || matches!(op, Op::Table { by: Maker::Context(_), zeros: true, .. } | Op::MapWrite { .. })
}
