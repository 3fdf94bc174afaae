//! Checks the number of barriers in a batch of several queues, with launches and with replays of graphs, and that its
//! writes become visible to the host. Checks that no batch waits for another one. The tests count driver calls.
#![allow(unsafe_code, reason = "a device with a counting function table is made without wgpu")]

#[path = "common/mod.rs"]
mod common;

use ash::vk;
use common::kernels::Mix;
use common::subject::{Place, Subject};
use common::{adapters, function_tables, raw, watchdog};
use fencepost::prelude::*;
use fencepost::{AdoptOptions, RecorderChoice};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Duration;

/// Time limit of a test. A longer test counts as a hang and fails.
const LIMIT: Duration = Duration::from_secs(60);

/// Launches of each queue. Every launch depends on the launch before it.
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

/// Commands of the queues: each queue has one chain.
#[derive(Clone, Copy, Debug)]
enum Commands {
    Launches,
    /// Every queue replays a graph of its launches.
    Graphs,
    /// Every second queue replays a graph of its launches.
    GraphsBesideLaunches,
}

impl Commands {
    fn name(self) -> &'static str {
        match self {
            Self::Launches => "queues",
            Self::Graphs => "graphs",
            Self::GraphsBesideLaunches => "graphs_and_launches",
        }
    }

    fn replays(self, queue: usize) -> bool {
        match self {
            Self::Launches => false,
            Self::Graphs => true,
            Self::GraphsBesideLaunches => queue.is_multiple_of(2),
        }
    }
}

/// Returns the trials of a place. There is one for each recorder and each kind of commands.
fn trials(place: Arc<Place>) -> Vec<Trial> {
    let mut all = vec![
        trial("batches_of_several_queues_wait_for_no_other_submission", &place, start_early),
        trial("two_contexts_on_one_device_submit_in_turn", &place, submit_in_turn),
    ];
    for recorder in [RecorderChoice::Wgpu, RecorderChoice::Hal, RecorderChoice::Direct] {
        for commands in [Commands::Launches, Commands::Graphs, Commands::GraphsBesideLaunches] {
            let name = format!("{recorder:?}").to_lowercase();
            let name = format!("{}_side_by_side_share_their_barriers_{name}", commands.name());
            all.push(trial(&name, &place, move |subject| share(subject, recorder, commands)));
        }
    }
    all
}

fn trial(name: &str, place: &Arc<Place>, run: impl FnOnce(&Subject) + Send + 'static) -> Trial {
    let name = format!("{name}::{}", place.name());
    let place = place.clone();
    Trial::test(name.clone(), move || {
        let subject = Subject::new(place);
        watchdog::guard(&name, LIMIT, &subject, run).map_err(Failed::from)
    })
}

/// Checks that no two threads are inside `vkQueueSubmit` of one queue, which Vulkan forbids.
fn submit_in_turn(subject: &Subject) {
    let (device, queue) = counting_device(subject.place());
    let adopt = |exclusive| {
        let options = AdoptOptions::default().recorder(RecorderChoice::Direct).exclusive(exclusive);
        subject.adopt((device.clone(), queue.clone()), options)
    };
    for exclusive in [true, false] {
        let contexts = [adopt(true), adopt(exclusive)];
        let together = TOGETHER.load(Ordering::SeqCst);
        let submitted = SUBMITTED.load(Ordering::SeqCst);
        SLOW.store(true, Ordering::SeqCst);
        thread::scope(|scope| {
            for ctx in &contexts {
                scope.spawn(|| {
                    let queue = ctx.queue("q");
                    let mut x = ctx.zeros::<u32, 1>([N]).unwrap();
                    for at in 0..LAUNCHES {
                        queue.fill(&mut x, at).unwrap();
                        assert_eq!(queue.read(&x).wait().unwrap(), [at; N]);
                    }
                });
            }
        });
        SLOW.store(false, Ordering::SeqCst);
        let submitted = SUBMITTED.load(Ordering::SeqCst) - submitted;
        assert!(submitted >= 2 * LAUNCHES as usize, "{submitted} submissions");
        let together = TOGETHER.load(Ordering::SeqCst) - together;
        assert_eq!(
            together, 0,
            "of {submitted} submissions, with a second context that is exclusive: {exclusive}"
        );
    }
}

