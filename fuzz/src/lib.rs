//! The parts of the fuzz targets: running an input, and changing it.

pub mod file;
pub mod run;
pub mod seeds;
