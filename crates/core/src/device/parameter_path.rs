//! The path of parameters to a shader.

/// Names the path of a launch's parameters to the shader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ParameterPath {
    /// The kernel has no parameters.
    Nothing,
    /// The dispatch itself carries the parameters, as immediates.
    Immediates,
    /// A uniform buffer, bound at `index`, holds the parameters. `size` counts their bytes, rounded up to a multiple of
    /// 16.
    Uniform {
        index: u32,
        size: u32,
    },
}
