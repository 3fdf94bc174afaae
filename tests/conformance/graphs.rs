//! Holds the tests of the rules of graphs.

mod bindings;
mod capturing;
mod edits;
mod faults;
mod flight;
mod replaying;
mod structure;
mod temporaries;
mod transfers;
mod verb_table;
mod verbs;

use crate::common::Case;

pub fn cases() -> Vec<Case> {
    [
        capturing::cases(),
        replaying::cases(),
        verbs::cases(),
        temporaries::cases(),
        structure::cases(),
        transfers::cases(),
        flight::cases(),
        faults::cases(),
        bindings::cases(),
        edits::cases(),
    ]
    .concat()
}
