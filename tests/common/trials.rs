//! The trials of each case on each subject.

use super::adapters::{self, Found};
use super::case::Case;
use super::full::begin_case;
use super::results::{self, Ended};
use super::subject::{Place, Subject};
use super::{validation, watchdog};
use libtest_mimic::{Completion, Failed, Trial};
use std::sync::Arc;
use std::time::Duration;

/// Longest wait for contexts that end on their own thread after their case. The next case and the end of the process
/// wait for them, because such a context can still produce a message of the validation layer, and the end of the
/// process unloads the driver while the context uses it.
pub const SETTLE: Duration = Duration::from_secs(10);

/// Returns a trial for each case on each subject. A case that cannot run is listed as ignored, with its reason.
pub fn trials(cases: Vec<Case>) -> Vec<Trial> {
    let Found { places, no_adapter } = adapters::find();
    let mut trials = Vec::new();
    for case in cases {
        if let Some(reason) = no_adapter {
            trials.push(ignored(case.name, None, reason));
        }
        for place in &places {
            trials.push(match case.missing(place, &places) {
                Some(reason) => ignored(case.name, Some(place.clone()), reason),
                None => trial(&case, place.clone()),
            });
        }
    }
    trials
}

fn ignored(name: &'static str, place: Option<Arc<Place>>, reason: &'static str) -> Trial {
    let id = format!("{name}::{}", place.as_ref().map_or("no_adapter", |place| place.name()));
    Trial::ignorable_test(id, move || {
        results::note(
            name,
            place.as_ref().map_or(results::NOTHING, |place| place.on()),
            &Ended::NotPossible(reason),
        );
        Ok(Completion::ignored_with(reason))
    })
}

fn trial(case: &Case, place: Arc<Place>) -> Trial {
    let Case { name, limit, .. } = *case;
    let run = case.run.clone();
    let id = format!("{name}::{}", place.name());
    Trial::test(id.clone(), move || {
        let subject = Subject::new(place.clone());
        let ended = || watched(&id, &subject, limit, move |subject| run(subject));
        results::noted(name, place.on(), ended).map_err(Failed::from)
    })
}

/// Runs a case and fails if the validation layers report a message.
fn watched(
    id: &str,
    subject: &Subject,
    limit: Duration,
    run: impl FnOnce(&Subject) + Send + 'static,
) -> Result<(), String> {
    let watched = subject.place().is_vulkan();
    if watched {
        validation::forget();
    }
    watchdog::guard(id, limit, subject, move |subject| {
        begin_case(subject.is_cpu());
        run(subject);
    })?;
    subject.settle(SETTLE);
    if watched { validation::check() } else { Ok(()) }
}
