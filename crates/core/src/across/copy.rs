//! Copies from one context to another.
//!
//! A copy is two queues: one reads the source piece by piece, one writes the target. One of them is the queue it was
//! enqueued on, the other is made for it. Piece i is written after it was read, and piece i + 2 is read after piece i
//! was written: so one piece is read while the one before is written, and memory is bounded, however large the copy.

use super::{Origin, Relay, enqueueing};
use crate::command::{Op, Pattern, Span, What, Work};
use crate::error::{Error, Kind, Result};
use crate::event::Point;
use crate::memory::reading::Reading;
use crate::memory::{Payload, ReadSlot, Staged};
use crate::ordering::{Admission, Policy};
use crate::scheduler::{Engine, Priority};
use crate::user_event::Signaller;
use fencepost_sync::{Clock, Slot, Stamp};
use std::sync::{Arc, OnceLock};
use std::task::{Poll, Waker};

/// Bytes of a piece: as many as it takes for its way to be short beside it, but some pieces a copy.
const SMALLEST: u64 = 256 << 10;
const LARGEST: u64 = 4 << 20;
const COUNT: u64 = 8;
/// Pieces on their way at once.
const DEPTH: usize = 2;

/// The two ends of a copy.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Source,
    Target,
}

/// What one context does for a copy.
struct Side<'a> {
    engine: &'a Arc<Engine>,
    span: Span,
    by: Admission,
}

/// One piece: its bytes, and who signals what.
struct Piece {
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
/// Those of `Engine::enqueue`, of both contexts: nothing is enqueued on the queue then.
pub(crate) fn copy(
    given: &Arc<Engine>,
    by: Admission,
    (source, src): (&Arc<Engine>, Span),
    (target, dst): (&Arc<Engine>, Span),
) -> Result<()> {
    if src.size == 0 {
        return Ok(());
    }
    let end = if Arc::ptr_eq(given, source) { End::Source } else { End::Target };
    let other = if end == End::Source { target } else { source };
    let (label, priority) = given.about(by.slot);
    let helper =
        other.helper(&format!("{label}, copy across"), priority).map_err(|error| lost(other, error))?;
    let theirs = Admission { slot: helper, what: What::Across, at: by.at };
    let (read_by, written_by) = if end == End::Source { (by, theirs) } else { (theirs, by) };
    let source = Side { engine: source, span: src, by: read_by };
    let target = Side { engine: target, span: dst, by: written_by };
    let enqueued = enqueue(end, &source, &target);
    other.let_helper_go(helper);
    enqueued
}

/// The error of the other side: the loss of its device must not look like that of this one.
fn lost(other: &Engine, error: Error) -> Error {
    if !matches!(error.kind(), Kind::DeviceLost { .. }) {
        return error;
    }
    Kind::OtherContext { object: format!("the device `{}`", other.device.caps().adapter), error }.into()
}

/// Enqueues both sides and has each signal the other.
fn enqueue(end: End, source: &Side<'_>, target: &Side<'_>) -> Result<()> {
    let pieces = pieces(source, target);
    // An `Unchecked` context orders nothing by itself: there the source is read when the program's queue has come here.
    let place = (end == End::Target && source.engine.lock().policy() == Policy::Unchecked)
        .then(|| Arrival::of(target.engine.marker(target.by.slot).0, target, source));
    let done = (end == End::Source).then(|| Signaller::new(source.engine, &target.name()));
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
    end: End,
    (source, read): (&Side<'_>, Enqueue<'_>),
    (target, write): (&Side<'_>, Enqueue<'_>),
) -> Result<(Vec<Stamp>, Vec<Stamp>)> {
    let _turn = enqueueing();
    match end {
        End::Target => {
            let reads = read().map_err(|error| lost(source.engine, error))?;
            Ok((reads, write()?))
        }
        End::Source => {
            let writes = write().map_err(|error| lost(target.engine, error))?;
            Ok((read()?, writes))
        }
    }
}

fn pieces(source: &Side<'_>, target: &Side<'_>) -> Vec<Piece> {
    let all = source.span.size;
    let size = (all / COUNT).clamp(SMALLEST, LARGEST).next_multiple_of(4);
    let (reader, writer) = (source.name(), target.name());
    let piece = |at: u64| Piece {
        src: source.part(at * size, size),
        dst: target.part(at * size, size),
        read: ReadSlot::new(),
        staged: Arc::default(),
        free: (at >= DEPTH as u64).then(|| Signaller::new(source.engine, &writer)),
        here: Signaller::new(target.engine, &reader),
    };
    (0..all.div_ceil(size)).map(piece).collect()
}

/// Has each side signal the other. `reads` and `writes` are the places of the pieces in their queues.
fn connect(source: &Side<'_>, target: &Side<'_>, pieces: Vec<Piece>, reads: &[Stamp], writes: &[Stamp]) {
    for (at, piece) in pieces.into_iter().enumerate() {
        let Piece { src, read, staged, free, here, .. } = piece;
        if let Some(free) = free {
            Relay::attach(source.engine, free, target.origin(writes[at - DEPTH]), None);
        }
        let reading = source.reading(src, read, reads[at]);
        let mut bytes = Bytes { reading, target: target.engine.clone(), staged, saved: Vec::new() };
        let then = Box::new(move |waker: &Waker| bytes.fetch(waker));
        Relay::attach(target.engine, here, source.origin(reads[at]), Some(then));
    }
}

impl Side<'_> {
    fn point(&self, stamp: Stamp) -> Point {
        Point { slot: self.by.slot, stamp }
    }

