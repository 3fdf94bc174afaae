//! Holds the tests of the rules of graphs.

mod capturing;
mod replaying;

use crate::common::Case;

pub fn cases() -> Vec<Case> {
    [capturing::cases(), replaying::cases()].concat()
}
