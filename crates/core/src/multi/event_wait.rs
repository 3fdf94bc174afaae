//! The wait of a queue for an event of another context.

use crate::error::Result;
use crate::runtime::event::{Event, Recording};
use crate::scheduler::engine::Engine;
use crate::scheduler::relay::{Relay, RelaySource, SignalledBy, Signaller};
use fencepost_sync::{PerProcess, Slot};
use std::panic::Location;
use std::sync::{Arc, PoisonError};

/// Enqueues a wait of a queue for an event of another context.
///
/// # Errors
/// The error of the waiting queue; the error of the event's queue if that queue could not be made.
pub(crate) fn wait(
    engine: &Arc<Engine>,
    slot: Slot,
    event: &Event,
    at: &'static Location<'static>,
) -> Result<()> {
    let Some((origin, name)) = origin(event, at)? else { return Ok(()) };
    let signaller = Signaller::new(engine, &name, SignalledBy::OtherContext);
    let enqueueing = lock_enqueueing();
    engine.enqueue_user_wait(slot, signaller.state().clone(), at)?;
    drop(enqueueing);
    Relay::attach(engine, signaller, origin, None);
    Ok(())
}

/// Returns the event as the source of a relay, with its name for messages. Returns `None` if the event was never
/// recorded.
///
/// # Errors
/// The error of the event's queue if that queue could not be made.
fn origin(event: &Event, at: &'static Location<'static>) -> Result<Option<(RelaySource, String)>> {
    let engine = event.owner.engine();
    match event.recording() {
        Recording::Captured(point) => Err(point.refuse("wait_for", at)),
        Recording::Never => Ok(None),
        Recording::Point(point, past, _) => {
            let name = RelaySource::name(engine, point);
            engine.lock().queue_mut(point.slot).note_use();
            Ok(Some((RelaySource::Point(Arc::downgrade(engine), point, past.stretch.clone()), name)))
        }
        Recording::User(user) => {
            let name = format!("user event `{}`", user.label());
            Ok(Some((RelaySource::User(Arc::downgrade(engine), user), name)))
        }
        Recording::Failed(error) => Err(error),
    }
}

/// Locks the enqueueing of waits and copies between contexts. A copy enqueues commands in two contexts. Without the
/// lock, another thread could meanwhile enqueue a wait between them, so that the two contexts wait for each other
/// forever.
pub(crate) fn lock_enqueueing() -> std::sync::MutexGuard<'static, ()> {
    static TURN: PerProcess<std::sync::Mutex<()>> =
        PerProcess::new(std::sync::Mutex::new(()), std::sync::Mutex::default);
    TURN.get().lock().unwrap_or_else(PoisonError::into_inner)
}