/// Checks that each launch of two queues is its own submission and waits for no semaphore, and that launches on one
/// array have a barrier for all memory between them.
fn start_early(subject: &Subject) {
    let options =
        AdoptOptions::default().recorder(RecorderChoice::Direct).exclusive(true).lateness(Duration::ZERO);
    let ctx = subject.adopt(counting_device(subject.place()), options);
    let kernel = ctx.kernel::<Mix>().unwrap();
    let x = ctx.array(&[1; N]).unwrap();
    let queues = ["one", "two"].map(|name| (ctx.queue(name), ctx.zeros::<u32, 1>([N]).unwrap()));
    let launch = |b: u32| {
        for (queue, array) in &queues {
            let args = Mix { a: 3, b, x: &x, y: &mut array.clone() };
            queue.launch(&kernel, Grid::threads([N]), args).unwrap();
        }
        queues.iter().for_each(|(queue, _)| queue.finish().wait().unwrap());
    };
    launch(0); // the arrays are now initialised, and no upload is left
    let counts = || [&SUBMITTED, &WAITING, &TO_KERNELS].map(|count| count.load(Ordering::SeqCst));
    let before = counts();
    (1..=LAUNCHES).for_each(launch);
    let after = counts();
    let [submitted, waiting, ordered] = [0, 1, 2].map(|at| after[at] - before[at]);
    assert!(submitted >= 2 * LAUNCHES as usize, "{submitted} submissions");
    assert_eq!(waiting, 0, "of {submitted} submissions");
    assert!(ordered >= LAUNCHES as usize, "{ordered} barriers order launches after earlier batches");
    let right = (0..=LAUNCHES).fold(0, |y, b| Mix::of(3, b, 1, y));
    for (queue, array) in &queues {
        assert_eq!(queue.read(array).wait().unwrap(), [right; N]);
    }
}

/// Checks that with any number of queues, one barrier is recorded for each level, and a few at the start and the end of
/// the batch.
fn share(subject: &Subject, recorder: RecorderChoice, commands: Commands) {
    let (numbers, rounds): (&[usize], _) = match commands {
        Commands::Launches => (&[1, 2, 4, 8, 16], 1),
        _ => (&[1, 2, 4], 3), // the second replay of a graph is recorded differently from the first
    };
    let levels = LAUNCHES as usize;
    for &queues in numbers {
        let counts = barriers(subject, (recorder, commands), queues, rounds);
        let right = counts.iter().all(|count| (levels - 1..=levels + 4).contains(count));
        assert!(right, "{commands:?}, {queues} queues of {LAUNCHES} launches: {counts:?} barriers");
    }
}

/// Returns the numbers of barriers of batches in which each queue works on its own array.
fn barriers(
    subject: &Subject,
    (recorder, commands): (RecorderChoice, Commands),
    queues: usize,
    rounds: u32,
) -> Vec<usize> {
    let options = AdoptOptions::default()
        .recorder(recorder)
        .exclusive(recorder == RecorderChoice::Direct)
        .threads(false) // the wait plans all queues together; a thread might plan some of them earlier
        .lateness(Duration::MAX);
    let ctx = subject.adopt(counting_device(subject.place()), options);
    let records = format!("recorder {recorder:?}").to_lowercase();
    assert!(ctx.diagnostics().state_dump().contains(&records), "{}", ctx.diagnostics().state_dump());
    let kernel = ctx.kernel::<Mix>().unwrap();
    let x = ctx.array(&[1; N]).unwrap();
    let arrays: Vec<DeviceArray<u32>> = (0..queues).map(|_| ctx.zeros([N]).unwrap()).collect();
    let queues: Vec<CommandQueue> = (0..queues).map(|at| ctx.queue(&format!("queue {at}"))).collect();
    for array in arrays.iter().chain([&x]) {
        ctx.default_queue().read(array).wait().unwrap(); // the arrays are now initialised
    }
    let launch = |queue: &CommandQueue, array: &DeviceArray<u32>| -> Result<(), fencepost::Error> {
        for b in 0..LAUNCHES {
            let args = Mix { a: 3, b, x: &x, y: &mut array.clone() };
            queue.launch(&kernel, Grid::threads([N]), args)?;
        }
        Ok(())
    };
    let capture = |(at, (queue, array)): (usize, (&CommandQueue, &DeviceArray<u32>))| {
        commands.replays(at).then(|| queue.capture(|captured| launch(captured, array)).unwrap().0)
    };
    let graphs: Vec<Option<Graph>> = queues.iter().zip(&arrays).enumerate().map(capture).collect();
    let all = ctx.queue("all");
    let round = |_| {
        let gate = ctx.user_event("gate");
        for ((queue, array), graph) in queues.iter().zip(&arrays).zip(&graphs) {
            queue.wait_for(&gate.event()).unwrap();
            match graph {
                Some(graph) => drop(queue.replay(graph).unwrap()),
                None => launch(queue, array).unwrap(),
            }
        }
        queues.iter().for_each(|queue| all.wait_for(queue).unwrap());
        let before = [&SEEN, &TO_HOST].map(|count| count.load(Ordering::SeqCst));
        gate.signal();
        all.finish().wait().unwrap();
        let [seen, to_host] = [&SEEN, &TO_HOST].map(|count| count.load(Ordering::SeqCst));
        let shows = to_host > before[1] || recorder == RecorderChoice::Wgpu; // which maps no array here
        assert!(shows, "{commands:?}: no barrier shows the writes of the batch to the host");
        seen - before[0]
    };
    let seen = (0..rounds).map(round).collect();
    let right = (0..rounds * LAUNCHES).fold(0, |y, at| Mix::of(3, at % LAUNCHES, 1, y));
    for array in &arrays {
        assert_eq!(ctx.default_queue().read(array).wait().unwrap(), [right; N]);
    }
    seen
}

