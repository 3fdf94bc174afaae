//! R04: a hang is a failure that shows the commands for which each queue waits.
//!
//! For R03, there are models of the scheduler and of the waiters instead, which `cargo xtask model` runs under loom.

use crate::common::watchdog::guard;
use crate::common::{Case, Subject, case};
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("r04_a_hang_is_a_failure_with_a_dump_of_all_queues", hang),
        case("r04_a_panic_is_a_failure_with_its_message", panic),
        case("r04_a_case_that_returns_in_time_is_no_failure", in_time),
    ]
}

/// Watchdog limit that is shorter than the case.
const LIMIT: Duration = Duration::from_millis(200);
/// Limit that is longer than any case takes.
const LONG: Duration = Duration::from_secs(30);

/// Enqueues everything before the limit begins, so that the dump shows it on a machine of any speed.
fn hang(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("hangs here");
    let gate = ctx.user_event("never signalled");
    let mut x = ctx.zeros([8]).unwrap();
    queue.wait_for(&gate.event()).unwrap();
    queue.fill(&mut x, 1_u32).unwrap();
    let done = queue.finish();
    let failure = guard("hangs on purpose", LIMIT, subject, move |_| done.wait().unwrap()).unwrap_err();
    for part in
        ["not over within 200ms", "hangs here", "wait for user event `never signalled`", "lane 0: completed"]
    {
        assert!(failure.contains(part), "`{part}` is missing in:\n{failure}");
    }
    gate.signal();
    assert_eq!(queue.read(&x).wait().unwrap(), [1; 8], "the held read completes after the signal");
}

fn panic(subject: &Subject) {
    let failure = guard("panics on purpose", LONG, subject, |_| {
        std::panic::resume_unwind(Box::new("on purpose"));
    });
    assert_eq!(failure, Err("on purpose".into()));
}

fn in_time(subject: &Subject) {
    assert_eq!(guard("returns", LONG, subject, |subject| drop(subject.ctx())), Ok(()));
}
