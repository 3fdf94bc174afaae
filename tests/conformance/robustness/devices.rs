//! R01: mistakes with the choice of a device.

use crate::common::{Case, NO_FILES, Subject, case, results};
use fencepost::{AdapterChoice, Context, ContextOptions, Error, ErrorDetail};
use std::process::Command;

pub fn cases() -> Vec<Case> {
    const ONCE: &str = "the result does not depend on the adapter, so the case runs once";
    vec![
        case("r01_a_missing_adapter_is_an_error_that_lists_all_adapters", not_there).cpu_only(ONCE),
        case(VARIABLE_CASE, wrong_variable).not_in_a_page(NO_FILES).cpu_only(ONCE),
    ]
}

const VARIABLE_CASE: &str = "r01_a_wrong_adapter_variable_is_an_error_that_names_it_and_its_value";
const VARIABLE: &str = "FENCEPOST_ADAPTER";
const WRONG: &str = "an adapter of the moon";

fn open(adapter: AdapterChoice) -> Error {
    let options = ContextOptions::default().adapter(adapter);
    Context::with_options(options).wait().map(|_| ()).expect_err("there is no such adapter")
}

fn lists_all_adapters(error: &Error, wanted: &str) {
    assert!(matches!(error.detail(), ErrorDetail::NoAdapter { .. }), "{error}");
    let text = error.to_string();
    assert!(text.contains(wanted), "{text}");
    assert!(fencepost::adapters().iter().all(|adapter| text.contains(&adapter.name)), "{text}");
}

fn not_there(_: &Subject) {
    lists_all_adapters(&open(AdapterChoice::Name(WRONG.into())), WRONG);
    lists_all_adapters(&open(AdapterChoice::Index(9999)), "9999");
    lists_all_adapters(&open(AdapterChoice::Index(usize::MAX)), &usize::MAX.to_string());
}

/// Runs this case again in a child process, where the variable has a wrong value.
fn wrong_variable(s: &Subject) {
    if std::env::var(VARIABLE).is_ok_and(|value| value == WRONG) {
        let by_variable = open(AdapterChoice::Auto);
        let by_program = open(AdapterChoice::Name(WRONG.into()));
        lists_all_adapters(&by_variable, WRONG);
        assert!(by_variable.to_string().contains(VARIABLE), "{by_variable}");
        assert!(!by_program.to_string().contains(VARIABLE), "{by_program}");
        return;
    }
    let own = std::env::current_exe().expect("a program knows its own file");
    let name = format!("{VARIABLE_CASE}::{}", s.name());
    let output = Command::new(own)
        .args([&name, "--exact"])
        .env(VARIABLE, WRONG)
        .env_remove(results::VARIABLE)
        .output()
        .expect("the child process starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}
