//! The same waves with wgpu alone: one encoder for each frame, one compute pass, and parameters in one buffer.

use anyhow::Result;

use crate::draw::{Frame, Painter, Way};
use crate::fenced::OF_ARRAYS;
use crate::rain::STEPS_A_FRAME;
use crate::screen::Gpu;
use crate::waves::{CONSTANTS, push};

/// Bytes of `Params` in the shader.
const PARAMS: u64 = 24;

/// Waves in buffers of wgpu.
pub(crate) struct Plain {
    gpu: Gpu,
    cells: [u32; 2],
    step: wgpu::ComputePipeline,
    paint: wgpu::ComputePipeline,
    /// Parameters of the steps of a frame.
    params: wgpu::Buffer,
    /// Bytes from the parameters of one step to those of the next.
    stride: u32,
    /// Bindings of the steps with an even and with an odd number: each replaces the older of two buffers with heights.
    groups: [wgpu::BindGroup; 2],
    picture: wgpu::BindGroup,
}

impl Plain {
    pub(crate) fn new(gpu: &Gpu, painter: &Painter, cells: [u32; 2]) -> Self {
        let Gpu { device, .. } = gpu;
        let layout = layout(device);
        let source = wgpu::ShaderSource::Wgsl(include_str!("../../wave/wave.wgsl").into());
        let desc = wgpu::ShaderModuleDescriptor { label: Some("wave"), source };
        let module = device.create_shader_module(desc);
        let pipeline_layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("wave"),
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = |entry| {
            device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
                label: Some(entry),
                layout: Some(&pipeline_layout),
                module: &module,
                entry_point: Some(entry),
                compilation_options: wgpu::PipelineCompilationOptions {
                    constants: &CONSTANTS,
                    ..wgpu::PipelineCompilationOptions::default()
                },
                cache: None,
            })
        };
        let alignment = device.limits().min_uniform_buffer_offset_alignment;
        let stride = (PARAMS as u32).next_multiple_of(alignment);
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let params = gpu.buffer("params", u64::from(stride * STEPS_A_FRAME), usage);
        let cell_words = |label| gpu.buffer(label, 4 * u64::from(cells[0]) * u64::from(cells[1]), OF_ARRAYS);
        let heights = [cell_words("even heights"), cell_words("odd heights")];
        let pixels = cell_words("pixels");
        let groups = [[0, 1], [1, 0]].map(|[current, old]| {
            group(device, &layout, &params, [&heights[current], &heights[old], &pixels])
        });
        Self {
            gpu: gpu.clone(),
            cells,
            step: pipeline("step"),
            paint: pipeline("paint"),
            params,
            stride,
            groups,
            picture: painter.picture(gpu, &pixels),
        }
    }

    /// Writes the parameters of the steps of a frame.
    fn write_params(&self, frame: &Frame<'_>) {
        let mut bytes = vec![0; (self.stride * STEPS_A_FRAME) as usize];
        for (number, place) in frame.steps.clone().zip(bytes.chunks_mut(self.stride as usize)) {
            let floats = [frame.source[0], frame.source[1], push(number)];
            let words = self.cells.into_iter().chain(floats.map(f32::to_bits));
            for (word, to) in words.zip(place.chunks_mut(4)) {
                to.copy_from_slice(&word.to_ne_bytes());
            }
        }
        self.gpu.queue.write_buffer(&self.params, 0, &bytes);
    }
}

impl Way for Plain {
    fn name(&self) -> &'static str {
        "wgpu"
    }

    fn frame(&mut self, frame: &Frame<'_>) -> Result<()> {
        self.write_params(frame);
        let [width, height] = self.cells;
        let mut encoder = self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&self.step);
        for at in 0..STEPS_A_FRAME {
            pass.set_bind_group(0, &self.groups[at as usize % 2], &[at * self.stride]);
            pass.dispatch_workgroups(width.div_ceil(8), height.div_ceil(8), 1);
        }
        pass.set_pipeline(&self.paint);
        pass.set_bind_group(0, &self.groups[0], &[0]);
        pass.dispatch_workgroups((width * height).div_ceil(64), 1, 1);
        drop(pass);
        frame.record(&mut encoder, &self.picture);
        self.gpu.queue.submit([encoder.finish()]);
        Ok(())
    }

    fn finish(&self) -> Result<()> {
        self.gpu.device.poll(wgpu::PollType::wait_indefinitely())?;
        Ok(())
    }
}

/// Returns the layout of the bindings of both entry points.
fn layout(device: &wgpu::Device) -> wgpu::BindGroupLayout {
    let entry = |binding, ty, has_dynamic_offset| wgpu::BindGroupLayoutEntry {
        binding,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset, min_binding_size: None },
        count: None,
    };
    let storage = |read_only| wgpu::BufferBindingType::Storage { read_only };
    device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
        label: Some("wave"),
        entries: &[
            entry(0, wgpu::BufferBindingType::Uniform, true),
            entry(1, storage(true), false),
            entry(2, storage(false), false),
            entry(3, storage(false), false),
        ],
    })
}

/// Returns the bindings of the parameters, the current heights, the older heights and the pixels.
fn group(
    device: &wgpu::Device,
    layout: &wgpu::BindGroupLayout,
    params: &wgpu::Buffer,
    buffers: [&wgpu::Buffer; 3],
) -> wgpu::BindGroup {
    let size = std::num::NonZeroU64::new(PARAMS);
    let params = wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer: params, offset: 0, size });
    let buffers = buffers.map(|buffer| buffer.as_entire_binding());
    let resources = [params].into_iter().chain(buffers);
    let entries: Vec<_> =
        (0..).zip(resources).map(|(binding, resource)| wgpu::BindGroupEntry { binding, resource }).collect();
    device.create_bind_group(&wgpu::BindGroupDescriptor { label: Some("wave"), layout, entries: &entries })
}
