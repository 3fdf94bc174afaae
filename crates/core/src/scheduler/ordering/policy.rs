//! The policy for uses of the same bytes that are not ordered.

/// Selects how a context treats uses of the same bytes that the program left unordered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Policy {
    /// Adds the missing waits. The results are those of all commands run one by one in the order of the calls.
    #[default]
    Ordered,
    /// Reports a missing wait as an [`Error`](crate::Kind::Hazard) that names both uses and the call to add. Only the
    /// calls of the program count, never the progress of the device, so every run gives the same answer.
    Checked,
    /// Checks nothing. The program promises that its events and waits order all uses of the same bytes.
    Unchecked,
}
