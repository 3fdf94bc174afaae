//! The proof that the host may access the bytes of a block.

/// Proof that the scheduler admitted an access of the host. [`HostAccess`](super::host_access::HostAccess) holds one
/// and lends it by reference only, so the proof ends with the access.
pub(crate) struct HostRight(());

impl HostRight {
    /// Makes a proof. Only `HostAccess` calls this, after it has updated the state of the block.
    pub(crate) fn granted() -> Self {
        Self(())
    }
}
