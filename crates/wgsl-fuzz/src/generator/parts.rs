//! The parts of the language that a program may use.

use fastrand::Rng;

/// Says which parts of the language a program may use. Each program has some of them: an engine that refuses one part takes
/// the programs without it, and a program with few parts has more of each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Parts {
    /// Allows private variables. Without them, functions get the number of the invocation as an argument.
    pub(super) privates: bool,
    /// Allows functions with statements; other functions only evaluate expressions.
    pub(super) branching_functions: bool,
    /// Allows functions with barriers.
    pub(super) waiting_functions: bool,
    /// Allows pointers, also as parameters.
    pub(super) pointers: bool,
    /// Limits the depth of an expression of a statement.
    pub(super) depth: u32,
    /// Allows variables of structs, arrays and matrices.
    pub(super) composites: bool,
    pub(super) switches: bool,
    pub(super) atomics: bool,
    pub(super) arrays: bool,
    /// Allows to index variables with expressions. Inputs are always indexed so.
    pub(super) dynamic: bool,
    /// Allows indices past the end, which move to the last element. Engines with a device may do something else.
    pub(super) wild: bool,
    /// Allows floats that round, overflow or are no numbers.
    pub(super) free_floats: bool,
    pub(super) returns: bool,
    /// Allows a `return` in a loop.
    pub(super) returns_in_loops: bool,
    /// Stores the results of one slot next to each other, and not those of one invocation.
    pub(super) planar: bool,
    pub(super) barriers: bool,
    /// Allows a `switch` around barriers.
    pub(super) uniform_switches: bool,
    /// Allows numbers of 64 and of 16 bits.
    pub(super) sizes: bool,
    /// Allows operations of subgroups.
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
