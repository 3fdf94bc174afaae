use std::time::{Duration, Instant};

use anyhow::Result;

use crate::{implementation::Implementation, part::Part};

/// Plain copies from host memory to host memory without a device: the limit of every transfer through the host.
#[derive(Default)]
pub(crate) struct Memcpy {
    memory: Vec<u8>,
}

impl Implementation for Memcpy {
    fn name(&self) -> &'static str {
        "memcpy"
    }

    fn part(&self) -> Part {
        Part { transfers: true, ..Part::default() }
    }

    fn allocate(&mut self, bytes: usize) -> Result<()> {
        // The bytes are not zero: the first copy would fault in the pages of a zeroed allocation.
        self.memory = vec![1; bytes];
        Ok(())
    }

    fn upload(&mut self, data: &[u8]) -> Result<Duration> {
        let start = Instant::now();
        self.memory.copy_from_slice(data);
        Ok(start.elapsed())
    }

    fn read(&mut self, out: &mut Vec<u8>) -> Result<Duration> {
        let start = Instant::now();
        out.copy_from_slice(&self.memory);
        Ok(start.elapsed())
    }
}
