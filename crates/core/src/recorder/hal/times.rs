//! What the clock shows before and after the timed commands of a batch, in pages of queries.

use super::calls::Calls;
use super::native;
use super::transfer::Transfers;
use crate::command::{TickPage, TimeSlot};
use crate::error::{Error, Result};
use crate::lane::{Backend, Queries, WgpuDevice};
use crate::memory::{Place, ReadSlot};
use crate::recorder::COMMANDS_A_PAGE;
use fencepost_sync::Value;
use fencepost_sync::backend::Fence;
use fencepost_sync::prim::{Mutex, lock};
use std::sync::Arc;

/// Pages that no batch uses.
type Idle<A> = Arc<Mutex<Vec<Queries<A>>>>;

/// The times of the batch being recorded.
pub(super) struct Times<A: Backend> {
    idle: Idle<A>,
    pages: Vec<Page<A>>,
    /// Why there is no page for what was started.
    failed: Option<Error>,
}

/// Queries of one batch: two for each of these commands. Goes back to the idle ones when it is dropped: not before the
/// device has passed the batch.
pub(super) struct Page<A: Backend> {
    queries: Option<Queries<A>>,
    times: Vec<Arc<TimeSlot>>,
    home: Idle<A>,
}

impl<A: Backend> Default for Times<A> {
    fn default() -> Self {
        Self { idle: Idle::default(), pages: Vec::new(), failed: None }
    }
}

impl<A: Backend> Times<A> {
    /// Notes the time before a command. What goes wrong is told at the end of the batch.
    pub(super) fn start(&mut self, device: &WgpuDevice, calls: &mut Calls<'_, A>, time: &Arc<TimeSlot>) {
        if let Err(error) = self.make_room(device, calls) {
            self.failed = Some(error);
            return;
        }
        let Some(page) = self.pages.last_mut() else { return };
        calls.stamp(page.queries(), 2 * page.times.len() as u32);
        page.times.push(time.clone());
    }

    /// Notes the time after the command that was started last.
    pub(super) fn end(&mut self, calls: &mut Calls<'_, A>) {
        if let (None, Some(page)) = (&self.failed, self.pages.last()) {
            calls.stamp(page.queries(), 2 * page.times.len() as u32 - 1);
        }
    }

    /// Has the times of the batch copied to staging memory: what it needs until it is complete.
    ///
    /// # Errors
    /// Out of memory.
    pub(super) fn finish(
        &mut self,
        device: &WgpuDevice,
        calls: &mut Calls<'_, A>,
        transfers: &mut Transfers,
        read: &(Arc<dyn Fence>, Value),
    ) -> Result<Vec<Page<A>>> {
        let pages = std::mem::take(&mut self.pages);
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        for page in &pages {
            let bytes = (page.times.len() * TickPage::EACH) as u64;
            let staged = transfers.room(device, bytes, read)?;
            let (to, offset) = (native::<A>(staged.piece.memory()), staged.piece.offset());
            calls.copy_times(page.queries(), 2 * page.times.len() as u32, to, offset);
            let slot = ReadSlot::new();
            slot.set(Place::Staged(staged));
            TickPage::give(slot, &page.times);
        }
        Ok(pages)
    }

    /// The batch is not recorded to its end.
    pub(super) fn abandon(&mut self) {
        self.pages.clear();
        self.failed = None;
    }

    fn make_room(&mut self, device: &WgpuDevice, calls: &mut Calls<'_, A>) -> Result<()> {
        if self.pages.last().is_some_and(|page| page.times.len() < COMMANDS_A_PAGE) {
            return Ok(());
        }
        let idle = lock(&self.idle).pop();
        let queries = match idle {
            Some(queries) => queries,
            None => Queries::new(device, 2 * COMMANDS_A_PAGE as u32)?,
        };
        calls.reset(&queries);
        self.pages.push(Page { queries: Some(queries), times: Vec::new(), home: self.idle.clone() });
        Ok(())
    }
}

impl<A: Backend> Page<A> {
    fn queries(&self) -> &Queries<A> {
        self.queries.as_ref().expect("they are there until the drop")
    }
}

impl<A: Backend> Drop for Page<A> {
    fn drop(&mut self) {
        lock(&self.home).extend(self.queries.take());
    }
}
