//! The parts of the language that a program may use.

use fastrand::Rng;

/// Parts of the language that a program may use. Each program uses only some of them, so that an engine that refuses a
/// part still runs other programs, and a program with few parts uses each more often.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    /// Private variables. Without them, functions get the invocation number as an argument.
    pub(super) privates: bool,
    /// Functions with statements; without this part, functions only evaluate expressions.
    pub(super) branching_functions: bool,
    /// Functions with barriers.
    pub(super) waiting_functions: bool,
    /// Pointers, including pointer parameters.
    pub(super) pointers: bool,
    /// Maximum depth of a statement's expressions.
    pub(super) depth: u32,
    /// Variables of structs, arrays and matrices.
    pub(super) composites: bool,
    pub(super) switches: bool,
    pub(super) atomics: bool,
    pub(super) arrays: bool,
    /// Indices that are expressions. Inputs are always indexed by expressions.
    pub(super) dynamic: bool,
    /// Indices past the end, which are clamped to the last element. Engines with a device may do something else.
    pub(super) wild: bool,
    /// Floats that round, overflow or are NaN.
    pub(super) free_floats: bool,
    pub(super) returns: bool,
    /// `return` inside a loop.
    pub(super) returns_in_loops: bool,
    /// `true` if an output is stored slot by slot, not invocation by invocation.
    pub(super) planar: bool,
    pub(super) barriers: bool,
    /// `switch` around barriers.
    pub(super) uniform_switches: bool,
    /// Numbers of 64 and 16 bits.
    pub(super) sizes: bool,
    /// Operations of subgroups.
    pub(super) subgroups: bool,
}

impl Parts {
    /// Chooses the parts of a program.
    pub(super) fn new(rng: &mut Rng, is_portable: bool) -> Self {
        let mut one_in = |of: u32| rng.u32(0..of) == 0;
        let returns = !one_in(3);
        let barriers = one_in(2);
        Self {
            privates: one_in(6),
            branching_functions: one_in(2),
            waiting_functions: one_in(3),
            pointers: one_in(2),
            depth: if one_in(4) { 4 } else { 2 },
            composites: one_in(2),
            switches: one_in(2),
            atomics: one_in(2),
            arrays: one_in(2),
            dynamic: one_in(2),
            wild: one_in(2) && !is_portable,
            free_floats: one_in(2) && !is_portable,
            returns,
            returns_in_loops: returns && one_in(2),
            planar: one_in(2),
            barriers,
            uniform_switches: one_in(2),
            sizes: one_in(3),
            subgroups: barriers && !is_portable && one_in(2),
        }
    }
}
