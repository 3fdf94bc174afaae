// Written by `cargo xtask guide --write`.
#![doc = include_str!("../guide/index.md")]

#[doc = include_str!("../guide/adapters.md")]
pub mod adapters {}

#[doc = include_str!("../guide/async.md")]
pub mod r#async {}

#[doc = include_str!("../guide/beyond_one_machine.md")]
pub mod beyond_one_machine {}

#[doc = include_str!("../guide/browser.md")]
pub mod browser {}

#[doc = include_str!("../guide/checks.md")]
pub mod checks {}

#[doc = include_str!("../guide/ci.md")]
pub mod ci {}

#[doc = include_str!("../guide/cli.md")]
pub mod cli {}

#[doc = include_str!("../guide/elements.md")]
pub mod elements {}

#[doc = include_str!("../guide/elementwise.md")]
pub mod elementwise {}

#[doc = include_str!("../guide/errors.md")]
pub mod errors {}

#[doc = include_str!("../guide/events.md")]
pub mod events {}

#[doc = include_str!("../guide/features.md")]
pub mod features {}

#[doc = include_str!("../guide/first_program.md")]
pub mod first_program {}

#[doc = include_str!("../guide/fourier.md")]
pub mod fourier {}

#[doc = include_str!("../guide/graphs.md")]
pub mod graphs {}

#[doc = include_str!("../guide/histograms.md")]
pub mod histograms {}

#[doc = include_str!("../guide/images.md")]
pub mod images {}

#[doc = include_str!("../guide/kernels.md")]
pub mod kernels {}

#[doc = include_str!("../guide/levels.md")]
pub mod levels {}

#[doc = include_str!("../guide/linear_algebra.md")]
pub mod linear_algebra {}

#[doc = include_str!("../guide/matrices.md")]
pub mod matrices {}

#[doc = include_str!("../guide/memory_model.md")]
pub mod memory_model {}

#[doc = include_str!("../guide/messages.md")]
pub mod messages {}

#[doc = include_str!("../guide/moves.md")]
pub mod moves {}

#[doc = include_str!("../guide/policies.md")]
pub mod policies {}

#[doc = include_str!("../guide/queues.md")]
pub mod queues {}

#[doc = include_str!("../guide/random.md")]
pub mod random {}

#[doc = include_str!("../guide/recipes.md")]
pub mod recipes {}

#[doc = include_str!("../guide/reductions.md")]
pub mod reductions {}

#[doc = include_str!("../guide/scans.md")]
pub mod scans {}

#[doc = include_str!("../guide/segments.md")]
pub mod segments {}

#[doc = include_str!("../guide/select.md")]
pub mod select {}

#[doc = include_str!("../guide/several_devices.md")]
pub mod several_devices {}

#[doc = include_str!("../guide/sorting.md")]
pub mod sorting {}

#[doc = include_str!("../guide/sparse.md")]
pub mod sparse {}

#[doc = include_str!("../guide/statistics.md")]
pub mod statistics {}

#[doc = include_str!("../guide/timing.md")]
pub mod timing {}

#[doc = include_str!("../guide/transfers.md")]
pub mod transfers {}

#[doc = include_str!("../guide/tuning.md")]
pub mod tuning {}
