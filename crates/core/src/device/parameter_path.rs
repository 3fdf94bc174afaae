//! The path of parameters to a shader.

/// Names the path of a launch's parameters to the shader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ParameterPath {
    Nothing,
    Immediates,
    /// The uniform ring holds the parameters. They are bound at `index`, and `size` is their bytes rounded up to 16.
    Uniform {
        index: u32,
        size: u32,
    },
}
