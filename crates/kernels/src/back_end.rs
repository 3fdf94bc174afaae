//! The languages to which naga translates WGSL for drivers, and what each of them needs or cannot say.

use crate::defined_integers::{add_negatives, define_integers};
use crate::{continuing, defined_functions, nested_switches};

/// Language that a driver takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BackEnd {
    /// Vulkan.
    Spirv,
    /// OpenGL.
    Glsl,
    /// Direct3D.
    Hlsl,
    /// Metal.
    Msl,
    /// The browser.
    Wgsl,
}

/// Rewrites what naga 30 does not translate to a language as WGSL defines it.
///
/// [`Module::mistake_on`](crate::Module::mistake_on) refuses what this does not rewrite.
pub fn fit(module: &mut naga::Module, back_end: BackEnd) {
    match back_end {
        BackEnd::Spirv => defined_functions::define(module),
        BackEnd::Glsl => {
            defined_functions::define(module);
            define_integers(module);
            add_negatives(module);
            nested_switches::leave_step_by_step(module);
            continuing::keep_values(module);
        }
        BackEnd::Hlsl => {
            defined_functions::define(module);
            add_negatives(module);
            continuing::keep_values(module);
        }
        BackEnd::Msl => {
            defined_functions::define(module);
            continuing::keep_values(module);
        }
        BackEnd::Wgsl => {}
    }
}
