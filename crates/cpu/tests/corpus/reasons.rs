//! The reasons why kernels are not compiled, collected from the log.

use fencepost_kernels::report;
use std::sync::{Mutex, Once};
use std::time::Duration;

static REASONS: Mutex<Vec<String>> = Mutex::new(Vec::new());

struct Collector;

impl log::Log for Collector {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let text = record.args().to_string();
        if text.contains("is not compiled") {
            REASONS.lock().expect("no panic").push(text);
        }
    }

    fn flush(&self) {}
}

/// Returns the reasons since the last call.
pub(crate) fn take() -> Vec<String> {
    static SET_UP: Once = Once::new();
    SET_UP.call_once(|| {
        log::set_logger(&Collector).expect("the first logger of the process");
        log::set_max_level(log::LevelFilter::Debug);
    });
    report::settle(Duration::from_secs(10)); // messages arrive through another thread
    std::mem::take(&mut REASONS.lock().expect("no panic"))
}
