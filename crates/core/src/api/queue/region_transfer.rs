//! Transfers of elements with gaps between them, as in regions and padded arrays.

use crate::api::queue::CommandQueue;
use crate::api::queue::transfer::{ArrayOps, same_shape};
use crate::arrays::device_array::{ArrayRef, DeviceArray};
use crate::arrays::host_array::{Download, HostArray, HostMemory};
use crate::arrays::read::Reading;
use crate::arrays::upload_source::{SOURCE, Source, SourceBytes, SourceRef};
use crate::error::{CommandKind, Result};
use crate::memory::region::{PaddedShape, Region, StridedRegion, count};
use crate::runtime::event::same_context;
use crate::runtime::owner::Owner;
use crate::runtime::pending::{Pending, late_or_error};
use crate::work::region_copy::{RegionCopy, Rows, WORD};
use crate::work::step::{Pattern, Span, Work, Works};
use fencepost_kernels::Element;
use smallvec::smallvec;
use std::borrow::Cow;
use std::sync::Arc;

/// The elements of an array that a verb moves.
pub(crate) struct ArrayPart {
    array: ArrayRef,
    strided: StridedRegion,
}

impl ArrayPart {
    /// Selects all elements of an array, without its padding.
    pub(crate) fn all(array: &ArrayRef, frame: PaddedShape<'_>) -> Self {
        Self { array: array.clone(), strided: StridedRegion::all(frame) }
    }

    fn len(&self) -> usize {
        self.strided.len()
    }

    fn size(&self) -> u64 {
        self.array.dtype.size() as u64
    }

    pub(crate) fn owner(&self) -> &Owner {
        &self.array.storage.owner
    }

    fn place(&self) -> (u64, &StridedRegion) {
        (self.array.offset, &self.strided)
    }

    /// Returns the words of the elements, provided that there are no gaps and that no word is shared with other
    /// elements.
    pub(crate) fn words(&self) -> Option<Span> {
        if self.len() == 0 || !self.strided.is_contiguous() {
            return None;
        }
        let run = self.strided.first..self.strided.first + self.len();
        self.array.slice(run).ok()?.words().ok()
    }

    /// Returns temporary memory that holds the elements without gaps.
    pub(crate) fn packed_in(&self, maker: &ArrayOps<'_>) -> Result<ArrayPart> {
        maker.between(&self.array, self.len(), self.strided.packed())
    }

    /// Returns the bytes of the whole array.
    pub(crate) fn span(&self) -> Span {
        self.array.span()
    }

    /// Returns the copy of the elements to `dst`, which must have as many elements.
    pub(crate) fn copy_to(&self, dst: &ArrayPart) -> RegionCopy {
        let rows = Rows::new(self.place(), dst.place(), self.size());
        RegionCopy::new(self.array.storage.block(), dst.array.storage.block(), rows)
    }
}

impl<T: Element, const D: usize> DeviceArray<T, D> {
    /// Selects all elements of the array.
    pub(crate) fn all(&self) -> ArrayPart {
        ArrayPart::all(&self.array, self.frame())
    }

    /// Selects the elements of a region.
    pub(crate) fn part(&self, region: impl Into<Region>) -> Result<ArrayPart> {
        let strided = StridedRegion::of(self.label(), self.frame(), &region.into())?;
        Ok(ArrayPart { array: self.array.clone(), strided })
    }
}

