//! Opens Vulkan devices whose driver fails calls on command: out of memory, or device lost.
//!
//! The functions of this file replace functions in the device's table, above the driver and its layers. A failed call
//! never reaches the driver.
#![allow(unsafe_code, reason = "functions of this file stand between wgpu and a driver")]

use super::function_tables;
use ash::vk::{self, Handle};
use fastrand::Rng;
use fencepost::RecorderChoice;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

/// Calls that the driver fails.
#[derive(Clone, Debug)]
pub enum Rule {
    Nothing,
    /// The allocating call with this number fails. Numbers count from 0 when the rule is set.
    Nth(u64, vk::Result),
    /// The submission with this number fails.
    Submission(u64, vk::Result),
    /// The device is lost at the fence query or wait with this number.
    Look(u64),
    /// Random allocating calls fail: this many in a thousand. The device is lost at the submission or fence query with
    /// this number.
    Seeded(Rng, u32, Option<u64>),
}

/// Calls that a driver received since a rule was set.
#[derive(Clone, Default, Debug)]
pub struct Seen {
    /// Number of allocating calls.
    pub allocations: u64,
    pub submissions: u64,
    pub looks: u64,
    /// All calls, in order.
    pub calls: Vec<Call>,
    /// Calls that failed.
    pub refused: Vec<(Call, vk::Result)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Sort {
    Allocates,
    Submits,
    Looks,
}

/// Functions of a device's driver, and the rule for its failures.
pub struct Driver {
    tables: Tables,
    plan: Mutex<Plan>,
}

/// Function tables with calls that can fail.
#[derive(Clone)]
struct Tables {
    v1_0: ash::DeviceFnV1_0,
    v1_2: ash::DeviceFnV1_2,
}

struct Plan {
    rule: Rule,
    seen: Seen,
    /// `true` once the device is lost. A lost device stays lost.
    lost: bool,
}

/// Returns the features of a device on a refusing driver. They include timestamps, so that queues can be timed.
fn features(adapter: &wgpu::Adapter) -> wgpu::Features {
    let timing = wgpu::Features::TIMESTAMP_QUERY | wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS;
    adapter.features() & (timing | wgpu::Features::IMMEDIATES)
}

/// Opens a device of a Vulkan adapter. Also returns its queue, and the driver, which does not fail any calls yet.
pub fn open(adapter: &wgpu::Adapter) -> (wgpu::Device, wgpu::Queue, Arc<Driver>) {
    let mut driver = None;
    let (device, queue) = function_tables::open(adapter, features(adapter), |device| {
        let (made, changed) = Driver::under(device);
        driver = Some(made);
        changed
    });
    (device, queue, driver.expect("it is made with the device"))
}

impl Driver {
    /// Returns the driver of a device, and a copy of the device whose functions first consult the driver's rule.
    fn under(device: &ash::Device) -> (Arc<Self>, ash::Device) {
        let plan = Mutex::new(Plan { rule: Rule::Nothing, seen: Seen::default(), lost: false });
        let tables = Tables { v1_0: device.fp_v1_0().clone(), v1_2: device.fp_v1_2().clone() };
        let driver = Arc::new(Self { tables: tables.clone(), plan });
        let Tables { v1_0, v1_2 } = tables.exchanged();
        let v1_1 = device.fp_v1_1().clone();
        let v1_3 = device.fp_v1_3().clone();
        // SAFETY: the device has one queue of this family.
        let queue = unsafe { device.get_device_queue(0, 0) };
        put(device.handle().as_raw(), &driver);
        put(queue.as_raw(), &driver);
        (driver, ash::Device::from_parts_1_3(device.handle(), v1_0, v1_1, v1_2, v1_3))
    }

    /// Sets the rule from now on. Returns the calls since the last call of `set`.
    pub fn set(&self, rule: Rule) -> Seen {
        let mut plan = self.plan();
        plan.rule = rule;
        std::mem::take(&mut plan.seen)
    }

