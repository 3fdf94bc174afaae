//! Holds the tests of the rules of graphs.

mod bindings;
mod capturing;
mod edits;
mod files;
mod replaying;

use crate::common::Case;

pub fn cases() -> Vec<Case> {
    [bindings::cases(), capturing::cases(), edits::cases(), files::cases(), replaying::cases()].concat()
}
