//! Copies from one context to another.
//!
//! A copy is two queues: one reads the source piece by piece, one writes the target. One of them is the queue it was
//! enqueued on, the other is made for it. Piece i is written after it was read, and piece i + 2 is read after piece i
//! was written: so one piece is read while the one before is written, and memory is bounded, however large the copy.

use crate::arrays::read::Reading;
use crate::error::site::CommandKind;
use crate::error::{Error, Kind, Result};
use crate::memory::read_slot::ReadSlot;
use crate::memory::staged_bytes::{Payload, Staged};
use crate::multi::copy_pieces::{CopyBuffers, CopySide, PIECES_IN_FLIGHT, cut, overlaps_itself};
use crate::multi::event_wait::{enqueueing, wait};
use crate::runtime::event::{Event, Recording};
use crate::runtime::owner::Owner;
use crate::runtime::pending::WakerRegistration;
use crate::scheduler::command::Op;
use crate::scheduler::engine::Engine;
use crate::scheduler::handle_points::PointHistory;
use crate::scheduler::ordering::admission::Admission;
use crate::scheduler::ordering::policy::Policy;
use crate::scheduler::priority::Priority;
use crate::scheduler::relay::{Relay, RelaySource};
use crate::scheduler::signaller::Signaller;
use crate::work::region_copy::{RegionCopy, Rows};
use crate::work::span::{Pattern, Span};
use crate::work::step::{Work, Works};
use fencepost_sync::{Point, Slot, Stamp};
use std::sync::{Arc, OnceLock};
use std::task::{Poll, Waker};

/// What one context does for a copy.
struct CopyEnd<'a> {
    engine: &'a Arc<Engine>,
    end: CopySide,
    by: Admission,
    /// Its part of the array, from the first byte to the last.
    span: Span,
    between: CopyBuffers,
}

/// One piece: where its bytes follow each other on either side, and who signals what.
struct CopyPiece {
    rows: Rows,
    src: Span,
    dst: Span,
    read: Arc<ReadSlot>,
    staged: Arc<OnceLock<Staged>>,
    /// That an earlier piece was written, if this one has to be read after that.
    free: Option<Signaller>,
    /// That it was read.
    here: Signaller,
}

/// Enqueues a copy between two contexts on a queue of either, `by` of the context `given`.
///
/// # Errors
/// Those of `Engine::enqueue` and of an allocation, of both contexts: nothing is enqueued on the queue then.
pub(crate) fn copy(
    given: &Owner,
    by: Admission,
    (source, target): (&Owner, &Owner),
    copy: &RegionCopy,
) -> Result<()> {
    let (end, other) = if given.is(source) { (CopySide::Source, target) } else { (CopySide::Target, source) };
    let (label, priority) = given.engine().about(by.slot);
    let helper = other.engine().helper(&format!("{label}, copy across"), priority);
    let helper = helper.map_err(|error| lost(other.engine(), error))?;
    let theirs = Admission { slot: helper, what: CommandKind::BetweenContexts, at: by.at };
    let (read_by, written_by) = if end == CopySide::Source { (by, theirs) } else { (theirs, by) };
    let enqueued = enqueue(end, copy, (source, read_by), (target, written_by));
    other.engine().release_helper(helper);
    enqueued
}

/// Has `copy` enqueue a copy of which neither array is of the context `given`, in the place of a queue of it: on a queue of the
/// context `other`, which waits for that queue, and which that queue waits for.
///
/// # Errors
/// Those of `copy` and of both queues: nothing is enqueued then.
pub(crate) fn elsewhere(
    (given, by): (&Owner, Admission),
    other: &Owner,
    copy: impl FnOnce(Admission) -> Result<()>,
) -> Result<()> {
    given.engine().lock().check(by.slot)?;
    let (label, priority) = given.engine().about(by.slot);
    let helper = other.engine().helper(&format!("{label}, copy elsewhere"), priority);
    let helper = helper.map_err(|error| lost(other.engine(), error))?;
    let theirs = Admission { slot: helper, what: CommandKind::BetweenContexts, at: by.at };
    let copied = wait(other.engine(), helper, &end(given, by.slot), by.at).and_then(|()| copy(theirs));
    let copied = copied.map_err(|error| lost(other.engine(), error));
    let joined = copied.and_then(|()| wait(given.engine(), by.slot, &end(other, helper), by.at));
    other.engine().release_helper(helper);
    joined
}

/// The event of everything enqueued so far on a queue.
fn end(owner: &Owner, slot: Slot) -> Event {
    let (point, past) = owner.engine().marker(slot);
    Event::new(owner.clone(), Recording::Point(point, past, None))
}

