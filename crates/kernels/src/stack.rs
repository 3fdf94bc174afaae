//! The stack on which shaders are parsed and compiled. naga and the CPU's compiler recurse into nested code; the limits
//! in `nesting` keep them within a quarter of this stack, independent of the caller's stack.

/// Size of the stack in bytes.
#[cfg(not(target_family = "wasm"))]
const STACK: usize = 16 << 20;

#[cfg(not(target_family = "wasm"))]
std::thread_local! {
    /// Thread for which this thread was started, with a stack of known size.
    static STARTED_FOR: std::cell::Cell<Option<std::thread::ThreadId>> = const { std::cell::Cell::new(None) };
}

/// Returns the thread whose call runs here: this thread, or the one for which [`on_compiler_stack`] started it.
pub fn calling_thread() -> std::thread::ThreadId {
    #[cfg(not(target_family = "wasm"))]
    if let Some(thread) = STARTED_FOR.get() {
        return thread;
    }
    std::thread::current().id()
}

/// Calls a function on a thread with a stack that is large enough for each shader within the limits. On such a thread,
/// the function is called directly.
///
/// # Errors
/// The system's error if it cannot start a thread.
#[cfg(not(target_family = "wasm"))]
pub fn on_compiler_stack<T: Send>(work: impl FnOnce() -> T + Send) -> std::io::Result<T> {
    if STARTED_FOR.get().is_some() { Ok(work()) } else { on_stack_of(STACK, work) }
}

/// Calls a function on a thread with a given stack size, on which [`on_compiler_stack`] makes direct calls.
///
/// # Errors
/// The system's error if it cannot start a thread.
#[cfg(not(target_family = "wasm"))]
pub fn on_stack_of<T: Send>(bytes: usize, work: impl FnOnce() -> T + Send) -> std::io::Result<T> {
    let caller = calling_thread();
    let known = || {
        STARTED_FOR.set(Some(caller));
        work()
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("fencepost compiler".into()).stack_size(bytes);
        let ended = thread.spawn_scoped(scope, known)?.join();
        Ok(ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    })
}

/// Calls a function directly, because in the browser the page determines the stack.
///
/// # Errors
/// None.
#[cfg(target_family = "wasm")]
pub fn on_compiler_stack<T>(work: impl FnOnce() -> T) -> std::io::Result<T> {
    Ok(work())
}

/// Calls a function, as [`on_compiler_stack`] does.
///
/// # Errors
/// None.
#[cfg(target_family = "wasm")]
pub fn on_stack_of<T>(_: usize, work: impl FnOnce() -> T) -> std::io::Result<T> {
    Ok(work())
}

#[cfg(all(test, not(target_family = "wasm")))]
mod tests {
    use super::*;
    use crate::{Module, ShaderSource};

    #[test]
    fn a_thread_with_the_smallest_stack_reads_texts_that_nest_to_the_limits() {
        let nested = |open: &str, close: &str, deep: usize| {
            format!(
                "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
                @compute @workgroup_size(1) fn k() {{ x[0] = {}1u{}; }}",
                open.repeat(deep),
                close.repeat(deep)
            )
        };
        for (open, close) in [("(", ")"), ("x[", "]"), ("min(1u, ", ")"), ("~", ""), ("1u + (", ")")] {
            for deep in [1, 150, 5000] {
                let text = nested(open, close, deep);
                let read = move || {
                    let module = Module::parse(&ShaderSource::text("k.wgsl", text))?;
                    module.interface("k", &[]).map(drop)
                };
                let thread = std::thread::Builder::new().stack_size(64 << 10).spawn(read).expect("a thread");
                let read = thread.join().expect("no panic");
                assert_eq!(read.is_ok(), deep < 5000, "{open} {deep}: {read:?}");
            }
        }
    }

    #[test]
    fn a_panic_of_the_function_is_one_of_the_caller() {
        let caught = std::panic::catch_unwind(|| on_compiler_stack(|| -> u32 { panic!("inside") }));
        let panic = caught.expect_err("it panics");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"inside"));
    }

    #[test]
    fn a_call_inside_of_another_one_starts_no_thread() {
        let outer = || {
            (
                std::thread::current().id(),
                on_compiler_stack(|| std::thread::current().id()).expect("it is direct"),
            )
        };
        let (outer, inner) = on_compiler_stack(outer).expect("a thread");
        assert_eq!(outer, inner);
        assert_ne!(outer, std::thread::current().id());
        assert_eq!(on_compiler_stack(calling_thread).expect("a thread"), std::thread::current().id());
    }
}
