//! Tests of the rules about queues.

mod adopted;
mod callback_cycles;
#[cfg(not(target_arch = "wasm32"))]
mod callback_waits;
#[cfg(target_arch = "wasm32")]
no_page!(callback_waits, "queues/callback_waits.rs", NOT_SEND);
mod callbacks;
mod current;
mod encode;
mod encode_errors;
mod ends;
mod enqueueing;
mod foreign;
mod foreign_errors;
mod fork_join;
mod many;
mod order;
mod priorities;
mod scopes;
mod starvation;
mod submissions;
mod synchronize;
#[cfg(not(target_arch = "wasm32"))]
mod threads;
#[cfg(target_arch = "wasm32")]
no_page!(threads, "queues/threads.rs", ONE_THREAD);
mod verbs;
mod waits;

use crate::common::{Case, host_side};

pub fn cases() -> Vec<Case> {
    [
        enqueueing::cases(),
        order::cases(),
        many::cases(),
        ends::cases(),
        waits::cases(),
        starvation::cases(),
        submissions::cases(),
        synchronize::cases(),
        host_side(current::cases()),
        scopes::cases(),
        host_side(verbs::cases()),
        host_side(priorities::cases()),
        host_side(callbacks::cases()),
        host_side(callback_waits::cases()),
        host_side(callback_cycles::cases()),
        fork_join::cases(),
        adopted::cases(),
        foreign::cases(),
        foreign_errors::cases(),
        encode::cases(),
        encode_errors::cases(),
        host_side(threads::cases()),
    ]
    .concat()
}
