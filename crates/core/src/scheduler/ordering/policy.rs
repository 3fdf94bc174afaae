//! What happens when two queues use the same bytes and nothing orders them.

/// What a context does about uses of the same bytes that the program left unordered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Policy {
    /// Missing waits are added: the result is the one of running every command in the order of the calls.
    #[default]
    Ordered,
    /// A missing wait is an [`Error`](crate::Kind::Hazard) that names both uses and the call to add. Only what the
    /// program does counts, never how far the device happens to be, so it says the same on every run.
    Checked,
    /// The program promises that its events and waits order what must be ordered.
    Unchecked,
}
