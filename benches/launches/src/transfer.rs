//! The host memory of a transfer row.

use std::time::Duration;

use anyhow::{Result, ensure};

use crate::implementation::Implementation;

/// Direction of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the device.
    Read,
    /// To the device.
    Upload,
}

/// Host memory of a transfer row, which all implementations share.
pub struct HostMemory {
    data: Vec<u8>,
    out: Vec<u8>,
}

impl HostMemory {
    /// Allocates memory of this size.
    pub fn of(bytes: usize) -> Self {
        Self { data: vec![1; bytes], out: vec![1; bytes] }
    }

    /// Uploads bytes that differ from the earlier samples', reads them back and compares. Returns the time of the
    /// upload or of the read.
    pub fn sample(
        &mut self,
        direction: Direction,
        seed: u32,
        implementation: &mut dyn Implementation,
    ) -> Result<Duration> {
        fill(&mut self.data, seed);
        let upload = implementation.upload(&self.data)?;
        let read = implementation.read(&mut self.out)?;
        let name = implementation.name();
        ensure!(self.data == self.out, "{name}: {} bytes came back changed", self.data.len());
        Ok(if direction == Direction::Read { read } else { upload })
    }
}

fn fill(data: &mut [u8], seed: u32) {
    for (i, word) in data.chunks_exact_mut(4).enumerate() {
        word.copy_from_slice(&(i as u32 ^ seed.wrapping_mul(0x9e37_79b9)).to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::fill;

    #[test]
    fn different_seeds_change_every_word() {
        let mut a = [0; 4096];
        let mut b = [0; 4096];
        fill(&mut a, 1);
        fill(&mut b, 2);
        assert!(a.chunks(4).zip(b.chunks(4)).all(|(a, b)| a != b));
    }
}
