//! Tasks of a web page's event loop, its timers, and the language of its compiler.

use fencepost_sync::page::in_turn;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::time::Duration;
use wasm_bindgen_futures::js_sys::{Array, Function, Reflect, global};
use wasm_bindgen_futures::wasm_bindgen::closure::Closure;
use wasm_bindgen_futures::wasm_bindgen::{JsCast, JsValue};

/// A task of the page's event loop.
type PageTask = Box<dyn FnOnce()>;

thread_local! {
    /// Tasks that have not begun, in order.
    static TASKS: RefCell<VecDeque<PageTask>> = RefCell::default();
    /// The port that sends a message for each task; `None` if the browser has no such ports.
    static PORT: Option<JsValue> = port().ok();
}

/// Runs `task` after the page's event loop has run. A message starts it, because browsers delay timers that follow each
/// other, and all timers of a hidden page.
pub(crate) fn after_the_event_loop(task: impl FnOnce() + 'static) {
    TASKS.with_borrow_mut(|tasks| tasks.push_back(Box::new(task)));
    let sent = PORT.with(|port| post(port.as_ref()?).ok());
    if sent.is_none() {
        wasm_bindgen_futures::spawn_local(async { run_next() });
    }
}

fn run_next() {
    let next = TASKS.with_borrow_mut(VecDeque::pop_front);
    if let Some(task) = next {
        in_turn(task);
    }
}

/// Makes a channel whose messages run the tasks, and returns the port that sends them.
fn port() -> Result<JsValue, JsValue> {
    let make: Function = Reflect::get(&global(), &"MessageChannel".into())?.dyn_into()?;
    let channel = Reflect::construct(&make, &Array::new())?;
    let run = Closure::<dyn FnMut()>::new(run_next).into_js_value();
    Reflect::set(&Reflect::get(&channel, &"port1".into())?, &"onmessage".into(), &run)?;
    Reflect::get(&channel, &"port2".into())
}

fn post(port: &JsValue) -> Result<JsValue, JsValue> {
    let send: Function = Reflect::get(port, &"postMessage".into())?.dyn_into()?;
    send.call1(port, &JsValue::NULL)
}

/// Calls `run` once, after `delay`. A browser may call it later: in a hidden page, up to a second.
///
/// # Errors
/// Returns the error of a browser without timers.
pub(crate) fn after(delay: Duration, run: impl FnOnce() + 'static) -> Result<(), JsValue> {
    let set: Function = Reflect::get(&global(), &"setTimeout".into())?.dyn_into()?;
    let run = Closure::<dyn FnMut()>::once_into_js(move || in_turn(run));
    set.call2(&JsValue::UNDEFINED, &run, &JsValue::from_f64(delay.as_secs_f64() * 1e3)).map(drop)
}

/// Returns `true` if the compiler of the browser lacks `unrestricted_pointer_parameters`, as one that contains naga does. Such
/// a compiler may hang on a pointer to a part of a variable, and wants a `return` after a loop that never ends.
pub(crate) fn contains_naga() -> bool {
    !language_feature("unrestricted_pointer_parameters").is_ok_and(|has| has.is_truthy())
}

fn language_feature(name: &str) -> Result<JsValue, JsValue> {
    let mut features = global().into();
    for member in ["navigator", "gpu", "wgslLanguageFeatures"] {
        features = Reflect::get(&features, &member.into())?;
    }
    let has: Function = Reflect::get(&features, &"has".into())?.dyn_into()?;
    has.call1(&features, &name.into())
}
