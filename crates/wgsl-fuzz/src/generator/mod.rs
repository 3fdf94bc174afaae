//! Makes a program from a seed.
//!
//! Each program ends, and WGSL defines its results: each invocation writes its own elements, workgroup memory is
//! exchanged only across barriers, and each shared atomic has a single kind of operation. In a portable program, floats
//! are exact and each index is in bounds; for other programs, only the engines on the CPU agree.

mod atomics;
mod barriers;
mod bools;
mod expressions;
mod floats;
mod functions;
mod inexact;
mod integers;
mod parts;
mod places;
mod scope;
mod setup;
mod sizes;
mod statements;
mod subgroups;

use fastrand::Rng;

use self::parts::Parts;
use self::scope::{Scope, Variable};
use crate::tree::Tree;
use crate::tree::types::Type;

/// Approximate maximum of steps of an invocation: far below the number of iterations after which lavapipe ends an
/// invocation.
const MOST_STEPS: u32 = 6_000;

/// Options of the generator.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// `true` if every engine must give the same results. Other programs may use behaviour that WGSL leaves to the
    /// engine, as long as the engines on the CPU agree.
    pub is_portable: bool,
    /// `true` to allow zero vectors and integer clamps that a compiler can evaluate. SwiftShader returns zeros for
    /// `select(vec4(5), vec4<i32>(), false_variable)`, and 127 for each byte of `pack4xI8Clamp(zeros)`.
    pub known_zeros: bool,
    /// `true` to allow indices into vectors of the uniform struct that differ between invocations. lavapipe 22.3 uses
    /// the index of one invocation for all of them.
    pub uniform_indices: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { is_portable: true, known_zeros: false, uniform_indices: false }
    }
}

/// State of the generator.
struct Generator {
    rng: Rng,
    options: Options,
    parts: Parts,
    tree: Tree,
    scope: Scope,
    /// Names of the buffers that the program may use; WebGPU guarantees eight.
    buffers: Vec<&'static str>,
    /// Number of names used so far.
    names: u32,
    /// Number of statements that may still be made.
    left: i32,
    /// Cost factor of a statement: the product of the iteration counts of the loops around it.
    weight: u32,
    /// Steps of the function so far, roughly.
    steps: u32,
    /// Number of surrounding loops that the statement may leave.
    loops: u32,
    /// `true` between a barrier and its partner, where no invocation may return.
    keeps_flow: bool,
    /// Result type of the function; `None` in the entry point and in functions without a result.
    result: Option<Type>,
    /// `true` while the expression must have the same value in each invocation of a workgroup.
    uniform: bool,
}

/// Makes the tree of a seed.
pub(crate) fn generate(seed: u64, mut options: Options) -> Tree {
    if !options.is_portable {
        // The engines on the CPU compute these correctly, so every program may contain them.
        options.known_zeros = true;
        options.uniform_indices = true;
    }
    let mut rng = Rng::with_seed(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5a5a);
    let tree = setup::tree(&mut rng, options.is_portable);
    let parts = Parts::new(&mut rng, options.is_portable);
    // Large programs compile slowly, so most programs are small.
    let left = if rng.u8(0..4) > 0 { rng.i32(2..12) } else { rng.i32(8..40) };
    let mut generator = Generator {
        rng,
        options,
        parts,
        tree,
        scope: Scope::default(),
        buffers: Vec::new(),
        names: 0,
        left,
        weight: 1,
        steps: 0,
        loops: 0,
        keeps_flow: false,
        result: None,
        uniform: false,
    };
    generator.tree.has_privates = parts.privates;
    generator.tree.has_subgroups = parts.subgroups;
    generator.declare_globals();
    generator.functions();
    generator.main();
    generator.tree
}

impl Generator {
    fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    /// Returns `true` if the program may use a buffer.
    fn has(&self, buffer: &str) -> bool {
        self.buffers.contains(&buffer)
    }

    /// Returns `true` in one of `of` cases.
    fn one_in(&mut self, of: u32) -> bool {
        self.rng.u32(0..of) == 0
    }

    fn pick<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.rng.usize(0..of.len())].clone()
    }

    /// Declares a name that cannot be written, and returns it.
    fn declared(&mut self, prefix: &str, ty: &Type) -> String {
        let name = self.name(prefix);
        self.declare(&name, ty, false);
        name
    }

    fn declare(&mut self, name: &str, ty: &Type, is_written: bool) {
        self.scope.push(Variable::named(name, ty.clone(), is_written));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree::visit;

    #[test]
    fn a_program_has_known_zeros_only_if_the_option_allows_them() {
        let count = |known_zeros| {
            let options = Options { known_zeros, ..Options::default() };
            let trees = (0..100).map(|seed| generate(seed, options));
            trees.filter(|tree| visit::has_known_zeros(&mut tree.clone())).count()
        };
        assert_eq!(count(false), 0);
        assert!(count(true) > 20);
    }
}
