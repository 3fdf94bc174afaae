//! Runs two helper threads. The keeper waits only for time, and signals the user events of the other threads. The
//! driver flushes contexts without threads and runs their callbacks, which may wait for such events.

use super::shared::Shared;
use fencepost::UserEvent;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// Request to the keeper to signal or drop a user event.
pub struct Order {
    pub event: UserEvent,
    pub after: Duration,
    /// `true` if the keeper drops the last handle instead of signalling.
    pub abandon: bool,
}

/// Interval at which contexts without threads are flushed.
const TURN: Duration = Duration::from_micros(200);

/// Executes orders until every sender of orders is dropped.
pub fn keep(orders: &Receiver<Order>) {
    let mut due: Vec<(Instant, Order)> = Vec::new();
    loop {
        match orders.recv_timeout(TURN) {
            Ok(order) => due.push((Instant::now() + order.after, order)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => break,
        }
        let now = Instant::now();
        due.extract_if(.., |(at, _)| *at <= now).for_each(|(_, order)| carry_out(order));
    }
    due.into_iter().for_each(|(_, order)| carry_out(order));
}

fn carry_out(order: Order) {
    if !order.abandon {
        order.event.signal();
    }
}

/// Flushes the contexts without threads until all other threads are done.
pub fn drive(shared: &Shared, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        for home in shared.homes.iter().filter(|home| !home.threads) {
            // An error comes from a planned failure, and the thread of that failure receives it.
            let _ = home.ctx.flush();
        }
        thread::sleep(TURN);
    }
}
