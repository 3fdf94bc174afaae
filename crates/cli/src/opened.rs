//! An adapter that is opened for a look at its device.

use fencepost::{AdapterChoice, Context, ContextOptions, Error};

/// Opens an adapter.
///
/// # Errors
/// No adapter fits the choice, or the driver refuses.
pub(crate) fn open(adapter: AdapterChoice) -> Result<Context, Error> {
    Context::with_options(ContextOptions { adapter, ..ContextOptions::default() }).wait()
}
