//! Fills: the encoder writes zeros, and a kernel writes other patterns.

use crate::error::Result;
use crate::record::own_kernels::{OwnCommands, OwnDispatch, OwnGroups, OwnKernel, OwnRange};
use crate::work::span::{Pattern, Span};

/// Most bytes that one dispatch fills: the number of workgroups stays below 65536, which every device allows.
const PIECE: u64 = 32 << 20;
const WORKGROUP: u64 = 64;
/// Words that one invocation fills.
const WORDS_EACH: u64 = 4;

/// One dispatch of a fill: the bound range, and the words to fill in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct FillPiece {
    offset: u64,
    size: u64,
    first: u32,
    count: u32,
}

/// Records the fill of `dst`. The size is rounded up to whole words.
///
/// # Errors
/// Returns `Compile` at the first use of the kernel, or `OutOfMemory`.
pub(crate) fn fill<'e>(commands: &mut impl OwnCommands<'e>, dst: &'e Span, pattern: &Pattern) -> Result<()> {
    if pattern.is_zero() {
        let size = dst.size.next_multiple_of(4);
        commands.clear(&dst.block, dst.offset..dst.offset + size);
        return Ok(());
    }
    fill_with_kernel(commands, dst, pattern)
}

/// Records the fill of `dst` as dispatches, for any pattern.
///
/// # Errors
/// Returns `Compile` at the first use of the kernel, or `OutOfMemory`.
pub(crate) fn fill_with_kernel<'e>(
    commands: &mut impl OwnCommands<'e>,
    dst: &'e Span,
    pattern: &Pattern,
) -> Result<()> {
    let (caps, size) = (commands.caps(), dst.size.next_multiple_of(4));
    for piece in pieces(dst.offset, size, caps.binding_alignment, PIECE.min(caps.max_binding)) {
        let groups = OwnGroups::Fixed(u64::from(piece.count).div_ceil(WORKGROUP * WORDS_EACH) as u32);
        let range = OwnRange { block: &dst.block, offset: piece.offset, size: piece.size, write: true };
        let (kernel, params) = (OwnKernel::FillWords, &params(pattern, piece));
        commands.dispatch_own(&OwnDispatch { kernel, params, ranges: &[range], groups })?;
    }
    Ok(())
}

/// Splits a range into pieces of at most `most` bytes. Every piece binds from a multiple of `alignment`, as devices
/// require. Each piece after the first also fills from there. `alignment` is a multiple of the pattern's size, so each
/// of these pieces begins with the first word of the pattern.
fn pieces(offset: u64, size: u64, alignment: u64, most: u64) -> impl Iterator<Item = FillPiece> {
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

/// Returns the shader's `Params`. The pattern starts at the first word that the piece fills.
fn params(pattern: &Pattern, piece: FillPiece) -> [u32; 8] {
    let repeated: [u8; 16] = std::array::from_fn(|at| pattern.bytes()[at % pattern.bytes().len()]);
    let [first, second, third, fourth] = bytemuck::cast(repeated);
    [first, second, third, fourth, piece.first, piece.count, 0, 0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fill_pieces_cover_the_range_once() {
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
