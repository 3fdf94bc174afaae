#![allow(unsafe_code, reason = "this file measures bare Vulkan; every other file of the crate is safe")]
// One SAFETY argument holds for nearly all calls. Every handle was made by `self.device` or its instance and is
// destroyed in `Drop` only. `launch` waits for the fence before it returns, and `&mut self` excludes other
// threads. No call therefore uses a destroyed handle or one that the device still uses. If `open` fails half-way,
// its handles stay until the end of the process.

use std::{
    ffi::CStr,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, ensure};
use ash::{Device, Entry, Instance, vk};

use crate::{
    implementation::{Implementation, LaunchTime},
    job::{ARRAY_BYTES, ELEMENTS, Job, OUTPUTS, Variant, WORKGROUPS, input},
    part::Part,
    spirv,
};

/// Bare Vulkan: one command buffer, cached descriptor sets, push constants, barriers only where needed, a fence,
/// permanently mapped memory.
pub(crate) struct Vulkan {
    _entry: Entry,
    instance: Instance,
    device: Device,
    physical: vk::PhysicalDevice,
    queue: vk::Queue,
    pool: vk::CommandPool,
    commands: vk::CommandBuffer,
    fence: vk::Fence,
    program: Program,
    /// The input, then every output.
    arrays: Mapped,
    transfer: Option<Mapped>,
    /// `true` if the command buffer of a job is recorded once and submitted for each sample.
    replays: bool,
    /// The job in the command buffer, if the buffer is kept.
    recorded: Option<(Variant, usize)>,
}

/// The kernel with its layouts and descriptor sets.
struct Program {
    set_layout: vk::DescriptorSetLayout,
    layout: vk::PipelineLayout,
    pipeline: vk::Pipeline,
    descriptors: vk::DescriptorPool,
    /// One set for each output.
    sets: Vec<vk::DescriptorSet>,
}

/// A buffer in memory that host and device both access, mapped until it is destroyed.
struct Mapped {
    buffer: vk::Buffer,
    memory: vk::DeviceMemory,
    address: *mut u8,
    bytes: usize,
}

impl Vulkan {
    /// Opens the Vulkan device of the adapter in `info`.
    pub(crate) fn open(info: &wgpu::AdapterInfo) -> Result<Self> {
        // SAFETY: the library is the system's Vulkan loader, whose initialisers have no requirements.
        let entry = unsafe { Entry::load() }?;
        let application = vk::ApplicationInfo::default().api_version(vk::API_VERSION_1_1);
        let created = vk::InstanceCreateInfo::default().application_info(&application);
        // SAFETY: `created` and its pointers are valid during the call.
        let instance = unsafe { entry.create_instance(&created, None) }?;
        let physical = find(&instance, info)?;
        let family = compute_family(&instance, physical)?;
        let device = create_device(&instance, physical, family)?;
        // SAFETY: the device was made with one queue of this family.
        let queue = unsafe { device.get_device_queue(family, 0) };
        let pool_info = vk::CommandPoolCreateInfo::default().queue_family_index(family);
        // SAFETY: see the head of the file.
        let pool = unsafe { device.create_command_pool(&pool_info, None) }?;
        let buffers = vk::CommandBufferAllocateInfo::default().command_pool(pool).command_buffer_count(1);
        // SAFETY: see the head of the file.
        let commands = unsafe { device.allocate_command_buffers(&buffers) }?[0];
        // SAFETY: see the head of the file.
        let fence = unsafe { device.create_fence(&vk::FenceCreateInfo::default(), None) }?;
        let mut arrays = Mapped::create(&instance, physical, &device, (1 + OUTPUTS) * ARRAY_BYTES)?;
        arrays.host()[..ARRAY_BYTES].copy_from_slice(bytemuck::cast_slice(&input()));
        let program = Program::create(&device, arrays.buffer)?;
        let _entry = entry;
        let transfer = None;
        Ok(Self {
            _entry,
            instance,
            device,
            physical,
            queue,
            pool,
            commands,
            fence,
            program,
            arrays,
            transfer,
            replays: false,
            recorded: None,
        })
    }

