//! What the compiler refuses, and says.

use libtest_mimic::{Arguments, Failed, Trial};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

/// Many times what the first run takes, which compiles everything that the cases need: no context is opened here, and only
/// a compiler could hang.
const LIMIT: Duration = Duration::from_secs(1800);

/// The harness is not the standard library's, which reports a test of more than a minute as one that hangs.
fn main() {
    let trial = Trial::test("wrong_launches_and_wrong_argument_structs_do_not_compile", refused);
    libtest_mimic::run(&Arguments::from_args(), vec![trial]).exit();
}

/// All cases are one suite, as each suite compiles what it needs for itself.
fn compile() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("../../tests/compile_fail/*.rs");
    cases.compile_fail("../../tests/compile_fail/derive/*.rs");
}

fn refused() -> Result<(), Failed> {
    let (sender, receiver) = channel();
    let suite = thread::spawn(move || {
        compile();
        // The cases were checked when `compile` dropped them; a late one has no listener.
        let _ = sender.send(());
    });
    if matches!(receiver.recv_timeout(LIMIT), Err(RecvTimeoutError::Timeout)) {
        return Err(format!("the compiler is not over within {LIMIT:?}").into());
    }
    suite
        .join()
        .map_err(|_| "a case compiles, or is refused in other words than those of its `.stderr`".into())
}
