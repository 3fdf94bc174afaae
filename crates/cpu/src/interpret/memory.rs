//! Accesses to the memory that invocations share.
#![allow(unsafe_code, reason = "several threads access the same bytes, as the invocations of a grid do")]

use super::shape::Run;
use crate::run::Cells;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Number of low bits of a pointer that contain the byte offset. The higher bits contain the region's number.
const BYTE_BITS: u32 = 48;

/// Returns a pointer as one word.
pub(super) fn pointer(region: u16, byte: u64) -> u64 {
    u64::from(region) << BYTE_BITS | byte & ((1 << BYTE_BITS) - 1)
}

/// Returns the region and the byte of a pointer.
pub(super) fn place(pointer: u64) -> (u16, u64) {
    ((pointer >> BYTE_BITS) as u16, pointer & ((1 << BYTE_BITS) - 1))
}

/// Regions of a run: the buffers, the uniform block, and the variables of the workgroup.
///
/// A read outside of a region returns zero, and a write there does nothing.
pub(super) struct Memory<'a> {
    regions: Vec<Cells<'a>>,
}

impl<'a> Memory<'a> {
    /// Creates the memory of these regions.
    pub(super) fn new(regions: Vec<Cells<'a>>) -> Self {
        Self { regions }
    }

    /// Returns the bytes of a region.
    pub(super) fn len(&self, region: u16) -> u64 {
        self.regions.get(usize::from(region)).map_or(0, |cells| cells.len() as u64)
    }

    /// Returns the word at a byte.
    #[inline]
    pub(super) fn word(&self, region: u16, byte: u64) -> Option<&AtomicU32> {
        let cells = self.regions.get(usize::from(region))?;
        let fits = byte.checked_add(4)? <= cells.len() as u64 && byte.is_multiple_of(4);
        // SAFETY: the word is inside the region, as checked above.
        let at = fits.then(|| unsafe { cells.start().add(byte as usize) })?;
        // SAFETY: the region begins at a multiple of 16 and the word at a multiple of 4 in it. The bytes live as long
        // as the cells, and all accesses to them are atomic.
        Some(unsafe { AtomicU32::from_ptr(at.cast()) })
    }

    /// Returns the two words at a byte as one.
    #[inline]
    pub(super) fn long(&self, region: u16, byte: u64) -> Option<&AtomicU64> {
        let cells = self.regions.get(usize::from(region))?;
        let fits = byte.checked_add(8)? <= cells.len() as u64 && byte.is_multiple_of(8);
        // SAFETY: the words are inside the region, as checked above.
        let at = fits.then(|| unsafe { cells.start().add(byte as usize) })?;
        // SAFETY: the region begins at a multiple of 16 and the words at a multiple of 8 in it. The bytes live as long
        // as the cells, and all accesses to them are atomic.
        Some(unsafe { AtomicU64::from_ptr(at.cast()) })
    }

    /// Sets all bytes of a region to zero.
    pub(super) fn clear(&self, region: u16) {
        for byte in (0..self.len(region)).step_by(4) {
            if let Some(word) = self.word(region, byte) {
                word.store(0, Relaxed);
            }
        }
    }

    /// Reads a scalar of 1, 2, 4 or 8 bytes.
    #[inline]
    pub(super) fn read(&self, region: u16, byte: u64, width: u8) -> u64 {
        match width {
            4 => self.word(region, byte).map_or(0, |word| u64::from(word.load(Relaxed))),
            8 => self.long(region, byte).map_or(0, |long| long.load(Relaxed)),
            _ => {
                let word = self.word(region, byte & !3).map_or(0, |word| word.load(Relaxed));
                u64::from(word >> shift(byte) & mask(width))
            }
        }
    }

    /// Writes a scalar of 1, 2, 4 or 8 bytes.
    #[inline]
    pub(super) fn write(&self, region: u16, byte: u64, width: u8, bits: u64) {
        match width {
            4 => {
                if let Some(word) = self.word(region, byte) {
                    word.store(bits as u32, Relaxed);
                }
            }
            8 => {
                if let Some(long) = self.long(region, byte) {
                    long.store(bits, Relaxed);
                }
            }
            _ => self.write_part(region, byte, width, bits as u32),
        }
    }

    /// Writes a part of a word. Concurrent writes of other threads to the rest of the word are kept.
    fn write_part(&self, region: u16, byte: u64, width: u8, bits: u32) {
        let Some(word) = self.word(region, byte & !3) else { return };
        let mask = mask(width);
        let shift = shift(byte);
        let new = |old: u32| Some(old & !(mask << shift) | (bits & mask) << shift);
        let _ = word.fetch_update(Relaxed, Relaxed, new);
    }

    /// Reads consecutive words.
    #[inline]
    pub(super) fn read_words(&self, region: u16, byte: u64, to: &mut [u64]) {
        for (at, slot) in to.iter_mut().enumerate() {
            *slot = self.read(region, byte + 4 * at as u64, 4);
        }
    }

    /// Writes consecutive words.
    #[inline]
    pub(super) fn write_words(&self, region: u16, byte: u64, from: &[u64]) {
        for (at, &bits) in from.iter().enumerate() {
            self.write(region, byte + 4 * at as u64, 4, bits);
        }
    }

    /// Reads a value of any shape.
    pub(super) fn read_shape(&self, region: u16, byte: u64, shape: &[Run], to: &mut [u64]) {
        let mut slots = to.iter_mut();
        for run in shape {
            for at in 0..u64::from(run.count) {
                let Some(slot) = slots.next() else { return };
                let byte = byte + u64::from(run.offset) + at * u64::from(run.width);
                *slot = self.read(region, byte, run.width);
            }
        }
    }

    /// Writes a value of any shape. The bytes between its scalars are not changed.
    pub(super) fn write_shape(&self, region: u16, byte: u64, shape: &[Run], from: &[u64]) {
        let mut slots = from.iter();
        for run in shape {
            for at in 0..u64::from(run.count) {
                let Some(&bits) = slots.next() else { return };
                let byte = byte + u64::from(run.offset) + at * u64::from(run.width);
                self.write(region, byte, run.width, bits);
            }
        }
    }

    /// Replaces a scalar of 4 or 8 bytes in one step, and returns the old one. If `new` returns `None`, the scalar is
    /// not changed. Outside of the region the old scalar is zero.
    pub(super) fn update(
        &self,
        region: u16,
        byte: u64,
        width: u8,
        mut new: impl FnMut(u64) -> Option<u64>,
    ) -> u64 {
        if width == 8 {
            let Some(long) = self.long(region, byte) else { return 0 };
            return long.fetch_update(AcqRel, Acquire, new).unwrap_or_else(|old| old);
        }
        let Some(word) = self.word(region, byte) else { return 0 };
        let new = |old: u32| new(u64::from(old)).map(|bits| bits as u32);
        u64::from(word.fetch_update(AcqRel, Acquire, new).unwrap_or_else(|old| old))
    }
}

/// Returns the number of bits below a byte in its word.
fn shift(byte: u64) -> u32 {
    8 * (byte % 4) as u32
}

/// Returns the bits of a scalar of 1 or 2 bytes.
fn mask(width: u8) -> u32 {
    if width == 1 { 0xff } else { 0xffff }
}
