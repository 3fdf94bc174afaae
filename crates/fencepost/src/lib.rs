#![doc = include_str!("../README.md")]
#![doc = ""]
#![doc = include_str!("overview.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

#[cfg(feature = "algorithms")]
pub use fencepost_algorithms as algorithms;
pub use fencepost_core::*;
pub use fencepost_derive::{Element, KernelArgs};

#[cfg(all(doc, not(doctest)))] // crates/book runs the examples
pub mod guide;

/// Re-exports the names that most programs need.
pub mod prelude {
    pub use crate::{
        Bound, CommandQueue, Context, ContextOptions, DeviceArray, Download, Element, Error, Event, Graph,
        Grid, HostArray, Kernel, KernelArgs, Kind, Pending, Policy, QueueOptions, Result, Upload, UserEvent,
        args, region,
    };
}
