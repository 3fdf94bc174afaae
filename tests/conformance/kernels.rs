//! Tests of the rules about kernels, and of D04 without the browser. Arguments are checked, and a kernel gives the
//! results of its reference.

mod arguments;
mod atomics;
mod compiling;
mod elements;
mod grids;
#[cfg(not(target_arch = "wasm32"))]
mod kernel_folder;
#[cfg(target_arch = "wasm32")]
no_page!(kernel_folder, "kernels/kernel_folder.rs", NO_FILES);
mod messages;
mod messages_of_failures;
mod results;
mod returned;
mod several;
pub mod shaders;
mod threads;
mod translated;
mod wgsl;
mod workgroups;

use crate::common::{Case, host_side};

pub fn cases() -> Vec<Case> {
    let parts = [
        host_side(arguments::cases()),
        compiling::cases(),
        kernel_folder::cases(),
        elements::cases(),
        messages::cases(),
        messages_of_failures::cases(),
        workgroups::cases(),
        grids::cases(),
        results::cases(),
        returned::cases(),
        several::cases(),
        threads::cases(),
        atomics::cases(),
        translated::cases(),
        wgsl::cases(),
    ];
    parts.into_iter().flatten().collect()
}
