//! Transfers of pinned arrays on devices without pinned memory, where such an array is ordinary memory.

use crate::api::graph::pinned_transfers::PlainSource;
use crate::api::queue::region_transfer::{ArrayPart, packed};
use crate::api::queue::transfer::ArrayOps;
use crate::arrays::host_array::PlainMemory;
use crate::arrays::upload_source::PlainBytes;
use crate::error::Result;
use crate::error::site::CommandKind;
use crate::memory::region_iter::PaddedShape;
use crate::memory::shape::count;
use crate::memory::staged_bytes::Payload;
use crate::runtime::wait_mode::late;
use crate::work::span::Span;
use crate::work::step::Work;
use fencepost_kernels::Element;
use fencepost_sync::prim::lock;
use smallvec::smallvec;
use std::sync::Arc;

impl ArrayOps<'_> {
    /// Downloads the first `len` elements of `src` to a pinned array in ordinary memory. In a capture, each replay
    /// downloads.
    pub(crate) fn download_plain<T: Element>(
        &self,
        (src, len): (Span, usize),
        (memory, label): (&Arc<PlainMemory<T>>, &Arc<str>),
    ) -> Result<()> {
        match self.captured {
            Some(_) if src.size == 0 => Ok(()),
            Some(captured) => captured.download(self.by.at, (src, len), (memory, label)),
            None => {
                let reading = self.read_words(src, len, Vec::new())?;
                let stamp = reading.point.stamp;
                lock(memory).expect(stamp, late(reading));
                Ok(())
            }
        }
    }

    /// Captures an upload to `dst` of the bytes that a pinned array in ordinary memory has at each replay.
    pub(crate) fn upload_words_per_replay<T: Element>(
        &self,
        plain: &PlainBytes<'_, T>,
        dst: Span,
    ) -> Result<()> {
        let range = plain.range.clone();
        let src = source(plain, dst.size, move |all| bytemuck::cast_slice(&all[range.clone()]).to_vec());
        self.enqueue(CommandKind::Upload, Work::Upload { src, dst })
    }

    /// Captures an upload as [`upload_words_per_replay`](Self::upload_words_per_replay) does, to elements with or
    /// without gaps between them. The pinned array has the layout `frame`.
    pub(crate) fn upload_part_per_replay<T: Element>(
        &self,
        plain: &PlainBytes<'_, T>,
        frame: PaddedShape<'_>,
        dst: &ArrayPart,
    ) -> Result<()> {
        let (range, shape, padded) = (plain.range.clone(), frame.shape.to_vec(), frame.padded.to_vec());
        let bytes = move |all: &[T]| {
            let frame = PaddedShape { shape: &shape, padded: &padded };
            bytemuck::cast_slice(&packed(&all[range.clone()], frame)).to_vec()
        };
        if count(frame.shape) == 0 {
            return Ok(());
        }
        if let Some(dst) = dst.words() {
            let src = source(plain, dst.size, bytes);
            return self.enqueue(self.by.what, Work::Upload { src, dst });
        }
        let between = dst.packed_in(self)?;
        let over = between.span();
        let src = source(plain, over.size, bytes);
        self.enqueue_all_or_none(smallvec![Work::Upload { src, dst: over }, between.copy_to(dst).into()])
    }
}

/// Returns the bytes of an upload of `size` bytes, which `bytes` takes from the whole array.
fn source<T: Element>(
    plain: &PlainBytes<'_, T>,
    size: u64,
    bytes: impl Fn(&[T]) -> Vec<u8> + Send + Sync + 'static,
) -> Payload {
    let (label, elements) = (plain.label.clone(), plain.memory.clone());
    Payload::PerReplay(Arc::new(PlainSource { label, elements, size, bytes: Box::new(bytes) }))
}
