use std::ffi::CStr;

use anyhow::Result;
use naga::{
    back::spv,
    front::wgsl,
    valid::{Capabilities, ValidationFlags, Validator},
};

use crate::job::WGSL;

/// Entry point of the kernel as a C string for Vulkan.
pub(crate) const ENTRY: &CStr = c"saxpy";

/// Translates the kernel for Vulkan 1.1.
pub(crate) fn kernel() -> Result<Vec<u32>> {
    let module = wgsl::parse_str(WGSL)?;
    let info = Validator::new(ValidationFlags::all(), Capabilities::IMMEDIATES).validate(&module)?;
    let options =
        spv::Options { lang_version: (1, 3), flags: spv::WriterFlags::empty(), ..Default::default() };
    Ok(spv::write_vec(&module, &info, &options, None)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_entry_point_is_the_same_for_all() {
        assert_eq!(ENTRY.to_str(), Ok(crate::job::ENTRY));
    }

    #[test]
    fn the_kernel_translates() {
        let words = kernel().expect("naga takes the kernel");
        assert_eq!(words[0], 0x0723_0203, "SPIR-V's magic number");
    }
}
