//! Waits on the thread of a web page, which may not block.

use crate::Error;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Wake, Waker};
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

/// Calls `poll` until it returns a result, each time that its waker was woken. The event loop runs between two calls.
/// Returns `None` after `limit`.
///
/// # Errors
/// [`Error::WouldBlock`] if the first call returns no result, unless the program has called [`block_by`].
pub fn wait<T>(
    limit: Option<Duration>,
    mut poll: impl FnMut(&Waker) -> Option<T>,
) -> Result<Option<T>, Error> {
    let start = Instant::now();
    let woken = Arc::new(Woken(AtomicBool::new(true)));
    let waker = Waker::from(woken.clone());
    loop {
        if woken.0.swap(false, Ordering::Relaxed)
            && let Some(result) = poll(&waker)
        {
            return Ok(Some(result));
        }
        let pause = PAUSE.get().ok_or(Error::WouldBlock)?;
        if limit.is_some_and(|limit| start.elapsed() >= limit) {
            return Ok(None);
        }
        pause();
    }
}

/// `true` once a task was woken.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}
