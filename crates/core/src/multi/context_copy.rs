//! Copies from one context to another.
//!
//! A copy uses two queues: one reads the source piece by piece, the other writes the target. One of them is the queue
//! on which the program enqueued the copy; the other is a helper queue made for the copy. Each piece is written after
//! it has been read, and piece `n + 2` is read after piece `n` has been written. So one piece is read while the
//! previous one is written, and a copy of any size needs only a bounded amount of memory.

use crate::arrays::read::Reading;
use crate::arrays::storage::Storage;
use crate::error::{CommandKind, Error, ErrorDetail, Result};
use crate::memory::block::{Block, Heap, overlap};
use crate::memory::read_slot::ReadSlot;
use crate::memory::staging::{Payload, Staged};
use crate::memory::uses::Policy;
use crate::multi::event_wait::{lock_enqueueing, wait};
use crate::runtime::event::{Event, Recording};
use crate::runtime::owner::Owner;
use crate::runtime::pending::WakerRegistration;
use crate::scheduler::batch::Op;
use crate::scheduler::complete::PointHistory;
use crate::scheduler::engine::Engine;
use crate::scheduler::ordering::Admission;
use crate::scheduler::relay::{Relay, RelaySource, SignalledBy, Signaller};
use crate::scheduler::wait::WaitTarget;
use crate::work::region_copy::{RegionCopy, RowAxis, Rows, WORD, extent};
use crate::work::step::{Pattern, Span, Work, Works};
use fencepost_sync::{Point, Slot, Stamp};
use smallvec::SmallVec;
use std::iter::repeat_with;
use std::sync::{Arc, OnceLock};
use std::task::{Poll, Waker};

/// One side of a copy: the context, the queue and the array.
struct CopyEnd {
    engine: Arc<Engine>,
    end: CopySide,
    by: Admission,
    /// Bytes of the array that the copy uses, from the first to the last.
    span: Span,
    /// Buffers for pieces that are not contiguous whole words in the array.
    between: CopyBuffers,
}

/// A copy that is not yet enqueued.
pub(crate) struct PreparedCopy {
    source: CopyEnd,
    target: CopyEnd,
    pieces: Vec<CopyPiece>,
}

/// The commands of one side of a copy.
pub(crate) struct CopyCommands {
    pub(crate) ops: Vec<Op>,
    /// For each piece, the index in `ops` of its last command.
    pub(crate) ends: Vec<usize>,
    /// Works that use the arrays as all commands together do.
    pub(crate) uses: Works,
}

/// One piece of a copy. On each side, its bytes are contiguous, in the array or in a buffer.
struct CopyPiece {
    rows: Rows,
    /// Bytes on the side of the source.
    src: Span,
    /// Bytes on the side of the target.
    dst: Span,
    read: Arc<ReadSlot>,
    /// Bytes in staging memory of the target's context, once they have been read.
    staged: Arc<OnceLock<Staged>>,
    /// Signal that the piece two places earlier has been written, if there is one. The read of this piece waits for it.
    free: Option<Signaller>,
    /// Signal that the bytes of this piece are in `staged`. The write of this piece waits for it.
    here: Signaller,
}

/// Enqueues a copy between two contexts: on the queue `by` of the context `given`, which is one of the two, and on a
/// helper queue of the other context.
///
/// # Errors
/// The errors of `Engine::enqueue` and of an allocation, of both contexts. After an error, nothing is enqueued on the
/// queue `by`.
pub(crate) fn copy(
    given: &Owner,
    by: Admission,
    (source, target): (&Owner, &Owner),
    copy: &RegionCopy,
) -> Result<()> {
    let (end, other) = if given.is(source) { (CopySide::Source, target) } else { (CopySide::Target, source) };
    on_helper((given, by), other, "copy across", |theirs| {
        let (read_by, written_by) = if end == CopySide::Source { (by, theirs) } else { (theirs, by) };
        enqueue(end, copy, (source, read_by), (target, written_by))
    })
}

