//! The memory that all handles of an array share, and allocation trackers.

use crate::error::{ErrorDetail, Result};
use crate::memory::allocations::{Allocation, AllocationBook, AllocationEntries, AllocationReport, SCOPES};
use crate::memory::block::{Block, BlockId, Heap};
use crate::memory::pool::size_for;
use crate::memory::uses::BlockUses;
use crate::runtime::owner::Owner;
use crate::scheduler::host_guard::{is_idle, usable};
use crate::scheduler::ordering::Admission;
use crate::scheduler::state::State;
use fencepost_sync::Slot;
use std::fmt;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::{Arc, OnceLock};

/// Text before the number of the source line in the label of an array without a name.
const AT_LINE: &str = ", line ";
/// Text between the number of the line and the name of its file.
const OF_FILE: &str = " of ";

/// Returns the end of the label of an array without a name: the line that made it, and the name of the file.
pub(crate) fn at_line(at: &Location<'_>) -> String {
    let file = at.file().rsplit(['/', '\\']).next().unwrap_or_default();
    format!("{AT_LINE}{}{OF_FILE}{file}", at.line())
}

/// Returns the label of an array without the source line that ends the label of an array without a name.
pub(crate) fn without_line(label: &str) -> &str {
    let is_line = |end: &str| {
        let line = end.split_once(OF_FILE).map(|(line, _)| line);
        line.is_some_and(|line| line.bytes().all(|digit| digit.is_ascii_digit()))
    };
    match label.rsplit_once(AT_LINE) {
        Some((rest, end)) if is_line(end) => rest,
        _ => label,
    }
}

/// A block and its context. When the last array on it is dropped, the block returns to the pool.
pub(crate) struct Storage {
    block: Option<Arc<Block>>,
    label: Arc<str>,
    /// Name that the program has given the array, if any.
    pub(crate) name: OnceLock<Arc<str>>,
    pub(crate) owner: Owner,
    /// Entries in the books of the allocation trackers. Dropping them removes the array from the books. If a graph keeps
    /// the memory of a dropped array, the block has them.
    entries: AllocationEntries,
}

impl Storage {
    pub(crate) fn new(block: Arc<Block>, label: Arc<str>, owner: Owner) -> Arc<Self> {
        Self::tracked(block, label, owner, AllocationEntries::default())
    }

    pub(crate) fn tracked(
        block: Arc<Block>,
        label: Arc<str>,
        owner: Owner,
        entries: AllocationEntries,
    ) -> Arc<Self> {
        Arc::new(Self { block: Some(block), label, name: OnceLock::new(), owner, entries })
    }

    /// Returns the name of the array in messages.
    pub(crate) fn label(&self) -> &str {
        self.name.get().unwrap_or(&self.label)
    }

    pub(crate) fn block(&self) -> &Arc<Block> {
        self.block.as_ref().expect("bug: a storage keeps its block until it is dropped")
    }
}

impl Drop for Storage {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            self.owner.engine().free(block, std::mem::take(&mut self.entries));
        }
    }
}

impl Storage {
    /// Returns a storage of at least `bytes` bytes for commands of the queue `by.slot`, which may be the context's own.
    ///
    /// A queue can reuse a free block at once if it is ordered after all earlier uses of the block. The context's own
    /// queue reuses only free blocks that no enqueued or running command uses.
    pub(crate) fn allocate(
        owner: &Owner,
        heap: Heap,
        bytes: u64,
        label: &Arc<str>,
        by: Admission,
    ) -> Result<Arc<Storage>> {
        let limit = owner.device().caps().max_block;
        if bytes > limit {
            return Err(ErrorDetail::TooLarge { object: format!("array `{label}`"), bytes, limit }.into());
        }
        let size = size_for(bytes, limit);
        let (block, tracked) = Self::reuse(owner, heap, size, label, by.slot)?;
        let block = match block {
            Some(block) => block,
            None => Self::make(owner, heap, size, label)?,
        };
        let entries = entries(tracked, heap, bytes, label, by);
        Ok(Storage::tracked(block, label.clone(), owner.clone(), entries))
    }

    /// Returns a storage on the block of a dropped array, which a capture reuses.
    pub(crate) fn on_reused_block(
        owner: &Owner,
        block: Arc<Block>,
        bytes: u64,
        label: &Arc<str>,
        by: Admission,
    ) -> Arc<Storage> {
        let tracked = trackers(&owner.engine().lock(), by.slot);
        let entries = entries(tracked, block.heap, bytes, label, by);
        Storage::tracked(block, label.clone(), owner.clone(), entries)
    }

    /// Allocates a block of new memory. First gives free blocks back to the driver if the pool has a surplus, if the
    /// device has no memory left, or if the pool has reached its limit.
    fn make(owner: &Owner, heap: Heap, size: u64, label: &Arc<str>) -> Result<Arc<Block>> {
        owner.engine().make_room(size);
        Self::reserve(owner, heap, size, label)?;
        let memory = match owner.device().allocate(heap, size, label) {
            Err(error) if matches!(error.detail(), ErrorDetail::OutOfMemory { .. }) => {
                owner.engine().trim();
                owner.device().allocate(heap, size, label)
            }
            memory => memory,
        };
        let memory = owner.engine().checked(memory).inspect_err(|_| {
            let mut state = owner.engine().lock();
            if state.lost.is_none() {
                state.memory.pool.unreserve(heap, size);
            }
        })?;
        let block = Arc::new(Block::new(BlockId::next(), heap, size, memory));
        block.order().label = label.clone();
        Ok(block)
    }