impl ArrayOps<'_> {
    /// Copies the elements of `src` to `dst`, which must have as many elements.
    pub(crate) fn copy_part(&self, src: &ArrayPart, dst: &ArrayPart) -> Result<()> {
        if src.len() == 0 {
            return Ok(());
        }
        if let (Some(from), Some(to)) = (src.words(), dst.words()) {
            return self.copy_words((src.owner(), from), (dst.owner(), to));
        }
        let copy = src.copy_to(dst);
        if !src.owner().is(dst.owner()) {
            return self.copy_between((src.owner(), dst.owner()), copy);
        }
        if !copy.overlaps_itself(self.owner.device().caps().binding_alignment) {
            return self.enqueue(self.by.what, copy.into());
        }
        let shape = src.strided.shape();
        let (between, mut works) = self.gather(src, PaddedShape::full(&shape))?;
        works.push(between.copy_to(dst).into());
        self.enqueue_all_or_none(works)
    }

    /// Uploads `bytes` to the elements of `dst`. The call copies the bytes.
    pub(crate) fn upload_part(&self, dst: &ArrayPart, bytes: &[u8]) -> Result<()> {
        if let Some(dst) = dst.words() {
            return self.upload_words(dst, bytes);
        }
        if dst.len() == 0 || self.write_part(dst, bytes)? {
            return Ok(());
        }
        let between = dst.packed_in(self)?;
        self.upload_through(&between, bytes, dst)
    }

    /// Uploads `bytes` to the temporary memory `between`, and copies the elements from there to `dst`.
    fn upload_through(&self, between: &ArrayPart, bytes: &[u8], dst: &ArrayPart) -> Result<()> {
        let span = between.array.span();
        let src = self.stage(span.size, bytes)?;
        self.enqueue_all_or_none(smallvec![Work::Upload { src, dst: span }, between.copy_to(dst).into()])
    }

    /// Fills an array with copies of one staged element.
    pub(crate) fn fill_with_staged(&self, array: &ArrayRef, element: &[u8]) -> Result<()> {
        array.words()?;
        if array.len == 0 {
            return Ok(());
        }
        let dst = ArrayPart::all(array, PaddedShape::full(&[array.len]));
        let one = self.between(array, 1, StridedRegion::repeated(array.len))?;
        self.upload_through(&one, element, &dst)
    }

    /// Writes `bytes` to the elements in place. Returns `false` if the host cannot access their memory at once.
    fn write_part(&self, dst: &ArrayPart, bytes: &[u8]) -> Result<bool> {
        let block = dst.array.storage.block();
        if !block.direct() {
            return Ok(false);
        }
        let rows = Rows::new((0, &dst.strided.packed()), dst.place(), dst.size());
        let Some(access) = self.try_host_write(&rows.target(block))? else { return Ok(false) };
        for (from, to) in rows.iter().map(|(from, to)| (from as usize, to)) {
            access.write(to, &bytes[from..from + rows.row as usize]);
            access.writes(to..to + rows.row);
        }
        self.finish_host_write(access, bytes.len() as u64);
        Ok(true)
    }

    /// Copies the elements of a pinned array with the layout `like` to `dst`, which must have the same number of
    /// elements.
    pub(crate) fn upload_pinned(
        &self,
        pinned: &ArrayRef,
        like: PaddedShape<'_>,
        dst: &ArrayPart,
    ) -> Result<()> {
        let src = ArrayPart::all(pinned, like);
        if src.len() == 0 {
            return Ok(());
        }
        if let (Some(src), Some(dst)) = (src.words(), dst.words()) {
            return self.enqueue(self.by.what, Work::Copy { src, dst });
        }
        // Kernels cannot access host memory, so the whole pinned array is first copied to device memory.
        let over = pinned.words()?;
        let between = self.between(&dst.array, pinned.len, src.strided)?;
        let over = Work::Copy { src: over, dst: between.array.span() };
        self.enqueue_all_or_none(smallvec![over, between.copy_to(dst).into()])
    }

    /// Copies elements to a host array with the layout `like`, and zeroes the padding of the host array.
    fn download_part<T: Element>(
        &self,
        src: &ArrayPart,
        like: PaddedShape<'_>,
        (dst, label): (&HostMemory<T>, &Arc<str>),
    ) -> Result<()> {
        match (dst, src.words().filter(|_| like.is_full())) {
            (HostMemory::Pinned(pinned), Some(src)) => {
                self.enqueue(self.by.what, Work::Copy { src, dst: pinned.words()? })
            }
            (HostMemory::Pinned(pinned), None) => {
                let dst = pinned.words()?;
                let (between, mut works) = self.gather(src, like)?;
                works.push(Work::Copy { src: between.array.span(), dst });
                self.enqueue_all_or_none(works)
            }
            (HostMemory::Plain(_, plain), Some(words)) => {
                self.download_plain((words, src.len()), (plain, label))
            }
            (HostMemory::Plain(_, plain), None) => {
                let (between, works) = self.gather(src, like)?;
                self.enqueue_all_or_none(works)?;
                self.download_plain((between.array.words()?, between.array.len), (plain, label))
            }
        }
    }

    /// Enqueues a read of elements.
    pub(crate) fn read_part<T: Element>(&self, src: &ArrayPart) -> Result<Reading<T>> {
        if src.len() == 0 {
            let nothing = Span { size: 0, ..src.array.span() };
            return self.read_words(nothing, 0);
        }
        if let Some(words) = src.words() {
            return self.read_words(words, src.len());
        }
        self.check_host_read(src.array.storage.block())?;
        let shape = src.strided.shape();
        let (between, works) = self.gather(src, PaddedShape::full(&shape))?;
        self.enqueue_all_or_none(works)?;
        self.read(&between.array)
    }

    /// Returns new memory with the layout `like`, and the commands that copy the elements to it and zero its padding.
    fn gather(&self, src: &ArrayPart, like: PaddedShape<'_>) -> Result<(ArrayPart, Works)> {
        let between = self.between(&src.array, count(like.padded), StridedRegion::all(like))?;
        let mut works = Works::new();
        if !like.is_full() {
            works.push(Work::Fill { dst: between.array.span(), pattern: Pattern::ZERO });
        }
        works.push(src.copy_to(&between).into());
        Ok((between, works))
    }

    /// Allocates temporary memory for `len` elements, and returns the part that `strided` selects.
    fn between(&self, like: &ArrayRef, len: usize, strided: StridedRegion) -> Result<ArrayPart> {
        let words = (len * like.dtype.size()).div_ceil(WORD as usize);
        let memory = self.memory::<u32, 1>([words].into())?.array;
        Ok(ArrayPart { array: ArrayRef { len, dtype: like.dtype, ..memory }, strided })
    }

    /// Uploads a source to elements, which may have gaps between them.
    pub(crate) fn upload_to_part<T: Element>(&self, source: SourceRef<'_, T>, dst: &ArrayPart) -> Result<()> {
        let shape = dst.strided.shape();
        match source {
            SourceRef::Slice(slice) => {
                same_shape(SOURCE, &[slice.len()], &[dst.len()])?;
                self.upload_part(dst, bytemuck::cast_slice(slice))
            }
            SourceRef::Host(host) => {
                same_context(self.owner, host.owner, || "a pinned array".into())?;
                let frame = host_frame(SOURCE, host.frame, &shape)?;
                match host.bytes {
                    SourceBytes::Pinned(pinned) => self.upload_pinned(pinned, frame, dst),
                    SourceBytes::Plain(plain) if self.captured.is_some() => {
                        self.upload_part_per_replay(&plain, frame, dst)
                    }
                    SourceBytes::Plain(plain) => {
                        self.upload_part(dst, bytemuck::cast_slice(&packed(plain.elements, frame)))
                    }
                }
            }
        }
    }

    /// Downloads elements, which may have gaps between them.
    pub(crate) fn download_from_part<T: Element, const E: usize>(
        &self,
        src: &ArrayPart,
        dst: &HostArray<T, Download, E>,
    ) -> Result<()> {
        let shape = src.strided.shape();
        let frame = host_frame("the target of a download", dst.frame(), &shape)?;
        if src.len() == 0 {
            return Ok(());
        }
        self.download_part(src, frame, (&dst.place, dst.shared_label()))
    }
}

