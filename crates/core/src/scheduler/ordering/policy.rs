//! The policy for uses of the same bytes that are not ordered.

/// Treatment of uses of the same bytes that the program left unordered.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Policy {
    /// Missing waits are added. The results are the same as if all commands ran one by one in the order of the calls.
    #[default]
    Ordered,
    /// A missing wait is an [`Error`](crate::Kind::Hazard) that names both uses and the call to add. Only the calls of
    /// the program count, never the progress of the device, so every run gives the same answer.
    Checked,
    /// Nothing is checked. The program promises that its events and waits order all uses of the same bytes.
    Unchecked,
}