    /// Counts `size` bytes towards the pool's limit.
    ///
    /// # Errors
    /// `OutOfMemory` if the pool would exceed its limit.
    fn reserve(owner: &Owner, heap: Heap, size: u64, label: &Arc<str>) -> Result<()> {
        let reserve = || owner.engine().lock().memory.pool.reserve(heap, size);
        let reserved = reserve().or_else(|_| {
            owner.engine().trim();
            reserve()
        });
        reserved.map_err(|limit| {
            let object = format!("array `{label}`");
            let limit = Some(limit.into());
            ErrorDetail::OutOfMemory { object, bytes: size, limit }.into()
        })
    }

    /// Returns a free block, if one fits. Also returns, if there are allocation trackers, their books and the label of
    /// the queue.
    fn reuse(
        owner: &Owner,
        heap: Heap,
        size: u64,
        label: &Arc<str>,
        slot: Slot,
    ) -> Result<(Option<Arc<Block>>, Option<Tracked>)> {
        let mut guard = owner.engine().lock();
        guard.check(slot)?;
        let mut pool = std::mem::take(&mut guard.memory.pool);
        let only_idle = owner.device().tracks_writes();
        let block =
            pool.take(heap, size, |block| usable(&guard, block, slot) && (!only_idle || is_idle(block)));
        guard.memory.pool = pool;
        if let Some(block) = &block {
            owner.device().begin_array(block);
            let mut order = block.order();
            order.label = label.clone();
            order.born = guard.last_stamp();
            if is_idle(block) {
                order.uses = BlockUses::default(); // all are complete
            }
        }
        let tracked = trackers(&guard, slot);
        Ok((block, tracked))
    }
}

/// Returns the books of the allocation trackers and the label of the queue, if there are trackers.
fn trackers(state: &State, slot: Slot) -> Option<Tracked> {
    let books = &state.memory.pool.books;
    (!books.is_empty()).then(|| (books.clone(), state.queue(slot).label.clone()))
}

/// Records a new array in the books of the allocation trackers.
fn entries(
    tracked: Option<Tracked>,
    heap: Heap,
    bytes: u64,
    label: &Arc<str>,
    by: Admission,
) -> AllocationEntries {
    tracked.map_or_else(AllocationEntries::default, |(books, queue)| {
        let label = label.clone();
        let pinned = heap != Heap::Device;
        let location = by.at;
        let made = Allocation { label, bytes, pinned, queue, location, scope: String::new() };
        AllocationEntries::new(books, &made)
    })
}

/// The books that record an allocation, and the label of the queue that made it.
type Tracked = (Vec<Arc<AllocationBook>>, Arc<str>);

/// A tracker that records every array made on a context while the tracker exists: its label, size, source line, queue
/// and scope.
///
/// [`Pool::track`](crate::Pool::track) makes a tracker. Several trackers may exist at once, each with its own records.
/// Slices and further handles do not count as arrays. An array whose memory a graph keeps is live, until the graph returns
/// that memory or gives it to another array.
///
/// # Example
/// ```
/// # let (ctx, queue) = fencepost::doctest();
/// let tracker = ctx.pool().track();
/// let x = {
///     let _loading = tracker.scope("loading");
///     ctx.zeros::<f32, 1>([1024])?
/// };
/// drop(queue.full([16], 1_u32)?);
/// let report = tracker.finish();
/// assert_eq!((report.live_bytes, report.peak_bytes, report.count), (4096, 4160, 2));
/// assert_eq!(report.live[0].scope, "loading");       // `x` outlives the tracker
/// assert!(report.to_string().contains("loading"));   // a table by line
/// # drop(x);
/// # Ok::<(), fencepost::Error>(())
/// ```
pub struct AllocationTracker {
    owner: Owner,
    book: Arc<AllocationBook>,
}

impl AllocationTracker {
    pub(crate) fn new(owner: Owner) -> Self {
        let book = Arc::<AllocationBook>::default();
        owner.engine().lock().memory.pool.books.push(book.clone());
        Self { owner, book }
    }

    /// Returns the arrays made so far, and those that still exist.
    pub fn report(&self) -> AllocationReport {
        self.book.report()
    }

    /// Ends the tracker and returns its report. The arrays themselves are not affected.
    pub fn finish(self) -> AllocationReport {
        self.report()
    }

    /// Clears the records. Arrays made so far no longer count.
    pub fn clear(&self) {
        self.book.clear();
    }

    /// Opens a scope for the arrays that this thread makes until the guard is dropped. Nested scopes have names such as
    /// `outer/inner`.
    pub fn scope(&self, name: &str) -> AllocationScope<'_> {
        // In a destructor at the end of a thread, the list may be gone; then the scope has no name.
        let _ = SCOPES.try_with(|scopes| scopes.borrow_mut().push((self.book.number, name.to_owned())));
        AllocationScope { tracker: PhantomData, book: self.book.number, thread: PhantomData }
    }
}

impl Drop for AllocationTracker {
    fn drop(&mut self) {
        self.owner.engine().lock().memory.pool.books.retain(|book| !Arc::ptr_eq(book, &self.book));
    }
}

impl fmt::Debug for AllocationTracker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = self.report();
        write!(f, "AllocationTracker({} bytes, {} arrays)", report.live_bytes, report.live.len())
    }
}

/// A named scope for the arrays that one thread makes until this guard is dropped; see [`AllocationTracker::scope`].
#[must_use = "a scope ends when this is dropped"]
pub struct AllocationScope<'a> {
    tracker: PhantomData<&'a AllocationTracker>,
    book: u64,
    /// Marker that keeps the scope on its thread.
    thread: PhantomData<*const ()>,
}

impl Drop for AllocationScope<'_> {
    fn drop(&mut self) {
        let _ = SCOPES.try_with(|scopes| {
            let mut scopes = scopes.borrow_mut();
            if let Some(at) = scopes.iter().rposition(|(book, _)| *book == self.book) {
                scopes.remove(at);
            }
        });
    }
}