/// Enqueues a copy in the order of the queue `by` of the context `given`, although neither array belongs to that
/// context. `copy` enqueues it on a helper queue of the context `other`, which first waits for the queue `by`. Then the
/// queue `by` waits for the helper queue.
///
/// # Errors
/// The errors of `copy` and of both queues. After an error of `copy`, nothing is enqueued on the queue `by`.
pub(crate) fn enqueue_elsewhere(
    (given, by): (&Owner, Admission),
    other: &Owner,
    copy: impl FnOnce(Admission) -> Result<()>,
) -> Result<()> {
    given.engine().lock_with_room(by.slot)?.check(by.slot)?;
    on_helper((given, by), other, "copy elsewhere", |theirs| {
        wait(other.engine(), theirs.slot, &end(given, by.slot), by.at)
            .and_then(|()| copy(theirs))
            .map_err(|error| lost(other.engine(), error))?;
        wait(given.engine(), by.slot, &end(other, theirs.slot), by.at)
    })
}

/// Calls `f` with a helper queue of the context `other`, which is named after the queue `by` and `what` and has the
/// priority of `by`.
fn on_helper(
    (given, by): (&Owner, Admission),
    other: &Owner,
    what: &str,
    f: impl FnOnce(Admission) -> Result<()>,
) -> Result<()> {
    let (label, priority) = {
        let state = given.engine().lock();
        let queue = state.queue(by.slot);
        (queue.label.clone(), queue.priority)
    };
    let helper = other.engine().helper(&format!("{label}, {what}"), priority);
    let helper = helper.map_err(|error| lost(other.engine(), error))?;
    let result = f(Admission { slot: helper, what: CommandKind::BetweenContexts, at: by.at });
    other.engine().release_helper(helper);
    result
}

/// Returns the event of all commands enqueued so far on a queue.
fn end(owner: &Owner, slot: Slot) -> Event {
    let (point, past) = owner.engine().marker(slot);
    Event::new(owner.clone(), Recording::Point(point, past, None))
}

/// Returns the error of the other side as an error of this side. The loss of the other device becomes `OtherContext`,
/// so that it is not mistaken for the loss of this device.
pub(crate) fn lost(other: &Engine, error: Error) -> Error {
    if !matches!(error.detail(), ErrorDetail::DeviceLost { .. }) {
        return error;
    }
    ErrorDetail::OtherContext { object: format!("the device `{}`", other.device.caps().adapter), error }
        .into()
}

/// Enqueues both sides, and attaches the relays through which each signals the other. `end` is the side of the
/// program's queue.
fn enqueue(
    end: CopySide,
    copy: &RegionCopy,
    (source, read_by): (&Owner, Admission),
    (target, written_by): (&Owner, Admission),
) -> Result<()> {
    let prepared = PreparedCopy::new(copy, (source, read_by), (target, written_by))?;
    let source = &prepared.source;
    let target = &prepared.target;
    // An `Unchecked` context adds no waits. So in such a context, the read of the source waits for this event, which
    // signals that the program's queue has reached the copy.
    let place = (end == CopySide::Target && source.engine.lock().policy() == Policy::Unchecked).then(|| {
        let reached = target.engine.marker(target.by.slot).0;
        (
            Signaller::new(&source.engine, &target.name(), SignalledBy::OtherContext),
            target.origin(reached.stamp),
        )
    });
    // If the program's queue reads the source, it finally waits for this event, which signals that the target has been
    // written.
    let done = (end == CopySide::Source)
        .then(|| Signaller::new(&source.engine, &target.name(), SignalledBy::OtherContext));
    let wait = place.iter().map(|(signaller, _)| signaller.wait());
    let mut reading = prepared.reads(wait.collect());
    reading.ops.extend(done.as_ref().map(Signaller::wait));
    let writing = prepared.writes();
    let turn = lock_enqueueing();
    let (reads, writes);
    // First the program's queue is checked, and then the helper queue's side is enqueued. So if one of them refuses the
    // copy, both contexts are unchanged.
    if end == CopySide::Target {
        target.engine.check_whole(target.by, &writing.uses)?;
        reads = source.enqueue(reading).map_err(|error| lost(&source.engine, error))?;
        writes = target.enqueue(writing)?;
    } else {
        source.engine.check_whole(source.by, &reading.uses)?;
        writes = target.enqueue(writing).map_err(|error| lost(&target.engine, error))?;
        reads = source.enqueue(reading)?;
    }
    drop(turn);
    if let Some((signaller, origin)) = place {
        Relay::attach(&source.engine, signaller, origin, None);
    }
    if let (Some(done), Some(&last)) = (done, writes.last()) {
        Relay::attach(&source.engine, done, target.origin(last), None);
    }
    prepared.connect(&reads, &writes);
    Ok(())
}

