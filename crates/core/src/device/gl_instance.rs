//! GL, where what one instance finds may not be used by two threads at once.

use std::sync::{Mutex, PoisonError};
use wgpu::{Backend, Backends};

/// Runs `f` while no other thread looks for adapters: every GL adapter that the process's instance finds shares one
/// context, which can be current on one thread only, if only for a moment while it is looked at or dropped.
pub(crate) fn one_at_a_time<R>(f: impl FnOnce() -> R) -> R {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    f()
}

/// The same adapter; a GL one from an instance of its own, so that its device shares its context with no other.
pub(crate) async fn own(adapter: wgpu::Adapter) -> wgpu::Adapter {
    let info = adapter.get_info();
    if info.backend != Backend::Gl {
        return adapter;
    }
    let found = crate::device::instance::make_instance(Backends::GL).enumerate_adapters(Backends::GL).await;
    found.into_iter().find(|other| other.get_info().name == info.name).unwrap_or(adapter)
}
