//! Makes a program from a seed.
//!
//! Each program ends, and WGSL defines its results: each invocation writes its own elements, workgroup memory is exchanged
//! across barriers only, and shared atomics have one operation each. In a portable program floats are exact, and each index is
//! below the number of elements; in another one, the engines of the CPU agree on the results.

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

/// Bounds the steps of an invocation, roughly. It is far below the turns after which lavapipe cuts an invocation.
const MOST_STEPS: u32 = 6_000;

/// Chooses the programs.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Makes a program for which every engine must give the same results. Another program may do what WGSL leaves to the
    /// engine, and the engines of the CPU agree on.
    pub is_portable: bool,
    /// Allows shifts by more than the width of the type, whose amount WGSL takes modulo the width. naga 30 passes the amount
    /// to SPIR-V, which defines no result.
    pub wide_shifts: bool,
    /// Allows zero values of vectors that a compiler knows, and clamps of integers that it knows. SwiftShader returns the
    /// zeros for `select(vec4(5), vec4<i32>(), false_variable)`, and 127 for each byte of `pack4xI8Clamp(zeros)`.
    pub known_zeros: bool,
    /// Allows indices into vectors of the uniform struct that differ between invocations. lavapipe 22.3 reads the component
    /// of one invocation for all of them.
    pub uniform_indices: bool,
    /// Allows to unpack a word of halves that a compiler knows. lavapipe 22.3 returns 0 for `unpack2x16float(0x3c003c00u).y`.
    pub known_halves: bool,
    /// Allows comparisons of integers of 64 bits, which lavapipe 22.3 computes wrongly: `i64(params.ni) >= i64(61)` is
    /// true if `params.ni` is 0.
    pub wide_comparisons: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            is_portable: true,
            wide_shifts: false,
            known_zeros: false,
            uniform_indices: false,
            known_halves: false,
            wide_comparisons: false,
        }
    }
}

/// Holds the state of the generator.
struct Generator {
    rng: Rng,
    options: Options,
    parts: Parts,
    tree: Tree,
    scope: Scope,
    /// Names the buffers that the program may use: WebGPU promises eight.
    buffers: Vec<&'static str>,
    /// Numbers the names.
    names: u32,
    /// Limits the statements that are still made.
    left: i32,
    /// Multiplies the cost of a statement: the turns of the loops around it.
    weight: u32,
    /// Counts the steps of the function so far, roughly.
    steps: u32,
    /// Counts the loops around the statement which it may leave.
    loops: u32,
    /// Is true between a barrier and its partner, where no invocation may return.
    keeps_flow: bool,
    /// Holds the result type of the function; `None` in the entry point and in functions without a result.
    result: Option<Type>,
    /// Is true while the expression must have the same value in each invocation of a workgroup.
    uniform: bool,
}

/// Makes the tree of a seed.
pub(crate) fn generate(seed: u64, mut options: Options) -> Tree {
    if !options.is_portable {
        // The engines of the CPU compute these as WGSL says.
        options.wide_shifts = true;
        options.known_zeros = true;
        options.uniform_indices = true;
        options.known_halves = true;
        options.wide_comparisons = true;
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

    #[test]
    fn a_portable_program_unpacks_known_halves_only_if_the_option_allows_them() {
        let count = |is_portable, known_halves| {
            let options = Options { is_portable, known_halves, ..Options::default() };
            // Few programs have such halves, so a run that looks for them ends at the fifth.
            let seeds = if is_portable && !known_halves { 0..500 } else { 0..3000 };
            let trees = seeds.map(|seed| generate(seed, options));
            trees.filter(|tree| visit::has_known_halves(&mut tree.clone())).take(5).count()
        };
        assert_eq!(count(true, false), 0);
        assert!(count(true, true) > 4);
        assert!(count(false, false) > 4, "the engines of the CPU are compared on known halves");
    }

    #[test]
    fn a_portable_program_compares_integers_of_64_bits_only_if_the_option_allows_it() {
        let count = |is_portable, wide_comparisons| {
            let options = Options { is_portable, wide_comparisons, ..Options::default() };
            let trees = (0..200).map(|seed| generate(seed, options));
            trees.filter(|tree| visit::has_wide_comparisons(&mut tree.clone())).count()
        };
        assert_eq!(count(true, false), 0);
        assert!(count(true, true) > 4);
        assert!(count(false, false) > 4, "the engines of the CPU are compared on such comparisons");
    }
}
