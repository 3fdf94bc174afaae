//! The options for the lines that kernels print, and the receivers of the lines.

use fencepost_kernels::{PrintedLine, log_here};
use std::fmt;
use std::io::Write as _;
use std::panic::Location;
use std::sync::Arc;
use std::time::Duration;

/// Default of [`PrintOptions::capacity`].
const CAPACITY: u32 = 64 << 10;

/// Default of [`PrintOptions::limit`].
const LIMIT: Duration = Duration::from_secs(10);

/// Options for the lines that `print` writes in kernels, set by [`Context::set_print`](crate::Context::set_print).
///
/// # Example
/// ```
/// use fencepost::{PrintOptions, PrintTo};
/// let options = PrintOptions { to: PrintTo::Log, ..PrintOptions::default() };
/// assert_eq!(options.capacity, 65_536);
/// ```
#[derive(Clone, Debug)]
pub struct PrintOptions {
    /// Receiver of the lines.
    pub to: PrintTo,
    /// Bytes of device memory for the lines of one launch. Lines that do not fit are counted, and not printed. A line
    /// takes 16 bytes, and 4 bytes for each number in it. The default is 64 KiB.
    pub capacity: u32,
    /// Longest time that a wait without a limit of its own waits for one call of the function that receives lines.
    /// After that, the wait returns [`PrintOverdue`](crate::Kind::PrintOverdue), because the function may be waiting
    /// for the waiting thread. The default is 10 seconds.
    pub limit: Duration,
}

impl Default for PrintOptions {
    fn default() -> Self {
        Self { to: PrintTo::default(), capacity: CAPACITY, limit: LIMIT }
    }
}

/// Receiver of the lines that kernels print.
#[derive(Clone, Default)]
pub enum PrintTo {
    /// The standard output of the program. On Unix, printing does not take the lock of [`stdout`](std::io::stdout), so
    /// a program that holds the lock may wait for the lines; they come before an unfinished line of the program. In the
    /// browser, which has no standard output, the lines go to the log.
    #[default]
    StandardOutput,
    /// The log, with the level `info`.
    Log,
    /// A function that is called for each launch that has printed, on a thread of the context. In a context without
    /// threads, a call that makes progress calls the function. Its calls never overlap. A wait in the function for work
    /// of the same context returns [`WaitInPrint`](crate::Kind::WaitInPrint), and a wait of another thread for the
    /// lines ends after [`PrintOptions::limit`]. If the function panics, the queue of the launch fails with
    /// [`CallbackPanicked`](crate::Kind::CallbackPanicked).
    Function(Arc<dyn Fn(&Printed<'_>) + Send + Sync>),
}

impl fmt::Debug for PrintTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StandardOutput => "StandardOutput",
            Self::Log => "Log",
            Self::Function(_) => "Function",
        })
    }
}

impl PrintTo {
    /// Returns the receiver, and the usual cause of a blocked receiver with its remedy, for the message of a wait that
    /// gives up.
    pub(crate) fn receiver(&self) -> (&'static str, &'static str) {
        match self {
            Self::StandardOutput if cfg!(unix) => {
                ("the standard output", "it takes no more bytes until the program behind it reads them")
            }
            Self::StandardOutput => (
                "the standard output",
                "hold no `stdout().lock()` while you wait, and let the program behind it read what it gets",
            ),
            Self::Log => (
                "the logger of the program",
                "let it wait for no thread that waits for the context; a logger to the standard error waits for a thread that \
                 holds `stderr().lock()`",
            ),
            Self::Function(_) => {
                ("the function for printed lines", "let it wait for no thread that waits for the context")
            }
        }
    }

    /// Passes the lines of a launch to their receiver.
    pub(crate) fn print(&self, printed: &Printed<'_>) {
        match self {
            Self::StandardOutput if cfg!(not(target_arch = "wasm32")) => {
                write_to_standard_output(printed.to_string().as_bytes());
            }
            Self::StandardOutput | Self::Log => {
                log_here!(Info, "kernel `{}`, launched at {}:\n{printed}", printed.kernel, printed.launch);
            }
            Self::Function(function) => function(printed),
        }
    }
}

/// Writes to the standard output without the lock of `std`, because a thread that holds it may wait for the lines.
#[cfg(unix)]
fn write_to_standard_output(bytes: &[u8]) {
    use std::os::fd::AsFd as _;
    // Nothing can be done about a closed standard output.
    if let Ok(own) = std::io::stdout().as_fd().try_clone_to_owned() {
        let _ = std::fs::File::from(own).write_all(bytes);
    }
}

/// Writes to the standard output. `std` converts the characters for a Windows console, so its lock is taken.
#[cfg(not(unix))]
fn write_to_standard_output(bytes: &[u8]) {
    // Nothing can be done about a closed standard output.
    let _ = std::io::stdout().lock().write_all(bytes);
}

/// Lines that one launch has printed. [`Display`](fmt::Display) writes each of them as a line.
#[derive(Debug)]
#[non_exhaustive]
pub struct Printed<'a> {
    /// Name of the kernel.
    pub kernel: &'a str,
    /// Label of the queue.
    pub queue: &'a str,
    /// Line of the program that enqueued the launch.
    pub launch: &'static Location<'static>,
    /// Lines, ordered by invocation.
    pub lines: &'a [PrintedLine],
    /// Number of lines that did not fit into the capacity.
    pub left_out: u32,
    /// Capacity in bytes.
    pub capacity: u32,
}

impl fmt::Display for Printed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for line in self.lines {
            writeln!(f, "{}", line.text)?;
        }
        let Self { kernel, launch, left_out, capacity, .. } = self;
        match left_out {
            0 => Ok(()),
            count => writeln!(
                f,
                "... and {count} further line{} of kernel `{kernel}`, launched at {launch}, did not fit in {capacity} bytes: \
                 raise `PrintOptions::capacity`",
                if *count == 1 { "" } else { "s" }
            ),
        }
    }
}
