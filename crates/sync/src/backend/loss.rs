//! The flag that tells all users of a device that the device is lost.

use super::portable::Moved;
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
    /// Function to call when the flag is raised. Only a browser needs one, because no thread polls there.
    raised: Arc<OnceLock<Moved>>,
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
        let is_first = self.lost.set(Lost { reason: reason.into() }).is_ok();
        if let Some(raised) = self.raised.get().filter(|_| is_first) {
            raised();
        }
    }

    /// Registers `raised`, which is called when the flag is raised. A second function is ignored.
    pub(super) fn on_raise(&self, raised: Moved) {
        let _ = self.raised.set(raised);
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

#[cfg(all(test, not(fencepost_loom)))]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn the_first_reason_calls_the_function_once_after_the_flag_is_raised() {
        let flag = LostFlag::default();
        let calls = Arc::new(AtomicU32::new(0));
        let seen = flag.clone();
        let count = calls.clone();
        flag.on_raise(Arc::new(move || {
            assert!(seen.is_raised());
            count.fetch_add(1, Ordering::Relaxed);
        }));
        assert_eq!(calls.load(Ordering::Relaxed), 0);
        ["unplugged", "too late"].into_iter().for_each(|reason| flag.clone().raise(reason));
        assert_eq!(calls.load(Ordering::Relaxed), 1);
        assert_eq!(flag.check(), Err(Lost { reason: "unplugged".into() }));
    }
}
