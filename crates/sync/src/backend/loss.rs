//! The flag that tells all users of a device that the device is lost.

use crate::Lost;
use std::sync::{Arc, OnceLock};

/// A flag that is raised once, with a reason. Clones share it.
///
/// # Example
/// ```
/// let flag = fencepost_sync::backend::LostFlag::default();
/// flag.raise("unplugged");
/// flag.raise("too late to matter");
/// assert_eq!(flag.check().unwrap_err().reason, "unplugged");
/// ```
#[derive(Clone, Debug, Default)]
pub struct LostFlag(Arc<OnceLock<Lost>>);

impl LostFlag {
    /// Declares the device lost; the first reason stays.
    pub fn raise(&self, reason: &str) {
        self.0.get_or_init(|| Lost { reason: reason.into() });
    }

    /// Checks that the device is not lost.
    ///
    /// # Errors
    /// [`Lost`] if it is.
    pub fn check(&self) -> Result<(), Lost> {
        self.0.get().map_or(Ok(()), |lost| Err(lost.clone()))
    }

    /// Returns `true` if the device is lost.
    pub fn is_raised(&self) -> bool {
        self.0.get().is_some()
    }
}
