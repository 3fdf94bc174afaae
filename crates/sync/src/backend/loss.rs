//! The flag that tells all users of a device that the device is lost.

use crate::{Lost, Process};
use std::fmt;
use std::sync::{Arc, OnceLock};

/// A flag that is raised once, with a reason. Clones share it. In a child of fork(2), it is always raised.
///
/// # Example
/// ```
/// let flag = fencepost_sync::backend::LostFlag::default();
/// flag.raise("unplugged");
/// flag.raise("too late to matter");
/// assert_eq!(flag.check().unwrap_err().reason, "unplugged");
/// ```
#[derive(Clone)]
pub struct LostFlag {
    lost: Arc<OnceLock<Lost>>,
    /// Function that is called after the flag was raised.
    raised: Arc<OnceLock<Box<dyn Fn() + Send + Sync>>>,
    process: Process,
}

impl Default for LostFlag {
    fn default() -> Self {
        Self { lost: Arc::default(), raised: Arc::default(), process: Process::this() }
    }
}

impl fmt::Debug for LostFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("LostFlag").field(&self.lost.get()).finish()
    }
}

impl LostFlag {
    /// Declares the device lost; the first reason stays.
    pub fn raise(&self, reason: &str) {
        self.lost.get_or_init(|| Lost { reason: reason.into() });
        if let Some(raised) = self.raised.get() {
            raised();
        }
    }

    /// Calls `raised` after the flag was raised, which may happen more than once. A second function is ignored.
    pub fn on_raise(&self, raised: Box<dyn Fn() + Send + Sync>) {
        let _ = self.raised.set(raised);
    }

    /// Checks that the device is not lost.
    ///
    /// # Errors
    /// [`Lost`] if it is.
    pub fn check(&self) -> Result<(), Lost> {
        if self.process.is_left() {
            return Err(Lost {
                reason: "the process is a child, by fork(2), of the one that opened it".into(),
            });
        }
        self.lost.get().map_or(Ok(()), |lost| Err(lost.clone()))
    }

    /// Returns `true` if the device is lost.
    pub fn is_raised(&self) -> bool {
        self.process.is_left() || self.lost.get().is_some()
    }
}
