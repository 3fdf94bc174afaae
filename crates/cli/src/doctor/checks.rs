//! The checks of a working adapter. Each compares its results with the host's.

use anyhow::{Result, bail};
use fencepost::prelude::*;

/// Result of a check that did not fail.
pub(super) enum Found {
    /// The feature works; the text describes the result.
    Works(String),
    /// The adapter lacks the feature, which is optional; the text gives the reason.
    Lacks(String),
}

/// Check of an open context.
pub(super) type Check = fn(&Context) -> Result<Found>;

/// Name of the first check, which opens the adapter.
pub(super) const OPEN: &str = "open";

/// Number of checks of an adapter.
pub(super) const COUNT: usize = CHECKS.len() + 1;

/// The checks of an open adapter, in order.
pub(super) const CHECKS: [(&str, Check); 6] = [
    ("launch", launch),
    ("device time", device_time),
    ("map", map),
    ("event", event),
    ("two queues", two_queues),
    ("read back", read_back),
];

#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl")]
struct Saxpy<'a> {
    a: f32,
    x: &'a DeviceArray<f32>,
    y: &'a mut DeviceArray<f32>,
}

/// Number of elements in most checks.
const N: usize = 1000;

fn launch(ctx: &Context) -> Result<Found> {
    let queue = ctx.queue("launch");
    let y = saxpy(ctx, &queue)?;
    let expected: Vec<f32> = (0..N).map(|i| 2.0 * i as f32 + 1.0).collect();
    same(&queue.read(&y).wait()?, &expected)?;
    Ok(Found::Works(format!("{N} numbers are right")))
}

/// Computes 2 * x + 1 for 0, 1, 2, ...
fn saxpy(ctx: &Context, queue: &CommandQueue) -> Result<DeviceArray<f32>> {
    let kernel = ctx.kernel::<Saxpy>()?;
    let x = queue.array(&(0..N).map(|i| i as f32).collect::<Vec<_>>())?;
    let mut y = queue.full([N], 1.0)?;
    queue.launch(&kernel, Grid::threads([N]), Saxpy { a: 2.0, x: &x, y: &mut y })?;
    Ok(y)
}

fn device_time(ctx: &Context) -> Result<Found> {
    let timed = QueueOptions::default().label("device time").timing(true);
    let queue = ctx.queue_with(timed);
    let start = queue.marker();
    saxpy(ctx, &queue)?;
    let end = queue.marker();
    match end.seconds_since(&start).wait() {
        Ok(seconds) if seconds > 0.0 => {
            Ok(Found::Works(format!("a launch and its uploads took {:.1} us", 1e6 * seconds)))
        }
        Ok(seconds) => bail!("a launch and its uploads took {seconds} s by the clock of the device"),
        Err(error) => match error.detail() {
            ErrorDetail::NotMeasured { reason, .. } => Ok(Found::Lacks(reason.clone())),
            _ => Err(error.into()),
        },
    }
}

fn map(ctx: &Context) -> Result<Found> {
    let queue = ctx.queue("map");
    let x = queue.full([N], 3_u32)?;
    let mut guard = x.map_write().wait()?;
    same(&guard, &[3; N])?;
    guard.iter_mut().enumerate().for_each(|(i, x)| *x = i as u32);
    drop(guard);
    same(&x.map_read().wait()?, &counted())?;
    same(&queue.read(&x).wait()?, &counted())?;
    Ok(Found::Works("the host and the device see each other's numbers".into()))
}

fn event(ctx: &Context) -> Result<Found> {
    let queue = ctx.queue("event");
    let gate = ctx.user_event("gate");
    let mut x = queue.zeros::<u32, 1>([N])?;
    queue.wait_for(&gate.event())?;
    queue.upload(&counted(), &mut x)?;
    let uploaded = queue.marker();
    queue.flush()?;
    if uploaded.is_complete()? {
        bail!("work that waits for an event of the host is complete before the event");
    }
    gate.signal();
    uploaded.wait()?;
    if !uploaded.is_complete()? {
        bail!("an event is not complete after a wait for it");
    }
    same(&queue.read(&x).wait()?, &counted())?;
    Ok(Found::Works("work waits for the host, and the host for work".into()))
}

fn two_queues(ctx: &Context) -> Result<Found> {
    let producer = ctx.queue("producer");
    let consumer = ctx.queue("consumer");
    let x = producer.array(&counted())?;
    let mut y = consumer.zeros::<u32, 1>([N])?;
    consumer.wait_for(&producer.marker())?;
    consumer.copy(&x, &mut y)?;
    same(&consumer.read(&y).wait()?, &counted())?;
    Ok(Found::Works("one queue waits for the other".into()))
}

fn read_back(ctx: &Context) -> Result<Found> {
    let queue = ctx.queue("read back");
    let mut rng = fastrand::Rng::with_seed(1);
    let numbers: Vec<u32> = (0..1 << 18).map(|_| rng.u32(..)).collect();
    let x = queue.array(&numbers)?;
    same(&queue.read(&x).wait()?, &numbers)?;
    Ok(Found::Works("1 MiB was read back unchanged".into()))
}

fn counted() -> Vec<u32> {
    (0..N as u32).collect()
}

/// Fails at the first number that differs from the expected one.
fn same<T: PartialEq + std::fmt::Debug>(found: &[T], expected: &[T]) -> Result<()> {
    if found.len() != expected.len() {
        bail!("{} numbers came back in place of {}", found.len(), expected.len());
    }
    match found.iter().zip(expected).position(|(found, expected)| found != expected) {
        Some(at) => bail!("number {at} is {:?} in place of {:?}", found[at], expected[at]),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_number_is_reported_with_its_index() {
        assert!(same(&[1, 2], &[1, 2]).is_ok());
        let error = same(&[1, 2, 4], &[1, 2, 3]).expect_err("the last one is wrong");
        assert_eq!(error.to_string(), "number 2 is 4 in place of 3");
        assert!(same(&[1], &[1, 2]).is_err());
    }

    #[test]
    fn every_check_passes_on_the_cpu_recorder() {
        let ctx = Context::simulated(fencepost::SimulatorOptions::default());
        for (name, check) in CHECKS {
            if let Err(error) = check(&ctx) {
                panic!("{name}: {error:#}");
            }
        }
    }
}
