//! The objects of wgpu that implementations on raw wgpu share.

use anyhow::{Context, Result};
use wgpu::{
    Adapter, BindGroup, BindGroupEntry, Buffer, BufferDescriptor, BufferUsages, CommandEncoder, ComputePass,
    ComputePipeline, ComputePipelineDescriptor, Device, DeviceDescriptor, Features, Limits, MapMode,
    PollType, Queue, ShaderSource, SubmissionIndex,
};

use crate::job::{ARRAY_BYTES, ENTRY, LIVE_BYTES, OUTPUTS, WGSL, WORKGROUPS, input};

/// Base of every implementation on wgpu: a device, the kernel's pipeline, the arrays of the launch rows.
pub struct Ground {
    /// Device.
    pub device: Device,
    /// Queue of the device.
    pub queue: Queue,
    /// Pipeline of the kernel.
    pub pipeline: ComputePipeline,
    input: Buffer,
    outputs: Vec<Buffer>,
    /// Buffers that no launch uses.
    live: Vec<Buffer>,
    staging: Buffer,
}

impl Ground {
    /// Opens a new device and makes every object whose creation no row times.
    pub fn open(adapter: &Adapter, features: Features) -> Result<Self> {
        let (device, queue) = pollster::block_on(adapter.request_device(&DeviceDescriptor {
            required_features: Features::IMMEDIATES | features,
            required_limits: Limits { max_immediate_size: 4, ..Limits::default() },
            ..DeviceDescriptor::default()
        }))?;
        let array = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        let ground = Self {
            pipeline: pipeline(&device),
            input: buffer(&device, ARRAY_BYTES, array),
            outputs: (0..OUTPUTS).map(|_| buffer(&device, ARRAY_BYTES, array)).collect(),
            live: Vec::new(),
            staging: buffer(&device, ARRAY_BYTES, BufferUsages::MAP_READ | BufferUsages::COPY_DST),
            device,
            queue,
        };
        ground.queue.write_buffer(&ground.input, 0, bytemuck::cast_slice(&input()));
        ground.reset(OUTPUTS)?;
        Ok(ground)
    }

    /// Makes a buffer.
    pub fn buffer(&self, bytes: usize, usage: BufferUsages) -> Buffer {
        buffer(&self.device, bytes, usage)
    }

    /// Makes a command encoder.
    pub fn encoder(&self) -> CommandEncoder {
        self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
    }

    /// Makes the bind group of one output.
    pub fn bind_group(&self, output: usize) -> BindGroup {
        self.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: None,
            layout: &self.pipeline.get_bind_group_layout(0),
            entries: &[
                BindGroupEntry { binding: 0, resource: self.input.as_entire_binding() },
                BindGroupEntry { binding: 1, resource: self.outputs[output].as_entire_binding() },
            ],
        })
    }

    /// Waits for a submission.
    pub fn wait(&self, submission: SubmissionIndex) -> Result<()> {
        self.device.poll(PollType::Wait { submission_index: Some(submission), timeout: None })?;
        Ok(())
    }

    /// Maps a whole buffer and waits until it is mapped.
    pub fn map(&self, buffer: &Buffer, mode: MapMode) -> Result<()> {
        let (mapped, answer) = std::sync::mpsc::channel();
        // The receiver outlives the wait below. After a failed wait the result is not received.
        buffer.map_async(mode, .., move |result| drop(mapped.send(result)));
        self.device.poll(PollType::wait_indefinitely())?;
        answer.try_recv().context("the buffer is not mapped although the device is idle")??;
        Ok(())
    }

    /// Sets the first outputs to zero and waits until the device is idle.
    pub fn reset(&self, outputs: usize) -> Result<()> {
        let mut encoder = self.encoder();
        for output in &self.outputs[..outputs] {
            encoder.clear_buffer(output, 0, None);
        }
        self.wait(self.queue.submit([encoder.finish()]))
    }

    /// Makes buffers that stay alive, and uses each once. Repeating a call with the same number does nothing.
    pub fn keep_alive(&mut self, buffers: usize) -> Result<()> {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        if self.live.len() == buffers {
            return Ok(());
        }
        self.live.clear();
        self.live = (0..buffers).map(|_| self.buffer(LIVE_BYTES, usage)).collect();
        let mut encoder = self.encoder();
        self.live.iter().for_each(|buffer| encoder.clear_buffer(buffer, 0, None));
        self.wait(self.queue.submit([encoder.finish()]))
    }

    /// Returns the current contents of one output.
    pub fn output(&self, index: usize) -> Result<Vec<f32>> {
        let mut encoder = self.encoder();
        encoder.copy_buffer_to_buffer(&self.outputs[index], 0, &self.staging, 0, None);
        self.queue.submit([encoder.finish()]);
        self.map(&self.staging, MapMode::Read)?;
        let values = bytemuck::cast_slice(&self.staging.get_mapped_range(..)?).to_vec();
        self.staging.unmap();
        Ok(values)
    }
}

/// Sets the scalar and dispatches. Pipeline and bind group are set already.
pub fn dispatch(pass: &mut ComputePass<'_>, scalar: f32) {
    pass.set_immediates(0, &scalar.to_ne_bytes());
    pass.dispatch_workgroups(WORKGROUPS, 1, 1);
}

fn buffer(device: &Device, bytes: usize, usage: BufferUsages) -> Buffer {
    let size = bytes as u64;
    device.create_buffer(&BufferDescriptor { label: None, size, usage, mapped_at_creation: false })
}

fn pipeline(device: &Device) -> ComputePipeline {
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some(ENTRY),
        source: ShaderSource::Wgsl(WGSL.into()),
    });
    device.create_compute_pipeline(&ComputePipelineDescriptor {
        label: Some(ENTRY),
        layout: None,
        module: &module,
        entry_point: Some(ENTRY),
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    })
}
