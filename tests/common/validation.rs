//! Checks the messages of the Vulkan validation layers. With the feature `validation` and `FENCEPOST_VALIDATION=1`,
//! a message fails the case in which it appears.

use std::sync::atomic::{AtomicBool, Ordering};

/// `true` if a hardware queue was held since the last [`forget`].
static HELD: AtomicBool = AtomicBool::new(false);

/// Discards the messages so far.
pub fn forget() {
    HELD.store(false, Ordering::Relaxed);
    messages();
}

/// Records that a hardware queue is held.
///
/// wgpu-hal makes each submission wait for the previous one, with two alternating semaphores. The layer defers
/// submissions that wait for a semaphore signalled by the host. With three such submissions, it forgets that the second
/// waits for the first, and reports a hazard between them.
pub fn hold() {
    HELD.store(true, Ordering::Relaxed);
}

/// Returns `true` if the message comes from deferred submissions.
fn is_put_off(message: &str) -> bool {
    HELD.load(Ordering::Relaxed)
        && message.starts_with("vkQueueSubmit(): ")
        && message.contains("hazard detected")
}

/// Fails if the layers reported a message since the last [`forget`].
pub fn check() -> Result<(), String> {
    check_but(|_| false)
}

/// Like [`check`], but ignores messages for which `known` returns `true`.
pub fn check_but(known: impl Fn(&str) -> bool) -> Result<(), String> {
    let mut messages = messages();
    messages.retain(|message| !known(message) && !is_put_off(message));
    if messages.is_empty() {
        Ok(())
    } else {
        Err(format!("the validation layer reports:\n{}", messages.join("\n")))
    }
}

#[cfg(feature = "validation")]
pub fn messages() -> Vec<String> {
    fencepost::testing::validation_messages()
}

#[cfg(not(feature = "validation"))]
pub fn messages() -> Vec<String> {
    Vec::new()
}
