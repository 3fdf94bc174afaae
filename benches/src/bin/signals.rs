#![allow(unsafe_code, reason = "this file measures bare Vulkan")]
#![allow(clippy::multiple_unsafe_ops_per_block, reason = "one SAFETY comment holds for all calls of a block")]
//! Compares signals that share one call of `vkQueueSubmit` with signals that each have their own call: the cost, and
//! the time until the first result.
//!
//! Run `cargo run --release -p fencepost-benches --bin signals`. It measures every Vulkan device. The ways alternate in
//! each round.
// One SAFETY argument holds for all calls: every handle was made by the same device (or its instance) and is destroyed
// only at the end, each round waits for all its submissions, and one thread makes every call.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use ash::{Device, Entry, Instance, vk};

/// Number of pieces of work, each with a signal.
const PIECES: usize = 16;
const ROUNDS: usize = 200;
/// Bytes that a piece fills.
const BYTES: u64 = 1 << 20;

/// Times of a round.
#[derive(Clone, Copy)]
struct Took {
    /// Time until the last call of the host returned.
    host: Duration,
    /// Time until the host saw the first signal; `last` is the time until the last signal.
    first: Duration,
    last: Duration,
}

type Way = fn(&Bench, u64) -> Result<()>;

const WAYS: [(&str, Way); 3] = [
    ("a call for each signal", Bench::calls),
    ("one call, a submit info for each signal", Bench::infos),
    ("one call, one signal", Bench::one),
];

fn main() -> Result<()> {
    // SAFETY: the library is the system's Vulkan loader, whose initialisers have no requirements.
    let entry = unsafe { Entry::load() }?;
    let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_2);
    let created = vk::InstanceCreateInfo::default().application_info(&application);
    // SAFETY: `created` and its pointers are valid during the call.
    let instance = unsafe { entry.create_instance(&created, None) }?;
    // SAFETY: see the head of the file.
    for physical in unsafe { instance.enumerate_physical_devices() }? {
        // SAFETY: see the head of the file.
        let properties = unsafe { instance.get_physical_device_properties(physical) };
        println!("{}: {PIECES} fills of {BYTES} bytes", properties.device_name_as_c_str()?.to_string_lossy());
        Bench::open(&instance, physical)?.run()?;
    }
    // SAFETY: see the head of the file.
    unsafe { instance.destroy_instance(None) };
    Ok(())
}

/// A device, and a command buffer for each piece.
struct Bench {
    device: Device,
    queue: vk::Queue,
    pool: vk::CommandPool,
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    semaphore: vk::Semaphore,
    commands: Vec<vk::CommandBuffer>,
}