/// Barriers that this process recorded.
static SEEN: AtomicUsize = AtomicUsize::new(0);
/// Barriers that order all memory before the host.
static TO_HOST: AtomicUsize = AtomicUsize::new(0);
/// Barriers that order all memory before kernels.
static TO_KERNELS: AtomicUsize = AtomicUsize::new(0);
/// Number of submissions.
static SUBMITTED: AtomicUsize = AtomicUsize::new(0);
/// Number of submissions that wait for a semaphore.
static WAITING: AtomicUsize = AtomicUsize::new(0);
/// Number of threads inside `vkQueueSubmit`.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
/// Number of submissions that began inside another one.
static TOGETHER: AtomicUsize = AtomicUsize::new(0);
/// `true` if each submission takes some time, so that others can begin meanwhile.
static SLOW: AtomicBool = AtomicBool::new(false);
/// The driver's own functions.
static RECORD: OnceLock<vk::PFN_vkCmdPipelineBarrier> = OnceLock::new();
static SUBMIT: OnceLock<vk::PFN_vkQueueSubmit> = OnceLock::new();

unsafe extern "system" fn count_submissions(
    queue: vk::Queue,
    count: u32,
    infos: *const vk::SubmitInfo<'_>,
    fence: vk::Fence,
) -> vk::Result {
    // SAFETY: the caller passes as many structures as it says.
    let all = unsafe { std::slice::from_raw_parts(infos, count as usize) };
    SUBMITTED.fetch_add(all.len(), Ordering::SeqCst);
    let waiting = all.iter().filter(|info| info.wait_semaphore_count > 0).count();
    WAITING.fetch_add(waiting, Ordering::SeqCst);
    let Some(submit) = SUBMIT.get() else { return vk::Result::ERROR_UNKNOWN };
    let others = INSIDE.fetch_add(1, Ordering::SeqCst);
    TOGETHER.fetch_add(usize::from(others > 0), Ordering::SeqCst);
    if SLOW.load(Ordering::SeqCst) {
        thread::sleep(Duration::from_micros(300));
    }
    // SAFETY: the caller upholds the contract of this call, and the driver's function has the same contract.
    let result = unsafe { submit(queue, count, infos, fence) };
    INSIDE.fetch_sub(1, Ordering::SeqCst);
    result
}

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
    let to_host = memory_count == 1 && to.contains(vk::PipelineStageFlags::HOST);
    TO_HOST.fetch_add(usize::from(to_host), Ordering::SeqCst);
    let to_kernels = memory_count == 1 && to.contains(vk::PipelineStageFlags::COMPUTE_SHADER);
    TO_KERNELS.fetch_add(usize::from(to_kernels), Ordering::SeqCst);
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

/// Opens a device of `place` that counts its barriers. The driver's function is in a static, because all devices of one
/// adapter have the same driver, and the adapters are tested one after the other.
fn counting_device(place: &Place) -> (wgpu::Device, wgpu::Queue) {
    function_tables::open(&raw::adapter(place), wgpu::Features::empty(), with_count)
}

/// Returns the same device with [`count`] and [`count_submissions`] in its function table.
fn with_count(device: &ash::Device) -> ash::Device {
    let mut table = device.fp_v1_0().clone();
    RECORD.get_or_init(|| table.cmd_pipeline_barrier);
    table.cmd_pipeline_barrier = count;
    SUBMIT.get_or_init(|| table.queue_submit);
    table.queue_submit = count_submissions;
    let v1 = device.fp_v1_1().clone();
    let v2 = device.fp_v1_2().clone();
    let v3 = device.fp_v1_3().clone();
    ash::Device::from_parts_1_3(device.handle(), table, v1, v2, v3)
}