impl PreparedCopy {
    /// Prepares a copy between two queues, and allocates the buffers that the pieces need.
    ///
    /// # Errors
    /// The errors of an allocation, of both contexts.
    pub(crate) fn new(
        copy: &RegionCopy,
        (source, read_by): (&Owner, Admission),
        (target, written_by): (&Owner, Admission),
    ) -> Result<Self> {
        let rows = cut(copy, overlaps_itself(source.engine(), target.engine(), copy));
        let source = CopyEnd::new(CopySide::Source, source, read_by, &copy.src, &rows)?;
        let target = CopyEnd::new(CopySide::Target, target, written_by, &copy.dst, &rows)?;
        let pieces = pieces(&source, &target, rows);
        Ok(Self { source, target, pieces })
    }

    /// Returns the commands `ops`, followed by the reads of the pieces.
    pub(crate) fn reads(&self, mut ops: Vec<Op>) -> CopyCommands {
        let mut ends = Vec::new();
        for piece in &self.pieces {
            ops.extend(piece.free.as_ref().map(Signaller::wait));
            ops.extend(self.source.between(&piece.rows, &piece.src));
            ends.push(ops.len());
            ops.push(Op::Work(Work::Read { src: piece.src.clone(), slot: piece.read.clone() }));
        }
        let whole = Work::Read { src: self.source.span.clone(), slot: ReadSlot::new() };
        CopyCommands { ops, ends, uses: self.source.uses(whole) }
    }

    /// Returns the writes of the pieces.
    pub(crate) fn writes(&self) -> CopyCommands {
        let mut ops = Vec::new();
        let mut ends = Vec::new();
        for piece in &self.pieces {
            let src = Payload::Later(piece.staged.clone());
            ops.extend([piece.here.wait(), Op::Work(Work::Upload { src, dst: piece.dst.clone() })]);
            ops.extend(self.target.between(&piece.rows, &piece.dst));
            ends.push(ops.len() - 1);
        }
        let whole = Work::Fill { dst: self.target.span.clone(), pattern: Pattern::ZERO };
        CopyCommands { ops, ends, uses: self.target.uses(whole) }
    }

    /// Attaches the relays through which each side signals the other: each read signals the target, and each write
    /// signals the source, which may then read the piece two places later. `reads` and `writes` are the stamps of the
    /// pieces in their queues.
    pub(crate) fn connect(self, reads: &[Stamp], writes: &[Stamp]) {
        let Self { source, target, pieces } = self;
        for (at, piece) in pieces.into_iter().enumerate() {
            let CopyPiece { src, read, staged, free, here, .. } = piece;
            if let Some(free) = free {
                Relay::attach(&source.engine, free, target.origin(writes[at - PIECES_IN_FLIGHT]), None);
            }
            let reading = source.reading(src, read, reads[at]);
            let mut bytes = PieceBytes { reading, target: target.engine.clone(), staged, saved: Vec::new() };
            let then = Box::new(move |waker: &Waker| bytes.fetch(waker));
            Relay::attach(&target.engine, here, source.origin(reads[at]), Some(then));
        }
    }
}

impl CopyCommands {
    /// Returns the stamp of each piece's last command. `stamps` are those of all commands.
    pub(crate) fn ends(ends: &[usize], stamps: &[Stamp]) -> Vec<Stamp> {
        ends.iter().map(|&at| stamps[at]).collect()
    }
}

fn pieces(source: &CopyEnd, target: &CopyEnd, rows: Vec<Rows>) -> Vec<CopyPiece> {
    let reader = source.name();
    let writer = target.name();
    let piece = |(at, rows): (usize, Rows)| CopyPiece {
        src: source.place(at, &rows),
        dst: target.place(at, &rows),
        rows,
        read: ReadSlot::new(),
        staged: Arc::default(),
        free: (at >= PIECES_IN_FLIGHT)
            .then(|| Signaller::new(&source.engine, &writer, SignalledBy::OtherContext)),
        here: Signaller::new(&target.engine, &reader, SignalledBy::OtherContext),
    };
    rows.into_iter().enumerate().map(piece).collect()
}

