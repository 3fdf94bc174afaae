//! The result of a fault.

use std::time::Duration;

use serde::Serialize;

use super::faults::Placed;
use super::proofs::Run;

/// End of a fault's run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ended {
    /// The named test detected the fault.
    Killed(String),
    Survived,
    DoesNotBuild,
}

impl From<Run> for Ended {
    fn from(run: Run) -> Self {
        match run {
            Run::Passed => Self::Survived,
            Run::Failed(by) => Self::Killed(by),
        }
    }
}

/// Verdict on a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Verdict {
    Killed,
    /// No test detected the fault, and the list explains why.
    Explained,
    Survived,
    DoesNotBuild,
}

/// A fault and its result.
#[derive(Debug, Serialize)]
pub(super) struct Outcome {
    pub(super) fault: String,
    pub(super) place: String,
    pub(super) breaks: String,
    pub(super) result: Verdict,
    pub(super) killed_by: Option<String>,
    pub(super) explained: Option<String>,
    pub(super) seconds: f64,
}

impl Outcome {
    pub(super) fn new(placed: &Placed, ended: Ended, after: Duration) -> Self {
        let fault = &placed.fault;
        let (result, killed_by) = match ended {
            Ended::Killed(by) => (Verdict::Killed, Some(by)),
            Ended::Survived if fault.explained.is_some() => (Verdict::Explained, None),
            Ended::Survived => (Verdict::Survived, None),
            Ended::DoesNotBuild => (Verdict::DoesNotBuild, None),
        };
        Self {
            fault: fault.name.clone(),
            place: placed.place(),
            breaks: fault.breaks.clone(),
            result,
            killed_by,
            explained: fault.explained.clone(),
            seconds: (after.as_secs_f64() * 10.0).round() / 10.0,
        }
    }

    /// Returns `true` if the fault needs no work.
    pub(super) fn is_fine(&self) -> bool {
        matches!(self.result, Verdict::Killed | Verdict::Explained)
    }
}
