//! The languages to which naga translates WGSL for drivers, and the features that each of them needs or lacks.

use crate::integer_polyfills::{lower_atomic_subtractions, polyfill_integers};
use crate::{continuing, nested_switches, polyfills};

/// Language into which naga translates the kernels for a graphics API.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ShaderLanguage {
    /// SPIR-V, for Vulkan.
    Spirv,
    /// GLSL, for OpenGL.
    Glsl,
    /// HLSL, for Direct3D.
    Hlsl,
    /// MSL, for Metal.
    Msl,
    /// WGSL, for browsers.
    Wgsl,
}

/// Rewrites code that naga 30 would translate wrongly to a language.
///
/// [`Module::translation_error`](crate::Module::translation_error) refuses the cases that are not rewritten.
pub fn legalize(module: &mut naga::Module, shader_language: ShaderLanguage) {
    match shader_language {
        ShaderLanguage::Spirv => polyfills::polyfill_functions(module),
        ShaderLanguage::Glsl => {
            polyfills::polyfill_functions(module);
            polyfill_integers(module);
            lower_atomic_subtractions(module);
            nested_switches::lower_nested_continues(module);
            continuing::spill_body_values(module);
        }
        ShaderLanguage::Hlsl => {
            polyfills::polyfill_functions(module);
            lower_atomic_subtractions(module);
            continuing::spill_body_values(module);
        }
        ShaderLanguage::Msl => {
            polyfills::polyfill_functions(module);
            continuing::spill_body_values(module);
        }
        ShaderLanguage::Wgsl => {}
    }
}
