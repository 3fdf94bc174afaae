//! Collects from the log the reasons for which a kernel is not compiled.

use std::cell::RefCell;
use std::sync::Once;

thread_local! {
    static REASONS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

struct Collector;

impl log::Log for Collector {
    fn enabled(&self, _: &log::Metadata<'_>) -> bool {
        true
    }

    fn log(&self, record: &log::Record<'_>) {
        let text = record.args().to_string();
        if text.contains("is not compiled") {
            REASONS.with_borrow_mut(|reasons| reasons.push(text));
        }
    }

    fn flush(&self) {}
}

/// Returns the reasons of this thread since the last call.
pub(crate) fn take() -> Vec<String> {
    static SET_UP: Once = Once::new();
    SET_UP.call_once(|| {
        log::set_logger(&Collector).expect("the first logger of the process");
        log::set_max_level(log::LevelFilter::Debug);
    });
    REASONS.take()
}
