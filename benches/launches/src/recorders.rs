//! The recorders of Fencepost.

use fencepost::{Context, RecorderChoice};

/// Names a recorder of Fencepost, and the contestant that launches through it.
#[derive(Clone, Copy)]
pub struct Recorder {
    /// Holds the name that a context gives it.
    name: &'static str,
    /// Names the contestant.
    pub contestant: &'static str,
    /// Selects the recorder in the options of a context.
    pub choice: RecorderChoice,
}

/// Lists every recorder that a context can be opened with.
pub const RECORDERS: [Recorder; 3] = [
    Recorder { name: "wgpu", contestant: "fencepost wgpu", choice: RecorderChoice::Wgpu },
    Recorder { name: "hal", contestant: "fencepost hal", choice: RecorderChoice::Hal },
    Recorder { name: "direct", contestant: "fencepost direct", choice: RecorderChoice::Direct },
];

impl Recorder {
    /// Returns the same recorder with another contestant's name.
    pub fn called(self, contestant: &'static str) -> Self {
        Self { contestant, ..self }
    }

    /// Returns `true` if the context has this recorder. A context that does not support it has another one.
    pub fn records_for(&self, context: &Context) -> bool {
        context.state_dump().contains(&format!("recorder {}", self.name))
    }
}
