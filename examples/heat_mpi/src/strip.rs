//! The strip of a rank: its rows on the device, and the exchange of its edges.

use std::mem;
use std::ops::Range;

use fencepost::prelude::*;
use mpi::Tag;
use mpi::topology::{Process, SimpleCommunicator};
use mpi::traits::{Communicator, Destination, Source};

#[derive(KernelArgs)]
#[kernel(source = "heat.wgsl")]
struct Heat<'a> {
    width: u32,
    x: &'a DeviceArray<f32>,
    y: &'a mut DeviceArray<f32>,
}

/// Tag of the messages with edges.
const EDGE: Tag = 1;

/// The rows of a rank, after a halo: a row of the rank before it, or the fixed first row of the plate. Another halo
/// follows them.
pub(crate) struct Strip<'w> {
    width: usize,
    /// Number of rows without the halos.
    rows: usize,
    /// Cells before the next step.
    now: DeviceArray<f32>,
    /// Cells after the next step.
    next: DeviceArray<f32>,
    kernel: Kernel<Heat<'static>>,
    /// Queue of the first and the last row, and of their transfers.
    edges: CommandQueue,
    /// Queue of the rows between them.
    interior: CommandQueue,
    /// End of the last step's launches on `edges`.
    edges_done: Event,
    sides: Vec<Side<'w>>,
}

/// A side of the strip with another rank next to it.
struct Side<'w> {
    neighbour: Process<'w>,
    /// Row that the neighbour needs.
    edge: usize,
    /// Row that the neighbour sends.
    halo: usize,
    sent: HostArray<f32, Download>,
    received: HostArray<f32, Upload>,
}

impl<'w> Strip<'w> {
    /// Makes the strip of a rank. `own` are its rows, counted from 0 without the fixed rows of the plate.
    pub(crate) fn new(
        ctx: &Context,
        world: &'w SimpleCommunicator,
        width: usize,
        own: Range<usize>,
    ) -> Result<Self> {
        let rows = own.len();
        let edges = ctx.queue("edges");
        // Both arrays begin with all cells, because a step does not write the fixed ones.
        let cells = crate::host::rows(own.start..own.end + 2, width);
        let now = edges.array(&cells)?;
        let next = edges.array(&cells)?;
        let side = |rank, edge, halo| -> Result<Side<'w>> {
            let neighbour = world.process_at_rank(rank);
            Ok(Side { neighbour, edge, halo, sent: ctx.pinned([width])?, received: ctx.pinned([width])? })
        };
        let rank = world.rank();
        let mut sides = Vec::new();
        if rank > 0 {
            sides.push(side(rank - 1, 1, 0)?);
        }
        if rank + 1 < world.size() {
            sides.push(side(rank + 1, rows, rows + 1)?);
        }
        let kernel = ctx.kernel::<Heat>()?;
        let interior = ctx.queue("interior");
        let edges_done = edges.marker();
        let mut strip = Self { width, rows, now, next, kernel, edges, interior, edges_done, sides };
        strip.download_edges()?;
        Ok(strip)
    }

    /// Enqueues a step, and exchanges the edges of the step before it.
    pub(crate) fn step(&mut self) -> Result<()> {
        let interior_done = self.interior.marker(); // of the step before this one
        self.interior.wait_for(&self.edges_done)?;
        self.compute(&self.interior, 2..self.rows)?;
        self.interior.flush()?;
        self.exchange(&interior_done)?;
        self.compute(&self.edges, 1..2)?;
        self.compute(&self.edges, self.rows..self.rows + 1)?;
        self.edges_done = self.edges.marker();
        mem::swap(&mut self.now, &mut self.next);
        self.download_edges()
    }

    /// Waits until all steps are done.
    pub(crate) fn finish(&self) -> Result<()> {
        self.edges.wait_for(&self.interior)?;
        self.edges.finish().wait()
    }

    /// Returns the cells without the halos, after [`finish`](Self::finish).
    pub(crate) fn cells(&self) -> Result<Vec<f32>> {
        self.edges.read(&rows_of(&self.now, self.width, 1..self.rows + 1)?).wait()
    }

    /// Enqueues the computation of some rows. It binds the rows that the kernel reads, because the whole array would
    /// conflict with the uploads of the halos.
    fn compute(&self, queue: &CommandQueue, rows: Range<usize>) -> Result<()> {
        let x = rows_of(&self.now, self.width, rows.start - 1..rows.end + 1)?;
        let mut y = rows_of(&self.next, self.width, rows.clone())?;
        let grid = Grid::threads([self.width, rows.len()]);
        queue.launch(&self.kernel, grid, Heat { width: self.width as u32, x: &x, y: &mut y })
    }

    /// Enqueues the downloads of the rows that the neighbours need.
    fn download_edges(&mut self) -> Result<()> {
        for side in &mut self.sides {
            self.edges
                .download(&rows_of(&self.now, self.width, side.edge..side.edge + 1)?, &mut side.sent)?;
        }
        self.edges.flush()
    }

    /// Sends the edges to the neighbours, and enqueues the uploads of theirs.
    fn exchange(&mut self, interior_done: &Event) -> Result<()> {
        let mut messages = Vec::new();
        for Side { neighbour, sent, received, .. } in &mut self.sides {
            // The first guard waits for the download, the second one for the upload of the step before.
            messages.push((*neighbour, sent.host()?, received.host_mut()?));
        }
        let edges = &self.edges;
        let enqueued = mpi::request::multiple_scope(2 * messages.len(), |scope, requests| {
            for (neighbour, sent, received) in &mut messages {
                requests.add(neighbour.immediate_receive_into_with_tag(scope, &mut received[..], EDGE));
                requests.add(neighbour.immediate_send_with_tag(scope, &sent[..], EDGE));
            }
            let enqueued = edges.wait_for(interior_done); // the requests stay open during this call
            requests.wait_all(&mut Vec::new());
            enqueued
        });
        drop(messages);
        enqueued?;
        for side in &self.sides {
            let mut halo = rows_of(&self.now, self.width, side.halo..side.halo + 1)?;
            self.edges.upload(&side.received, &mut halo)?;
        }
        Ok(())
    }
}

/// Returns some rows of a strip, counted from the first halo. Rows begin on the alignment of bindings.
fn rows_of(cells: &DeviceArray<f32>, width: usize, rows: Range<usize>) -> Result<DeviceArray<f32>> {
    cells.slice(rows.start * width..rows.end * width)
}
