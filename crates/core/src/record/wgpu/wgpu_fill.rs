//! Fills with a pattern, by a kernel; zeros are the encoder's own.

use crate::device::Device as _;
use crate::device::wgpu_device::WgpuDevice;
use crate::device::wgpu_pipeline::WgpuPipeline;
use crate::error::Result;
use crate::record::wgpu::passes::{Dispatch, Part, Passes, Size, buffer_of};
use crate::work::compiled_kernel::Recipe;
use crate::work::span::{Pattern, Span};

/// Bytes that one dispatch fills, at most: a number of workgroups that every device takes, which is below 65536.
pub(crate) const PIECE: u64 = 32 << 20;
pub(crate) const WORKGROUP: u64 = 64;
pub(crate) const WORDS_EACH: u64 = 4;

/// The kernel, compiled when it is first needed.
#[derive(Default)]
pub(crate) struct FillKernel(Option<WgpuPipeline>);

/// A part of a fill: a binding, and the words in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct FillPiece {
    pub(crate) offset: u64,
    pub(crate) size: u64,
    first: u32,
    pub(crate) count: u32,
}

impl FillKernel {
    /// Records the fill of `dst`, whole words.
    ///
    /// # Errors
    /// `Compile`, out of memory.
    pub(crate) fn record(&mut self, passes: &mut Passes<'_>, dst: &Span, pattern: &Pattern) -> Result<()> {
        let size = dst.size.next_multiple_of(4);
        if pattern.is_zero() {
            passes.encoder().clear_buffer(buffer_of(&dst.block), dst.offset, Some(size));
            return Ok(());
        }
        let pipeline = self.pipeline(passes.device)?;
        let caps = passes.device.caps();
        for piece in pieces(dst.offset, size, caps.binding_alignment, PIECE.min(caps.max_binding)) {
            let params = params(pattern, piece);
            let groups = u64::from(piece.count).div_ceil(WORKGROUP * WORDS_EACH) as u32;
            passes.dispatch(&Dispatch {
                pipeline,
                mixed: false,
                params: &params,
                parts: &[Part { block: &dst.block, offset: piece.offset, size: piece.size }],
                size: Size::Groups([groups, 1, 1]),
            })?;
        }
        Ok(())
    }

    fn pipeline(&mut self, device: &WgpuDevice) -> Result<&WgpuPipeline> {
        let made = match self.0.take() {
            Some(made) => made,
            None => compile(device)?,
        };
        Ok(self.0.insert(made))
    }
}

fn compile(device: &WgpuDevice) -> Result<WgpuPipeline> {
    with_recipe(|recipe| WgpuPipeline::new(device.compile_target(), recipe))
}

/// Compiles the kernel.
pub(crate) fn with_recipe<T>(compile: impl FnOnce(&Recipe<'_>) -> Result<T>) -> Result<T> {
    Recipe::own("fill_words", include_str!("fill_words.wgsl"), compile)
}

/// Pieces of at most `most` bytes. All but the first start on an aligned offset, which is a multiple of the pattern.
pub(crate) fn pieces(offset: u64, size: u64, alignment: u64, most: u64) -> impl Iterator<Item = FillPiece> {
    let most = (most / alignment).max(1) * alignment;
    let (start, end) = (offset / alignment * alignment, offset + size);
    (start..end).step_by(most as usize).map(move |bound| {
        let (from, to) = (bound.max(offset), end.min(bound + most));
        FillPiece {
            offset: bound,
            size: to - bound,
            first: ((from - bound) / 4) as u32,
            count: ((to - from) / 4) as u32,
        }
    })
}

/// The shader's `Params`; the pattern is turned so that it starts with the piece's first word.
pub(crate) fn params(pattern: &Pattern, piece: FillPiece) -> [u8; 32] {
    let mut params = [0; 32];
    for (at, byte) in params[..16].iter_mut().enumerate() {
        *byte = pattern.bytes()[at % pattern.bytes().len()];
    }
    params[16..20].copy_from_slice(&piece.first.to_le_bytes());
    params[20..24].copy_from_slice(&piece.count.to_le_bytes());
    params
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_the_range_once() {
        for (offset, size) in [(0, 16), (4, 252), (260, 4), (36, 4096), (256, 1 << 20)] {
            let mut at = offset;
            for piece in pieces(offset, size, 256, 1000) {
                assert_eq!(piece.offset % 256, 0);
                assert!(piece.size <= 768);
                assert_eq!(piece.offset + u64::from(piece.first) * 4, at);
                at += u64::from(piece.count) * 4;
            }
            assert_eq!(at, offset + size);
        }
    }
}
