//! One at a time, where a backend lets only one thread in.

use fencepost_sync::prim::{Mutex, MutexGuard, lock};
use std::any::Any;
use std::sync::Arc;

/// The way into a wgpu device. On GL a submission may last as long as its work, and other threads that call
/// meanwhile are thrown out with a panic after some seconds: there, calls take turns, and what is dropped waits for
/// the next one who is inside.
pub(crate) struct GlGate {
    turn: Arc<Mutex<()>>,
    one_at_a_time: bool,
    dead: Mutex<Vec<Box<dyn Any + Send>>>,
}

impl GlGate {
    pub(crate) fn new(backend: wgpu::Backend) -> Arc<Self> {
        let one_at_a_time = backend == wgpu::Backend::Gl;
        Arc::new(Self { turn: Arc::default(), one_at_a_time, dead: Mutex::default() })
    }

    /// What a fence looks at before it polls.
    pub(crate) fn turn(&self) -> &Arc<Mutex<()>> {
        &self.turn
    }

    /// Waits for its turn, where that is needed. Not to be entered twice.
    pub(crate) fn enter(&self) -> Option<MutexGuard<'_, ()>> {
        let turn = self.one_at_a_time.then(|| lock(&self.turn))?;
        self.clear();
        Some(turn)
    }

    /// Waits for its turn to submit, on every backend. Some drivers stay in the call as long as earlier work runs, and wgpu
    /// holds up every poll meanwhile: a poll that looks at [`turn`](Self::turn) first comes back at once.
    pub(crate) fn enter_to_submit(&self) -> MutexGuard<'_, ()> {
        let turn = lock(&self.turn);
        self.clear();
        turn
    }

    /// Runs `work` if that takes no waiting.
    pub(crate) fn try_inside(&self, work: impl FnOnce()) {
        if !self.one_at_a_time {
            work();
        } else if let Ok(_turn) = self.turn.try_lock() {
            self.clear();
            work();
        }
    }

    /// Drops an object of wgpu's without waiting.
    pub(crate) fn drop_in_turn(&self, object: impl Send + 'static) {
        if self.one_at_a_time {
            lock(&self.dead).push(Box::new(object));
        }
    }

    fn clear(&self) {
        let dead = std::mem::take(&mut *lock(&self.dead));
        drop(dead);
    }
}
