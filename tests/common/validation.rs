//! What the Vulkan validation layers say: with the feature `validation` and `FENCEPOST_VALIDATION=1`, every message
//! fails the case that it came in.

/// Forgets what was said before.
pub fn forget() {
    messages();
}

/// Fails if anything was said since.
pub fn check() -> Result<(), String> {
    check_but(|_| false)
}

/// Fails if anything was said since, but for what `known` knows the cause of.
pub fn check_but(known: impl Fn(&str) -> bool) -> Result<(), String> {
    let mut messages = messages();
    messages.retain(|message| !known(message));
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
