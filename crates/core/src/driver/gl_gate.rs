//! A lock for wgpu calls on backends that admit only one thread at a time. Also which part of a device's memory the
//! host can keep mapped.

use fencepost_sync::Process;
use fencepost_sync::prim::{Mutex, MutexGuard, lock, try_lock};
use std::sync::Arc;

/// The lock that serialises calls of wgpu on GL.
///
/// On GL, a submit call may last as long as its work, and a thread that meanwhile calls wgpu panics after some seconds.
/// So on GL, each thread holds the lock `turn` while it calls wgpu. Dropped objects go to the list `dead`, and the next
/// thread that takes the lock drops them.
pub(crate) struct GlGate {
    turn: Arc<Mutex<()>>,
    one_at_a_time: bool,
    dead: Mutex<Vec<Box<dyn Send>>>,
    process: Process,
}

impl GlGate {
    pub(crate) fn new(backend: wgpu::Backend) -> Arc<Self> {
        let one_at_a_time = backend == wgpu::Backend::Gl;
        let process = Process::this();
        Arc::new(Self { turn: Arc::default(), one_at_a_time, dead: Mutex::default(), process })
    }

    /// Returns the lock that a fence tries to take before it polls.
    pub(crate) fn turn(&self) -> &Arc<Mutex<()>> {
        &self.turn
    }

    /// Waits for the lock on GL. Returns `None` on other backends. A thread that holds the lock must not call this
    /// again.
    pub(crate) fn enter(&self) -> Option<MutexGuard<'_, ()>> {
        let turn = self.one_at_a_time.then(|| lock(&self.turn).uncounted())?;
        self.clear();
        Some(turn)
    }

    /// Waits for the lock before a submission, on every backend.
    ///
    /// Some drivers block in the submit call while earlier work runs, and meanwhile wgpu blocks every poll. So a poll
    /// first tries to take [`turn`](Self::turn), and returns at once if another thread holds it.
    pub(crate) fn enter_to_submit(&self) -> MutexGuard<'_, ()> {
        let turn = lock(&self.turn).uncounted();
        self.clear();
        turn
    }

    /// Runs `work` if the lock is free or not needed.
    pub(crate) fn try_inside(&self, work: impl FnOnce()) {
        if !self.one_at_a_time {
            work();
        } else if let Some(_turn) = try_lock(&self.turn).map(MutexGuard::uncounted) {
            self.clear();
            work();
        }
    }

    /// Drops a wgpu object without waiting. On GL, the next thread that takes the lock drops it. In a child of fork(2),
    /// it is leaked.
    pub(crate) fn drop_in_turn(&self, object: impl Send + 'static) {
        if self.is_in_child() {
            std::mem::forget(object);
        } else if self.one_at_a_time {
            lock(&self.dead).push(Box::new(object));
        }
    }

    /// Returns `true` in a child, made by fork(2), of the process that opened the device. There, dropping a wgpu object
    /// might wait for a lock that a thread of the parent held.
    pub(crate) fn is_in_child(&self) -> bool {
        self.process.is_left()
    }

    /// Drops the objects in `dead`. The caller must hold the lock, if the backend needs it.
    fn clear(&self) {
        let dead = std::mem::take(&mut *lock(&self.dead));
        drop(dead);
    }
}
/// Memory that the host can keep mapped. Each variant includes the previous ones.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum HostReach {
    Nothing,
    /// Staging memory and pinned arrays.
    Staging,
    /// Also the arrays of the device, because device and host share their memory.
    All,
}
