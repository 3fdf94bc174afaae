//! The text of a panic in user code.

use fencepost_kernels::report::drop_payload;
use std::any::Any;

/// Returns the text of a panic and drops the payload, whose destructor is user code too.
pub(crate) fn panic_text(payload: Box<dyn Any + Send>) -> String {
    let text = text_of(&*payload).to_owned();
    drop_payload(payload);
    text
}

fn text_of(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("a panic without a text")
}