/// The error of the other side: the loss of its device must not look like that of this one.
fn lost(other: &Engine, error: Error) -> Error {
    if !matches!(error.kind(), Kind::DeviceLost { .. }) {
        return error;
    }
    Kind::OtherContext { object: format!("the device `{}`", other.device.caps().adapter), error }.into()
}

/// Enqueues both sides and has each signal the other. `end` is that of the program's queue.
fn enqueue(
    end: CopySide,
    copy: &RegionCopy,
    (source, read_by): (&Owner, Admission),
    (target, written_by): (&Owner, Admission),
) -> Result<()> {
    let rows = cut(copy, overlaps_itself(source.engine(), target.engine(), copy));
    let source = &CopyEnd::new(CopySide::Source, source, read_by, &copy.src, &rows)?;
    let target = &CopyEnd::new(CopySide::Target, target, written_by, &copy.dst, &rows)?;
    let pieces = pieces(source, target, rows);
    // An `Unchecked` context orders nothing by itself: there the source is read when the program's queue has come here.
    let place = (end == CopySide::Target && source.engine.lock().policy() == Policy::Unchecked)
        .then(|| PieceArrival::of(target.engine.marker(target.by.slot).0, target, source));
    let done = (end == CopySide::Source).then(|| Signaller::new(source.engine, &target.name()));
    let read = || source.reads(&pieces, &place, &done);
    let (reads, writes) = both(end, (source, &read), (target, &|| target.writes(&pieces)))?;
    if let Some(place) = place {
        place.attach();
    }
    if let (Some(done), Some(&last)) = (done, writes.last()) {
        Relay::attach(source.engine, done, target.origin(last), None);
    }
    connect(source, target, pieces, &reads, &writes);
    Ok(())
}

/// Enqueues one side of a copy: the places of its pieces.
type Enqueue<'a> = &'a dyn Fn() -> Result<Vec<Stamp>>;

/// Enqueues both sides, that of the helper first: if that is refused, nothing has happened to the program's queue.
fn both(
    end: CopySide,
    (source, read): (&CopyEnd<'_>, Enqueue<'_>),
    (target, write): (&CopyEnd<'_>, Enqueue<'_>),
) -> Result<(Vec<Stamp>, Vec<Stamp>)> {
    let _turn = enqueueing();
    match end {
        CopySide::Target => {
            let reads = read().map_err(|error| lost(source.engine, error))?;
            Ok((reads, write()?))
        }
        CopySide::Source => {
            let writes = write().map_err(|error| lost(target.engine, error))?;
            Ok((read()?, writes))
        }
    }
}

fn pieces(source: &CopyEnd<'_>, target: &CopyEnd<'_>, rows: Vec<Rows>) -> Vec<CopyPiece> {
    let (reader, writer) = (source.name(), target.name());
    let piece = |(at, rows): (usize, Rows)| CopyPiece {
        src: source.place(at, &rows),
        dst: target.place(at, &rows),
        rows,
        read: ReadSlot::new(),
        staged: Arc::default(),
        free: (at >= PIECES_IN_FLIGHT).then(|| Signaller::new(source.engine, &writer)),
        here: Signaller::new(target.engine, &reader),
    };
    rows.into_iter().enumerate().map(piece).collect()
}

/// Has each side signal the other. `reads` and `writes` are the places of the pieces in their queues.
fn connect(
    source: &CopyEnd<'_>,
    target: &CopyEnd<'_>,
    pieces: Vec<CopyPiece>,
    reads: &[Stamp],
    writes: &[Stamp],
) {
    for (at, piece) in pieces.into_iter().enumerate() {
        let CopyPiece { src, read, staged, free, here, .. } = piece;
        if let Some(free) = free {
            Relay::attach(source.engine, free, target.origin(writes[at - PIECES_IN_FLIGHT]), None);
        }
        let reading = source.reading(src, read, reads[at]);
        let mut bytes = PieceBytes { reading, target: target.engine.clone(), staged, saved: Vec::new() };
        let then = Box::new(move |waker: &Waker| bytes.fetch(waker));
        Relay::attach(target.engine, here, source.origin(reads[at]), Some(then));
    }
}

impl<'a> CopyEnd<'a> {
    fn new(end: CopySide, owner: &'a Owner, by: Admission, span: &Span, rows: &[Rows]) -> Result<Self> {
        let engine = owner.engine();
        let theirs = by.what == CommandKind::BetweenContexts;
        let between = CopyBuffers::new(owner, by, end, rows);
        let between = between.map_err(|error| if theirs { lost(engine, error) } else { error })?;
        Ok(Self { engine, end, by, span: span.clone(), between })
    }
}

