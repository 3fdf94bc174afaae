//! Waits on the thread of a web page, which may not block.

use crate::Error;
use crate::prim::assert_unlocked;
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Wake, Waker};
use std::time::Duration;
use web_time::Instant;

/// Function that returns after the event loop of the page has run.
static PAUSE: OnceLock<fn()> = OnceLock::new();

thread_local! {
    /// `true` while a wait without a time limit polls.
    static IS_ENDLESS: Cell<bool> = const { Cell::new(false) };
    /// `true` during a [turn](in_turn), and while a call is paused.
    static IS_IN_TURN: Cell<bool> = const { Cell::new(false) };
}

/// Lets blocking calls wait in a page: they call `pause` until their result exists. Later calls of this function change
/// nothing.
///
/// `pause` returns after the event loop of the page has run, which JavaScript Promise Integration makes possible. A call
/// that may be paused must be on a stack that JavaScript can suspend. While one call is paused, no other call may block.
///
/// # Example
/// ```no_run
/// fn pause() { /* an import that suspends the WebAssembly stack */ }
/// fencepost_sync::page::block_by(pause);
/// ```
pub fn block_by(pause: fn()) {
    let _ = PAUSE.set(pause);
}

/// Runs a turn of the event loop. JavaScript cannot suspend its stack, so a blocking call in it returns
/// [`Error::WouldBlock`] if its result does not exist yet.
pub fn in_turn<R>(turn: impl FnOnce() -> R) -> R {
    let before = IS_IN_TURN.replace(true);
    let result = turn();
    IS_IN_TURN.set(before);
    result
}

/// Returns `true` if calls may block here: the program has called [`block_by`], this is not a [turn](in_turn), and no
/// call is paused.
pub fn may_block() -> bool {
    PAUSE.get().is_some() && !IS_IN_TURN.get()
}

/// Returns `true` inside the `poll` of a [`wait`] without a time limit. Such a wait should fail if it can never end.
pub fn is_endless() -> bool {
    IS_ENDLESS.get()
}

/// Returns after the event loop has run once.
///
/// # Errors
/// [`Error::WouldBlock`] unless calls [may block](may_block) here.
///
/// # Panics
/// In a build with debug assertions, if the caller holds a lock of this project: the code that the event loop runs could
/// not take it, and in a page the second attempt to lock a mutex is a panic.
pub fn pause() -> Result<(), Error> {
    let pause = PAUSE.get().filter(|_| may_block()).ok_or(Error::WouldBlock)?;
    assert_unlocked("the event loop of the page");
    // The event loop runs code that is not part of the outer wait, on stacks that JavaScript cannot suspend.
    let outer = IS_ENDLESS.replace(false);
    in_turn(pause);
    IS_ENDLESS.set(outer);
    Ok(())
}

/// Calls `poll` until it returns a result, each time that its waker was woken. The event loop runs between two calls.
/// Returns `None` after `limit`. Even a wait without time lets the event loop run once, so that repeated waits make
/// progress.
///
/// # Errors
/// [`Error::WouldBlock`] if the first call returns no result, unless calls [may block](may_block) here.
pub fn wait<T>(
    limit: Option<Duration>,
    mut poll: impl FnMut(&Waker) -> Option<T>,
) -> Result<Option<T>, Error> {
    let start = Instant::now();
    let woken = Arc::new(Woken(AtomicBool::new(true)));
    let waker = Waker::from(woken.clone());
    let mut has_paused = false;
    loop {
        if woken.0.swap(false, Ordering::Relaxed) {
            let outer = IS_ENDLESS.replace(limit.is_none());
            let polled = poll(&waker);
            IS_ENDLESS.set(outer);
            if let Some(result) = polled {
                return Ok(Some(result));
            }
        }
        if has_paused && limit.is_some_and(|limit| start.elapsed() >= limit) {
            return Ok(None);
        }
        pause()?;
        has_paused = true;
    }
}

/// `true` once a task was woken.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}
