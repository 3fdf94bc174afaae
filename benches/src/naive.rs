use std::time::{Duration, Instant};

use anyhow::Result;
use wgpu::{Adapter, Buffer, BufferUsages, Features, MapMode, SubmissionIndex};

use crate::{
    ground::{Ground, dispatch},
    implementation::{Implementation, LaunchTime},
    job::Job,
    part::Part,
};

/// wgpu as tutorials write it: a new bind group, encoder, pass and submit for each launch, a new staging buffer and a
/// new `Vec` for each readback, `write_buffer` for each upload.
pub(crate) struct Naive {
    ground: Ground,
    buffer: Option<Buffer>,
}

impl Naive {
    pub(crate) fn open(adapter: &Adapter) -> Result<Self> {
        Ok(Self { ground: Ground::open(adapter, Features::empty())?, buffer: None })
    }

    fn launch_one(&self, output: usize, scalar: f32) -> SubmissionIndex {
        let group = self.ground.bind_group(output);
        let mut encoder = self.ground.encoder();
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&self.ground.pipeline);
        pass.set_bind_group(0, &group, &[]);
        dispatch(&mut pass, scalar);
        drop(pass);
        self.ground.queue.submit([encoder.finish()])
    }

    fn device_buffer(&self) -> &Buffer {
        self.buffer.as_ref().expect("bug: transfer rows allocate first")
    }
}

impl Implementation for Naive {
    fn name(&self) -> &'static str {
        "naive"
    }

    fn part(&self) -> Part {
        Part { queues: 1, live_arrays: false, transfers: true }
    }

    fn ground(&self) -> Option<&Ground> {
        Some(&self.ground)
    }

    fn launch(&mut self, job: &Job) -> Result<LaunchTime> {
        let start = Instant::now();
        let mut last = None;
        for i in 0..job.launches {
            last = Some(self.launch_one(job.output_of(i), job.scalar_of(i)));
        }
        let host = start.elapsed();
        last.map_or(Ok(()), |last| self.ground.wait(last))?;
        Ok(LaunchTime { host, total: start.elapsed() })
    }

    fn allocate(&mut self, bytes: usize) -> Result<()> {
        let usage = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
        self.buffer = (bytes > 0).then(|| self.ground.buffer(bytes, usage));
        Ok(())
    }

    fn upload(&mut self, data: &[u8]) -> Result<Duration> {
        let start = Instant::now();
        self.ground.queue.write_buffer(self.device_buffer(), 0, data);
        self.ground.wait(self.ground.queue.submit([]))?;
        Ok(start.elapsed())
    }

    fn read(&mut self, out: &mut Vec<u8>) -> Result<Duration> {
        let bytes = std::mem::take(out).len();
        let start = Instant::now();
        let staging = self.ground.buffer(bytes, BufferUsages::MAP_READ | BufferUsages::COPY_DST);
        let mut encoder = self.ground.encoder();
        encoder.copy_buffer_to_buffer(self.device_buffer(), 0, &staging, 0, None);
        self.ground.queue.submit([encoder.finish()]);
        self.ground.map(&staging, MapMode::Read)?;
        *out = staging.get_mapped_range(..)?.to_vec();
        staging.unmap();
        Ok(start.elapsed())
    }
}
