//! wgpu commands that prepare external buffers for a native encoder.
//!
//! wgpu tracks the state of a buffer, and does not see commands that are recorded without wgpu. So wgpu and the native
//! recorder both expect and leave an external buffer in one fixed state. The wgpu commands before a native encoder put
//! the buffer into this state. They also order earlier writes of user code before the native commands, and wgpu refuses
//! them if user code has mapped or destroyed the buffer. They are in the submission of the native commands, so wgpu
//! keeps the buffer until the native commands are complete.

use crate::device::Device as _;
use crate::device::wgpu_device::WgpuDevice;
use crate::memory::external_buffers::{ExternalBuffer, transition_external};
use crate::record::external_blocks::NamedExternal;
use std::num::NonZeroU64;

/// A kernel that is dispatched without workgroups, so it writes nothing. wgpu still counts the bound bytes as written,
/// and first zeroes the bytes that were never written.
const SETTLE: &str = "
@group(0) @binding(0) var<storage, read_write> words: array<u32>;
@compute @workgroup_size(1) fn settle() { words[0] = 0u; }
";

/// The wgpu commands that prepare external buffers, and their kernel for buffers that wgpu has not zeroed yet.
#[derive(Default)]
pub(crate) struct ExternalStates {
    kernel: Option<wgpu::ComputePipeline>,
}

impl ExternalStates {
    /// Records the commands for the external blocks of a batch. Returns `None` if there are no such blocks.
    pub(crate) fn commands(
        &mut self,
        device: &WgpuDevice,
        named: &[NamedExternal<'_>],
    ) -> Option<wgpu::CommandBuffer> {
        if named.is_empty() {
            return None;
        }
        let mut encoder = device.encoder("external buffers");
        let unsettled =
            |named: &&NamedExternal<'_>| named.1.external_buffer().is_some_and(ExternalBuffer::unsettled);
        let (new, known): (Vec<_>, Vec<_>) = named.iter().partition(unsettled);
        for (_, block) in new {
            self.settle(device, &mut encoder, block.wgpu_buffer());
        }
        transition_external(&mut encoder, known.into_iter().map(|(_, block)| block.wgpu_buffer()));
        Some(encoder.finish())
    }

    /// Marks the blocks as zeroed by wgpu, because the commands for them were submitted.
    pub(crate) fn done(named: &[NamedExternal<'_>]) {
        for (_, block) in named {
            if let Some(external) = block.external_buffer() {
                external.settle();
            }
        }
    }

    /// Makes wgpu zero the bytes that it counts as unwritten, once for each buffer. Otherwise wgpu would zero these
    /// bytes later, after native commands wrote them. The dispatch also puts the buffer into the fixed state.
    fn settle(&mut self, device: &WgpuDevice, encoder: &mut wgpu::CommandEncoder, buffer: &wgpu::Buffer) {
        let kernel = self.kernel.get_or_insert_with(|| compile(device.raw()));
        let desc = wgpu::ComputePassDescriptor { label: Some("external buffers"), timestamp_writes: None };
        let mut pass = encoder.begin_compute_pass(&desc);
        pass.set_pipeline(kernel);
        let (caps, end) = (device.caps(), buffer.size() / 4 * 4);
        let most = caps.max_binding / caps.binding_alignment * caps.binding_alignment;
        for offset in (0..end).step_by(most as usize) {
            let size = NonZeroU64::new(most.min(end - offset));
            let words = wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset, size });
            let group = device.raw().create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some("external buffers"),
                layout: &kernel.get_bind_group_layout(0),
                entries: &[wgpu::BindGroupEntry { binding: 0, resource: words }],
            });
            pass.set_bind_group(0, &group, &[]);
            pass.dispatch_workgroups(0, 0, 0);
        }
    }
}

fn compile(device: &wgpu::Device) -> wgpu::ComputePipeline {
    let source = wgpu::ShaderSource::Wgsl(SETTLE.into());
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: Some("settle"), source });
    device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some("settle"),
        layout: None,
        module: &module,
        entry_point: Some("settle"),
        compilation_options: Default::default(),
        cache: None,
    })
}
