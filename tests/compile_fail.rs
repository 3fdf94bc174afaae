//! What the compiler refuses, and says.

use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Longer than the first run takes, which compiles everything that the cases need.
const LIMIT: Duration = Duration::from_secs(540);

/// All cases are one suite, as each suite compiles what it needs for itself.
fn compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("../../tests/compile_fail/*.rs");
    cases.compile_fail("../../tests/compile_fail/derive/*.rs");
}

#[test]
fn wrong_launches_and_wrong_argument_structs_do_not_compile() {
    let (sender, receiver) = channel();
    let suite = thread::spawn(move || {
        compile();
        sender.send(()).expect("the test listens");
    });
    let late = matches!(receiver.recv_timeout(LIMIT), Err(RecvTimeoutError::Timeout));
    assert!(!late, "the compiler is not over within {LIMIT:?}");
    suite.join().expect("every case is refused, in the words of its `.stderr`");
}
