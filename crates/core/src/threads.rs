//! The threads of a context: two a lane, one for host callbacks.

use crate::scheduler::Engine;
use fencepost_sync::prim::{Mutex, lock};
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// Threads to be joined at the end.
pub(crate) struct Threads(Mutex<Vec<JoinHandle<()>>>);

impl Threads {
    /// Starts the threads, unless the engine is one without.
    pub(crate) fn start(engine: &Arc<Engine>) -> Self {
        let mut threads = Vec::new();
        if engine.threads {
            for lane in 0..engine.lanes.len() {
                threads.push(spawn(format!("fencepost lane {lane}"), engine, move |e| e.lane_thread(lane)));
                threads
                    .push(spawn(format!("fencepost completer {lane}"), engine, move |e| e.completer(lane)));
            }
            threads.push(spawn("fencepost callbacks".into(), engine, Engine::callback_thread));
        }
        Self(Mutex::new(threads))
    }

    /// Flushes, waits unless the device is lost, and joins. On a thread of the context's own (the last handle was
    /// in a callback or a waker) a thread of its own does that, as none can wait for itself.
    pub(crate) fn end(&self, engine: &Arc<Engine>) {
        let threads = std::mem::take(&mut *lock(&self.0));
        let own = threads.iter().any(|thread| thread.thread().id() == thread::current().id());
        if own {
            let engine = engine.clone();
            thread::spawn(move || finish(&engine, threads));
        } else {
            finish(engine, threads);
        }
    }
}

fn finish(engine: &Engine, threads: Vec<JoinHandle<()>>) {
    engine.close();
    for thread in threads {
        if thread.join().is_err() {
            log::error!("a thread of a context panicked");
        }
    }
}

fn spawn(name: String, engine: &Arc<Engine>, run: impl FnOnce(&Engine) + Send + 'static) -> JoinHandle<()> {
    let engine = engine.clone();
    let thread = thread::Builder::new().name(name).spawn(move || run(&engine));
    thread.expect("the system has no thread left for a context")
}
