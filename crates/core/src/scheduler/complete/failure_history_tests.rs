use super::*;
use crate::error::ErrorDetail;

fn error(name: &str) -> Error {
    ErrorDetail::Busy { array: name.into() }.into()
}

fn name(failures: &FailureHistory, stamp: u64) -> Option<String> {
    let error = failures.error_of(Stamp(stamp))?;
    let ErrorDetail::Busy { array } = error.detail() else { panic!("{error}") };
    Some(array.clone())
}

fn fail(failures: &mut FailureHistory, first: u64, last: u64, name: &str) {
    failures.fail(Stamp(first)..=Stamp(last), &error(name));
}

#[test]
fn a_command_keeps_its_first_error() {
    let mut failures = FailureHistory::default();
    fail(&mut failures, 5, 6, "first");
    fail(&mut failures, 9, 9, "second");
    fail(&mut failures, 3, 12, "third");
    fail(&mut failures, 1, 20, "fourth");
    let names: Vec<_> = (1..=20).map(|stamp| name(&failures, stamp).expect("it has failed")).collect();
    let expected = [("fourth", 2), ("third", 2), ("first", 2), ("third", 2), ("second", 1), ("third", 3)];
    let expected: Vec<_> = expected.iter().flat_map(|&(name, count)| vec![name; count]).collect();
    assert_eq!(names[..12], expected);
    assert!(names[12..].iter().all(|name| name == "fourth") && name(&failures, 21).is_none());
}

/// Fails the last two commands of each round of ten, and keeps the watches of the rounds that `held` selects.
fn rounds(count: u64, held: impl Fn(u64) -> bool) -> (FailureHistory, Vec<(u64, FailureWatch)>) {
    let mut failures = FailureHistory::default();
    let mut rights = Vec::new();
    for round in 0..count {
        if held(round) {
            rights.push((round, failures.stretch()));
        }
        fail(&mut failures, 10 * round + 8, 10 * round + 9, &round.to_string());
        failures.begin(Stamp(10 * round + 10));
    }
    (failures, rights)
}

#[test]
fn failures_with_a_watch_are_kept_exactly() {
    let (failures, rights) = rounds(1000, |round| round % 7 == 3);
    for (round, _) in &rights {
        assert_eq!(name(&failures, 10 * round + 7), None);
        assert_eq!(
            [8, 9].map(|at| name(&failures, 10 * round + at)),
            [Some(round.to_string()), Some(round.to_string())]
        );
    }
    assert!(failures.len() < 1000, "{}", failures.len());
}

#[test]
fn failures_without_a_watch_are_dropped() {
    let [few, many] = [100, 10_000].map(|count| rounds(count, |_| false).0.len());
    assert!(few <= 2 * (2 * NEWEST) && many <= 2 * (2 * NEWEST), "{few} and {many}");
}

#[test]
fn a_failure_across_two_stretches_is_kept_while_the_earlier_one_is_watched() {
    let mut failures = FailureHistory::default();
    let old = failures.stretch();
    failures.begin(Stamp(10));
    fail(&mut failures, 5, 15, "back");
    failures.begin(Stamp(20));
    for round in 2..1000 {
        fail(&mut failures, 10 * round + 8, 10 * round + 9, "later");
        failures.begin(Stamp(10 * round + 10));
    }
    assert_eq!(name(&failures, 7).as_deref(), Some("back"));
    drop(old);
}

#[test]
fn an_error_is_sticky_until_it_is_taken() {
    let mut failures = FailureHistory::default();
    fail(&mut failures, 1, 2, "of a closed queue");
    failures.begin(Stamp(10));
    fail(&mut failures, 12, 14, "taken");
    failures.cancel(Stamp(16)..=Stamp(17), &error("cancelled"));
    let sticky = |failures: &FailureHistory| [2, 9, 13, 16].map(|at| failures.sticky(Stamp(at)).is_some());
    assert_eq!(sticky(&failures), [true, false, true, false]);
    failures.take(Stamp(20));
    assert_eq!(sticky(&failures), [true, false, false, false]);
    failures.take_earlier();
    assert_eq!(sticky(&failures), [false; 4]);
    fail(&mut failures, 21, 22, "now");
    failures.take_earlier();
    assert!(failures.sticky(Stamp(21)).is_some());
    failures.take_all();
    assert!(failures.sticky(Stamp(21)).is_none());
    assert!([2, 13, 16].iter().all(|&at| failures.error_of(Stamp(at)).is_some()));
}

#[test]
fn the_watch_of_a_command_is_that_of_its_stretch() {
    let mut failures = FailureHistory::default();
    let first = failures.stretch();
    failures.begin(Stamp(10));
    let second = failures.stretch();
    failures.begin(Stamp(20));
    for (stamp, stretch) in [(1, &first), (9, &first), (10, &second), (20, &failures.stretch())] {
        assert!(Arc::ptr_eq(&failures.stretch_of(Stamp(stamp)), stretch), "{stamp}");
    }
}
