use std::time::Duration;

use anyhow::{Result, ensure};

use super::{
    case::Case,
    device::Device,
    plain::{self, Plain},
    pocl::{self, Pocl},
    values::Values,
};

/// One way to do the work of a row.
pub(crate) trait Contestant {
    fn name(&self) -> &str;

    /// Describes the adapter for a reader of the report.
    fn about(&self) -> String;

    /// Returns `true` if the contestant is a device of this library.
    fn is_device(&self) -> bool;

    /// Prepares the arrays of a row, and compiles its kernel. Returns `None` if the contestant has no kernel for this row.
    fn prepare<'c>(&'c self, case: &'c Case) -> Result<Option<Box<dyn Prepared + 'c>>>;
}

/// Arrays of a row, ready for samples.
pub(crate) trait Prepared {
    /// Sets the written array to its first values.
    fn reset(&mut self) -> Result<()>;

    /// Takes a sample: each launch is followed by a wait.
    fn sample(&mut self) -> Result<()>;

    /// Returns the written array.
    fn output(&mut self) -> Result<Values>;

    /// Returns the time of the compilation, as far as it was done before the first sample, or `None` if the contestant
    /// compiles nothing.
    fn compiled_in(&self) -> Option<Duration>;
}

/// Devices, each with the part of an adapter's name that selects it.
pub(crate) const DEVICES: [(&str, &str); 3] =
    [("cpu device", "cpu"), ("lavapipe", "llvmpipe"), ("swiftshader", "swiftshader")];
/// A graphics card, described as in [`DEVICES`].
pub(crate) const CARD: (&str, &str) = ("gpu", "discrete");

/// Name of a contestant that is not a device of this library, and a function that opens it.
pub(crate) type Other = (&'static str, fn() -> Result<Box<dyn Contestant>>);

pub(crate) const PLAIN: Other = (plain::NAME, || Ok(Box::new(Plain)));
pub(crate) const POCL: Other = (pocl::NAME, || Ok(Box::new(Pocl::open()?)));

/// Opens the devices and the other contestants, as far as this machine has them and their names contain `only`.
pub(crate) fn open(
    devices: impl IntoIterator<Item = (&'static str, &'static str)>,
    others: impl IntoIterator<Item = Other>,
    only: &str,
) -> Result<Vec<Box<dyn Contestant>>> {
    let mut opened: Vec<Box<dyn Contestant>> = Vec::new();
    let mut add = |name: &str, contestant: Result<Box<dyn Contestant>>| match contestant {
        Ok(contestant) => opened.push(contestant),
        Err(error) => eprintln!("{name} is absent: {error:#}"),
    };
    for (name, adapter) in devices.into_iter().filter(|(name, _)| name.contains(only)) {
        let Ok(adapter) = adapter.parse();
        add(name, Device::open(name, adapter).map(|device| Box::new(device) as _));
    }
    for (name, open) in others.into_iter().filter(|(name, _)| name.contains(only)) {
        add(name, open());
    }
    ensure!(!opened.is_empty(), "no contestant has `{only}` in its name");
    Ok(opened)
}
