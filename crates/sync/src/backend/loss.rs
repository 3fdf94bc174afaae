//! The flag that tells all users of a device that the device is lost.

use crate::{Lost, Process};
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
#[derive(Clone, Debug)]
pub struct LostFlag {
    lost: Arc<OnceLock<Lost>>,
    process: Process,
}

impl Default for LostFlag {
    fn default() -> Self {
        Self { lost: Arc::default(), process: Process::this() }
    }
}

impl LostFlag {
    /// Declares the device lost; the first reason stays.
    pub fn raise(&self, reason: &str) {
        self.lost.get_or_init(|| Lost { reason: reason.into() });
    }

    /// Checks that the device is not lost.
    ///
    /// # Errors
    /// [`Lost`] if it is.
    pub fn check(&self) -> Result<(), Lost> {
        if self.process.is_left() {
            return Err(Lost {
                reason: "the process is a child, made by fork(2), of the process that opened the device"
                    .into(),
            });
        }
        self.lost.get().map_or(Ok(()), |lost| Err(lost.clone()))
    }

    /// Returns `true` if the device is lost.
    pub fn is_raised(&self) -> bool {
        self.process.is_left() || self.lost.get().is_some()
    }
}
