//! The rules of queues.

mod adopted;
mod callbacks;
mod current;
mod encode;
mod encode_errors;
mod ends;
mod enqueueing;
mod foreign;
mod foreign_errors;
mod fork_join;
mod order;
mod priorities;
mod synchronize;
mod threads;
mod verbs;
mod waits;

use crate::common::Case;

pub fn cases() -> Vec<Case> {
    [
        enqueueing::cases(),
        order::cases(),
        ends::cases(),
        waits::cases(),
        synchronize::cases(),
        current::cases(),
        verbs::cases(),
        priorities::cases(),
        callbacks::cases(),
        fork_join::cases(),
        adopted::cases(),
        foreign::cases(),
        foreign_errors::cases(),
        encode::cases(),
        encode_errors::cases(),
        threads::cases(),
    ]
    .concat()
}
