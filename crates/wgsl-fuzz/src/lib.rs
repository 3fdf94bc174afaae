//! Random WGSL programs: a generator, engines that run a program, and a shrinker of programs on which engines differ.
//!
//! - [`Case::new`] makes a program from a seed, and [`Case::program`] writes it.
//! - An [`Engine`] runs a [`Program`]; [`engines()`] lists the engines of a run.
//! - A [`Campaign`] runs many seeds on several engines, and [`shrink()`] reduces a program on which they differ.

mod campaign;
mod case;
mod compare;
mod context_engine;
mod data;
mod engine;
mod engines;
mod generator;
mod program;
mod shrink;
mod tolerance;
mod tree;

pub use campaign::{Campaign, Found};
pub use case::Case;
pub use compare::Difference;
pub use context_engine::ContextEngine;
pub use data::{Element, Word};
pub use engine::{Answer, Engine, Outputs};
pub use engines::engines;
pub use generator::Options;
pub use program::{Buffer, ENTRY, Param, Program};
pub use shrink::shrink;
pub use tolerance::Tolerance;
