//! A generated program with its tree.

use std::panic::catch_unwind;

use fencepost_kernels::{Module, ShaderSource};

use crate::generator::{Options, generate};
use crate::program::Program;
use crate::tree::{Tree, visit};

/// A generated program, which the shrinker can reduce.
#[derive(Clone, Debug)]
pub struct Case {
    seed: u64,
    is_portable: bool,
    pub(crate) tree: Tree,
}

impl Case {
    /// Makes the program of a seed. The same seed and options make the same program each time.
    pub fn new(seed: u64, options: Options) -> Self {
        Self { seed, is_portable: options.is_portable, tree: generate(seed, options) }
    }

    /// Returns the same case with another tree.
    pub(crate) fn with_tree(&self, tree: Tree) -> Self {
        Self { tree, ..self.clone() }
    }

    /// Returns `true` if all engines must give the same results for the program.
    pub fn is_portable(&self) -> bool {
        self.is_portable
    }

    /// Writes the program.
    pub fn program(&self) -> Program {
        Program::new(self.seed, &self.tree)
    }

    /// Returns why a program is not valid; `None` if it is valid.
    pub fn fault(&self) -> Option<String> {
        let text = self.program().text;
        if self.is_portable && !visit::is_exact(&mut self.tree.clone()) {
            return Some(format!("an operation on floats may round\n{text}"));
        }
        let source = ShaderSource::text("program.wgsl", text.clone());
        match catch_unwind(|| Module::parse(&source).map(drop)) {
            Ok(Ok(())) => None,
            Ok(Err(error)) => Some(format!("{error}\n{text}")),
            Err(_) => Some(format!("naga panics\n{text}")),
        }
    }
}
