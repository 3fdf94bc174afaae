//! The parts of the fuzz targets: how an input is run, and how an input is changed.

pub mod file;
pub mod run;
pub mod seeds;
