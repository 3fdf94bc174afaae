//! `Send` and `Sync` where there are threads, nothing where there are none.

/// [`Send`] on native targets; no demand at all in the browser, where nothing leaves its thread.
#[cfg(not(target_arch = "wasm32"))]
pub trait MaybeSend: Send {}
#[cfg(not(target_arch = "wasm32"))]
impl<T: Send + ?Sized> MaybeSend for T {}

/// [`Sync`] on native targets; no demand at all in the browser, where nothing leaves its thread.
#[cfg(not(target_arch = "wasm32"))]
pub trait MaybeSync: Sync {}
#[cfg(not(target_arch = "wasm32"))]
impl<T: Sync + ?Sized> MaybeSync for T {}

/// [`Send`] on native targets; no demand at all in the browser, where nothing leaves its thread.
#[cfg(target_arch = "wasm32")]
pub trait MaybeSend {}
#[cfg(target_arch = "wasm32")]
impl<T: ?Sized> MaybeSend for T {}

/// [`Sync`] on native targets; no demand at all in the browser, where nothing leaves its thread.
#[cfg(target_arch = "wasm32")]
pub trait MaybeSync {}
#[cfg(target_arch = "wasm32")]
impl<T: ?Sized> MaybeSync for T {}