    fn origin(&self, stamp: Stamp) -> Origin {
        Origin::Point(Arc::downgrade(self.engine), self.point(stamp))
    }

    fn name(&self) -> String {
        Origin::name(self.engine, self.point(Stamp(0)))
    }

    fn part(&self, start: u64, size: u64) -> Span {
        let size = size.min(self.span.size - start);
        Span { block: self.span.block.clone(), offset: self.span.offset + start, size }
    }

    /// Enqueues the reads: the place of each.
    fn reads(
        &self,
        pieces: &[Piece],
        place: &Option<Arrival<'_>>,
        done: &Option<Signaller>,
    ) -> Result<Vec<Stamp>> {
        let mut ops: Vec<Op> = place.iter().map(|place| place.signaller.wait()).collect();
        for piece in pieces {
            ops.extend(piece.free.as_ref().map(Signaller::wait));
            ops.push(Op::Work(Work::Read { src: piece.src.clone(), slot: piece.read.clone() }));
        }
        ops.extend(done.as_ref().map(Signaller::wait));
        let whole = Work::Read { src: self.span.clone(), slot: ReadSlot::new() };
        self.engine.enqueue_all(self.by, &whole, ops)
    }

    /// Enqueues the writes: the place of each.
    fn writes(&self, pieces: &[Piece]) -> Result<Vec<Stamp>> {
        let write = |piece: &Piece| Work::Upload {
            src: Payload::Later(piece.staged.clone()),
            dst: piece.dst.clone(),
        };
        let ops = pieces.iter().flat_map(|piece| [piece.here.wait(), Op::Work(write(piece))]).collect();
        let whole = Work::Fill { dst: self.span.clone(), pattern: Pattern::ZERO };
        self.engine.enqueue_all(self.by, &whole, ops)
    }

    fn reading(&self, span: Span, slot: Arc<ReadSlot>, stamp: Stamp) -> Reading<u32> {
        let (engine, keep, point) = (self.engine.clone(), None, self.point(stamp));
        let clock = Arc::new(Clock::default());
        Reading { engine, keep, point, clock, span, slot, len: 0, out: Vec::new() }
    }
}

/// That the queue of one side has come to a point, for the other side.
struct Arrival<'a> {
    signaller: Signaller,
    origin: Origin,
    waiter: &'a Arc<Engine>,
}

impl<'a> Arrival<'a> {
    fn of(point: Point, side: &Side<'_>, waiter: &Side<'a>) -> Self {
        let signaller = Signaller::new(waiter.engine, &side.name());
        Self { signaller, origin: side.origin(point.stamp), waiter: waiter.engine }
    }

    fn attach(self) {
        Relay::attach(self.waiter, self.signaller, self.origin, None);
    }
}

/// A piece between the two contexts.
struct Bytes {
    reading: Reading<u32>,
    target: Arc<Engine>,
    staged: Arc<OnceLock<Staged>>,
    /// What was fetched of it so far, if something has to be waited for.
    saved: Vec<u8>,
}

impl Bytes {
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
            if !source.attend_batch(seq, waker).map_err(|error| lost(source, error))? {
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
