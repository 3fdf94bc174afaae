//! A case, and the trials that it makes: one for each subject.

use super::adapters::{self, Found};
use super::full::{full, in_another_mode};
use super::results::{self, Ended};
use super::subject::{Place, Subject};
use super::{validation, watchdog};
use libtest_mimic::{Completion, Failed, Trial};
use std::sync::Arc;
use std::time::Duration;

/// A hang is a failure after this long.
const LIMIT: Duration = Duration::from_secs(60);

/// Some contexts end on a thread of their own, behind the case that made them. A message of the layer then comes later, and a
/// process that ends meanwhile takes the driver away from under them: so the next case, and the end, wait for so long at most.
pub const SETTLE: Duration = Duration::from_secs(10);

/// One conformance test: a rule's number and a sentence that could be false.
#[derive(Clone)]
pub struct Case {
    pub name: &'static str,
    pub run: fn(&Subject),
    pub needs: Needs,
    /// Whether recorders only carry the work: what the case proves is decided before one sees it.
    pub host_side: bool,
}

/// What a case needs of its subject, and why.
#[derive(Clone, Copy)]
pub enum Needs {
    Nothing,
    /// A real adapter.
    Gpu(&'static str),
    /// The CPU recorder.
    Cpu(&'static str),
    /// Submissions that return before their work is done.
    Asynchronous(&'static str),
    /// All queues on one hardware queue.
    OneLane(&'static str),
    /// Shaders that are kept within their bounds.
    BoundsChecks(&'static str),
    /// A driver whose functions a test can exchange.
    Vulkan(&'static str),
}

/// A case that runs on every subject.
pub fn case(name: &'static str, run: fn(&Subject)) -> Case {
    Case { name, run, needs: Needs::Nothing, host_side: false }
}

/// Cases about what the host decides: current queues, waits that are added, errors of arguments, statistics. They run
/// in the default mode; with other recorders or other memory they run in the full suite only.
pub fn host_side(cases: Vec<Case>) -> Vec<Case> {
    cases.into_iter().map(Case::host_side).collect()
}

impl Case {
    /// About what the host decides: see [`host_side`].
    pub fn host_side(self) -> Self {
        Self { host_side: true, ..self }
    }

    /// Only on real adapters.
    pub fn gpu_only(self, reason: &'static str) -> Self {
        Self { needs: Needs::Gpu(reason), ..self }
    }

    /// Only on the CPU recorder.
    pub fn cpu_only(self, reason: &'static str) -> Self {
        Self { needs: Needs::Cpu(reason), ..self }
    }

    /// Only where submissions return before their work is done: not on lavapipe, not on GL.
    pub fn asynchronous(self, reason: &'static str) -> Self {
        Self { needs: Needs::Asynchronous(reason), ..self }
    }

    /// Only where all queues share one hardware queue.
    pub fn one_lane(self, reason: &'static str) -> Self {
        Self { needs: Needs::OneLane(reason), ..self }
    }

    /// Only where wgpu keeps shaders within their bounds: not on GL, not on the CPU recorder.
    pub fn bounds_checked(self, reason: &'static str) -> Self {
        Self { needs: Needs::BoundsChecks(reason), ..self }
    }

    /// Only on Vulkan adapters, of whose driver a test can exchange functions.
    pub fn vulkan_only(self, reason: &'static str) -> Self {
        Self { needs: Needs::Vulkan(reason), ..self }
    }
}

impl Case {
    /// Why the case does not run there, if it does not.
    fn missing(&self, place: &Place) -> Option<&'static str> {
        let again = self.host_side && in_another_mode() && !full();
        let repeated =
            again.then_some("the host decides this: it runs in the default mode and in the full suite");
        self.needs.missing(place).or(repeated)
    }
}

impl Needs {
    /// Why a case with these needs cannot run there, if it cannot.
    fn missing(self, place: &Place) -> Option<&'static str> {
        match self {
            Needs::Nothing => None,
            Needs::Gpu(reason) => place.is_cpu().then_some(reason),
            Needs::Cpu(reason) => (!place.is_cpu()).then_some(reason),
            Needs::Asynchronous(reason) => (!place.is_asynchronous()).then_some(reason),
            Needs::OneLane(reason) => (place.lanes() > 1).then_some(reason),
            Needs::BoundsChecks(reason) => (!place.checks_bounds()).then_some(reason),
            Needs::Vulkan(reason) => (!place.is_vulkan()).then_some(reason),
        }
    }
}

/// A trial for each case on each subject; what cannot run here is listed as ignored, with its reason.
pub fn trials(cases: Vec<Case>) -> Vec<Trial> {
    let Found { places, no_adapter } = adapters::find();
    let mut trials = Vec::new();
    for case in cases {
        if let Some(reason) = no_adapter {
            trials.push(ignored(case.name, None, reason));
        }
        for place in &places {
            trials.push(match case.missing(place) {
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
    let (name, run) = (case.name, case.run);
    let id = format!("{name}::{}", place.name());
    Trial::test(id.clone(), move || {
        let subject = Subject::new(place.clone());
        results::noted(name, place.on(), || watched(&id, &subject, run)).map_err(Failed::from)
    })
}

/// Runs a case under the eyes of the validation layers.
fn watched(id: &str, subject: &Subject, run: fn(&Subject)) -> Result<(), String> {
    let watched = subject.place().is_vulkan();
    if watched {
        validation::forget();
    }
    watchdog::guard(id, LIMIT, subject, run)?;
    subject.settle(SETTLE);
    if watched { validation::check() } else { Ok(()) }
}
