//! The launches as an expert writes them on wgpu.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use wgpu::{Adapter, BindGroup, Buffer, BufferUsages, CommandBuffer, Features, MapMode, SubmissionIndex};

use crate::{
    ground::{Ground, dispatch},
    implementation::{Handover, Implementation, LaunchTime, timed},
    job::{Job, OUTPUTS},
    part::Part,
};

/// wgpu as an expert writes it: cached bind groups, one encoder, one pass and one submit for all launches, scalars as
/// immediates, staging buffers made once. Every ratio compares with this implementation.
pub struct Expert {
    ground: Ground,
    groups: Vec<BindGroup>,
    started: Option<SubmissionIndex>,
    transfer: Option<Staged>,
}

/// A device buffer with its two staging buffers. The upload buffer stays mapped.
struct Staged {
    device: Buffer,
    download: Buffer,
    upload: Buffer,
}

impl Expert {
    /// Opens a new device on the adapter.
    pub fn open(adapter: &Adapter) -> Result<Self> {
        let ground = Ground::open(adapter, Features::empty())?;
        let groups = (0..OUTPUTS).map(|output| ground.bind_group(output)).collect();
        Ok(Self { ground, groups, started: None, transfer: None })
    }

    fn record(&self, job: &Job) -> CommandBuffer {
        let mut encoder = self.ground.encoder();
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&self.ground.pipeline);
        let mut bound = None;
        for i in 0..job.launches {
            let output = job.output_of(i);
            if bound.replace(output) != Some(output) {
                pass.set_bind_group(0, &self.groups[output], &[]);
            }
            dispatch(&mut pass, job.scalar_of(i));
        }
        drop(pass);
        encoder.finish()
    }

    fn copy(&self, from: &Buffer, to: &Buffer) -> CommandBuffer {
        let mut encoder = self.ground.encoder();
        encoder.copy_buffer_to_buffer(from, 0, to, 0, None);
        encoder.finish()
    }

    fn staged(&self) -> &Staged {
        self.transfer.as_ref().expect("bug: transfer rows allocate first")
    }
}

impl Implementation for Expert {
    fn name(&self) -> &'static str {
        "expert"
    }

    fn part(&self) -> Part {
        Part { queues: 1, live_arrays: true, transfers: true }
    }

    fn ground(&self) -> Option<&Ground> {
        Some(&self.ground)
    }

    fn keep_alive(&mut self, arrays: usize) -> Result<()> {
        self.ground.keep_alive(arrays)
    }

    fn launch(&mut self, job: &Job) -> Result<LaunchTime> {
        timed(self, job)
    }

    fn allocate(&mut self, bytes: usize) -> Result<()> {
        self.transfer = None;
        if bytes > 0 {
            let array = BufferUsages::STORAGE | BufferUsages::COPY_SRC | BufferUsages::COPY_DST;
            let staged = Staged {
                device: self.ground.buffer(bytes, array),
                download: self.ground.buffer(bytes, BufferUsages::MAP_READ | BufferUsages::COPY_DST),
                upload: self.ground.buffer(bytes, BufferUsages::MAP_WRITE | BufferUsages::COPY_SRC),
            };
            self.ground.map(&staged.upload, MapMode::Write)?;
            self.transfer = Some(staged);
        }
        Ok(())
    }

    fn upload(&mut self, data: &[u8]) -> Result<Duration> {
        let staged = self.staged();
        let start = Instant::now();
        staged.upload.get_mapped_range_mut(..)?.copy_from_slice(data);
        staged.upload.unmap();
        self.ground.queue.submit([self.copy(&staged.upload, &staged.device)]);
        // The map completes after the copy, so one wait covers both.
        self.ground.map(&staged.upload, MapMode::Write)?;
        Ok(start.elapsed())
    }

    fn read(&mut self, out: &mut Vec<u8>) -> Result<Duration> {
        let staged = self.staged();
        let start = Instant::now();
        self.ground.queue.submit([self.copy(&staged.device, &staged.download)]);
        self.ground.map(&staged.download, MapMode::Read)?;
        out.copy_from_slice(&staged.download.get_mapped_range(..)?);
        staged.download.unmap();
        Ok(start.elapsed())
    }
}

impl Handover for Expert {
    fn start(&mut self, job: &Job) -> Result<()> {
        self.started = Some(self.ground.queue.submit([self.record(job)]));
        Ok(())
    }

    fn wait(&mut self) -> Result<()> {
        self.ground.wait(self.started.take().context("nothing was started")?)
    }
}
