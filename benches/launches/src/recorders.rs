//! The recorders of Fencepost.

use fencepost::{Context, RecorderChoice};

/// A recorder of Fencepost, and the contestant that launches through it.
#[derive(Clone, Copy)]
pub struct Recorder {
    /// Name that a context gives it.
    name: &'static str,
    /// Name of the contestant.
    pub contestant: &'static str,
    /// Choice of the recorder in a context's options.
    pub choice: RecorderChoice,
}

/// Every recorder that a context can be opened with.
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

    /// Returns `true` if the context has this recorder. If a context does not support it, it has another one.
    pub fn records_for(&self, context: &Context) -> bool {
        context.diagnostics().state_dump().contains(&format!("recorder {}", self.name))
    }
}