impl CopyEnd {
    fn new(end: CopySide, owner: &Owner, by: Admission, span: &Span, rows: &[Rows]) -> Result<Self> {
        let engine = owner.engine().clone();
        let theirs = matches!(by.what, CommandKind::BetweenContexts | CommandKind::ReplayPart(_));
        let between = CopyBuffers::new(owner, by, end, rows);
        let between = between.map_err(|error| if theirs { lost(&engine, error) } else { error })?;
        Ok(Self { engine, end, by, span: span.clone(), between })
    }

    fn point(&self, stamp: Stamp) -> Point {
        Point { slot: self.by.slot, stamp }
    }

    fn origin(&self, stamp: Stamp) -> RelaySource {
        let point = self.point(stamp);
        RelaySource::Point(Arc::downgrade(&self.engine), point, self.engine.stretch_of(point))
    }

    fn name(&self) -> String {
        RelaySource::name(&self.engine, self.point(Stamp(0)))
    }

    fn place(&self, at: usize, rows: &Rows) -> Span {
        self.between.place(self.end, at, rows, &self.span.block)
    }

    /// Returns the copy between the array and the buffer of a piece, or `None` if the piece is contiguous in the array.
    fn between(&self, rows: &Rows, place: &Span) -> Option<Op> {
        let apart = !Arc::ptr_eq(&place.block, &self.span.block);
        apart.then(|| Op::Work(self.end.between(rows, &self.span.block, &place.block)))
    }

    /// Returns what this side uses. `whole` stands for the use of the array by all pieces together; the other elements
    /// are the uses of the pieces' buffers.
    fn uses(&self, whole: Work) -> Works {
        let own = self.between.spans().map(|dst| Work::Fill { dst, pattern: Pattern::ZERO });
        std::iter::once(whole).chain(own).collect()
    }

    /// Enqueues the commands of this side, and returns the stamps of the pieces. Hazards are checked with `uses`
    /// instead of the single commands.
    fn enqueue(&self, CopyCommands { ops, ends, uses }: CopyCommands) -> Result<Vec<Stamp>> {
        let stamps = self.engine.enqueue_all(self.by, &uses, ops)?;
        Ok(CopyCommands::ends(&ends, &stamps))
    }

    /// Returns the read of a piece, which is the command with this stamp.
    fn reading(&self, span: Span, slot: Arc<ReadSlot>, stamp: Stamp) -> Reading<u32> {
        let engine = self.engine.clone();
        let keep = None;
        let point = self.point(stamp);
        let registration = WakerRegistration::default();
        let past = Arc::<PointHistory>::default();
        Reading { registration, engine, keep, point, past, span, slot, len: 0, out: Vec::new() }
    }
}

/// The bytes of a piece on their way from one context to the other.
struct PieceBytes {
    reading: Reading<u32>,
    target: Arc<Engine>,
    staged: Arc<OnceLock<Staged>>,
    /// Bytes fetched so far, kept while the rest waits for a batch, because meanwhile a later writer may overwrite
    /// them.
    saved: Vec<u8>,
}

impl PieceBytes {
    /// Copies the read bytes to staging memory of the target's context. If a batch of the source must complete first,
    /// registers `waker` for it and returns `Pending`.
    fn fetch(&mut self, waker: &Waker) -> Poll<Result<()>> {
        loop {
            let mut first = Ok(None);
            let staged = self.target.stage(self.reading.span.size, &mut |to| {
                to[..self.saved.len()].copy_from_slice(&self.saved);
                first = self.reading.fetch_bytes(to);
                if let Ok(Some(_)) = first {
                    self.saved = to.to_vec();
                }
            })?;
            let source = &self.reading.engine;
            let Some(seq) = first.map_err(|error| lost(source, error))? else {
                self.staged.get_or_init(|| staged);
                return Poll::Ready(Ok(()));
            };
            match source.register_waker(WaitTarget::Batch(seq), waker) {
                None => return Poll::Pending,
                Some(done) => done.map_err(|error| lost(source, error))?,
            }
        }
    }
}

/// Smallest and largest size of a piece in bytes. Pieces are large, so that their fixed costs are small; but within
/// these limits a copy has several, `PIECES` of them, so that reads and writes overlap.
const SMALLEST_PIECE: u64 = 256 << 10;
const LARGEST_PIECE: u64 = 4 << 20;
const PIECES: u64 = 8;
/// Maximum number of pieces in flight at once.
pub(crate) const PIECES_IN_FLIGHT: usize = 2;