    /// Opens the device for samples that submit a command buffer recorded earlier. It takes part in the launch rows.
    pub(crate) fn with_replays(info: &wgpu::AdapterInfo) -> Result<Self> {
        let mut opened = Self::open(info)?;
        opened.replays = true;
        Ok(opened)
    }

    /// Records a job, unless the command buffer is kept and has this job.
    fn prepare(&mut self, job: &Job) -> Result<()> {
        let wanted = (job.variant, job.launches);
        if self.recorded == Some(wanted) {
            return Ok(());
        }
        if self.recorded.take().is_some() {
            // SAFETY: the submission of the pool's one buffer is done.
            unsafe { self.device.reset_command_pool(self.pool, vk::CommandPoolResetFlags::empty()) }?;
        }
        self.record(job)?;
        self.recorded = self.replays.then_some(wanted);
        Ok(())
    }

    /// Records all launches of a job.
    fn record(&self, job: &Job) -> Result<()> {
        let flags = if self.replays {
            vk::CommandBufferUsageFlags::empty()
        } else {
            vk::CommandBufferUsageFlags::ONE_TIME_SUBMIT
        };
        let once = vk::CommandBufferBeginInfo::default().flags(flags);
        // SAFETY: the buffer is new or was reset with its pool.
        unsafe { self.device.begin_command_buffer(self.commands, &once) }?;
        let point = vk::PipelineBindPoint::COMPUTE;
        let pipeline = self.program.pipeline;
        // SAFETY: the buffer is recording.
        unsafe { self.device.cmd_bind_pipeline(self.commands, point, pipeline) };
        let mut bound = None;
        let mut written = [false; OUTPUTS];
        for i in 0..job.launches {
            let output = job.output_of(i);
            if std::mem::replace(&mut written[output], true) {
                self.barrier(vk::PipelineStageFlags::COMPUTE_SHADER, vk::AccessFlags::SHADER_READ | WRITE);
                written = [false; OUTPUTS];
                written[output] = true;
            }
            self.launch_one((bound.replace(output) != Some(output)).then_some(output), job.scalar_of(i));
        }
        self.barrier(vk::PipelineStageFlags::HOST, vk::AccessFlags::HOST_READ);
        // SAFETY: the buffer is recording.
        Ok(unsafe { self.device.end_command_buffer(self.commands) }?)
    }

    /// Records one launch. Binds an output first if it differs from the bound one.
    fn launch_one(&self, bind: Option<usize>, scalar: f32) {
        let device = &self.device;
        let commands = self.commands;
        let layout = self.program.layout;
        let compute = vk::PipelineBindPoint::COMPUTE;
        if let Some(output) = bind {
            let set = [self.program.sets[output]];
            // SAFETY: the buffer is recording, and the set was made for this layout.
            unsafe { device.cmd_bind_descriptor_sets(commands, compute, layout, 0, &set, &[]) };
        }
        let stage = vk::ShaderStageFlags::COMPUTE;
        let bytes = scalar.to_ne_bytes();
        // SAFETY: the buffer is recording, and the layout declares these four bytes.
        unsafe { device.cmd_push_constants(commands, layout, stage, 0, &bytes) };
        // SAFETY: the buffer is recording, and pipeline, set and constants are bound.
        unsafe { device.cmd_dispatch(commands, WORKGROUPS, 1, 1) };
    }

    /// Makes the writes of kernels visible to later work.
    fn barrier(&self, next: vk::PipelineStageFlags, access: vk::AccessFlags) {
        let memory = [vk::MemoryBarrier::default().src_access_mask(WRITE).dst_access_mask(access)];
        let from = vk::PipelineStageFlags::COMPUTE_SHADER;
        let flags = vk::DependencyFlags::empty();
        // SAFETY: the buffer is recording.
        unsafe { self.device.cmd_pipeline_barrier(self.commands, from, next, flags, &memory, &[], &[]) };
    }

    fn submit(&self) -> Result<()> {
        let commands = [self.commands];
        let submit = [vk::SubmitInfo::default().command_buffers(&commands)];
        // SAFETY: the commands are recorded, and the fence is unsignalled and not in use.
        Ok(unsafe { self.device.queue_submit(self.queue, &submit, self.fence) }?)
    }

