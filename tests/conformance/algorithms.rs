//! Holds the tests of the algorithms: each verb equals its function of the host, within the bound of its documentation.

mod mutated;
mod reduce;

use crate::common::{Case, host_side};

pub fn cases() -> Vec<Case> {
    [reduce::cases(), host_side(mutated::cases())].concat()
}
