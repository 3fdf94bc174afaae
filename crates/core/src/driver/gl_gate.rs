//! A lock for calls of wgpu on backends that admit only one thread at a time. Also the part of a device's memory that
//! the host can keep mapped.

use fencepost_sync::Process;
use fencepost_sync::prim::{Mutex, MutexGuard, lock, try_lock};
use std::sync::Arc;

/// The lock that serialises calls of a wgpu device on GL.
///
/// On GL a submission may last as long as its work, and a thread that calls wgpu meanwhile panics after some seconds.
/// So on GL each thread holds the lock `turn` while it calls wgpu. A dropped object goes to the list `dead`, and the
/// next thread that takes the lock drops the objects in the list.
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

    /// Waits for the lock on GL, and returns `None` on other backends. A thread that holds the lock must not call this
    /// again.
    pub(crate) fn enter(&self) -> Option<MutexGuard<'_, ()>> {
        let turn = self.one_at_a_time.then(|| lock(&self.turn).uncounted())?;
        self.clear();
        Some(turn)
    }

    /// Waits for the lock before a submission, on every backend.
    ///
    /// Some drivers block in the submit call while earlier work runs, and wgpu blocks every poll meanwhile. A poll
    /// therefore tries to take [`turn`](Self::turn) first, and returns at once if another thread holds the lock.
    pub(crate) fn enter_to_submit(&self) -> MutexGuard<'_, ()> {
        let turn = lock(&self.turn).uncounted();
        self.clear();
        turn
    }

    /// Runs `work` if that needs no wait for the lock.
    pub(crate) fn try_inside(&self, work: impl FnOnce()) {
        if !self.one_at_a_time {
            work();
        } else if let Some(_turn) = try_lock(&self.turn).map(MutexGuard::uncounted) {
            self.clear();
            work();
        }
    }

    /// Drops a wgpu object without a wait. On GL the next thread that takes the lock drops it. A child of fork(2) leaks
    /// it.
    pub(crate) fn drop_in_turn(&self, object: impl Send + 'static) {
        if self.is_in_child() {
            std::mem::forget(object);
        } else if self.one_at_a_time {
            lock(&self.dead).push(Box::new(object));
        }
    }

    /// Returns `true` in a child, by fork(2), of the process that opened the device. A drop of a wgpu object may wait
    /// there for a lock that a thread of the parent held.
    pub(crate) fn is_in_child(&self) -> bool {
        self.process.is_left()
    }

    /// Drops the objects in `dead`. The caller holds the lock, if the backend needs it.
    fn clear(&self) {
        let dead = std::mem::take(&mut *lock(&self.dead));
        drop(dead);
    }
}
/// The memory that the host can keep mapped. Each variant includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum HostReach {
    Nothing,
    /// The host maps staging memory and pinned arrays.
    Staging,
    /// The host also maps the arrays of the device, because device and host share their memory.
    All,
}