impl CommandQueue {
    /// *Enqueues* a copy of a region of one array to a region of another array, or of the same array. The two regions
    /// may overlap.
    ///
    /// When commands are ordered, a region with gaps counts as all bytes from its first element to its last. One of the
    /// arrays may belong to another context, as for [`copy`](Self::copy).
    ///
    /// # Shape
    /// Both regions have the same shape: indices remove axes, and [`NewAxis`](crate::NewAxis) adds some.
    ///
    /// # Errors
    /// Returns the errors of a [`Region`]; [`ErrorDetail::Shape`](crate::ErrorDetail::Shape) if the shapes differ; the
    /// errors of [`copy`](Self::copy). Unlike there, elements of less than four bytes need no alignment to words.
    ///
    /// # Example
    /// ```
    /// use fencepost::region;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = queue.array(&[0_u32, 1, 2, 3, 4, 5])?.reshape([2, 3])?;
    /// let mut y = queue.zeros([4])?;
    /// queue.copy_region(&x, region![.., 1], &mut y, region![..; 2])?;
    /// assert_eq!(queue.read(&y).wait()?, [1, 0, 4, 0]);
    /// # drop(ctx);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn copy_region<T: Element, const D: usize, const E: usize>(
        &self,
        src: &DeviceArray<T, D>,
        from: impl Into<Region>,
        dst: &mut DeviceArray<T, E>,
        to: impl Into<Region>,
    ) -> Result<()> {
        let src = src.part(from)?;
        let dst = dst.part(to)?;
        same_shape("the target of a copy", &dst.strided.shape(), &src.strided.shape())?;
        self.enqueue_copy(src.owner(), dst.owner(), |maker| maker.copy_part(&src, &dst))
    }

    /// *Enqueues* a copy of host elements into a region of device memory, as [`upload`](Self::upload) does.
    ///
    /// # Shape
    /// `src` has as many elements as the region, in the region's C order; a padded pinned array has the region's shape.
    ///
    /// # Errors
    /// Returns the errors of a [`Region`], and those of [`upload`](Self::upload). Unlike there, elements of less than
    /// four bytes need no alignment to words.
    ///
    /// # Example
    /// ```
    /// use fencepost::region;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut x = ctx.zeros::<u32, 2>([2, 3])?;
    /// queue.upload_region(&[7, 8], &mut x, region![.., 2])?;
    /// assert_eq!(queue.read(&x).wait()?, [0, 0, 7, 0, 0, 8]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn upload_region<T: Element, const D: usize>(
        &self,
        src: &(impl Source<T> + ?Sized),
        dst: &mut DeviceArray<T, D>,
        to: impl Into<Region>,
    ) -> Result<()> {
        self.check_own_array(&dst.array)?;
        let part = dst.part(to)?;
        let maker = self.array_ops(CommandKind::Upload)?;
        src.source(&mut |source| maker.upload_to_part(source, &part))
    }

    /// *Flushes*; the result is the elements of a region, in the region's C order. Reads as [`read`](Self::read) does.
    ///
    /// # Errors
    /// The result has the errors of a [`Region`], and those of [`read`](Self::read). Unlike there, elements of less
    /// than four bytes need no alignment to words.
    ///
    /// # Example
    /// ```
    /// use fencepost::region;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = queue.array(&[0_u32, 1, 2, 3, 4, 5])?.reshape([2, 3])?;
    /// assert_eq!(queue.read_region(&x, region![.., 0..3; 2]).wait()?, [0, 2, 3, 5]);
    /// # drop(ctx);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn read_region<T: Element, const D: usize>(
        &self,
        src: &DeviceArray<T, D>,
        from: impl Into<Region>,
    ) -> Pending<Vec<T>> {
        late_or_error(self.enqueue_read("read_region", &src.array, |maker| maker.read_part(&src.part(from)?)))
    }

    /// *Enqueues* a copy of a region into a pinned host array, as [`download`](Self::download) does.
    ///
    /// # Shape
    /// `dst` has as many elements as the region, in the region's C order; a padded pinned array has the region's shape,
    /// and its padding is zero afterwards.
    ///
    /// # Errors
    /// Returns the errors of a [`Region`], and those of [`download`](Self::download). Unlike there, elements of less
    /// than four bytes need no alignment to words.
    ///
    /// # Example
    /// ```
    /// use fencepost::{Download, HostArray, region};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = queue.array(&[0_u32, 1, 2, 3, 4, 5])?.reshape([2, 3])?;
    /// let mut host: HostArray<u32, Download> = ctx.pinned([2])?;
    /// queue.download_region(&x, region![.., -1], &mut host)?;
    /// assert_eq!(*host.host()?, [2, 5]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn download_region<T: Element, const D: usize, const E: usize>(
        &self,
        src: &DeviceArray<T, D>,
        from: impl Into<Region>,
        dst: &mut HostArray<T, Download, E>,
    ) -> Result<()> {
        self.check_own_array(&src.array)?;
        dst.check_owner(self.owner())?;
        dst.end_leaked_guards(true);
        let part = src.part(from)?;
        let maker = self.array_ops(CommandKind::Download)?;
        maker.check_host_read(src.array.storage.block())?;
        maker.download_from_part(&part, dst)
    }
}

