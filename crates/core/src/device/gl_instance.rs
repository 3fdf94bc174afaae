//! GL adapters. Two threads must not use adapters that one instance found at the same time.

use std::sync::{Mutex, PoisonError};
use wgpu::{Backend, Backends};

/// Runs `f` while no other thread enumerates adapters.
///
/// All GL adapters that the process's instance finds share one GL context, which can be current on one thread only.
/// Even an enumeration or a drop makes the context current for a moment.
pub(crate) fn one_at_a_time<R>(f: impl FnOnce() -> R) -> R {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    f()
}

/// Returns the same adapter. A GL adapter is found again by its own instance, so its device shares its GL context with
/// no other device.
pub(crate) async fn own(adapter: wgpu::Adapter) -> wgpu::Adapter {
    let info = adapter.get_info();
    if info.backend != Backend::Gl {
        return adapter;
    }
    let found = crate::device::instance::make_instance(Backends::GL).enumerate_adapters(Backends::GL).await;
    found.into_iter().find(|other| other.get_info().name == info.name).unwrap_or(adapter)
}
