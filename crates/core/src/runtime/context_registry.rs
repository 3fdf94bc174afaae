//! The contexts of this process.

use crate::runtime::owner::{Owner, WeakOwner};
use std::sync::{Mutex, PoisonError};

/// Live contexts, in the order in which they were made. Loom models use the lock of `std` here too, because a `static`
/// needs a `const` constructor.
static CONTEXTS: Mutex<Vec<WeakOwner>> = Mutex::new(Vec::new());

/// Adds a new context. The list does not keep the context alive.
pub(crate) fn note(owner: WeakOwner) {
    let mut contexts = CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner);
    contexts.retain(WeakOwner::lives);
    contexts.push(owner);
}

/// Returns all live contexts.
pub(crate) fn all() -> Vec<Owner> {
    let contexts = CONTEXTS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    contexts.iter().filter_map(WeakOwner::upgrade).collect()
}
