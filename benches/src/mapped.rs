use std::time::{Duration, Instant};

use anyhow::Result;
use wgpu::{Adapter, Buffer, BufferUsages, Features, MapMode};

use crate::{ground::Ground, implementation::Implementation, part::Part};

/// The expert's transfers where the adapter can map its own buffers, without staging or submission.
pub(crate) struct ExpertMapped {
    ground: Ground,
    buffer: Option<Buffer>,
}

impl ExpertMapped {
    pub(crate) fn open(adapter: &Adapter) -> Result<Self> {
        Ok(Self { ground: Ground::open(adapter, Features::MAPPABLE_PRIMARY_BUFFERS)?, buffer: None })
    }

    fn device_buffer(&self) -> &Buffer {
        self.buffer.as_ref().expect("bug: transfer rows allocate first")
    }
}

impl Implementation for ExpertMapped {
    fn name(&self) -> &'static str {
        "expert-mapped"
    }

    fn part(&self) -> Part {
        Part { transfers: true, ..Part::default() }
    }

    fn ground(&self) -> Option<&Ground> {
        Some(&self.ground)
    }

    fn allocate(&mut self, bytes: usize) -> Result<()> {
        let usage = BufferUsages::STORAGE | BufferUsages::MAP_READ | BufferUsages::MAP_WRITE;
        self.buffer = (bytes > 0).then(|| self.ground.buffer(bytes, usage));
        Ok(())
    }

    fn upload(&mut self, data: &[u8]) -> Result<Duration> {
        let buffer = self.device_buffer();
        let start = Instant::now();
        self.ground.map(buffer, MapMode::Write)?;
        buffer.get_mapped_range_mut(..)?.copy_from_slice(data);
        buffer.unmap();
        Ok(start.elapsed())
    }

    fn read(&mut self, out: &mut Vec<u8>) -> Result<Duration> {
        let buffer = self.device_buffer();
        let start = Instant::now();
        self.ground.map(buffer, MapMode::Read)?;
        out.copy_from_slice(&buffer.get_mapped_range(..)?);
        buffer.unmap();
        Ok(start.elapsed())
    }
}
