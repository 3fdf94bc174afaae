//! Opens an adapter to examine its device.

use fencepost::{AdapterChoice, Context, ContextOptions, Error};

/// Opens an adapter.
///
/// # Errors
/// No adapter fits the choice, or the driver refuses to open it.
pub(crate) fn open(adapter: AdapterChoice) -> Result<Context, Error> {
    Context::with_options(ContextOptions::default().adapter(adapter)).wait()
}
