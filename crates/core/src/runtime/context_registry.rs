//! The contexts of this process.

use crate::runtime::owner::{Owner, WeakOwner};
use std::sync::{Mutex, PoisonError};

/// All that have not ended, in the order in which they were made. `std`'s lock, models or not: it is made while Rust
/// compiles.
static CONTEXTS: Mutex<Vec<WeakOwner>> = Mutex::new(Vec::new());

/// Notes a new one; nothing is kept going for it.
pub(crate) fn note(owner: WeakOwner) {
    let mut contexts = CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    contexts.retain(WeakOwner::lives);
    contexts.push(owner);
}

/// All of them.
pub(crate) fn all() -> Vec<Owner> {
    let contexts = CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    contexts.iter().filter_map(WeakOwner::upgrade).collect()
}
