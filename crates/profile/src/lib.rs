//! Profiles of GPU command queues: which command ran when, on which queue, and what it waited for.
//!
//! This crate knows neither devices nor queues. `fencepost` records a [`Profile`] and re-exports this crate. This crate
//! defines the rows of a profile, and computes and writes reports about them:
//!
//! * [`Row`]: a command, a wait or a callback, with its [`Interval`], or the reason why it has none;
//! * [`ClockFit`]: the conversion of a device's ticks to the host's time;
//! * [`Summary`], [`Overlap`], [`CriticalPath`]: the times of kernels, overlapping work, and the longest chain;
//! * `Profile::write` with the feature `profile`: a timeline in one HTML file, or a trace for Perfetto.
//!
//! # Example
//! ```
//! use fencepost::{Context, SimulatorOptions};
//! let ctx = Context::simulated(SimulatorOptions::default());
//! let queue = ctx.queue("main");
//! let profiler = ctx.profile();
//! queue.full::<u32, 1>([1024], 7)?;
//! let profile = profiler.finish().wait()?;
//! assert!(profile.summary().rows.iter().any(|row| &*row.name == "fill"));
//! assert!(profile.critical_path().seconds > 0.0);
//! # Ok::<(), fencepost::Error>(())
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]
#![forbid(unsafe_code)]

mod clock;
#[cfg(feature = "profile")]
mod file;
mod file_error;
mod overlap;
mod path;
mod profile;
mod row;
mod spans;
mod summary;
#[cfg(test)]
mod test_profiles;
#[cfg(feature = "profile")]
mod timeline;
#[cfg(feature = "profile")]
mod trace;

pub use clock::{ClockBounds, ClockFit};
pub use file_error::FileError;
pub use overlap::{Busy, Gap, Overlap};
pub use path::CriticalPath;
pub use profile::{Profile, ProfileBatch};
pub use row::{Activity, Awaited, Interval, Row, Unmeasured, WaitCause};
pub use summary::{Summary, SummaryRow};
