//! The thread of a lane, in a wait of the program's.
//!
//! A waker may block the thread that calls it. If that is the thread of a lane, what the wait needs may be what this very thread
//! would plan and submit: so it goes on with that.

use super::engine::Engine;
use super::plan::Due;
use fencepost_sync::prim::thread_local;
use std::cell::Cell;

thread_local! {
    /// The engine by its address, and the lane.
    static LANE: Cell<Option<(usize, usize)>> = Cell::default();
    /// Whether a lane has this thread to submit, or to notice what is done.
    static OF_A_LANE: Cell<bool> = Cell::default();
}

/// Whether this is a thread of a lane, which runs no callbacks: not even those of a context without threads, that wait for it.
pub(super) fn is_thread_of_a_lane() -> bool {
    OF_A_LANE.with(Cell::get)
}

/// Makes this thread one of a lane.
#[cfg(not(target_arch = "wasm32"))]
pub(super) fn become_thread_of_a_lane() {
    OF_A_LANE.with(|of| of.set(true));
}

impl Engine {
    /// Makes this thread the one of a lane.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn own_lane(&self, lane: usize) {
        become_thread_of_a_lane();
        LANE.with(|own| own.set(Some((std::ptr::from_ref(self) as usize, lane))));
    }

    /// Serves the lane whose thread this is, if it is one of this context's.
    pub(crate) fn serve_own_lane(&self) {
        let own = LANE.with(Cell::get).filter(|(engine, _)| *engine == std::ptr::from_ref(self) as usize);
        if let Some((_, lane)) = own {
            while self.submit_next(lane, self.lock(), Some(Due::All)) {}
        }
    }
}
