//! The contexts of this process, and views of a context that do not keep it alive.

use crate::device::adapter::AdapterInfo;
use crate::runtime::owner::{Owner, WeakOwner};
use crate::scheduler::engine::Engine;
use fencepost_sync::PerProcess;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A view of a context's state until its end, for test harnesses and watchdogs.
///
/// # Example
/// ```
/// # let (ctx, queue) = fencepost::doctest();
/// let watch = ctx.diagnostics().watch();
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

    /// Returns `true` as long as any part of the context exists: its work, its threads or its device. The call takes no
    /// lock.
    ///
    /// If the last handle is dropped in a callback, while work waits for another context, or on Windows in the destructor
    /// of a thread-local value, a separate thread ends the context, after the drop has returned. That thread uses the
    /// driver, which is unloaded when `main` returns. So in this case, wait until this call returns `false` before
    /// returning from `main`.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let watch = ctx.diagnostics().watch();
    /// assert!(watch.lives());
    /// drop((ctx, queue));
    /// assert!(!watch.lives());
    /// ```
    pub fn lives(&self) -> bool {
        self.alive.strong_count() > 0
    }

    /// Returns the text of [`Diagnostics::state_dump`](crate::Diagnostics::state_dump), or `None` once the context has ended.
    pub fn state_dump(&self) -> Option<String> {
        self.engine.upgrade().map(|engine| engine.dump(&self.info))
    }
}

impl fmt::Debug for ContextWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ContextWatch({})", self.info)
    }
}

/// Live contexts, in the order in which they were made. A lock of `std` even in loom models, because a static needs a
/// constant initializer.
static CONTEXTS: PerProcess<Mutex<Vec<WeakOwner>>> = PerProcess::new(Mutex::new(Vec::new()), Mutex::default);

/// Adds a new context. The list does not keep the context alive.
pub(crate) fn note(owner: WeakOwner) {
    let mut contexts = CONTEXTS.get().lock().unwrap_or_else(PoisonError::into_inner);
    contexts.retain(WeakOwner::lives);
    contexts.push(owner);
}

/// Returns all live contexts.
pub(crate) fn live_contexts() -> Vec<Owner> {
    let contexts = CONTEXTS.get().lock().unwrap_or_else(PoisonError::into_inner).clone();
    contexts.iter().filter_map(WeakOwner::upgrade).collect()
}
