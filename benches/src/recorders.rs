use fencepost::{Context, RecorderChoice};

/// A recorder of Fencepost's, and the contestant that launches through it.
#[derive(Clone, Copy)]
pub(crate) struct Recorder {
    /// As a context names it.
    name: &'static str,
    pub(crate) contestant: &'static str,
    pub(crate) choice: RecorderChoice,
}

/// Every recorder that a context can be asked for.
pub(crate) const RECORDERS: [Recorder; 3] = [
    Recorder { name: "wgpu", contestant: "fencepost wgpu", choice: RecorderChoice::Wgpu },
    Recorder { name: "hal", contestant: "fencepost hal", choice: RecorderChoice::Hal },
    Recorder { name: "direct", contestant: "fencepost direct", choice: RecorderChoice::Direct },
];

impl Recorder {
    /// The same recorder under another name.
    pub(crate) fn called(self, contestant: &'static str) -> Self {
        Self { contestant, ..self }
    }

    /// Whether the context has this recorder: where one cannot be had, another takes its place.
    pub(crate) fn records_for(&self, context: &Context) -> bool {
        context.state_dump().contains(&format!("recorder {}", self.name))
    }
}
