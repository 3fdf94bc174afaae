//! Buffers of the program's own, brought to where a native encoder expects them.
//!
//! wgpu follows the state of a buffer and knows nothing of what is recorded past it. So both sides find it, and leave it,
//! in one state. The commands in front of a native encoder do wgpu's part: they put what the program has written before
//! them, and have wgpu refuse what it would refuse of anybody. As they are in the same submission, wgpu also keeps the
//! buffer until the native encoder's work is over.

use crate::device::Device as _;
use crate::device::wgpu_device::WgpuDevice;
use crate::memory::block::Memory;
use crate::memory::external_buffers::transition_external;
use crate::memory::wgpu_memory::WgpuMemory;
use crate::record::external_blocks::{NamedExternal, buffer};
use std::num::NonZeroU64;

/// Writes nothing, as it never runs. A buffer that it binds counts as written for wgpu, which zeroes what was not.
const SETTLE: &str = "
@group(0) @binding(0) var<storage, read_write> words: array<u32>;
@compute @workgroup_size(1) fn settle() { words[0] = 0u; }
";

/// The commands, and what they need.
#[derive(Default)]
pub(crate) struct ExternalStates {
    kernel: Option<wgpu::ComputePipeline>,
}

impl ExternalStates {
    /// The commands for the blocks of a batch.
    pub(crate) fn commands(
        &mut self,
        device: &WgpuDevice,
        named: &[NamedExternal<'_>],
    ) -> Option<wgpu::CommandBuffer> {
        if named.is_empty() {
            return None;
        }
        let desc = wgpu::CommandEncoderDescriptor { label: Some("foreign") };
        let mut encoder = device.raw().create_command_encoder(&desc);
        let (new, known): (Vec<_>, Vec<_>) = named.iter().partition(|(_, block)| unsettled(&block.memory));
        for (_, block) in new {
            self.settle(device, &mut encoder, buffer(block));
        }
        transition_external(&mut encoder, known.into_iter().map(|(_, block)| buffer(block)));
        Some(encoder.finish())
    }

    /// The commands were submitted.
    pub(crate) fn done(named: &[NamedExternal<'_>]) {
        for (_, block) in named {
            memory(&block.memory).and_then(WgpuMemory::foreign).inspect(|foreign| foreign.settle());
        }
    }

    /// Has wgpu zero what it takes for unwritten, once: later it would zero what was written past it. The buffer is
    /// home then, too.
    fn settle(&mut self, device: &WgpuDevice, encoder: &mut wgpu::CommandEncoder, buffer: &wgpu::Buffer) {
        let kernel = self.kernel.get_or_insert_with(|| compile(device.raw()));
        let desc = wgpu::ComputePassDescriptor { label: Some("foreign"), timestamp_writes: None };
        let mut pass = encoder.begin_compute_pass(&desc);
        pass.set_pipeline(kernel);
        let (caps, end) = (device.caps(), buffer.size() / 4 * 4);
        let most = caps.max_binding / caps.binding_alignment * caps.binding_alignment;
        for offset in (0..end).step_by(most as usize) {
            let size = NonZeroU64::new(most.min(end - offset));
            let words = wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset, size });
            let group = device.raw().create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some("foreign"),
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

fn memory(memory: &Memory) -> Option<&WgpuMemory> {
    match memory {
        Memory::Wgpu(memory) => Some(memory),
        Memory::Host(_) => None,
    }
}

fn unsettled(of: &Memory) -> bool {
    memory(of).and_then(WgpuMemory::foreign).is_some_and(|foreign| foreign.unsettled())
}
