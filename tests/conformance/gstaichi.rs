//! What the tests of GsTaichi, and of Quadrants, which goes on with it, ask for, where no rule's own test asks it: docs/testing.md has the table.

use crate::common::Case;

pub fn cases() -> Vec<Case> {
    Vec::new()
}