    /// Waits for the submission and resets the fence, and the pool unless its commands are kept, as wgpu does in its wait.
    fn wait(&self) -> Result<()> {
        let fence = [self.fence];
        // SAFETY: see the head of the file.
        unsafe { self.device.wait_for_fences(&fence, true, u64::MAX) }?;
        // SAFETY: the submission that signals the fence is done.
        unsafe { self.device.reset_fences(&fence) }?;
        if self.replays {
            return Ok(());
        }
        // SAFETY: the submission of the pool's one buffer is done.
        Ok(unsafe { self.device.reset_command_pool(self.pool, vk::CommandPoolResetFlags::empty()) }?)
    }

    fn transfer(&mut self) -> &mut Mapped {
        self.transfer.as_mut().expect("bug: transfer rows allocate first")
    }
}

const WRITE: vk::AccessFlags = vk::AccessFlags::SHADER_WRITE;

impl Implementation for Vulkan {
    fn name(&self) -> &'static str {
        if self.replays { "vulkan replay" } else { "vulkan" }
    }

    fn part(&self) -> Part {
        Part { queues: 1, live_arrays: false, transfers: !self.replays }
    }

    fn reset(&mut self, outputs: usize) -> Result<()> {
        self.arrays.host()[ARRAY_BYTES..][..outputs * ARRAY_BYTES].fill(0);
        Ok(())
    }

    fn launch(&mut self, job: &Job) -> Result<LaunchTime> {
        let start = Instant::now();
        self.prepare(job)?;
        self.submit()?;
        let host = start.elapsed();
        self.wait()?;
        Ok(LaunchTime { host, total: start.elapsed() })
    }

    fn output(&mut self, index: usize) -> Result<Vec<f32>> {
        let bytes = &self.arrays.host()[(1 + index) * ARRAY_BYTES..][..ARRAY_BYTES];
        let mut values = vec![0.0; ELEMENTS];
        bytemuck::cast_slice_mut(&mut values).copy_from_slice(bytes);
        Ok(values)
    }

    fn allocate(&mut self, bytes: usize) -> Result<()> {
        if let Some(old) = self.transfer.take() {
            old.destroy(&self.device);
        }
        if bytes > 0 {
            self.transfer = Some(Mapped::create(&self.instance, self.physical, &self.device, bytes)?);
        }
        Ok(())
    }

    fn upload(&mut self, data: &[u8]) -> Result<Duration> {
        let start = Instant::now();
        self.transfer().host().copy_from_slice(data);
        Ok(start.elapsed())
    }

    fn read(&mut self, out: &mut Vec<u8>) -> Result<Duration> {
        let start = Instant::now();
        out.copy_from_slice(self.transfer().host());
        Ok(start.elapsed())
    }
}

impl Drop for Vulkan {
    fn drop(&mut self) {
        if let Some(old) = self.transfer.take() {
            old.destroy(&self.device);
        }
        self.arrays.destroy(&self.device);
        self.program.destroy(&self.device);
        // SAFETY: no submission runs; see the head of the file.
        unsafe { self.device.destroy_fence(self.fence, None) };
        // SAFETY: no submission runs, and the pool frees its command buffer.
        unsafe { self.device.destroy_command_pool(self.pool, None) };
        // SAFETY: every object of the device is destroyed.
        unsafe { self.device.destroy_device(None) };
        // SAFETY: every object of the instance is destroyed.
        unsafe { self.instance.destroy_instance(None) };
    }
}

