//! The part of a device's memory that the host can keep mapped.

/// The memory that the host can keep mapped. Each variant includes those before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum HostReach {
    Nothing,
    /// The host maps staging memory and pinned arrays.
    Staging,
    /// The host also maps the arrays of the device, because device and host share their memory.
    All,
}