impl Bench {
    fn open(instance: &Instance, physical: vk::PhysicalDevice) -> Result<Self> {
        let priorities = [1.0];
        let queues = [vk::DeviceQueueCreateInfo::default().queue_priorities(&priorities)];
        let mut timeline = vk::PhysicalDeviceTimelineSemaphoreFeatures::default().timeline_semaphore(true);
        let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues).push_next(&mut timeline);
        // SAFETY: `info` and its pointers are valid during the call; the first family of every driver computes.
        let device = unsafe { instance.create_device(physical, &info, None) }?;
        // SAFETY: see the head of the file.
        let queue = unsafe { device.get_device_queue(0, 0) };
        // SAFETY: see the head of the file.
        let pool = unsafe { device.create_command_pool(&vk::CommandPoolCreateInfo::default(), None) }?;
        let info = vk::BufferCreateInfo::default().size(BYTES).usage(vk::BufferUsageFlags::TRANSFER_DST);
        // SAFETY: see the head of the file.
        let buffer = unsafe { device.create_buffer(&info, None) }?;
        // SAFETY: see the head of the file.
        let needs = unsafe { device.get_buffer_memory_requirements(buffer) };
        let kind = needs.memory_type_bits.trailing_zeros();
        let info = vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(kind);
        // SAFETY: see the head of the file.
        let memory = unsafe { device.allocate_memory(&info, None) }?;
        // SAFETY: the memory is as large as the buffer needs, and of a type that the buffer supports.
        unsafe { device.bind_buffer_memory(buffer, memory, 0) }?;
        let mut kind = vk::SemaphoreTypeCreateInfo::default()
            .semaphore_type(vk::SemaphoreType::TIMELINE)
            .initial_value(0);
        let info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        // SAFETY: see the head of the file.
        let semaphore = unsafe { device.create_semaphore(&info, None) }?;
        let info =
            vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(PIECES as u32);
        // SAFETY: see the head of the file.
        let commands = unsafe { device.allocate_command_buffers(&info) }?;
        for (at, &commands) in commands.iter().enumerate() {
            // SAFETY: the command buffer is new; the fill lies in the buffer.
            unsafe {
                device.begin_command_buffer(commands, &vk::CommandBufferBeginInfo::default())?;
                device.cmd_fill_buffer(commands, buffer, 0, BYTES, at as u32);
                device.end_command_buffer(commands)?;
            }
        }
        Ok(Self { device, queue, pool, buffer, memory, semaphore, commands })
    }

    fn run(self) -> Result<()> {
        let mut took = [const { Vec::new() }; WAYS.len()];
        let mut value = 0;
        for round in 0..ROUNDS {
            for at in 0..WAYS.len() {
                let at = (at + round) % WAYS.len();
                took[at].push(self.round(WAYS[at].1, value)?);
                value += PIECES as u64;
            }
        }
        println!("{:42} {:>10} {:>10} {:>10}   us, medians of {ROUNDS}", "", "host", "first", "last");
        for ((name, _), took) in WAYS.iter().zip(&took) {
            let median = |part: fn(&Took) -> Duration| {
                let mut times: Vec<Duration> = took.iter().map(part).collect();
                times.sort();
                times[times.len() / 2].as_secs_f64() * 1e6
            };
            let host = median(|t| t.host);
            let first = median(|t| t.first);
            let last = median(|t| t.last);
            println!("{name:42} {host:10.1} {first:10.1} {last:10.1}");
        }
        println!();
        // SAFETY: every round has waited for its work.
        unsafe {
            self.device.destroy_semaphore(self.semaphore, None);
            self.device.destroy_buffer(self.buffer, None);
            self.device.free_memory(self.memory, None);
            self.device.destroy_command_pool(self.pool, None);
            self.device.destroy_device(None);
        }
        Ok(())
    }

    /// Submits the pieces, which signal the values after `value`, and waits for them.
    fn round(&self, way: Way, value: u64) -> Result<Took> {
        let start = Instant::now();
        way(self, value)?;
        let host = start.elapsed();
        self.wait(value + 1)?;
        let first = start.elapsed();
        self.wait(value + PIECES as u64)?;
        Ok(Took { host, first, last: start.elapsed() })
    }

    fn wait(&self, value: u64) -> Result<()> {
        let semaphores = [self.semaphore];
        let values = [value];
        let info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
        // SAFETY: see the head of the file.
        unsafe { self.device.wait_semaphores(&info, u64::MAX) }.context("waiting for a value")
    }

    /// Submits the commands of each part with a signal of its value, in one call.
    fn submit(&self, parts: &[(&[vk::CommandBuffer], u64)]) -> Result<()> {
        let semaphores = [self.semaphore];
        let values: Vec<[u64; 1]> = parts.iter().map(|(_, value)| [*value]).collect();
        let timeline = |values| vk::TimelineSemaphoreSubmitInfo::default().signal_semaphore_values(values);
        let mut timelines: Vec<_> = values.iter().map(|values| timeline(&values[..])).collect();
        let info = |(part, timeline)| {
            let (commands, _): &(&[vk::CommandBuffer], u64) = part;
            vk::SubmitInfo::default()
                .command_buffers(commands)
                .signal_semaphores(&semaphores)
                .push_next::<vk::TimelineSemaphoreSubmitInfo<'_>>(timeline)
        };
        let infos: Vec<_> = parts.iter().zip(&mut timelines).map(info).collect();
        // SAFETY: the commands are recorded, their earlier submissions are done, and the values grow.
        Ok(unsafe { self.device.queue_submit(self.queue, &infos, vk::Fence::null()) }?)
    }

    fn parts(&self, value: u64) -> Vec<(&[vk::CommandBuffer], u64)> {
        let part = |(at, commands)| (std::slice::from_ref(commands), value + 1 + at as u64);
        self.commands.iter().enumerate().map(part).collect()
    }

    fn calls(&self, value: u64) -> Result<()> {
        self.parts(value).iter().try_for_each(|part| self.submit(&[*part]))
    }

    fn infos(&self, value: u64) -> Result<()> {
        self.submit(&self.parts(value))
    }

    fn one(&self, value: u64) -> Result<()> {
        self.submit(&[(&self.commands[..], value + PIECES as u64)])
    }
}
