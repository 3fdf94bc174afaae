//! Checks that the validation layer reports a missing barrier. So if it reports nothing in other tests, no barrier is
//! missing.
//!
//! The test needs the feature `validation`, `FENCEPOST_VALIDATION=1` and a Vulkan loader that finds the layer.
#![allow(unsafe_code, reason = "only commands recorded without wgpu can lack a barrier")]

#[path = "common/mod.rs"]
mod common;

use common::subject::{Place, Subject};
use common::{adapters, raw, validation, watchdog};
use fencepost::Context;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::sync::Arc;
use std::time::Duration;
use wgpu::hal::api::Vulkan;
use wgpu::hal::{self, CommandEncoder as _, Device as _};
use wgpu::naga;

type Encoder = <Vulkan as hal::Api>::CommandEncoder;
type Buffer = <Vulkan as hal::Api>::Buffer;

/// Time limit of a test. A longer test counts as a hang and fails.
const LIMIT: Duration = Duration::from_secs(60);

fn main() {
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    let found = adapters::find();
    let places = found.places.iter().filter(|place| place.is_vulkan());
    let mut trials: Vec<Trial> = places.flat_map(|place| CASES.map(|case| trial(case, place))).collect();
    if trials.is_empty() {
        trials.push(Trial::ignorable_test("a_missing_barrier_is_reported::no_vulkan", || {
            Ok(Completion::ignored_with("no Vulkan adapter is among the chosen"))
        }));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// Name of a case, a function that records without submitting, and `true` if the layer must report a hazard. Otherwise
/// it must report nothing.
type Case = (&'static str, fn(&Bed), bool);

const CASES: [Case; 4] = [
    ("a_missing_barrier_between_transfers_is_reported", |bed| bed.transfers(false), true),
    ("a_barrier_between_transfers_satisfies_the_layer", |bed| bed.transfers(true), false),
    ("a_missing_barrier_between_dispatches_is_reported", |bed| bed.dispatches(false), true),
    ("a_barrier_between_dispatches_satisfies_the_layer", |bed| bed.dispatches(true), false),
];

fn trial((name, record, speaks): Case, place: &Arc<Place>) -> Trial {
    let id = format!("{name}::{}", place.name());
    let place = place.clone();
    Trial::ignorable_test(id.clone(), move || {
        let subject = Subject::new(place);
        if let Some(reason) = deaf().or_else(|| no_layer(&subject)) {
            return Ok(Completion::ignored_with(reason));
        }
        watchdog::guard(&id, LIMIT, &subject, move |subject| heard(subject, record, speaks))
            .map_err(Failed::from)?;
        Ok(Completion::Completed)
    })
}

/// Records commands and checks the messages of the layer.
fn heard(subject: &Subject, record: fn(&Bed), speaks: bool) {
    let bed = Bed::new(subject);
    validation::forget();
    record(&bed);
    let messages = validation::messages();
    let hazards = messages.iter().filter(|message| message.contains("hazard detected")).count();
    let right = if speaks { hazards > 0 && hazards == messages.len() } else { messages.is_empty() };
    assert!(right, "the layer reports: {messages:#?}");
}

/// Returns why this build or run cannot receive a message of the layer; `None` if it can.
fn deaf() -> Option<&'static str> {
    if !cfg!(feature = "validation") {
        return Some("built without the feature `validation`");
    }
    let wanted = std::env::var("FENCEPOST_VALIDATION").is_ok_and(|value| value == "1");
    (!wanted).then_some("FENCEPOST_VALIDATION is not 1")
}

/// Returns why the layer reports nothing, if the loader finds no layer.
fn no_layer(subject: &Subject) -> Option<&'static str> {
    let adapter = raw::adapter(subject.place());
    // SAFETY: the handle is only used to list the layers of its loader.
    let raw = unsafe { adapter.as_hal::<Vulkan>() }.expect("a Vulkan adapter");
    // SAFETY: the loader stays loaded while the instance exists.
    let layers = unsafe { raw.shared_instance().entry().enumerate_instance_layer_properties() };
    let named = |name: &std::ffi::CStr| name == c"VK_LAYER_KHRONOS_validation";
    let found = layers.is_ok_and(|all| all.iter().any(|layer| layer.layer_name_as_c_str().is_ok_and(named)));
    (!found).then_some("the Vulkan loader finds no validation layer")
}

/// A device and a hal buffer for recording.
struct Bed {
    /// A context of this library, kept open so that the test receives the layer's messages.
    _ctx: Context,
    device: wgpu::Device,
    buffer: Option<Buffer>,
}

const SIZE: u64 = 256;

impl Bed {
    fn new(subject: &Subject) -> Self {
        let ctx = subject.ctx();
        let device = ctx.wgpu().expect("a wgpu device").0.clone();
        let usage = wgpu::BufferUses::COPY_DST | wgpu::BufferUses::STORAGE_READ_WRITE;
        let memory_flags = hal::MemoryFlags::empty();
        let desc = hal::BufferDescriptor { label: Some("planted"), size: SIZE, usage, memory_flags };
        // SAFETY: the buffer is not empty, and every device supports these usages.
        let buffer = on(&device, |raw| unsafe { raw.create_buffer(&desc) }.expect("a buffer"));
        Self { _ctx: ctx, device, buffer: Some(buffer) }
    }

    /// Records commands without wgpu's tracking and discards them. The layer checks commands while they are recorded.
    fn record(&self, commands: impl FnOnce(&mut Encoder, &Buffer)) {
        let buffer = self.buffer.as_ref().expect("it lives as long as the bed");
        let mut encoder = self.device.create_command_encoder(&Default::default());
        let go = |raw: Option<&mut Encoder>| commands(raw.expect("a Vulkan encoder"), buffer);
        // SAFETY: the commands are never submitted, and nothing is recorded through wgpu.
        unsafe { encoder.as_hal_mut::<Vulkan, _, _>(go) };
        drop(encoder.finish());
    }

    /// Records two writes of the same bytes, one after the other.
    fn transfers(&self, barrier: bool) {
        self.record(|encoder, buffer| {
            // SAFETY: the range is inside a buffer with the usage `COPY_DST`, and the commands are never submitted.
            unsafe { encoder.clear_buffer(buffer, 0..SIZE) };
            if barrier {
                separate(encoder, buffer, wgpu::BufferUses::COPY_DST);
            }
            // SAFETY: the same holds as for the first write.
            unsafe { encoder.clear_buffer(buffer, 0..SIZE) };
        });
    }

    /// Records two dispatches that read and write the same bytes, one after the other.
    fn dispatches(&self, barrier: bool) {
        let buffer = self.buffer.as_ref().expect("it lives as long as the bed");
        let kernel = on(&self.device, |raw| Kernel::new(raw, buffer));
        self.record(|encoder, buffer| {
            kernel.dispatch(encoder);
            if barrier {
                separate(encoder, buffer, wgpu::BufferUses::STORAGE_READ_WRITE);
            }
            kernel.dispatch(encoder);
        });
        on(&self.device, |raw| kernel.destroy(raw));
    }
}

impl Drop for Bed {
    fn drop(&mut self) {
        if let Some(buffer) = self.buffer.take() {
            // SAFETY: the commands that use the buffer were never submitted, and are discarded.
            on(&self.device, |raw| unsafe { raw.destroy_buffer(buffer) });
        }
    }
}

/// Calls `f` with hal's device, which is valid during the call.
fn on<R>(device: &wgpu::Device, f: impl FnOnce(&hal::vulkan::Device) -> R) -> R {
    // SAFETY: `f` does not destroy the device, and no other handle is taken during the call.
    let raw = unsafe { device.as_hal::<Vulkan>() };
    f(&raw.expect("a Vulkan device"))
}

/// Records the barrier that the planted hazards lack.
fn separate(encoder: &mut Encoder, buffer: &Buffer, uses: wgpu::BufferUses) {
    let usage = hal::StateTransition { from: uses, to: uses };
    // SAFETY: the encoder is in no pass, and the buffer has both usages.
    unsafe { encoder.transition_buffers(std::iter::once(hal::BufferBarrier { buffer, usage })) };
}

const COUNT: &str = "
@group(0) @binding(0) var<storage, read_write> x: array<u32>;
@compute @workgroup_size(64)
fn count(@builtin(global_invocation_id) id: vec3<u32>) { x[id.x] += 1u; }
";

/// A hal pipeline, and a group with the buffer bound.
struct Kernel {
    group_layout: <Vulkan as hal::Api>::BindGroupLayout,
    layout: <Vulkan as hal::Api>::PipelineLayout,
    group: <Vulkan as hal::Api>::BindGroup,
    shader: <Vulkan as hal::Api>::ShaderModule,
    pipeline: <Vulkan as hal::Api>::ComputePipeline,
}

impl Kernel {
    fn new(device: &hal::vulkan::Device, buffer: &Buffer) -> Self {
        let storage = wgpu::BufferBindingType::Storage { read_only: false };
        let entry = wgpu::BindGroupLayoutEntry {
            binding: 0,
            visibility: wgpu::ShaderStages::COMPUTE,
            ty: wgpu::BindingType::Buffer { ty: storage, has_dynamic_offset: false, min_binding_size: None },
            count: None,
        };
        let flags = hal::BindGroupLayoutFlags::empty();
        let desc = hal::BindGroupLayoutDescriptor { label: None, flags, entries: &[entry] };
        // SAFETY: the layout has one storage buffer, which every device supports.
        let group_layout = unsafe { device.create_bind_group_layout(&desc) }.expect("a layout");
        let desc = hal::PipelineLayoutDescriptor {
            label: None,
            flags: hal::PipelineLayoutFlags::empty(),
            bind_group_layouts: &[Some(&group_layout)],
            immediate_size: 0,
        };
        // SAFETY: the layout of the bind group comes from this device.
        let layout = unsafe { device.create_pipeline_layout(&desc) }.expect("a layout");
        let group = bind(device, &group_layout, buffer);
        let shader = compile(device);
        let pipeline = link(device, &layout, &shader);
        Self { group_layout, layout, group, shader, pipeline }
    }

    fn dispatch(&self, encoder: &mut Encoder) {
        let desc = hal::ComputePassDescriptor { label: None, timestamp_writes: None };
        // SAFETY: the encoder is open, and in no pass.
        unsafe { encoder.begin_compute_pass(&desc) };
        // SAFETY: the encoder is in the pass.
        unsafe { encoder.set_compute_pipeline(&self.pipeline) };
        // SAFETY: the group fits the layout, and the pipeline has the same layout.
        unsafe { encoder.set_bind_group(&self.layout, 0, &self.group, &[]) };
        // SAFETY: the dispatch has 64 invocations, and the buffer has 64 words.
        unsafe { encoder.dispatch_workgroups([1, 1, 1]) };
        // SAFETY: the pass begun above ends here.
        unsafe { encoder.end_compute_pass() };
    }

    fn destroy(self, device: &hal::vulkan::Device) {
        // SAFETY: the commands that use the pipeline were never submitted, and are discarded.
        unsafe { device.destroy_compute_pipeline(self.pipeline) };
        // SAFETY: the same holds for the shader.
        unsafe { device.destroy_shader_module(self.shader) };
        // SAFETY: the same holds for the group.
        unsafe { device.destroy_bind_group(self.group) };
        // SAFETY: every object made with the layout is destroyed.
        unsafe { device.destroy_pipeline_layout(self.layout) };
        // SAFETY: the same holds for the layout of the group.
        unsafe { device.destroy_bind_group_layout(self.group_layout) };
    }
}

fn bind(
    device: &hal::vulkan::Device,
    layout: &<Vulkan as hal::Api>::BindGroupLayout,
    buffer: &Buffer,
) -> <Vulkan as hal::Api>::BindGroup {
    let desc = hal::BindGroupDescriptor {
        label: None,
        layout,
        buffers: &[hal::BufferBinding::new_unchecked(buffer, 0, std::num::NonZero::new(SIZE))],
        samplers: &[],
        textures: &[],
        entries: &[hal::BindGroupEntry { binding: 0, resource_index: 0, count: 1 }],
        acceleration_structures: &[],
        external_textures: &[],
    };
    // SAFETY: the binding covers a whole storage buffer, which outlives the group.
    unsafe { device.create_bind_group(&desc) }.expect("a bind group")
}

fn compile(device: &hal::vulkan::Device) -> <Vulkan as hal::Api>::ShaderModule {
    let module = naga::front::wgsl::parse_str(COUNT).expect("it is WGSL");
    let flags = naga::valid::ValidationFlags::all();
    let info = naga::valid::Validator::new(flags, naga::valid::Capabilities::empty())
        .validate(&module)
        .expect("valid");
    let runtime_checks = wgpu::ShaderRuntimeChecks::checked();
    let desc = hal::ShaderModuleDescriptor { label: None, runtime_checks };
    let shader = hal::NagaShader { module: std::borrow::Cow::Owned(module), info, debug_source: None };
    // SAFETY: naga validated the module above, and the shader is checked at run time.
    unsafe { device.create_shader_module(&desc, hal::ShaderInput::Naga(shader)) }.expect("a shader")
}

fn link(
    device: &hal::vulkan::Device,
    layout: &<Vulkan as hal::Api>::PipelineLayout,
    module: &<Vulkan as hal::Api>::ShaderModule,
) -> <Vulkan as hal::Api>::ComputePipeline {
    let constants = Default::default();
    let stage = hal::ProgrammableStage {
        module,
        entry_point: "count",
        constants: &constants,
        zero_initialize_workgroup_memory: false,
    };
    let desc = hal::ComputePipelineDescriptor { label: None, layout, stage, cache: None };
    // SAFETY: the module has the entry point, and the layout has its one binding.
    unsafe { device.create_compute_pipeline(&desc) }.expect("a pipeline")
}
