//! Checks how many barriers the batch of several queues records. The test counts calls of the driver.
#![allow(unsafe_code, reason = "a device with a counting function table is made without wgpu")]

#[path = "common/mod.rs"]
mod common;

use ash::vk;
use common::kernels::{Mix, mixed};
use common::subject::{Place, Subject};
use common::{adapters, function_tables, raw, watchdog};
use fencepost::prelude::*;
use fencepost::{AdoptOptions, RecorderChoice};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// Limits the time of a test. A longer test counts as a hang and fails.
const LIMIT: Duration = Duration::from_secs(60);

/// Counts the launches of each queue. Every launch depends on the launch before it.
const LAUNCHES: u32 = 48;
const N: usize = 64;

fn main() {
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    let places = adapters::find().places.into_iter().filter(|place| place.is_vulkan());
    let mut trials: Vec<Trial> = places.flat_map(trials).collect();
    if trials.is_empty() {
        trials.push(Trial::ignorable_test("queues_side_by_side_share_their_barriers::no_vulkan", || {
            Ok(Completion::ignored_with("no Vulkan adapter is among the chosen"))
        }));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// Returns a trial for each recorder.
fn trials(place: Arc<Place>) -> impl Iterator<Item = Trial> {
    [RecorderChoice::Wgpu, RecorderChoice::Hal, RecorderChoice::Direct].into_iter().map(move |recorder| {
        let (place, name) = (place.clone(), format!("{recorder:?}").to_lowercase());
        let name = format!("queues_side_by_side_share_their_barriers_{name}::{}", place.name());
        Trial::test(name.clone(), move || {
            let subject = Subject::new(place);
            let run = move |subject: &Subject| share(subject, recorder);
            watchdog::guard(&name, LIMIT, &subject, run).map_err(Failed::from)
        })
    })
}

/// Checks that any number of queues records one barrier for each level, and a few at the ends of the batch.
fn share(subject: &Subject, recorder: RecorderChoice) {
    let counts = [1, 2, 4, 8, 16].map(|queues| barriers(subject, recorder, queues));
    let levels = LAUNCHES as usize;
    let right = counts.iter().all(|count| (levels - 1..=levels + 4).contains(count));
    assert!(right, "1, 2, 4, 8, 16 queues of {LAUNCHES} launches: {counts:?} barriers");
}

/// Returns the number of barriers of one batch in which each queue works on its own array.
fn barriers(subject: &Subject, recorder: RecorderChoice, queues: usize) -> usize {
    let (device, queue) = counting_device(subject.place());
    let options = AdoptOptions {
        recorder,
        exclusive: recorder == RecorderChoice::Direct,
        lateness: Duration::MAX,
        ..AdoptOptions::default()
    };
    let ctx = Context::adopt(device, queue, options).unwrap();
    subject.watch(&ctx);
    let records = format!("recorder {recorder:?}").to_lowercase();
    assert!(ctx.state_dump().contains(&records), "{}", ctx.state_dump());
    let kernel = ctx.kernel::<Mix>().unwrap();
    let x = ctx.array(&[1; N]).unwrap();
    let arrays: Vec<DeviceArray<u32>> = (0..queues).map(|_| ctx.zeros([N]).unwrap()).collect();
    let gate = ctx.user_event("gate");
    let queues: Vec<CommandQueue> = (0..queues).map(|at| ctx.queue(&format!("queue {at}"))).collect();
    for array in arrays.iter().chain([&x]) {
        ctx.default_queue().read(array).wait().unwrap(); // the arrays are now initialised
    }
    for (queue, array) in queues.iter().zip(&arrays) {
        queue.wait_for(&gate.event()).unwrap();
        for b in 0..LAUNCHES {
            let args = Mix { a: 3, b, x: &x, y: &mut array.handle() };
            queue.launch(&kernel, Grid::threads([N]), args).unwrap();
        }
    }
    let all = ctx.queue("all");
    queues.iter().for_each(|queue| all.wait_for_queue(queue).unwrap()); // the wait for `all` plans every queue
    let before = SEEN.load(Ordering::SeqCst);
    gate.signal();
    all.finish().wait().unwrap();
    let seen = SEEN.load(Ordering::SeqCst) - before;
    let right = (0..LAUNCHES).fold(0, |y, b| mixed(y, 3, 1, b));
    for array in &arrays {
        assert_eq!(ctx.default_queue().read(array).wait().unwrap(), [right; N]);
    }
    seen
}

/// Counts the barriers that this process recorded.
static SEEN: AtomicUsize = AtomicUsize::new(0);
/// Holds the driver's own function.
static RECORD: OnceLock<vk::PFN_vkCmdPipelineBarrier> = OnceLock::new();

unsafe extern "system" fn count(
    commands: vk::CommandBuffer,
    from: vk::PipelineStageFlags,
    to: vk::PipelineStageFlags,
    flags: vk::DependencyFlags,
    memory_count: u32,
    memory: *const vk::MemoryBarrier<'_>,
    buffer_count: u32,
    buffers: *const vk::BufferMemoryBarrier<'_>,
    image_count: u32,
    images: *const vk::ImageMemoryBarrier<'_>,
) {
    SEEN.fetch_add(1, Ordering::SeqCst);
    if let Some(record) = RECORD.get() {
        // SAFETY: the caller upholds the contract of this call, and the driver's function has the same contract.
        unsafe {
            record(
                commands,
                from,
                to,
                flags,
                memory_count,
                memory,
                buffer_count,
                buffers,
                image_count,
                images,
            );
        }
    }
}

/// Opens a device of `place` that counts its barriers. One static holds the driver's function: all devices of one
/// adapter have the same driver, and the adapters are tested one after the other.
fn counting_device(place: &Place) -> (wgpu::Device, wgpu::Queue) {
    function_tables::open(&raw::adapter(place), wgpu::Features::empty(), with_count)
}

/// Returns the same device with [`count`] in its function table.
fn with_count(device: &ash::Device) -> ash::Device {
    let mut table = device.fp_v1_0().clone();
    RECORD.get_or_init(|| table.cmd_pipeline_barrier);
    table.cmd_pipeline_barrier = count;
    let (v1, v2, v3) = (device.fp_v1_1().clone(), device.fp_v1_2().clone(), device.fp_v1_3().clone());
    ash::Device::from_parts_1_3(device.handle(), table, v1, v2, v3)
}
