//! What the Vulkan validation layers say: with the feature `validation` and `FENCEPOST_VALIDATION=1`, every message
//! fails the case that it came in.

use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a hardware queue was held since the last [`forget`].
static HELD: AtomicBool = AtomicBool::new(false);

/// Forgets what was said before.
pub fn forget() {
    HELD.store(false, Ordering::Relaxed);
    messages();
}

/// Notes that a hardware queue is held.
///
/// wgpu-hal has each submission wait for the one before, by two semaphores in turn. The layer puts submissions off that are
/// behind a semaphore which only the host signals; of three it forgets that the second waits for the first, and reports a
/// hazard between them.
pub fn hold() {
    HELD.store(true, Ordering::Relaxed);
}

/// Whether the layer says this because it has put submissions off.
fn is_put_off(message: &str) -> bool {
    HELD.load(Ordering::Relaxed)
        && message.starts_with("vkQueueSubmit(): ")
        && message.contains("hazard detected")
}

/// Fails if anything was said since.
pub fn check() -> Result<(), String> {
    check_but(|_| false)
}

/// Fails if anything was said since, but for what `known` knows the cause of.
pub fn check_but(known: impl Fn(&str) -> bool) -> Result<(), String> {
    let mut messages = messages();
    messages.retain(|message| !known(message) && !is_put_off(message));
    if messages.is_empty() {
        Ok(())
    } else {
        Err(format!("the validation layer says:\n{}", messages.join("\n")))
    }
}

#[cfg(feature = "validation")]
pub fn messages() -> Vec<String> {
    fencepost::validation_messages()
}

#[cfg(not(feature = "validation"))]
pub fn messages() -> Vec<String> {
    Vec::new()
}
