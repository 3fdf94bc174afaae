//! Waits on the thread of a web page, which may not block.

use crate::Error;
use std::sync::OnceLock;
use std::time::Duration;
use web_time::Instant;

/// Function that returns after the event loop of the page has run.
static PAUSE: OnceLock<fn()> = OnceLock::new();

/// Lets blocking calls wait in a page: they call `pause` until their result exists. Later calls of this function change
/// nothing.
///
/// `pause` returns after the event loop of the page has run, which JavaScript Promise Integration makes possible. Only one
/// call of the program may be paused at a time.
///
/// # Example
/// ```no_run
/// fn pause() { /* an import that suspends the WebAssembly stack */ }
/// fencepost_sync::page::block_by(pause);
/// ```
pub fn block_by(pause: fn()) {
    let _ = PAUSE.set(pause);
}

/// Calls `poll` until it returns a result, and lets the event loop run between two calls. Returns `None` after `limit`.
///
/// # Errors
/// [`Error::WouldBlock`] if the first call returns no result, unless the program has called [`block_by`].
pub fn wait<T>(limit: Option<Duration>, mut poll: impl FnMut() -> Option<T>) -> Result<Option<T>, Error> {
    let start = Instant::now();
    loop {
        if let Some(result) = poll() {
            return Ok(Some(result));
        }
        let pause = PAUSE.get().ok_or(Error::WouldBlock)?;
        if limit.is_some_and(|limit| start.elapsed() >= limit) {
            return Ok(None);
        }
        pause();
    }
}
