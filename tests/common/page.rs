//! Runs the cases in a web page. JavaScript starts each case on a WebAssembly stack that the page can suspend, so that the
//! blocking calls of a case let the page handle its events.

use super::case::{Case, NO_BLOCKING};
use super::full::begin_case;
use super::subject::{Place, Subject};
use fencepost::{AdapterChoice, Context, ContextOptions, ContextWatch};
use std::cell::RefCell;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::Duration;
use wasm_bindgen::prelude::*;

#[wasm_bindgen]
extern "C" {
    /// Suspends the stack until the event loop of the page has run. The page replaces this import by a suspending one.
    #[wasm_bindgen(js_name = fencepostPause)]
    fn pause();
    /// Asks for the end of the process in which the browser's GPU work runs, and returns at once. If there is no such
    /// process, the trial ends as not possible.
    #[wasm_bindgen(js_name = fencepostEndGpu)]
    pub fn end_gpu_process();
    /// Returns the number of buffers whose memory was freed since the page was loaded.
    #[wasm_bindgen(js_name = fencepostFreedBuffers)]
    pub fn freed_buffers() -> u32;

    /// Returns the number of submissions without command buffers since the page was loaded.
    #[wasm_bindgen(js_name = fencepostEmptySubmissions)]
    pub fn empty_submissions() -> u32;
    /// Keeps the message of a panic, which ends the page's WebAssembly.
    #[wasm_bindgen(js_name = fencepostPanic)]
    fn keep_panic(message: &str);
}

thread_local! {
    static CASES: RefCell<Vec<Case>> = RefCell::default();
    static PLACES: RefCell<Vec<Arc<Place>>> = RefCell::default();
    /// Subject of the trial that runs.
    static RUNNING: RefCell<Option<Subject>> = RefCell::default();
    /// Contexts that this trial opens without its subject.
    static OPENED: RefCell<Option<Receiver<ContextWatch>>> = RefCell::default();
}

/// Keeps the cases for the page, which calls the other functions.
pub fn keep(cases: Vec<Case>) {
    std::panic::set_hook(Box::new(|panic| keep_panic(&panic.to_string())));
    fencepost_sync::page::block_by(pause);
    CASES.set(cases);
}

/// Opens the adapter of the browser, and returns the number of trials. `browser` is the name of the place.
#[wasm_bindgen]
pub fn count_trials(browser: u32) -> u32 {
    let name = if browser == 0 { "chromium" } else { "firefox" };
    let ctx = Context::new().wait().expect("the adapter of the browser opens");
    assert_eq!(ctx.info().backend, "WebGPU", "the browser has an adapter");
    let mut places = vec![Arc::new(Place::adapter(name.into(), 0, ctx.info().clone()))];
    let on_the_page = ContextOptions::default().adapter(AdapterChoice::Cpu);
    let on_the_page = Context::with_options(on_the_page).wait().expect("the CPU device opens");
    places.push(Arc::new(Place::adapter("page".into(), 1, on_the_page.info().clone())));
    places.push(Arc::new(Place::cpu(1)));
    let cases = CASES.with_borrow(Vec::len);
    let count = cases * places.len();
    PLACES.set(places);
    count as u32
}

/// Returns the places of the page.
pub fn places() -> Vec<Arc<Place>> {
    PLACES.with_borrow(Clone::clone)
}

/// Returns the case and the place of a trial.
fn trial(index: u32) -> (Case, Arc<Place>) {
    let index = index as usize;
    let cases = CASES.with_borrow(Vec::len);
    let place = PLACES.with_borrow(|places| places[index / cases].clone());
    (CASES.with_borrow(|all| all[index % cases].clone()), place)
}

/// Returns the name of a trial, as natively.
#[wasm_bindgen]
pub fn trial_name(index: u32) -> String {
    let (case, place) = trial(index);
    format!("{}::{}", case.name, place.name())
}

/// Returns why a trial cannot run; an empty text if it can.
#[wasm_bindgen]
pub fn trial_missing(index: u32) -> String {
    let (case, place) = trial(index);
    case.missing(&place, &places()).unwrap_or_default().into()
}

/// Returns the time limit of a trial in seconds.
#[wasm_bindgen]
pub fn trial_limit(index: u32) -> f64 {
    trial(index).0.limit.as_secs_f64()
}

/// Longest wait for contexts that end after their case, as natively.
const SETTLE: Duration = Duration::from_secs(10);

/// Runs a trial. A failure is a panic.
#[wasm_bindgen]
pub fn run_trial(index: u32) {
    let (case, place) = trial(index);
    let subject = Subject::new(place);
    RUNNING.set(Some(subject.clone()));
    OPENED.set(None);
    begin_case(subject.is_cpu());
    (case.run)(&subject);
    subject.watch_all(opened());
    subject.settle(SETTLE);
}

/// Returns a sender for contexts that the trial opens without its subject.
pub fn watcher() -> Sender<ContextWatch> {
    let (sender, receiver) = channel();
    OPENED.set(Some(receiver));
    sender
}

/// Returns the contexts that were sent since the last call.
fn opened() -> Vec<ContextWatch> {
    OPENED.with_borrow(|opened| opened.iter().flat_map(|receiver| receiver.try_iter()).collect())
}

/// Returns the state dumps of the contexts of the trial that runs.
#[wasm_bindgen]
pub fn state_of_trial() -> String {
    let Some(subject) = RUNNING.with_borrow(Clone::clone) else { return String::new() };
    subject.watch_all(opened());
    subject.dump()
}

/// Returns the size of the memory of the WebAssembly in bytes. It never shrinks.
pub fn memory_bytes() -> usize {
    const PAGE: usize = 65536;
    PAGE * core::arch::wasm32::memory_size::<0>()
}

/// Polls a future each time that it was woken, until it is ready. The page runs between two polls.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let polled = fencepost_sync::page::wait(None, |waker| {
        match future.as_mut().poll(&mut std::task::Context::from_waker(waker)) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        }
    });
    polled.unwrap_or_else(|_| cannot_block()).expect("there is no limit")
}

/// Lets the page handle its events.
pub fn go_on() {
    fencepost_sync::page::pause().unwrap_or_else(|_| cannot_block());
}

/// Lets the page run for at least `duration`.
pub fn sleep(duration: Duration) {
    let begun = web_time::Instant::now();
    while begun.elapsed() < duration {
        go_on();
    }
}

/// Returns the next value of a channel.
#[track_caller]
pub fn received<T>(receiver: &Receiver<T>) -> T {
    loop {
        match receiver.try_recv() {
            Ok(value) => return value,
            Err(TryRecvError::Empty) => go_on(),
            Err(TryRecvError::Disconnected) => panic!("a value is sent"),
        }
    }
}

/// Ends a case that blocks in a turn of the page.
fn cannot_block() -> ! {
    panic!("not possible: {NO_BLOCKING}")
}
