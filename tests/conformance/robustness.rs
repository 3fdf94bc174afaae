//! Rule R01: no mistake of a user panics; each has its error.

mod arrays;
mod bounds;
mod devices;
mod dropping;
mod foreign;
mod launching;
mod panics;
mod table;
mod texts;
mod waiting;

use crate::common::Case;

pub fn cases() -> Vec<Case> {
    let parts = [
        arrays::cases(),
        bounds::cases(),
        foreign::cases(),
        texts::cases(),
        launching::cases(),
        panics::cases(),
        waiting::cases(),
        devices::cases(),
        dropping::cases(),
    ];
    parts.into_iter().flatten().collect()
}
