//! Holds the tests of the rules of graphs.

mod capturing;
mod control;
mod control_programs;
mod replaying;

use crate::common::Case;

pub fn cases() -> Vec<Case> {
    [capturing::cases(), control::cases(), control_programs::cases(), replaying::cases()].concat()
}
