//! A parsed program, as the engines on the CPU need it, made once for all of them.

use std::fmt;
use std::sync::{Arc, OnceLock};

use fencepost_cpu::Program as CpuProgram;
use fencepost_kernels::{Interface, Module, ShaderSource};

use crate::program::{ENTRY, Param};

/// A program that is parsed on first use.
#[derive(Clone, Default)]
pub(crate) struct Lazy(OnceLock<Result<Parsed, String>>);

/// A parsed program with its interface.
#[derive(Clone)]
pub(crate) struct Parsed {
    pub(crate) program: Arc<CpuProgram>,
    pub(crate) interface: Interface,
}

impl fmt::Debug for Lazy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.get().is_some() { "parsed" } else { "not parsed" })
    }
}

impl Lazy {
    /// Returns the parsed program.
    ///
    /// # Errors
    /// The program is not valid WGSL, or naga cannot prepare its entry point.
    pub(crate) fn get(&self, text: &str) -> Result<&Parsed, String> {
        self.0.get_or_init(|| Parsed::new(text)).as_ref().map_err(Clone::clone)
    }
}

impl Parsed {
    fn new(text: &str) -> Result<Self, String> {
        let source = ShaderSource::text("program.wgsl", text.to_owned());
        let module = Arc::new(Module::parse(&source).map_err(|error| error.to_string())?);
        let entry = module.entry(ENTRY, &[]).map_err(|error| error.to_string())?;
        let program = CpuProgram::new(&module, &entry).map_err(|error| error.to_string())?;
        Ok(Self { program: Arc::new(program), interface: entry.interface().clone() })
    }

    /// Counts the expressions of all functions.
    pub(crate) fn expressions(&self) -> usize {
        let functions = self.program.module().functions.iter().map(|(_, function)| function);
        let functions = functions.chain([&self.program.entry().function]);
        functions.map(|function| function.expressions.len()).sum()
    }

    /// Returns the bytes of the uniform block.
    pub(crate) fn block(&self, params: &[(&str, Param)]) -> Vec<u8> {
        let Some(block) = &self.interface.params else { return Vec::new() };
        let mut bytes = vec![0; block.size as usize];
        for field in &block.fields {
            let Some((_, param)) = params.iter().find(|(name, _)| *name == field.name) else { continue };
            let value = param.bytes();
            let start = field.offset as usize;
            bytes[start..start + value.len()].copy_from_slice(&value);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use crate::case::Case;
    use crate::generator::Options;

    #[test]
    fn the_uniform_block_has_each_member_at_its_offset() {
        let mut programs = (0..100).map(|seed| Case::new(seed, Options::default()).program());
        let program = programs.find(|program| !program.params.is_empty()).expect("one has parameters");
        let parsed = program.parsed().expect("it is valid");
        let block = parsed.block(&program.params);
        let word = |offset: usize| block[offset..offset + 4].to_vec();
        let expected = |name: &str| {
            let mut params = program.params.iter();
            params.find(|(known, _)| *known == name).expect("it is a member").1.bytes()
        };
        assert_eq!(
            (word(0), word(4), word(8), word(12)),
            (expected("nu"), expected("ni"), expected("nf"), expected("turns"),)
        );
        // Vectors of four words are aligned to 16, and a vector of two words follows a vector of three at 8.
        assert_eq!(block[16..32], expected("vu"));
        assert_eq!(block[32..44], expected("vi"));
        assert_eq!(block[48..56], expected("vf"));
    }
}
