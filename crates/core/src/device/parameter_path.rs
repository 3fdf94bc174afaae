//! The path of parameters to a shader.

/// The path of a launch's parameters to the shader. They are absent, or the dispatch itself carries them as immediates,
/// or a uniform buffer holds them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ParameterPath {
    Nothing,
    Immediates,
    /// A uniform buffer, bound at `index`, holds the parameters. `size` is the number of their bytes, rounded up to a
    /// multiple of 16.
    Uniform {
        index: u32,
        size: u32,
    },
}