impl Program {
    fn create(device: &Device, arrays: vk::Buffer) -> Result<Self> {
        let storage = |binding| {
            vk::DescriptorSetLayoutBinding::default()
                .binding(binding)
                .descriptor_type(vk::DescriptorType::STORAGE_BUFFER)
                .descriptor_count(1)
                .stage_flags(vk::ShaderStageFlags::COMPUTE)
        };
        let bindings = [storage(0), storage(1)];
        let set_info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&bindings);
        // SAFETY: see the head of the file.
        let set_layout = unsafe { device.create_descriptor_set_layout(&set_info, None) }?;
        let constants = [vk::PushConstantRange::default().stage_flags(vk::ShaderStageFlags::COMPUTE).size(4)];
        let layouts = [set_layout];
        let info =
            vk::PipelineLayoutCreateInfo::default().set_layouts(&layouts).push_constant_ranges(&constants);
        // SAFETY: see the head of the file.
        let layout = unsafe { device.create_pipeline_layout(&info, None) }?;
        let pipeline = create_pipeline(device, layout)?;
        let (descriptors, sets) = create_sets(device, set_layout, arrays)?;
        Ok(Self { set_layout, layout, pipeline, descriptors, sets })
    }

    fn destroy(&self, device: &Device) {
        // SAFETY: no submission runs; see the head of the file. The pool frees its sets.
        unsafe { device.destroy_descriptor_pool(self.descriptors, None) };
        // SAFETY: no submission uses the pipeline.
        unsafe { device.destroy_pipeline(self.pipeline, None) };
        // SAFETY: no submission uses the layout.
        unsafe { device.destroy_pipeline_layout(self.layout, None) };
        // SAFETY: no submission uses the layout of the sets.
        unsafe { device.destroy_descriptor_set_layout(self.set_layout, None) };
    }
}

impl Mapped {
    fn create(
        instance: &Instance,
        physical: vk::PhysicalDevice,
        device: &Device,
        bytes: usize,
    ) -> Result<Self> {
        let usage = vk::BufferUsageFlags::STORAGE_BUFFER;
        let info = vk::BufferCreateInfo::default().size(bytes as u64).usage(usage);
        // SAFETY: see the head of the file.
        let buffer = unsafe { device.create_buffer(&info, None) }?;
        // SAFETY: the buffer was just made.
        let needs = unsafe { device.get_buffer_memory_requirements(buffer) };
        // SAFETY: the physical device belongs to the instance.
        let types = unsafe { instance.get_physical_device_memory_properties(physical) };
        let index =
            visible_type(&types, needs.memory_type_bits).context("no memory that host and device see")?;
        let allocation =
            vk::MemoryAllocateInfo::default().allocation_size(needs.size).memory_type_index(index);
        // SAFETY: the type is one of those that the buffer supports.
        let memory = unsafe { device.allocate_memory(&allocation, None) }?;
        // SAFETY: both are new, and size and type fit.
        unsafe { device.bind_buffer_memory(buffer, memory, 0) }?;
        // SAFETY: the memory is visible to the host and not mapped.
        let address = unsafe { device.map_memory(memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty()) }?;
        let mut mapped = Self { buffer, memory, address: address.cast(), bytes };
        mapped.host().fill(0);
        Ok(mapped)
    }

    /// Returns the bytes for access by the host.
    fn host(&mut self) -> &mut [u8] {
        // SAFETY: `bytes` bytes are mapped at this address until `destroy`. The memory is coherent, and the
        // device is idle whenever the host runs outside `launch`, so no other write occurs.
        unsafe { std::slice::from_raw_parts_mut(self.address, self.bytes) }
    }

    fn destroy(&self, device: &Device) {
        // SAFETY: no submission runs; see the head of the file.
        unsafe { device.destroy_buffer(self.buffer, None) };
        // SAFETY: no submission uses the memory, and freeing unmaps it.
        unsafe { device.free_memory(self.memory, None) };
    }
}

/// Finds the physical device with the adapter's name and ids.
fn find(instance: &Instance, info: &wgpu::AdapterInfo) -> Result<vk::PhysicalDevice> {
    // SAFETY: the instance exists.
    let all = unsafe { instance.enumerate_physical_devices() }?;
    let wanted = |device: &vk::PhysicalDevice| {
        // SAFETY: the physical device belongs to the instance.
        let found = unsafe { instance.get_physical_device_properties(*device) };
        let name = found.device_name_as_c_str().map(CStr::to_string_lossy);
        (found.vendor_id, found.device_id) == (info.vendor, info.device) && name.is_ok_and(|n| n == info.name)
    };
    all.into_iter().find(wanted).with_context(|| format!("Vulkan does not list `{}`", info.name))
}

fn compute_family(instance: &Instance, physical: vk::PhysicalDevice) -> Result<u32> {
    // SAFETY: the physical device belongs to the instance.
    let families = unsafe { instance.get_physical_device_queue_family_properties(physical) };
    let family = families.iter().position(|family| family.queue_flags.contains(vk::QueueFlags::COMPUTE));
    Ok(family.context("no queue family computes")? as u32)
}

