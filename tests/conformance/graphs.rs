//! Holds the tests of the rules of graphs.

mod capturing;
mod native;
mod replaying;

use crate::common::Case;

pub fn cases() -> Vec<Case> {
    [capturing::cases(), native::cases(), replaying::cases()].concat()
}
