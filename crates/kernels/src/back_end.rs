//! The languages to which naga translates WGSL for drivers, and the features that each of them needs or lacks.

use crate::defined_integers::{add_negatives, define_integers};
use crate::{continuing, defined_functions, nested_switches};

/// Language that a driver accepts.
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

/// Rewrites code that naga 30 would translate wrongly to a language.
///
/// [`Module::mistake_on`](crate::Module::mistake_on) refuses the cases that are not rewritten.
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
