//! Two more threads. The keeper waits for nothing but time: it signals the user events of the others. The driver gets contexts
//! without threads on, and runs their callbacks, which may wait for such events.

use super::world::World;
use fencepost::UserEvent;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// What is to be done with a user event.
pub struct Order {
    pub event: UserEvent,
    pub after: Duration,
    /// Whether the last handle is dropped in place of the signal.
    pub abandon: bool,
}

/// How often contexts without threads are flushed.
const TURN: Duration = Duration::from_micros(200);

/// Does what it is told until every thread that could tell it something is gone.
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
pub fn drive(world: &World, over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        for home in world.homes.iter().filter(|home| !home.threads) {
            // An error is one of the storm's, and some thread will be told.
            let _ = home.ctx.flush();
        }
        thread::sleep(TURN);
    }
}
