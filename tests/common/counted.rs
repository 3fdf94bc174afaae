//! Counts the submissions of a context without threads.

#[cfg(not(target_arch = "wasm32"))]
use super::raw;
#[cfg(not(target_arch = "wasm32"))]
use super::refusing::{self, Driver, Rule};
use super::{Subject, dump};
#[cfg(not(target_arch = "wasm32"))]
use fencepost::AdoptOptions;
use fencepost::Context;
use std::cell::Cell;
#[cfg(not(target_arch = "wasm32"))]
use std::sync::Arc;

/// Count of the submissions of a context without threads: from the replaced functions of the driver on Vulkan, from the
/// state dump elsewhere.
pub struct Counted {
    pub ctx: Context,
    #[cfg(not(target_arch = "wasm32"))]
    driver: Option<Arc<Driver>>,
    seen: Cell<u64>,
}

#[cfg(target_arch = "wasm32")]
impl Counted {
    pub fn new(subject: &Subject) -> Self {
        Self { ctx: subject.without_threads(), seen: Cell::new(0) }
    }

    /// Returns the number of submissions so far.
    pub fn submissions(&self) -> u64 {
        dump::submitted(&self.ctx)
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Counted {
    pub fn new(subject: &Subject) -> Self {
        if !subject.place().is_vulkan() {
            return Self { ctx: subject.without_threads(), driver: None, seen: Cell::new(0) };
        }
        let (device, queue, driver) = refusing::open(&raw::adapter(subject.place()));
        let ctx = subject.adopt((device, queue), AdoptOptions::default().threads(false));
        Self { ctx, driver: Some(driver), seen: Cell::new(0) }
    }

    /// Returns the number of submissions so far.
    pub fn submissions(&self) -> u64 {
        let Some(driver) = &self.driver else { return dump::submitted(&self.ctx) };
        self.seen.set(self.seen.get() + driver.set(Rule::Nothing).submissions);
        self.seen.get()
    }
}
