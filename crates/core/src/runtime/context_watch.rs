//! A view of a context that does not keep the context alive.

use crate::device::adapter_info::AdapterInfo;
use crate::scheduler::engine::Engine;
use std::fmt;
use std::sync::{Arc, Weak};

/// A view of the state of a context while the context lives or ends, for test harnesses and watchdogs.
///
/// # Example
/// ```
/// # let (ctx, queue) = fencepost::doctest();
/// let watch = ctx.watch();
/// assert!(watch.state_dump().unwrap().contains("doctest"));
/// drop((ctx, queue));
/// assert!(watch.state_dump().is_none());
/// ```
#[derive(Clone)]
pub struct ContextWatch {
    engine: Weak<Engine>,
    alive: Weak<()>,
    info: AdapterInfo,
}

impl ContextWatch {
    pub(crate) fn new(engine: &Arc<Engine>, alive: &Arc<()>, info: &AdapterInfo) -> Self {
        Self { engine: Arc::downgrade(engine), alive: Arc::downgrade(alive), info: info.clone() }
    }

    /// Returns `true` while a part of the context lives: its work, its threads or its device. The call takes no lock.
    ///
    /// If the last handle is dropped in a callback, or while work waits for another context, a separate thread ends
    /// the context after the drop has returned. That thread uses the driver, and a return from `main` unloads the
    /// driver, so the program first waits until this call returns `false`.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let watch = ctx.watch();
    /// assert!(watch.lives());
    /// drop((ctx, queue));
    /// assert!(!watch.lives());
    /// ```
    pub fn lives(&self) -> bool {
        self.alive.strong_count() > 0
    }

    /// Returns the text of [`Context::state_dump`](crate::Context::state_dump), or `None` once the context has ended.
    pub fn state_dump(&self) -> Option<String> {
        self.engine.upgrade().map(|engine| engine.dump(&self.info))
    }
}

impl fmt::Debug for ContextWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContextWatch({})", self.info)
    }
}
