#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub use fencepost_core::*;
pub use fencepost_derive::KernelArgs;

/// What most programs need.
pub mod prelude {
    pub use crate::{
        CommandQueue, Context, DeviceArray, Download, Event, Grid, HostArray, KernelArgs, Pending, Policy,
        Upload, args,
    };
}
