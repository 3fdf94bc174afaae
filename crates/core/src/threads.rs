//! The threads of a context: two a lane, one for host callbacks.

use crate::scheduler::Engine;
use fencepost_sync::prim::{Mutex, lock};
use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

/// Threads to be joined at the end.
#[derive(Default)]
pub(crate) struct Threads(Mutex<Vec<JoinHandle<()>>>);

impl Threads {
    /// Starts the threads, unless the engine is one without. If the system has none left, the context is lost.
    pub(crate) fn start(engine: &Arc<Engine>) -> Self {
        let started = Self::default();
        if let Err(error) = started.start_all(engine) {
            engine.lose(&format!("the system refuses a thread for a context: {error}"));
        }
        started
    }

    fn start_all(&self, engine: &Arc<Engine>) -> io::Result<()> {
        if !engine.threads {
            return Ok(());
        }
        for lane in 0..engine.lanes.len() {
            self.add(format!("fencepost lane {lane}"), engine, move |e| e.lane_thread(lane))?;
            self.add(format!("fencepost completer {lane}"), engine, move |e| e.completer(lane))?;
        }
        self.add("fencepost callbacks".into(), engine, Engine::callback_thread)
    }

    fn add(
        &self,
        name: String,
        engine: &Arc<Engine>,
        run: impl FnOnce(&Engine) + Send + 'static,
    ) -> io::Result<()> {
        let engine = engine.clone();
        let thread = thread::Builder::new().name(name).spawn(move || run(&engine))?;
        lock(&self.0).push(thread);
        Ok(())
    }

    /// Flushes, waits unless the device is lost, and joins. On a thread of the context's own (the last handle was
    /// in a callback or a waker) a thread of its own does that, as none can wait for itself; so it does where work
    /// waits for another context, which may wait for this very thread. `alive` is kept until the device is gone.
    pub(crate) fn end(&self, engine: &Arc<Engine>, alive: &Arc<()>) {
        let threads = std::mem::take(&mut *lock(&self.0));
        let own = threads.iter().any(|thread| thread.thread().id() == thread::current().id());
        if own || engine.waits_across() {
            let (engine, alive) = (engine.clone(), alive.clone());
            let ended = thread::Builder::new().spawn(move || {
                finish(&engine, threads);
                drop(engine); // and the device with it
                drop(alive);
            });
            if let Err(error) = ended {
                log::error!("a context is leaked: the system refuses a thread to end it: {error}");
            }
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