/// The two sides of a copy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CopySide {
    Source,
    Target,
}

/// Buffers of a copy on one side, for pieces that have gaps in the array or do not consist of whole words.
pub(crate) struct CopyBuffers(Vec<Arc<Storage>>);

/// Cuts the rows of a copy into pieces. If the copy `overlaps_itself`, there is just one, so that all bytes are read
/// before the first is written.
pub(crate) fn cut(copy: &RegionCopy, overlaps_itself: bool) -> Vec<Rows> {
    let all = bytes(&copy.rows);
    let size = if overlaps_itself { all } else { (all / PIECES).clamp(SMALLEST_PIECE, LARGEST_PIECE) };
    in_pieces(&copy.rows, size.next_multiple_of(WORD))
}

/// Returns `true` if both arrays are on the same external buffer, and the source and the target share bytes of it.
pub(crate) fn overlaps_itself(source: &Engine, target: &Engine, copy: &RegionCopy) -> bool {
    let src = copy.src.block.shared_buffer();
    let dst = copy.dst.block.shared_buffer();
    // Buffers of two wgpu instances may be equal by their ids. A page has a single instance, and no native devices to
    // compare.
    let comparable = cfg!(target_arch = "wasm32") || source.shares_queue(target);
    let one = comparable && src.is_some() && src == dst;
    one && overlap(&copy.src.range(), &copy.dst.range())
}

/// Cuts rows into pieces of at most `size` bytes, in C order. A piece is a range of indices on one axis, with
/// everything on the inner axes. The bytes of a row count as the innermost axis.
fn in_pieces(rows: &Rows, size: u64) -> Vec<Rows> {
    let mut axes = rows.axes.clone();
    axes.push(RowAxis { count: rows.row, src: 1, dst: 1 });
    let inside = |at: usize| axes[at + 1..].iter().map(|axis| axis.count).product::<u64>();
    let at = (0..axes.len()).find(|&at| inside(at) <= size).expect("bug: one byte is larger than a piece");
    let axis = axes[at];
    let most = size / inside(at);
    let outer = Rows { row: 1, axes: axes[..at].into(), ..*rows };
    let piece = |from: u64, to: u64, first: u64| {
        let mut axes: SmallVec<[RowAxis; 4]> = axes[at..].into();
        axes[0].count = most.min(axis.count - first);
        let row = axes.pop().map_or(1, |bytes| bytes.count);
        axes.retain(|axis| axis.count > 1);
        Rows { from: from + first * axis.src, to: to + first * axis.dst, row, axes }
    };
    let firsts = || (0..axis.count).step_by(most as usize);
    outer
        .iter()
        .flat_map(|(from, to)| firsts().map(move |first| (from, to, first)))
        .map(|(from, to, first)| piece(from, to, first))
        .collect()
}

fn bytes(rows: &Rows) -> u64 {
    rows.row * rows.count()
}

impl CopySide {
    /// Returns the offset of the first row on this side.
    fn start(self, rows: &Rows) -> u64 {
        if self == CopySide::Source { rows.from } else { rows.to }
    }

    /// Returns `true` if, on this side, the rows have no gaps and consist of whole words.
    fn is_contiguous(self, rows: &Rows) -> bool {
        let extent = extent(
            rows.row,
            &rows.axes,
            match self {
                CopySide::Source => |axis| axis.src,
                CopySide::Target => |axis| axis.dst,
            },
        );
        extent == bytes(rows) && [extent, self.start(rows)].iter().all(|bytes| bytes.is_multiple_of(WORD))
    }

    /// Returns the copy of a piece between the array on this side and memory where the rows have no gaps.
    pub(crate) fn between(self, rows: &Rows, array: &Arc<Block>, memory: &Arc<Block>) -> Work {
        let mut inside = rows.row;
        let mut rows = Rows { axes: rows.axes.clone(), ..*rows };
        for axis in rows.axes.iter_mut().rev() {
            *if self == CopySide::Source { &mut axis.dst } else { &mut axis.src } = inside;
            inside *= axis.count;
        }
        match self {
            CopySide::Source => RegionCopy::new(array, memory, Rows { to: 0, ..rows }).into(),
            CopySide::Target => RegionCopy::new(memory, array, Rows { from: 0, ..rows }).into(),
        }
    }
}