impl CopyEnd<'_> {
    fn point(&self, stamp: Stamp) -> Point {
        Point { slot: self.by.slot, stamp }
    }

    fn origin(&self, stamp: Stamp) -> RelaySource {
        let point = self.point(stamp);
        RelaySource::Point(Arc::downgrade(self.engine), point, self.engine.stretch_of(point))
    }

    fn name(&self) -> String {
        RelaySource::name(self.engine, self.point(Stamp(0)))
    }

    fn place(&self, at: usize, rows: &Rows) -> Span {
        self.between.place(self.end, at, rows, &self.span.block)
    }

    /// The copy between the array and the place of a piece, unless that is in the array.
    fn between(&self, rows: &Rows, place: &Span) -> Option<Op> {
        let apart = !Arc::ptr_eq(&place.block, &self.span.block);
        apart.then(|| Op::Work(self.end.between(rows, &self.span.block, &place.block)))
    }

    /// Enqueues the reads: the place of each.
    fn reads(
        &self,
        pieces: &[CopyPiece],
        place: &Option<PieceArrival<'_>>,
        done: &Option<Signaller>,
    ) -> Result<Vec<Stamp>> {
        let mut ops: Vec<Op> = place.iter().map(|place| place.signaller.wait()).collect();
        let mut ends = Vec::new();
        for piece in pieces {
            ops.extend(piece.free.as_ref().map(Signaller::wait));
            ops.extend(self.between(&piece.rows, &piece.src));
            ends.push(ops.len());
            ops.push(Op::Work(Work::Read { src: piece.src.clone(), slot: piece.read.clone() }));
        }
        ops.extend(done.as_ref().map(Signaller::wait));
        self.enqueue(Work::Read { src: self.span.clone(), slot: ReadSlot::new() }, ops, ends)
    }

    /// Enqueues the writes: the place of each.
    fn writes(&self, pieces: &[CopyPiece]) -> Result<Vec<Stamp>> {
        let (mut ops, mut ends) = (Vec::new(), Vec::new());
        for piece in pieces {
            let src = Payload::Later(piece.staged.clone());
            ops.extend([piece.here.wait(), Op::Work(Work::Upload { src, dst: piece.dst.clone() })]);
            ops.extend(self.between(&piece.rows, &piece.dst));
            ends.push(ops.len() - 1);
        }
        self.enqueue(Work::Fill { dst: self.span.clone(), pattern: Pattern::ZERO }, ops, ends)
    }

    /// Enqueues `ops`, which do to the array what `whole` does: the places of those at `ends`.
    fn enqueue(&self, whole: Work, ops: Vec<Op>, ends: Vec<usize>) -> Result<Vec<Stamp>> {
        let own = self.between.spans().map(|dst| Work::Fill { dst, pattern: Pattern::ZERO });
        let all: Works = std::iter::once(whole).chain(own).collect();
        let stamps = self.engine.enqueue_all(self.by, &all, ops)?;
        Ok(ends.into_iter().map(|at| stamps[at]).collect())
    }

    fn reading(&self, span: Span, slot: Arc<ReadSlot>, stamp: Stamp) -> Reading<u32> {
        let (engine, keep, point) = (self.engine.clone(), None, self.point(stamp));
        let (registration, past) = (WakerRegistration::default(), Arc::<PointHistory>::default());
        Reading { registration, engine, keep, point, past, span, slot, len: 0, out: Vec::new() }
    }
}

/// That the queue of one side has come to a point, for the other side.
struct PieceArrival<'a> {
    signaller: Signaller,
    origin: RelaySource,
    waiter: &'a Arc<Engine>,
}

impl<'a> PieceArrival<'a> {
    fn of(point: Point, side: &CopyEnd<'_>, waiter: &CopyEnd<'a>) -> Self {
        let signaller = Signaller::new(waiter.engine, &side.name());
        Self { signaller, origin: side.origin(point.stamp), waiter: waiter.engine }
    }

    fn attach(self) {
        Relay::attach(self.waiter, self.signaller, self.origin, None);
    }
}

/// A piece between the two contexts.
struct PieceBytes {
    reading: Reading<u32>,
    target: Arc<Engine>,
    staged: Arc<OnceLock<Staged>>,
    /// What was fetched of it so far, if something has to be waited for.
    saved: Vec<u8>,
}

impl PieceBytes {
    /// Moves the bytes that were read to the staging memory of the target.
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
            if !source.register_batch_waker(seq, waker).map_err(|error| lost(source, error))? {
                return Poll::Pending;
            }
        }
    }
}

impl Engine {
    /// The label and the priority of a queue.
    fn about(&self, slot: Slot) -> (Arc<str>, Priority) {
        let state = self.lock();
        let queue = state.queue(slot);
        (queue.label.clone(), queue.priority)
    }
}
