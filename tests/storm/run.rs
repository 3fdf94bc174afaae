//! Runs the storm of one seed under a watchdog.

use super::common::subject::Place;
use super::common::watchdog::{Ended, text, within};
use super::contexts::Watches;
use super::end;
use super::helper_threads::{Order, drive, keep};
use super::progress::Progress;
use super::seed::{Drawn, THREADS};
use super::shared::Shared;
use super::waits::{Done, Wrong};
use super::worker::Worker;
use std::any::Any;
use std::env;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::Duration;

/// Time limit of a storm. A longer storm counts as a hang.
const LIMIT: Duration = Duration::from_secs(60);

/// Runs the storm of a seed. If it hangs, prints the action of every thread and the state of every context, then aborts
/// the process, because hanging threads cannot be ended otherwise.
pub fn run(seed: u64, place: Option<Arc<Place>>) -> Result<(), String> {
    let drawn = Drawn::new(seed, place.clone());
    let watches = Watches::default();
    let progress = Arc::new(Progress::new(drawn.threads));
    let own = watches.clone();
    let shown = progress.clone();
    let what = match within("storm", LIMIT, move || storm(drawn, own, progress)) {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(Wrong(what))) => what,
        Err(Ended::Panicked(message)) => format!("panic: {message}"),
        Err(Ended::Late) => {
            let what = format!("not over within {LIMIT:?}\n{}\n{}", shown.shown(), watches.shown());
            eprintln!("{}", explain(seed, place.as_ref(), &what));
            std::process::abort();
        }
    };
    Err(explain(seed, place.as_ref(), &what))
}

/// Returns a failure with the command that runs the same seed again.
pub fn explain(seed: u64, place: Option<&Arc<Place>>, what: &str) -> String {
    let place = place.map_or("cpu", |place| place.name());
    let mode = env::var("FENCEPOST_RECORDER").or_else(|_| env::var("FENCEPOST_TEST_MEMORY"));
    let mode = mode.map(|mode| format!(" --mode {mode}")).unwrap_or_default();
    let threads = env::var(THREADS).map(|count| format!(" --threads {count}")).unwrap_or_default();
    format!("{what}\nagain: cargo xtask storm --adapters {place}{mode}{threads} --seed {seed}")
}

/// Runs the threads, then checks the remaining arrays and contexts.
fn storm(drawn: Drawn, watches: Watches, progress: Arc<Progress>) -> Done {
    let shared = Shared::open(drawn, watches.clone(), progress)?;
    let (keeper, orders) = channel();
    let over = AtomicBool::new(false);
    thread::scope(|scope| {
        let kept = scope.spawn(move || keep(&orders));
        let driver = shared.drawn.driven.then(|| scope.spawn(|| drive(&shared, &over)));
        let ended = threads(&shared, keeper);
        over.store(true, Ordering::Relaxed);
        for helper in [Some(kept), driver].into_iter().flatten() {
            helper.join().map_err(|panic| Wrong(format!("panic of a helper: {}", text(&*panic))))?;
        }
        ended
    })?;
    end::end(shared, &watches)
}

/// Runs every thread. Returns the errors of the threads that failed.
fn threads(shared: &Shared, keeper: Sender<Order>) -> Done {
    thread::scope(|scope| {
        let run = |me: usize| {
            let keeper = keeper.clone();
            scope.spawn(move || Worker::new(shared, me, keeper)?.run())
        };
        let threads: Vec<_> = (0..shared.drawn.threads).map(run).collect();
        drop(keeper);
        let ended = threads.into_iter().enumerate().map(|(me, thread)| {
            let panicked = |panic: Box<dyn Any + Send>| Err(Wrong(format!("panic: {}", text(&*panic))));
            let ended = thread.join().unwrap_or_else(panicked);
            ended.map_err(|Wrong(what)| format!("thread {me}, {}: {what}", shared.progress.of(me)))
        });
        let failed: Vec<String> = ended.filter_map(Result::err).collect();
        if failed.is_empty() { Ok(()) } else { Err(Wrong(failed.join("\n"))) }
    })
}
