//! Mistakes with the choice of a device.

use crate::common::{Case, Subject, case, results};
use fencepost::{AdapterChoice, Context, ContextOptions, Error, Kind};
use std::process::Command;

pub fn cases() -> Vec<Case> {
    const ONCE: &str = "it has nothing to do with the adapter: once is enough";
    vec![
        case("r01_an_adapter_that_is_not_there_is_an_error_that_lists_what_is", not_there).cpu_only(ONCE),
        case(VARIABLE_CASE, wrong_variable).cpu_only(ONCE),
    ]
}

const VARIABLE_CASE: &str = "r01_a_wrong_variable_is_an_error_that_says_its_value";
const VARIABLE: &str = "FENCEPOST_ADAPTER";
const WRONG: &str = "an adapter of the moon";

fn open(adapter: AdapterChoice) -> Error {
    let options = ContextOptions { adapter, ..ContextOptions::default() };
    Context::with_options(options).wait().map(|_| ()).expect_err("there is no such adapter")
}

fn lists_what_there_is(error: &Error, wanted: &str) {
    assert!(matches!(error.kind(), Kind::NoAdapter { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains(wanted), "{text}");
    assert!(fencepost::adapters().iter().all(|adapter| text.contains(&adapter.name)), "{text}");
}

fn not_there(_: &Subject) {
    lists_what_there_is(&open(AdapterChoice::Name(WRONG.into())), WRONG);
    lists_what_there_is(&open(AdapterChoice::Index(9999)), "9999");
    lists_what_there_is(&open(AdapterChoice::Index(usize::MAX)), &usize::MAX.to_string());
}

/// In a process of its own, where the variable is wrong; this very case runs there, too.
fn wrong_variable(s: &Subject) {
    if std::env::var(VARIABLE).is_ok_and(|value| value == WRONG) {
        return lists_what_there_is(&open(AdapterChoice::Auto), WRONG);
    }
    let own = std::env::current_exe().expect("a program knows its own file");
    let name = format!("{VARIABLE_CASE}::{}", s.name());
    let output = Command::new(own)
        .args([&name, "--exact"])
        .env(VARIABLE, WRONG)
        .env_remove(results::VARIABLE)
        .output()
        .expect("it starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}
