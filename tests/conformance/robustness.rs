//! Tests of R01 (a caller's mistake never panics, and returns its error) and of related rules.

mod arrays;
mod bounds;
mod devices;
mod dropping;
mod files;
mod foreign;
mod launching;
mod missing_waits;
mod panics;
mod shader_errors;
mod table;
mod texts;
mod user_code;
mod waiting;

use crate::common::{Case, host_side};

pub fn cases() -> Vec<Case> {
    let parts = [
        host_side(arrays::cases()),
        bounds::cases(),
        host_side(files::cases()),
        host_side(foreign::cases()),
        host_side(shader_errors::cases()),
        host_side(launching::cases()),
        missing_waits::cases(),
        panics::cases(),
        host_side(waiting::cases()),
        devices::cases(),
        dropping::cases(),
        texts::cases(),
        user_code::cases(),
    ];
    parts.into_iter().flatten().collect()
}
