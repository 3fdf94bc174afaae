//! The bound `Send` on targets with threads; no bound on other targets.

/// The bound [`Send`] on native targets; no bound in the browser, which has one thread.
#[cfg(not(target_arch = "wasm32"))]
pub trait MaybeSend: Send {}
#[cfg(not(target_arch = "wasm32"))]
impl<T: Send + ?Sized> MaybeSend for T {}

/// The bound [`Send`] on native targets; no bound in the browser, which has one thread.
#[cfg(target_arch = "wasm32")]
pub trait MaybeSend {}
#[cfg(target_arch = "wasm32")]
impl<T: ?Sized> MaybeSend for T {}
