//! D01: which devices there are, and which of them is opened.

use crate::common::{Case, Subject, case, results};
use fencepost::prelude::*;
use fencepost::{AdapterChoice, AdapterInfo, ContextOptions, Kind, RecorderChoice, adapters};
use std::env;
use std::process::Command;

const NO_ADAPTER: &str = "the CPU recorder is no adapter";

pub fn cases() -> Vec<Case> {
    vec![
        case("d01_an_adapter_is_listed_with_what_it_can_do", listed).gpu_only(NO_ADAPTER),
        case("d01_the_list_is_in_the_order_of_preference", in_order).gpu_only(NO_ADAPTER),
        case("d01_an_adapter_is_chosen_by_its_place", by_place).gpu_only(NO_ADAPTER),
        case("d01_an_adapter_is_chosen_by_its_name", by_name).gpu_only(NO_ADAPTER),
        case("d01_a_choice_that_is_not_there_is_an_error_that_lists_what_is", not_there).gpu_only(NO_ADAPTER),
        case(BY_ENVIRONMENT, by_environment).gpu_only(NO_ADAPTER),
        case("d01_the_recorder_that_is_asked_for_records", recorders).gpu_only(NO_ADAPTER),
    ]
}

fn open(adapter: AdapterChoice) -> fencepost::Result<Context> {
    Context::with_options(ContextOptions { adapter, ..ContextOptions::default() }).wait()
}

fn own(subject: &Subject) -> &AdapterInfo {
    subject.place().info().unwrap()
}

fn listed(subject: &Subject) {
    let known = adapters();
    let info = &known[subject.place().index().unwrap()];
    assert_eq!(info, own(subject));
    assert!(!info.name.is_empty() && info.max_array >= 1 << 20 && info.max_invocations >= 64);
    let text = info.to_string();
    assert!(text.contains(&info.name) && text.contains(info.backend), "{text}");
    assert_eq!(subject.ctx().info(), info);
}

fn in_order(_: &Subject) {
    let kinds: Vec<_> = adapters().iter().map(|info| (info.kind, info.backend == "GL")).collect();
    assert!(kinds.is_sorted(), "{kinds:?}");
}

fn by_place(subject: &Subject) {
    let ctx = open(AdapterChoice::Index(subject.place().index().unwrap())).unwrap();
    assert_eq!(ctx.info(), own(subject));
}

fn by_name(subject: &Subject) {
    let info = own(subject);
    let name = format!("{} {}", info.name, info.backend);
    for name in [name.clone(), name.to_uppercase()] {
        let ctx = open(AdapterChoice::Name(name)).unwrap();
        assert_eq!((&ctx.info().name, ctx.info().backend), (&info.name, info.backend));
    }
}

fn recorders(subject: &Subject) {
    let recorders = [RecorderChoice::Wgpu, RecorderChoice::Hal, RecorderChoice::Direct];
    for (recorder, name) in recorders.into_iter().zip(["recorder wgpu", "recorder hal", "recorder direct"]) {
        let ctx = subject.options(|options| options.recorder = recorder);
        assert!(ctx.state_dump().contains(name), "{recorder:?}:\n{}", ctx.state_dump());
        let queue = ctx.queue("q");
        let (x, mut y) = (ctx.array(&[1_u32, 2, 3]).unwrap(), ctx.zeros([3]).unwrap());
        queue.copy(&x, &mut y).unwrap();
        assert_eq!(queue.read(&y).wait().unwrap(), [1, 2, 3]);
    }
}

fn not_there(_: &Subject) {
    for choice in [AdapterChoice::Index(999), AdapterChoice::Name("no such adapter".into())] {
        let error = open(choice).unwrap_err();
        let Kind::NoAdapter { wanted, found } = error.kind() else { panic!("{error}") };
        assert!(wanted.contains("999") || wanted.contains("no such adapter"), "{wanted}");
        assert!(adapters().iter().all(|info| found.contains(&info.name)), "{found}");
    }
}

const BY_ENVIRONMENT: &str = "d01_the_environment_variable_names_the_adapter";
/// Set for the processes that [`by_environment`] starts: what a process is started with cannot be changed in it.
const CHILD: &str = "FENCEPOST_TEST_CHILD";

fn by_environment(subject: &Subject) {
    match env::var(CHILD).as_deref() {
        Ok("finds it") => assert_eq!(open(AdapterChoice::Auto).unwrap().info(), own(subject)),
        Ok(_) => {
            let error = open(AdapterChoice::Auto).unwrap_err();
            assert!(matches!(error.kind(), Kind::NoAdapter { .. }), "{error}");
        }
        Err(_) => {
            let (place, info) = (subject.place().index().unwrap(), own(subject));
            run_child(subject, &place.to_string(), "finds it");
            run_child(subject, &format!("{} {}", info.name, info.backend), "finds it");
            run_child(subject, "no such adapter", "finds none");
        }
    }
}

/// Runs this very case in a process of its own, where the variable says `adapter`.
fn run_child(subject: &Subject, adapter: &str, outcome: &str) {
    let name = format!("{BY_ENVIRONMENT}::{}", subject.name());
    let mut child = Command::new(env::current_exe().unwrap());
    child
        .args([&name, "--exact"])
        .env("FENCEPOST_ADAPTER", adapter)
        .env(CHILD, outcome)
        .env_remove(results::VARIABLE);
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "`{adapter}`, {outcome}:\n{text}");
}
