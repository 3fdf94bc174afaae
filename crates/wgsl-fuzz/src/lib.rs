//! Random WGSL programs: a generator, engines that run a program, and a shrinker of programs on which engines differ.
//!
//! - [`Case::new`] makes a program from a seed, and [`Case::program`] writes it.
//! - An [`Engine`] runs a [`Program`]; [`direct_engines()`] and `engines()` list the engines of a run.
//! - A [`Campaign`] runs many seeds on several engines, and [`shrink()`] reduces a program on which they differ.

mod campaign;
mod case;
mod compare;
#[cfg(feature = "adapters")]
mod context_engine;
mod data;
mod direct_engine;
mod engine;
mod engines;
mod features;
mod generator;
mod parsed;
mod program;
mod report;
mod shrink;
mod tolerance;
mod tree;
mod watchdog;
mod workers;

pub use campaign::{Campaign, Found};
pub use case::Case;
pub use compare::Difference;
#[cfg(feature = "adapters")]
pub use context_engine::ContextEngine;
pub use data::{Element, Word};
pub use direct_engine::DirectEngine;
pub use engine::{Answer, Engine, Outputs};
pub use engines::direct_engines;
#[cfg(feature = "adapters")]
pub use engines::engines;
pub use features::Features;
pub use generator::Options;
pub use program::{Buffer, ENTRY, Param, Program};
pub use report::Report;
pub use shrink::shrink;
pub use tolerance::Tolerance;
