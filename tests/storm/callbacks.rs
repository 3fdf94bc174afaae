//! The steps with host callbacks. Some callbacks count, some enqueue work, some drop an array.

use super::array::{Access, Owned};
use super::failures::unless_planned;
use super::shared::Lane;
use super::waits::{Coming, Done, Way, Wrong};
use super::worker::Worker;
use fastrand::Rng;
use fencepost::{ErrorDetail, Event, Result};
use std::collections::BTreeMap;
use std::sync::mpsc::{Receiver, Sender, channel};

/// Callbacks of one thread.
pub struct Callbacks {
    /// Number of callbacks of each queue.
    counts: BTreeMap<u64, usize>,
    /// Number of the last callback of each queue that has run.
    last: BTreeMap<u64, usize>,
    to: Sender<Ran>,
    from: Receiver<Ran>,
    /// Number of callbacks whose message was not received.
    open: usize,
}

/// Message of a callback that has run.
struct Ran {
    key: u64,
    number: usize,
    /// `true` if all work before the callback was done.
    after: bool,
    /// Array that the callback owned, and a read of it.
    back: Option<Result<(Owned, Coming)>>,
}

impl Default for Callbacks {
    fn default() -> Self {
        let (to, from) = channel();
        Self { counts: BTreeMap::new(), last: BTreeMap::new(), to, from, open: 0 }
    }
}

impl Worker<'_> {
    /// Enqueues a callback.
    pub fn callback(&mut self) -> Done {
        self.hear()?;
        let lane = self.some_lane();
        let count = self.callbacks.counts.entry(lane.key).or_default();
        let number = *count;
        *count += 1;
        self.callbacks.open += 1;
        let to = self.callbacks.to.clone();
        let before = lane.queue.marker();
        let key = lane.key;
        let waits = self.wait_inside();
        match self.rng.u32(..4) {
            // The callback owns an array, enqueues a read of it, and sends both back.
            0 | 1 if self.arrays.iter().any(|owned| !owned.part) => {
                let at = self.some_array(|owned| !owned.part).expect("there is one");
                let owned = self.arrays.swap_remove(at);
                let other = self.lane_at(owned.home);
                let rng = self.rng.fork();
                let from = self.here();
                lane.queue.callback(move || {
                    let after = is_over(&before);
                    let back = work(owned, &other, rng, from);
                    let waited = waits.map_or(Ok(()), |wait| wait(&other));
                    let back = back.and_then(|back| waited.map(|()| back));
                    let _ = to.send(Ran { key, number, after, back: Some(back) });
                })?;
            }
            // The callback drops the last handle of an array and of a queue.
            2 if self.arrays.iter().any(|owned| !owned.part) => {
                let at = self.some_array(|owned| !owned.part).expect("there is one");
                let owned = self.arrays.swap_remove(at);
                let queue = lane.queue.fork("of a callback");
                lane.queue.callback(move || {
                    let after = is_over(&before);
                    drop((owned, queue));
                    let _ = to.send(Ran { key, number, after, back: None });
                })?;
            }
            _ => lane.queue.callback(move || {
                let _ = to.send(Ran { key, number, after: is_over(&before), back: None });
            })?,
        }
        Ok(())
    }

    /// Draws how a callback waits for a queue, if it waits. The wait may be refused, because it could never end.
    fn wait_inside(&mut self) -> Option<fn(&Lane) -> Result<()>> {
        fn unless_refused(result: Result<()>) -> Result<()> {
            result.or_else(|error| match error.detail() {
                ErrorDetail::WouldDeadlock { .. } => Ok(()),
                _ => Err(error),
            })
        }
        match self.rng.u32(..4) {
            _ if !self.shared.drawn.callbacks_wait => None,
            0 => Some(|lane| unless_refused(lane.queue.finish().wait())),
            1 => Some(|lane| unless_refused(pollster::block_on(lane.queue.finish()))),
            _ => None,
        }
    }

    /// Receives the messages of the callbacks that have run since the last call.
    fn hear(&mut self) -> Done {
        while let Ok(ran) = self.callbacks.from.try_recv() {
            self.callbacks.open -= 1;
            let Ran { key, number, after, back } = ran;
            if !after {
                return Err(Wrong(format!(
                    "callback {number} of q{key} ran before the earlier work of its queue"
                )));
            }
            let due = self.callbacks.last.get(&key).map_or(0, |last| last + 1);
            if number != due {
                return Err(Wrong(format!("callback {number} of q{key} ran, but callback {due} was due")));
            }
            self.callbacks.last.insert(key, number);
            if let Some(back) = back {
                let (owned, coming) = back?;
                self.arrays.push(owned);
                self.comings.push(coming);
            }
        }
        Ok(())
    }

    /// Synchronizes every context, and checks that every callback has run with the right results.
    pub fn end_callbacks(&mut self) -> Done {
        for (at, home) in self.shared.homes.iter().enumerate() {
            self.say(|| format!("synchronizes context {at} at the end"));
            unless_planned(home.ctx.synchronize().wait())?;
        }
        self.hear()?;
        if self.callbacks.open > 0 {
            return Err(Wrong(format!(
                "{} callbacks have not run, all contexts are done",
                self.callbacks.open
            )));
        }
        for coming in std::mem::take(&mut self.comings) {
            self.end(coming, Way::Block)?;
        }
        Ok(())
    }
}

/// Enqueues a fill and a read.
fn work(mut owned: Owned, lane: &Lane, mut rng: Rng, from: String) -> Result<(Owned, Coming)> {
    let value = rng.u32(..);
    owned.order(lane, Access::Write, &mut rng)?;
    lane.queue.fill(&mut owned.array, value)?;
    owned.change(0..owned.len(), |_, _| value);
    owned.used(lane, Access::Write, &mut rng);
    owned.order(lane, Access::Read, &mut rng)?;
    let reading = lane.queue.read(&owned.array);
    owned.used(lane, Access::Read, &mut rng);
    let expected = owned.words.clone();
    Ok((owned, Coming { reading, expected, from: format!("a callback of {from}") }))
}

/// Returns `true` if all work before a callback is done, as it must be.
fn is_over(before: &Event) -> bool {
    before.is_complete().is_ok_and(|over| over)
}