    fn plan(&self) -> MutexGuard<'_, Plan> {
        self.plan.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the error for a call, if the rule fails it.
    fn refusal(&self, call: Call) -> Option<vk::Result> {
        let mut plan = self.plan();
        let sort = call.sort();
        let refusal = plan.refusal(sort);
        *plan.seen.count(sort) += 1;
        plan.seen.calls.push(call);
        if let Some(error) = refusal {
            plan.seen.refused.push((call, error));
            plan.lost |= error == vk::Result::ERROR_DEVICE_LOST;
        }
        refusal
    }
}

impl Plan {
    fn refusal(&mut self, sort: Sort) -> Option<vk::Result> {
        let lost = vk::Result::ERROR_DEVICE_LOST;
        if self.lost && sort != Sort::Allocates {
            return Some(lost);
        }
        let at = *self.seen.count(sort);
        let used = self.seen.submissions + self.seen.looks;
        match (&mut self.rule, sort) {
            (Rule::Nth(n, error), Sort::Allocates) => (*n == at).then_some(*error),
            (Rule::Submission(n, error), Sort::Submits) => (*n == at).then_some(*error),
            (Rule::Look(n), Sort::Looks) => (*n == at).then_some(lost),
            (Rule::Seeded(rng, each, _), Sort::Allocates) => {
                (rng.u32(0..1000) < *each).then(|| short_of(rng))
            }
            (Rule::Seeded(_, _, end), _) => (*end == Some(used)).then_some(lost),
            _ => None,
        }
    }
}

/// Draws which kind of memory runs out.
fn short_of(rng: &mut Rng) -> vk::Result {
    if rng.bool() { vk::Result::ERROR_OUT_OF_DEVICE_MEMORY } else { vk::Result::ERROR_OUT_OF_HOST_MEMORY }
}

impl Seen {
    /// Returns the number of times that the driver received this call.
    pub fn times(&self, call: Call) -> usize {
        self.calls.iter().filter(|&&seen| seen == call).count()
    }

    fn count(&mut self, sort: Sort) -> &mut u64 {
        match sort {
            Sort::Allocates => &mut self.allocations,
            Sort::Submits => &mut self.submissions,
            Sort::Looks => &mut self.looks,
        }
    }
}

/// Returns why a recorder is not tested in this run; `None` if it is.
pub fn not_tried(recorder: RecorderChoice) -> Option<&'static str> {
    let wanted = std::env::var("FENCEPOST_RECORDER").ok()?;
    let other = format!("{recorder:?}").to_lowercase() != wanted.to_lowercase();
    other.then_some("FENCEPOST_RECORDER names another recorder")
}

/// Returns `true` if the message reports shaders that were not destroyed before the device. wgpu-hal leaks the shader
/// if the driver fails to create a pipeline.
pub fn leaked_by_hal(message: &str) -> bool {
    let all = |kind: &str| message.matches(kind).count();
    message.contains("vkDestroyDevice") && all(" 0x") == all("VkShaderModule 0x") + all("VkDevice 0x")
}

/// Returns the map from the handles of devices, queues and command buffers to drivers.
fn drivers() -> MutexGuard<'static, HashMap<u64, Arc<Driver>>> {
    static DRIVERS: OnceLock<Mutex<HashMap<u64, Arc<Driver>>>> = OnceLock::new();
    DRIVERS.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner)
}

fn put(handle: u64, driver: &Arc<Driver>) {
    drivers().insert(handle, driver.clone());
}

fn driver_of(handle: impl Handle) -> Arc<Driver> {
    drivers().get(&handle.as_raw()).expect("bug: a handle that no driver made").clone()
}

/// Defines the calls that can fail, each with its kind, function table and arguments. The first argument is a handle
/// registered for a driver.
macro_rules! calls {
    ($($call:ident: $sort:ident, $table:ident.$name:ident($first:ident: $handle:ty $(, $arg:ident: $ty:ty)*);)*) => {
        /// A call that can fail.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub enum Call {
            $($call,)*
        }

        impl Call {
            /// Returns `true` if a failure of this call means that memory is out.
            pub fn allocates(self) -> bool {
                self.sort() == Sort::Allocates
            }

            fn sort(self) -> Sort {
                match self {
                    $(Call::$call => Sort::$sort,)*
                }
            }
        }

        $(
            unsafe extern "system" fn $name($first: $handle $(, $arg: $ty)*) -> vk::Result {
                let driver = driver_of($first);
                if let Some(error) = driver.refusal(Call::$call) {
                    return error;
                }
                // SAFETY: the caller upholds the contract of this call, and the driver's function has the
                // same contract.
                unsafe { (driver.tables.$table.$name)($first $(, $arg)*) }
            }
        )*

        impl Tables {
            /// Replaces functions of the driver by functions of this file.
            fn exchanged(mut self) -> Self {
                $(self.$table.$name = $name;)*
                self.v1_0.allocate_command_buffers = allocate_known_command_buffers;
                self.v1_0.create_compute_pipelines = create_pipelines_or_none;
                self
            }
        }
    };
}

type Callbacks<'a> = *const vk::AllocationCallbacks<'a>;

