//! Restores the runtime checks that a launch's kernel omits, before the program changes the launch.

use crate::api::context::compile_job::Job;
use crate::error::Result;
use crate::runtime::owner::Owner;
use crate::work::compiled_kernel::KernelText;
use crate::work::kernel_launch::Launch;

/// Returns a copy of a launch whose kernel has all runtime checks, because the program may change what was proven of
/// the launch.
pub(crate) fn checked(owner: &Owner, launch: &Launch) -> Result<Launch> {
    let mut copy = launch.duplicate();
    let KernelText { source, entry, verb, overrides, trust } = &launch.kernel().origin;
    if trust.is_some() {
        let overrides: Vec<(&str, f64)> = overrides.iter().map(|(name, value)| (&**name, *value)).collect();
        copy.set_kernel(Job::new(source.clone(), entry, &overrides).with_verb(*verb).run(owner)?);
    }
    Ok(copy)
}