/// Returns the layout of a host array for a transfer from or to elements of the given shape. A host array without
/// padding may have another shape: it then holds the elements without gaps.
///
/// # Errors
/// Returns [`ErrorDetail::Shape`](crate::ErrorDetail::Shape) if the numbers of elements differ, or if the array is padded and has
/// another shape.
fn host_frame<'a>(object: &str, host: PaddedShape<'a>, shape: &'a [usize]) -> Result<PaddedShape<'a>> {
    if !host.is_full() {
        return same_shape(object, host.shape, shape).map(|()| host);
    }
    same_shape(object, &[count(host.shape)], &[count(shape)])?;
    Ok(PaddedShape::full(shape))
}

/// Returns the elements of `data`, which has the layout `frame`, without gaps.
pub(crate) fn packed<'a, T: Element>(data: &'a [T], frame: PaddedShape<'_>) -> Cow<'a, [T]> {
    if frame.is_full() || count(frame.shape) == 0 {
        return Cow::Borrowed(&data[..count(frame.shape)]);
    }
    let strided = StridedRegion::all(frame);
    let size = size_of::<T>();
    let mut all = vec![T::zeroed(); strided.len()];
    let rows = Rows::new((0, &strided), (0, &strided.packed()), size as u64);
    let elements = rows.row as usize / size;
    for (from, to) in rows.iter().map(|(from, to)| (from as usize / size, to as usize / size)) {
        all[to..to + elements].copy_from_slice(&data[from..from + elements]);
    }
    Cow::Owned(all)
}
