//! The memory of a device that the host reaches where it lies.

/// Which memory the host reaches where it is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum HostReach {
    Nothing,
    /// Staging memory and pinned arrays.
    Staging,
    /// Those, and the device's own: it is the same memory.
    All,
}
