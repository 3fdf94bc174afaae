//! Looking at a context without keeping it alive.

use crate::device::adapter_info::AdapterInfo;
use crate::scheduler::engine::Engine;
use std::fmt;
use std::sync::{Arc, Weak};

/// Shows the state of a context for as long as there is one, its end included: for test harnesses and watchdogs.
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

    /// Whether anything of the context is left: its work, its threads, its device. Looks at no lock.
    ///
    /// Where the last handle goes in a callback, or while work waits for another context, the context ends on a thread of its
    /// own, after the handle is gone. A program that returns from `main` meanwhile takes the driver away from under it.
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

    /// What [`Context::state_dump`](crate::Context::state_dump) says; `None` once the context has ended.
    pub fn state_dump(&self) -> Option<String> {
        self.engine.upgrade().map(|engine| engine.dump(&self.info))
    }
}

impl fmt::Debug for ContextWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContextWatch({})", self.info)
    }
}
