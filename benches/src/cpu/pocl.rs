use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};

use super::{
    case::{Case, Program},
    contestant::{Contestant, Prepared},
    opencl::{Launch, OpenCl},
    values::Values,
};

pub(crate) const NAME: &str = "pocl";

/// PoCL, which compiles kernels in OpenCL C for the CPU.
pub(crate) struct Pocl(OpenCl);

struct PoclRow<'c> {
    case: &'c Case,
    launch: Launch<'c>,
    compiled_in: Duration,
}

impl Pocl {
    /// Opens PoCL, or returns an error that says how to install it.
    pub(crate) fn open() -> Result<Self> {
        let opened = OpenCl::open("Portable Computing Language");
        let remedy = "on Debian, `apt-get install pocl-opencl-icd ocl-icd-libopencl1` installs PoCL";
        Ok(Self(opened.context(remedy)?))
    }
}

impl Contestant for Pocl {
    fn name(&self) -> &str {
        NAME
    }

    fn about(&self) -> String {
        self.0.about().to_owned()
    }

    fn is_device(&self) -> bool {
        false
    }

    fn prepare<'c>(&'c self, case: &'c Case) -> Result<Option<Box<dyn Prepared + 'c>>> {
        let Program::Kernel(kernel) = &case.program else { return Ok(None) };
        let Some(source) = kernel.opencl else { return Ok(None) };
        let constants: Vec<String> =
            kernel.overrides.iter().map(|(name, value)| format!("-D {name}={value}")).collect();
        let begun = Instant::now();
        let compiled = self.0.compile(source, kernel.entry, &constants.join(" "))?;
        let compiled_in = begun.elapsed();
        let inputs: Vec<&[u32]> = case.inputs.iter().map(Values::bits).collect();
        let launch = self.0.prepare(compiled, kernel.groups, kernel.a, (&inputs, case.start.bits()))?;
        Ok(Some(Box::new(PoclRow { case, launch, compiled_in })))
    }
}

impl Prepared for PoclRow<'_> {
    fn reset(&mut self) -> Result<()> {
        self.launch.write(self.case.start.bits())
    }

    fn sample(&mut self) -> Result<()> {
        (0..self.case.launches).try_for_each(|_| self.launch.run())
    }

    fn output(&mut self) -> Result<Values> {
        let mut out = self.case.start.clone();
        self.launch.read(out.bits_mut())?;
        Ok(out)
    }

    fn compiled_in(&self) -> Option<Duration> {
        Some(self.compiled_in)
    }
}