calls! {
    AllocateMemory: Allocates, v1_0.allocate_memory(device: vk::Device, info: *const vk::MemoryAllocateInfo<'_>,
        callbacks: Callbacks<'_>, made: *mut vk::DeviceMemory);
    CreateBuffer: Allocates, v1_0.create_buffer(device: vk::Device, info: *const vk::BufferCreateInfo<'_>,
        callbacks: Callbacks<'_>, made: *mut vk::Buffer);
    CreateQueryPool: Allocates, v1_0.create_query_pool(device: vk::Device, info: *const vk::QueryPoolCreateInfo<'_>,
        callbacks: Callbacks<'_>, made: *mut vk::QueryPool);
    CreateSemaphore: Allocates, v1_0.create_semaphore(device: vk::Device, info: *const vk::SemaphoreCreateInfo<'_>,
        callbacks: Callbacks<'_>, made: *mut vk::Semaphore);
    CreateDescriptorPool: Allocates, v1_0.create_descriptor_pool(device: vk::Device,
        info: *const vk::DescriptorPoolCreateInfo<'_>, callbacks: Callbacks<'_>, made: *mut vk::DescriptorPool);
    AllocateDescriptorSets: Allocates, v1_0.allocate_descriptor_sets(device: vk::Device,
        info: *const vk::DescriptorSetAllocateInfo<'_>, made: *mut vk::DescriptorSet);
    CreateDescriptorSetLayout: Allocates, v1_0.create_descriptor_set_layout(device: vk::Device,
        info: *const vk::DescriptorSetLayoutCreateInfo<'_>, callbacks: Callbacks<'_>,
        made: *mut vk::DescriptorSetLayout);
    CreatePipelineLayout: Allocates, v1_0.create_pipeline_layout(device: vk::Device,
        info: *const vk::PipelineLayoutCreateInfo<'_>, callbacks: Callbacks<'_>, made: *mut vk::PipelineLayout);
    CreateShaderModule: Allocates, v1_0.create_shader_module(device: vk::Device,
        info: *const vk::ShaderModuleCreateInfo<'_>, callbacks: Callbacks<'_>, made: *mut vk::ShaderModule);
    CreateComputePipelines: Allocates, v1_0.create_compute_pipelines(device: vk::Device, cache: vk::PipelineCache,
        count: u32, infos: *const vk::ComputePipelineCreateInfo<'_>, callbacks: Callbacks<'_>, made: *mut vk::Pipeline);
    CreateCommandPool: Allocates, v1_0.create_command_pool(device: vk::Device,
        info: *const vk::CommandPoolCreateInfo<'_>, callbacks: Callbacks<'_>, made: *mut vk::CommandPool);
    AllocateCommandBuffers: Allocates, v1_0.allocate_command_buffers(device: vk::Device,
        info: *const vk::CommandBufferAllocateInfo<'_>, made: *mut vk::CommandBuffer);
    BeginCommandBuffer: Allocates, v1_0.begin_command_buffer(commands: vk::CommandBuffer,
        info: *const vk::CommandBufferBeginInfo<'_>);
    EndCommandBuffer: Allocates, v1_0.end_command_buffer(commands: vk::CommandBuffer);
    QueueSubmit: Submits, v1_0.queue_submit(queue: vk::Queue, count: u32, submits: *const vk::SubmitInfo<'_>,
        fence: vk::Fence);
    WaitSemaphores: Looks, v1_2.wait_semaphores(device: vk::Device, info: *const vk::SemaphoreWaitInfo<'_>,
        timeout: u64);
    GetSemaphoreCounterValue: Looks, v1_2.get_semaphore_counter_value(device: vk::Device, semaphore: vk::Semaphore,
        value: *mut u64);
}

/// Registers the driver of the new command buffers.
unsafe extern "system" fn allocate_known_command_buffers(
    device: vk::Device,
    info: *const vk::CommandBufferAllocateInfo<'_>,
    made: *mut vk::CommandBuffer,
) -> vk::Result {
    // SAFETY: the caller upholds the contract of this call, and the driver's function has the same contract.
    let result = unsafe { allocate_command_buffers(device, info, made) };
    if result == vk::Result::SUCCESS {
        // SAFETY: the caller passes a valid description.
        let count = unsafe { (*info).command_buffer_count };
        // SAFETY: the driver has made `count` command buffers.
        let all = unsafe { std::slice::from_raw_parts(made, count as usize) };
        let driver = driver_of(device);
        all.iter().for_each(|commands| put(commands.as_raw(), &driver));
    }
    result
}

/// Clears the array of pipelines first, so that after a failure the caller reads no pipelines.
unsafe extern "system" fn create_pipelines_or_none(
    device: vk::Device,
    cache: vk::PipelineCache,
    count: u32,
    infos: *const vk::ComputePipelineCreateInfo<'_>,
    callbacks: Callbacks<'_>,
    made: *mut vk::Pipeline,
) -> vk::Result {
    // SAFETY: the caller provides room for `count` pipelines.
    unsafe { made.write_bytes(0, count as usize) };
    // SAFETY: the caller upholds the contract of this call, and the driver's function has the same contract.
    unsafe { create_compute_pipelines(device, cache, count, infos, callbacks, made) }
}
