//! One run of a kernel: its grid and its memory.
#![allow(unsafe_code, reason = "several threads access the same bytes, as the invocations of a grid do")]

use fencepost_kernels::HostBuffer;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::AtomicBool;

/// Memory that several threads may read and write at once. It begins at a multiple of 16 bytes, and its length is a
/// multiple of 4.
///
/// If a thread writes a byte while another one accesses it, and not both use atomic operations, the byte may have any
/// value.
#[derive(Clone, Copy, Debug)]
pub struct Cells<'a> {
    start: *mut u8,
    len: usize,
    bytes: PhantomData<&'a mut [u8]>,
}

// SAFETY: `Cells` gives no reference to its bytes. The engines access the bytes through the pointer with atomic or
// compiled accesses, for which races are not undefined behaviour.
unsafe impl Send for Cells<'_> {}
// SAFETY: see above.
unsafe impl Sync for Cells<'_> {}

impl<'a> Cells<'a> {
    /// Creates cells on bytes that nothing else accesses while the value lives.
    ///
    /// # Panics
    /// Panics if the bytes do not begin at a multiple of 16, or their number is not a multiple of 4.
    pub fn new(bytes: &'a mut [u8]) -> Self {
        let start = bytes.as_mut_ptr();
        assert!(start.addr().is_multiple_of(16), "the bytes of a buffer begin at a multiple of 16");
        assert!(bytes.len().is_multiple_of(4), "the bytes of a buffer are whole words");
        Self { start, len: bytes.len(), bytes: PhantomData }
    }

    /// Creates cells on bytes that other threads may access too.
    ///
    /// # Safety
    /// `start` must be a multiple of 16, `len` a multiple of 4, and the bytes part of one allocation that lives as long
    /// as `'a`. While a run uses them, there must be no Rust reference to the bytes.
    pub unsafe fn from_raw(start: *mut u8, len: usize) -> Self {
        Self { start, len, bytes: PhantomData }
    }

    /// Returns the first byte.
    pub fn start(&self) -> *mut u8 {
        self.start
    }

    /// Returns the number of bytes.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns `true` if there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// A run of some workgroups of a grid. Several threads may run parts of one grid at once.
#[derive(Clone, Debug)]
pub struct GridRun<'a> {
    /// Number of workgroups of the whole grid along each axis.
    pub groups: [u32; 3],
    /// Range of workgroup numbers that this run executes; numbers count along the first axis first.
    pub range: Range<u64>,
    /// Bytes of the uniform block.
    pub params: &'a [u8],
    /// Storage buffers, in the order of [`Interface::bindings`](fencepost_kernels::Interface::bindings).
    pub buffers: &'a [Cells<'a>],
    /// Seed of the order of workgroups, and of invocations between two barriers. 0 means ascending numbers.
    pub seed: u64,
    /// Flag that ends the run when it becomes `true`. The engines check it at least once in each workgroup and in each
    /// iteration of a loop.
    pub stop: &'a AtomicBool,
}

impl GridRun<'_> {
    /// Runs a whole grid on copies of buffers, and copies the results back. `seed` and `stop` are the fields of the
    /// run.
    ///
    /// # Errors
    /// Returns the error of `run`. The buffers keep their earlier bytes then.
    pub fn on_copies<E>(
        groups: [u32; 3],
        params: &[u8],
        buffers: &mut [HostBuffer<'_>],
        seed: u64,
        stop: &AtomicBool,
        run: impl FnOnce(&GridRun<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        // The engines need whole words that are aligned to 16 bytes, which the caller's slices may not be.
        let mut copies: Vec<Vec<u128>> = buffers.iter().map(|buffer| words(buffer.bytes())).collect();
        let lens: Vec<usize> = buffers.iter().map(|buffer| buffer.bytes().len()).collect();
        let cells: Vec<Cells<'_>> =
            copies.iter_mut().zip(&lens).map(|(copy, &len)| cells(copy, len)).collect();
        let range = 0..Self::all(groups);
        run(&GridRun { groups, range, params, buffers: &cells, seed, stop })?;
        for (copy, buffer) in copies.iter().zip(buffers) {
            if let HostBuffer::Write(bytes) = buffer {
                bytes.copy_from_slice(&bytemuck::cast_slice(copy)[..bytes.len()]);
            }
        }
        Ok(())
    }

    /// Returns the number of workgroups of the whole grid.
    pub fn all(groups: [u32; 3]) -> u64 {
        groups.iter().map(|&count| u64::from(count)).product()
    }

    /// Returns the index of a workgroup along each axis of the grid.
    pub fn group(&self, number: u64) -> [u32; 3] {
        let [x, y, _] = self.groups.map(u64::from);
        [(number % x) as u32, (number / x % y) as u32, (number / x / y) as u32]
    }
}

/// Returns a copy of bytes that is aligned to 16, and padded with zeros to a multiple of 16.
fn words(bytes: &[u8]) -> Vec<u128> {
    let mut words = vec![0_u128; bytes.len().div_ceil(16)];
    bytemuck::cast_slice_mut::<_, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
    words
}

fn cells(words: &mut [u128], len: usize) -> Cells<'_> {
    Cells::new(&mut bytemuck::cast_slice_mut(words)[..len.next_multiple_of(4)])
}
