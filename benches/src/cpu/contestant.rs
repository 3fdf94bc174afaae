use std::time::Duration;

use anyhow::{Result, ensure};

use super::{case::Case, device::Device, plain::Plain, values::Values};

/// Does the work of a row in its own way.
pub(crate) trait Contestant {
    fn name(&self) -> &str;

    /// Describes the adapter for a reader of the report.
    fn about(&self) -> String;

    /// Returns `true` if the contestant is a device.
    fn is_device(&self) -> bool;

    /// Prepares the arrays of a row, and compiles its kernel.
    fn prepare<'c>(&'c self, case: &'c Case) -> Result<Box<dyn Prepared + 'c>>;
}

/// Holds the arrays of a row.
pub(crate) trait Prepared {
    /// Sets the written array to its first values.
    fn reset(&mut self) -> Result<()>;

    /// Takes a sample: each launch is followed by a wait.
    fn sample(&mut self) -> Result<()>;

    /// Returns the written array.
    fn output(&mut self) -> Result<Values>;

    /// Returns the time of the compilation, as far as it was done before the first sample.
    fn compiled_in(&self) -> Duration;
}

/// Names the devices, each with the part of an adapter's name that chooses it.
pub(crate) const DEVICES: [(&str, &str); 3] =
    [("cpu device", "cpu"), ("lavapipe", "llvmpipe"), ("swiftshader", "swiftshader")];
/// Names a graphics card as [`DEVICES`] does.
pub(crate) const CARD: (&str, &str) = ("gpu", "discrete");
pub(crate) const PLAIN: &str = "rust, rayon";

/// Opens the devices and plain Rust, as far as this machine has them and their names contain `only`.
pub(crate) fn open(
    devices: impl IntoIterator<Item = (&'static str, &'static str)>,
    only: &str,
) -> Result<Vec<Box<dyn Contestant>>> {
    let mut opened: Vec<Box<dyn Contestant>> = Vec::new();
    for (name, adapter) in devices.into_iter().filter(|(name, _)| name.contains(only)) {
        let Ok(adapter) = adapter.parse();
        match Device::open(name, adapter) {
            Ok(device) => opened.push(Box::new(device)),
            Err(error) => eprintln!("{name} is absent: {error:#}"),
        }
    }
    if PLAIN.contains(only) {
        opened.push(Box::new(Plain));
    }
    ensure!(!opened.is_empty(), "no contestant has `{only}` in its name");
    Ok(opened)
}
