//! R04: a hang is a failure that shows what everything waits for.
//!
//! R03, the models of scheduler and waiters under loom, runs by `cargo xtask model`.

use crate::common::watchdog::guard;
use crate::common::{Case, Subject, case};
use fencepost::UserEvent;
use std::sync::Mutex;
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("r04_a_hang_is_a_failure_with_a_dump_of_all_queues", hang),
        case("r04_a_panic_is_a_failure_with_its_message", panic),
        case("r04_what_returns_in_time_is_no_failure", in_time),
    ]
}

const LIMIT: Duration = Duration::from_secs(2);

/// Gates of cases that hang on purpose, to be signalled when they have failed.
static GATES: Mutex<Vec<(String, UserEvent)>> = Mutex::new(Vec::new());

fn waits_for_ever(subject: &Subject) {
    let ctx = subject.ctx();
    let (queue, gate) = (ctx.queue("hangs here"), ctx.user_event("never signalled"));
    GATES.lock().unwrap().push((subject.name().into(), gate.clone()));
    let mut x = ctx.zeros([8]).unwrap();
    queue.wait_for(&gate.event()).unwrap();
    queue.fill(&mut x, 1_u32).unwrap();
    queue.finish().wait().unwrap();
}

fn hang(subject: &Subject) {
    let failure = guard("hangs on purpose", LIMIT, subject, waits_for_ever).unwrap_err();
    let mut gates = GATES.lock().unwrap();
    gates.iter().filter(|(name, _)| name == subject.name()).for_each(|(_, gate)| gate.signal());
    gates.retain(|(name, _)| name != subject.name());
    for part in
        ["not over within 2s", "hangs here", "wait for user event `never signalled`", "lane 0: completed"]
    {
        assert!(failure.contains(part), "`{part}` is missing in:\n{failure}");
    }
}

fn panic(subject: &Subject) {
    let failure = guard("panics on purpose", LIMIT, subject, |_| {
        std::panic::resume_unwind(Box::new("on purpose"));
    });
    assert_eq!(failure, Err("on purpose".into()));
}

fn in_time(subject: &Subject) {
    assert_eq!(guard("returns", Duration::from_secs(30), subject, |subject| drop(subject.ctx())), Ok(()));
}
