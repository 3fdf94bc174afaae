//! The logger of a test program: the environment's logger, and receivers of tests that get each message.

use std::sync::{Arc, Mutex, PoisonError};

/// A receiver of the messages of the library.
type Receiver = Arc<dyn Fn(&str) + Send + Sync>;

static RECEIVERS: Mutex<Vec<(u64, Receiver)>> = Mutex::new(Vec::new());

#[cfg(not(target_arch = "wasm32"))]
struct Logger(env_logger::Logger);
/// The logger in a page, which has no environment.
#[cfg(target_arch = "wasm32")]
struct Logger;

impl log::Log for Logger {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        #[cfg(not(target_arch = "wasm32"))]
        if self.0.matches(record) {
            self.0.log(record);
        }
        if record.target().starts_with("fencepost") {
            let receivers: Vec<Receiver> = receivers().iter().map(|(_, receiver)| receiver.clone()).collect();
            let text = record.args().to_string();
            receivers.iter().for_each(|receiver| receiver(&text));
        }
    }

    fn flush(&self) {
        #[cfg(not(target_arch = "wasm32"))]
        self.0.flush();
    }
}

fn receivers() -> std::sync::MutexGuard<'static, Vec<(u64, Receiver)>> {
    RECEIVERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sets the logger of this program. Without a variable in the environment it writes nothing, because tests provoke failures.
#[cfg(not(target_arch = "wasm32"))]
pub fn set() {
    let logger = env_logger::Builder::from_env(env_logger::Env::default().default_filter_or("off")).build();
    log::set_max_level(logger.filter().max(log::LevelFilter::Error));
    log::set_boxed_logger(Box::new(Logger(logger))).expect("the first logger of the process");
}

/// Sets the logger of the page.
#[cfg(target_arch = "wasm32")]
pub fn set() {
    log::set_max_level(log::LevelFilter::Error);
    log::set_boxed_logger(Box::new(Logger)).expect("the first logger of the page");
}

/// Passes each message of the library to `receive`, until the returned value is dropped. This includes messages from
/// other tests.
pub fn receive(receive: impl Fn(&str) + Send + Sync + 'static) -> Receiving {
    let mut receivers = receivers();
    let number = receivers.last().map_or(0, |(last, _)| last + 1);
    receivers.push((number, Arc::new(receive)));
    Receiving(number)
}

pub struct Receiving(u64);

impl Drop for Receiving {
    fn drop(&mut self) {
        let mut all = receivers();
        let at = all.iter().position(|(number, _)| *number == self.0);
        let removed = at.map(|at| all.remove(at));
        drop(all);
        drop(removed);
    }
}
