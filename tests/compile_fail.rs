//! Checks which programs the compiler rejects, and with which messages.

use libtest_mimic::{Arguments, Failed, Trial};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Limits the time of the suite. It is many times the first run, which compiles all dependencies of the cases. No
/// context is opened here, so only a compiler could hang.
const LIMIT: Duration = Duration::from_secs(1800);

/// Runs the suite without the standard library's harness, which reports a test of more than a minute as a hang.
fn main() {
    let trial = Trial::test("wrong_launches_and_wrong_argument_structs_do_not_compile", refused);
    libtest_mimic::run(&Arguments::from_args(), vec![trial]).exit();
}

/// Compiles all cases in one suite, because each suite compiles its dependencies again.
fn compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("../../tests/compile_fail/*.rs");
    cases.compile_fail("../../tests/compile_fail/derive/*.rs");
}

fn refused() -> Result<(), Failed> {
    let (sender, receiver) = channel();
    let suite = thread::spawn(move || {
        compile();
        // The cases were checked when `compile` dropped them. After the limit has passed, the receiver is gone.
        let _ = sender.send(());
    });
    if matches!(receiver.recv_timeout(LIMIT), Err(RecvTimeoutError::Timeout)) {
        return Err(format!("the compiler is not over within {LIMIT:?}").into());
    }
    suite.join().map_err(|_| "a case compiles, or its errors differ from its `.stderr`".into())
}