fn create_device(instance: &Instance, physical: vk::PhysicalDevice, family: u32) -> Result<Device> {
    let queues = [vk::DeviceQueueCreateInfo::default().queue_family_index(family).queue_priorities(&[1.0])];
    let info = vk::DeviceCreateInfo::default().queue_create_infos(&queues);
    // SAFETY: `info` and its pointers are valid during the call.
    Ok(unsafe { instance.create_device(physical, &info, None) }?)
}

/// Returns the best coherent memory type for both sides: on the device and cached first.
fn visible_type(types: &vk::PhysicalDeviceMemoryProperties, allowed: u32) -> Option<u32> {
    use vk::MemoryPropertyFlags as Is;
    let both = Is::HOST_VISIBLE | Is::HOST_COHERENT;
    let wishes = [Is::DEVICE_LOCAL | Is::HOST_CACHED, Is::DEVICE_LOCAL, Is::HOST_CACHED, Is::empty()];
    wishes.into_iter().find_map(|wish| {
        let fits = |ty: &vk::MemoryType| ty.property_flags.contains(both | wish);
        let listed = types.memory_types_as_slice().iter().enumerate();
        listed.filter(|(i, ty)| allowed >> i & 1 == 1 && fits(ty)).map(|(i, _)| i as u32).next()
    })
}

fn create_pipeline(device: &Device, layout: vk::PipelineLayout) -> Result<vk::Pipeline> {
    let words = spirv::kernel()?;
    // SAFETY: naga validated the module.
    let module =
        unsafe { device.create_shader_module(&vk::ShaderModuleCreateInfo::default().code(&words), None) }?;
    let stage = vk::PipelineShaderStageCreateInfo::default()
        .stage(vk::ShaderStageFlags::COMPUTE)
        .module(module)
        .name(spirv::ENTRY);
    let info = [vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout)];
    // SAFETY: see the head of the file; the layout has the bindings that the kernel declares.
    let made = unsafe { device.create_compute_pipelines(vk::PipelineCache::null(), &info, None) };
    // SAFETY: a pipeline does not need its module after creation.
    unsafe { device.destroy_shader_module(module, None) };
    Ok(made.map_err(|(_, error)| error)?[0])
}

/// Makes one descriptor set for each output, and writes it once.
fn create_sets(
    device: &Device,
    layout: vk::DescriptorSetLayout,
    arrays: vk::Buffer,
) -> Result<(vk::DescriptorPool, Vec<vk::DescriptorSet>)> {
    let storage = vk::DescriptorType::STORAGE_BUFFER;
    let sizes = [vk::DescriptorPoolSize { ty: storage, descriptor_count: 2 * OUTPUTS as u32 }];
    let info = vk::DescriptorPoolCreateInfo::default().max_sets(OUTPUTS as u32).pool_sizes(&sizes);
    // SAFETY: see the head of the file.
    let pool = unsafe { device.create_descriptor_pool(&info, None) }?;
    let layouts = [layout; OUTPUTS];
    let info = vk::DescriptorSetAllocateInfo::default().descriptor_pool(pool).set_layouts(&layouts);
    // SAFETY: the pool was made for this number of sets.
    let sets = unsafe { device.allocate_descriptor_sets(&info) }?;
    ensure!(sets.len() == OUTPUTS, "{} descriptor sets instead of {OUTPUTS}", sets.len());
    for (output, &set) in sets.iter().enumerate() {
        let array = |index: usize| {
            let offset = (index * ARRAY_BYTES) as u64;
            [vk::DescriptorBufferInfo { buffer: arrays, offset, range: ARRAY_BYTES as u64 }]
        };
        let x = array(0);
        let y = array(1 + output);
        let write = vk::WriteDescriptorSet::default().dst_set(set).descriptor_type(storage);
        let writes = [write.dst_binding(0).buffer_info(&x), write.dst_binding(1).buffer_info(&y)];
        // SAFETY: no submission uses the set yet.
        unsafe { device.update_descriptor_sets(&writes, &[]) };
    }
    Ok((pool, sets))
}