impl CopyBuffers {
    /// Allocates the buffers that `pieces` need on this side: at most [`PIECES_IN_FLIGHT`], which the pieces use in
    /// turn.
    ///
    /// # Errors
    /// Fails if an allocation fails.
    pub(crate) fn new(owner: &Owner, by: Admission, end: CopySide, pieces: &[Rows]) -> Result<Self> {
        let sizes: Vec<u64> = pieces.iter().filter(|rows| !end.is_contiguous(rows)).map(size).collect();
        let Some(&most) = sizes.iter().max() else { return Ok(Self(Vec::new())) };
        let label = Arc::from("a copy between contexts");
        let allocate = || {
            let storage = Storage::allocate(owner, Heap::Device, most, &label, by)?;
            owner.engine().note_making(by, storage.block());
            Ok(storage)
        };
        repeat_with(allocate).take(sizes.len().min(PIECES_IN_FLIGHT)).collect::<Result<_>>().map(Self)
    }

    /// Returns the spans of all buffers.
    pub(crate) fn spans(&self) -> impl Iterator<Item = Span> {
        let whole = |block: &Arc<Block>| Span { block: block.clone(), offset: 0, size: block.size };
        self.0.iter().map(move |storage| whole(storage.block()))
    }

    /// Returns where the bytes of piece `at` are contiguous: in the array if possible, otherwise in a buffer.
    pub(crate) fn place(&self, end: CopySide, at: usize, rows: &Rows, array: &Arc<Block>) -> Span {
        let (block, offset) = match end.is_contiguous(rows) {
            true => (array, end.start(rows)),
            false => (self.0[at % self.0.len()].block(), 0),
        };
        Span { block: block.clone(), offset, size: size(rows) }
    }
}

/// Returns the size of a piece in bytes, rounded up to words.
fn size(rows: &Rows) -> u64 {
    bytes(rows).next_multiple_of(WORD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::region::{PaddedShape, StridedRegion};
    use crate::region;

    fn rows(shape: &[usize], padded: [&[usize]; 2], size: u64) -> Rows {
        let all = |padded| StridedRegion::all(PaddedShape { shape, padded });
        Rows::new((8, &all(padded[0])), (16, &all(padded[1])), size)
    }

    /// Returns the source and the target of each byte.
    fn moves(rows: &Rows) -> Vec<(u64, u64)> {
        rows.iter().flat_map(|(from, to)| (0..rows.row).map(move |at| (from + at, to + at))).collect()
    }

    #[test]
    fn pieces_cover_all_bytes_in_order_and_keep_the_size_limit() {
        for size in [4, 8, 20, 24, 48, 100, 1000] {
            for padded in [[4, 5, 3], [7, 5, 3], [4, 5, 8], [4, 9, 4]] {
                for all in
                    [rows(&[4, 5, 3], [&[4, 5, 3], &padded], 4), rows(&[4, 5, 3], [&padded, &[4, 6, 4]], 2)]
                {
                    let pieces = in_pieces(&all, size);
                    assert!(pieces.iter().all(|piece| bytes(piece) <= size), "{padded:?} by {size}");
                    let moved: Vec<_> = pieces.iter().flat_map(moves).collect();
                    assert_eq!(moved, moves(&all), "{padded:?} by {size}");
                    assert!(pieces.len() as u64 <= 4 * bytes(&all).div_ceil(size), "{padded:?} by {size}");
                }
            }
        }
    }

    #[test]
    fn a_run_of_words_is_detected_on_either_side() {
        let wide = rows(&[4, 3], [&[4, 3], &[4, 5]], 4);
        assert!(CopySide::Source.is_contiguous(&wide) && !CopySide::Target.is_contiguous(&wide));
        let halves = rows(&[1, 3], [&[1, 3], &[1, 3]], 2);
        assert!(!CopySide::Source.is_contiguous(&halves), "it ends within a word");
        let strided =
            StridedRegion::of("x", PaddedShape { shape: &[9], padded: &[9] }, &region![1..5]).unwrap();
        let inside = Rows::new((0, &strided), (0, &strided.packed()), 2);
        assert!(
            !CopySide::Source.is_contiguous(&inside) && CopySide::Target.is_contiguous(&inside),
            "one starts within a word"
        );
    }
}
