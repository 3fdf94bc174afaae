//! A shader uses a file outside of the package.

use fencepost::prelude::*;

#[derive(KernelArgs)]
#[kernel(wgsl = "
//#use \"../../tools.wgsl\"
@compute @workgroup_size(64) fn twice() {}
")]
struct Twice;

fn main() {}
