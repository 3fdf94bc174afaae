//! The proof that the host is alone with the bytes it reaches.

/// Proves that the scheduler admitted a use of the host: [`HostAccess`](super::host_access::HostAccess) holds one, and gives it
/// out by reference only, as long as the use lasts.
pub(crate) struct HostRight(());

impl HostRight {
    /// Makes a proof. Only for `HostAccess`, which keeps the books of the block.
    pub(crate) fn granted() -> Self {
        Self(())
    }
}
