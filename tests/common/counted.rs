//! Counts the submissions of a context without threads.

use super::refusing::{self, Driver, Rule};
use super::{Subject, dump, raw};
use fencepost::{AdoptOptions, Context};
use std::cell::Cell;
use std::sync::Arc;

/// Count of the submissions of a context without threads: from the replaced functions of the driver on Vulkan, from the
/// state dump elsewhere.
pub struct Counted {
    pub ctx: Context,
    driver: Option<Arc<Driver>>,
    seen: Cell<u64>,
}

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
