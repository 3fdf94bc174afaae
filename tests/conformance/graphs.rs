//! Holds the tests of the rules of graphs.

mod bindings;
mod capturing;
mod edits;
mod random_edits;
mod replaying;

use crate::common::Case;

pub fn cases() -> Vec<Case> {
    [bindings::cases(), capturing::cases(), edits::cases(), random_edits::cases(), replaying::cases()]
        .concat()
}
