//! Stands for a native backend on targets that lack it.

use super::{Fence, LostFlag};
use crate::{Error, Lost, Value};
use std::time::Duration;

/// The fence of a backend that this target does not have: there is none.
pub enum VulkanFence {}

impl VulkanFence {
    /// Never makes a fence.
    ///
    /// # Errors
    /// [`Error::Fence`], always.
    pub fn new(_: &wgpu::Device, _: LostFlag) -> Result<Self, Error> {
        Err(Error::Fence { reason: "this target has no Vulkan".into() })
    }

    /// Cannot be called.
    pub fn stage_signal(&self, _: &wgpu::Queue, _: Value) -> bool {
        match *self {}
    }

    /// Cannot be called.
    pub fn unstage_signal(&self, _: &wgpu::Queue, _: Value) -> bool {
        match *self {}
    }

    /// Cannot be called.
    pub fn stage_wait(&self, _: &wgpu::Queue, _: Value) -> bool {
        match *self {}
    }

    /// Cannot be called.
    pub fn unstage_wait(&self, _: &wgpu::Queue) {
        match *self {}
    }
}

impl Fence for VulkanFence {
    fn completed(&self) -> Result<Value, Lost> {
        match *self {}
    }

    fn wait(&self, _: Value, _: Duration) -> Result<Value, Lost> {
        match *self {}
    }
}
