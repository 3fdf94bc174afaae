//! Whether a device is gone, as all who use it know it.

use crate::Lost;
use std::sync::{Arc, OnceLock};

/// A flag that goes up once, with a reason. Clones share it.
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

    /// Whether the device is still there.
    ///
    /// # Errors
    /// [`Lost`] if it is not.
    pub fn check(&self) -> Result<(), Lost> {
        self.0.get().map_or(Ok(()), |lost| Err(lost.clone()))
    }

    /// Whether the device is gone.
    pub fn is_raised(&self) -> bool {
        self.0.get().is_some()
    }
}
