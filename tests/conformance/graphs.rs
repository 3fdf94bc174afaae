//! Holds the tests of the rules of graphs.

mod capturing;
mod dot_parser;
mod dumped;
mod dumps;
mod replaying;
mod times;
mod xml_checker;

use crate::common::Case;

pub fn cases() -> Vec<Case> {
    [capturing::cases(), dumps::cases(), replaying::cases(), times::cases()].concat()
}
