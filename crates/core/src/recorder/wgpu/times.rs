//! What the clock shows before and after the timed commands of a batch, in pages of queries.

use super::fence::LaneFence;
use super::passes::Passes;
use super::transfer::Transfers;
use crate::command::{TickPage, TimeSlot};
use crate::error::{Error, Result};
use crate::lane::{Doing, WgpuDevice, scoped};
use crate::memory::ReadSlot;
use crate::recorder::COMMANDS_A_PAGE;
use fencepost_sync::Value;
use fencepost_sync::prim::{Mutex, lock};
use std::sync::Arc;

/// The times of the batch being recorded.
#[derive(Default)]
pub(super) struct Times {
    idle: Idle,
    pages: Vec<Page>,
    /// Why there is no page for what was started.
    failed: Option<Error>,
}

/// Pages that no batch uses.
type Idle = Arc<Mutex<Vec<Queries>>>;

/// Queries, and where their results are put together.
#[derive(Clone)]
struct Queries {
    set: wgpu::QuerySet,
    results: wgpu::Buffer,
}

/// Queries of one batch: two for each of these commands. Goes back to the idle ones when it is dropped: not before the
/// device has passed the batch.
pub(super) struct Page {
    queries: Queries,
    times: Vec<Arc<TimeSlot>>,
    home: Idle,
}

impl Times {
    /// Notes the time before a command. What goes wrong is told at the end of the batch.
    pub(super) fn start(&mut self, passes: &mut Passes<'_>, time: &Arc<TimeSlot>) {
        if let Err(error) = self.make_room(passes.device) {
            self.failed = Some(error);
            return;
        }
        let Some(page) = self.pages.last_mut() else { return };
        passes.start_time(&page.queries.set, 2 * page.times.len() as u32);
        page.times.push(time.clone());
    }

    /// Has the times of the batch copied to staging memory: what it needs until it is complete.
    ///
    /// # Errors
    /// Out of memory.
    pub(super) fn finish(
        &mut self,
        passes: &mut Passes<'_>,
        transfers: &mut Transfers,
        read: (&LaneFence, Value),
    ) -> Result<Vec<Page>> {
        let pages = std::mem::take(&mut self.pages);
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        for Page { queries: Queries { set, results }, times, .. } in &pages {
            passes.encoder().resolve_query_set(set, 0..2 * times.len() as u32, results, 0);
            let (slot, bytes) = (ReadSlot::new(), (times.len() * TickPage::EACH) as u64);
            transfers.fetch(passes, (results, 0), bytes, &slot, read)?;
            TickPage::give(slot, times);
        }
        Ok(pages)
    }

    /// Starts a batch; the one before may not have been recorded to its end.
    pub(super) fn reset(&mut self) {
        self.pages.clear();
        self.failed = None;
    }

    fn make_room(&mut self, device: &WgpuDevice) -> Result<()> {
        if self.pages.last().is_some_and(|page| page.times.len() < COMMANDS_A_PAGE) {
            return Ok(());
        }
        let idle = lock(&self.idle).pop();
        let queries = idle.map_or_else(|| make(device), Ok)?;
        self.pages.push(Page { queries, times: Vec::new(), home: self.idle.clone() });
        Ok(())
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        lock(&self.home).push(self.queries.clone());
    }
}

fn make(device: &WgpuDevice) -> Result<Queries> {
    let (label, count) = ("times", 2 * COMMANDS_A_PAGE as u32);
    let size = (COMMANDS_A_PAGE * TickPage::EACH) as u64;
    let usage = wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC;
    let set = wgpu::QuerySetDescriptor { label: Some(label), ty: wgpu::QueryType::Timestamp, count };
    let results = wgpu::BufferDescriptor { label: Some(label), size, usage, mapped_at_creation: false };
    let raw = device.raw();
    let make = || Queries { set: raw.create_query_set(&set), results: raw.create_buffer(&results) };
    let (made, error) = scoped(raw, make);
    error.map_or(Ok(made), |error| Err(Doing { object: "queries for times", bytes: size }.failed(&error)))
}
