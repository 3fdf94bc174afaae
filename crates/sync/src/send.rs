//! The bound `Send` on targets with threads; no bound on the others.

/// Requires [`Send`] on native targets; requires nothing in the browser, which has one thread.
#[cfg(not(target_arch = "wasm32"))]
pub trait MaybeSend: Send {}
#[cfg(not(target_arch = "wasm32"))]
impl<T: Send + ?Sized> MaybeSend for T {}

/// Requires [`Send`] on native targets; requires nothing in the browser, which has one thread.
#[cfg(target_arch = "wasm32")]
pub trait MaybeSend {}
#[cfg(target_arch = "wasm32")]
impl<T: ?Sized> MaybeSend for T {}
