//! Native code for some built-in kernels.
//!
//! A twin computes what some workgroups of a kernel compute, with the same grid, parameters and buffers, but faster
//! than machine code made of the text. It belongs to one text: a kernel with another text, such as one with a type or an
//! expression from user code, or one that a test has edited, has no twin. Integers and copied numbers are the same as
//! those of the text; sums of floats may be added in another order, within the tolerance that the kernel states.
//!
//! The results of a workgroup do not depend on the workgroups of the same run, because each run has those that a thread
//! happens to take. The interpreter and the checks use the text.

mod fft;
#[cfg(test)]
mod harness;
mod matmul;

use crate::error::Fault;
use crate::program::Program;
use crate::run::GridRun;
use fencepost_kernels::ShaderSource;
use fft::FftTwin;
use matmul::MatmulTwin;
use naga::{Expression, Literal};

/// Native code of a built-in kernel.
pub(crate) enum Twin {
    Matmul(MatmulTwin),
    Fft(FftTwin),
}

impl Twin {
    /// Returns the twin of a program, if the program is a built-in kernel that has one.
    pub(crate) fn of(program: &Program) -> Option<Self> {
        let twin = match program.name() {
            "matmul_tiles" => Self::Matmul(MatmulTwin::of(program)?),
            "fft" | "fft_in_place" | "fft_real" | "fft_to_real" => Self::Fft(FftTwin::of(program)?),
            _ => return None,
        };
        is_built_in(program).then_some(twin)
    }

    /// Executes workgroups from the first one of a run on, and returns the number of the first one that is left. Some
    /// are left if the run has a seed, or if they access elements outside of a buffer: then the text defines the
    /// results.
    ///
    /// # Errors
    /// [`Fault::Stopped`] if the caller stopped the run.
    pub(crate) fn run(&self, run: &GridRun<'_>) -> Result<u64, Fault> {
        if run.seed != 0 || run.groups[2] != 1 {
            return Ok(run.range.start);
        }
        match self {
            Self::Matmul(twin) => twin.run(run),
            Self::Fft(twin) => twin.run(run),
        }
    }
}

/// Returns `true` if a program has the text of the built-in shader with its name: with the shader's own types, and
/// without other files. A Fourier transform may have the snippet for long lines.
fn is_built_in(program: &Program) -> bool {
    let Ok(source) = ShaderSource::builtin(&format!("{}.wgsl", program.name())) else { return false };
    let long = source.clone().with_snippet("fft_memory", "fft_long");
    let text = program.whole_text();
    [source, long].iter().any(|source| source.whole_text().is_ok_and(|known| known == text))
}

/// Returns the value of an override of the type `u32`.
fn override_value(program: &Program, name: &str) -> Option<u32> {
    let module = program.module();
    let (_, constant) =
        module.constants.iter().find(|(_, constant)| constant.name.as_deref() == Some(name))?;
    match module.global_expressions[constant.init] {
        Expression::Literal(Literal::U32(value)) => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::harness::{built_in, program};
    use super::*;
    use fencepost_kernels::{DType, Element};

    fn tiles() -> ShaderSource {
        ShaderSource::builtin("matmul_tiles.wgsl").expect("the shader is built in")
    }

    fn has_twin(source: &ShaderSource) -> bool {
        Twin::of(&program(source, &[])).is_some()
    }

    #[test]
    fn only_the_text_of_a_built_in_kernel_has_a_twin() {
        let typed = |dtype: DType| {
            ["Factor", "Number", "Product"].into_iter().fold(tiles(), |source, alias| {
                source.with_type(alias, dtype).expect("the text has the alias")
            })
        };
        let whole = tiles().whole_text().expect("the snippets are known");
        assert!(has_twin(&tiles()) && has_twin(&typed(f32::DTYPE)));
        assert!(has_twin(&ShaderSource::text("loaded.wgsl", whole.clone())), "a graph stores whole texts");
        assert!(!has_twin(&typed(i32::DTYPE)));
        let activation = "fn activation(x: Number) -> Number { return max(x, 0.0); }";
        assert!(!has_twin(&tiles().with_file("lib/activation.wgsl", activation)));
        assert!(!has_twin(&tiles().edited(|text| text.replace("k < end", "k <= end"))));
        assert!(!has_twin(&ShaderSource::text("loaded.wgsl", whole.replace("k < end", "k <= end"))));
    }

    #[test]
    fn the_value_of_an_override_is_that_of_the_program() {
        for (overrides, value) in [(&[][..], 0), (&[("BIASED", 1.0)], 1)] {
            let program = built_in("matmul_tiles.wgsl", overrides);
            assert_eq!(override_value(&program, "BIASED"), Some(value));
        }
    }
}
