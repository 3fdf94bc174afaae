//! Options for the checks of kernels, and detection of endless waits by threads that execute host functions.
//!
//! The environment variable `FENCEPOST_CHECK` turns on the checks of kernels. `FENCEPOST_CHECKED` is another one: it
//! makes all kernels keep all runtime checks.
//!
//! While a device executes a host function, it does nothing else, so a cycle of waits between such devices never ends.

use crate::error::{ErrorDetail, Result};
use fencepost_sync::PerProcess;
use std::cell::RefCell;
use std::sync::{Mutex, PoisonError};

/// Environment variable that turns the checks of kernels on.
#[cfg(cpu)]
const CHECK_VARIABLE: &str = "FENCEPOST_CHECK";

/// Additional mistakes that the checks of kernels look for. They always look for races between invocations, barriers
/// that only some invocations reach, indices out of range, and reads of device memory that nothing wrote.
///
/// # Example
/// ```
/// use fencepost::{AdapterChoice, CheckOptions, Context, ContextOptions};
/// let check = Some(CheckOptions::default().nan(true));
/// let options = ContextOptions::default().adapter(AdapterChoice::Cpu).check(check);
/// let ctx = Context::with_options(options).wait()?;
/// # Ok::<(), fencepost::Error>(())
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckOptions {
    /// `true` to find integer divisions by zero, divisions of the smallest integer by -1, shifts by too many bits, and
    /// conversions of floats outside the integer's range. WGSL defines a result for all of them, but it is rarely
    /// intended.
    pub operands: bool,
    /// `true` to find operations that make a NaN from operands that are not NaN. With this check, each float is
    /// computed twice.
    pub nan: bool,
    /// `true` to find reads of workgroup variables that no invocation wrote. WGSL sets these variables to zero, so such
    /// a read is not necessarily a mistake.
    pub unwritten_workgroup: bool,
    /// `true` to count a store to a component of a vector as a store to the whole vector, because WGSL allows devices
    /// to implement it that way.
    pub whole_vectors: bool,
    /// `true` to make the queue of a launch with mistakes fail with
    /// [`ErrorDetail::KernelMistakes`](crate::ErrorDetail::KernelMistakes). Then later commands of the queue do not
    /// execute, and the contents of the arrays that the launch writes are undefined.
    pub fail_queue: bool,
}

#[cfg(cpu)]
impl CheckOptions {
    /// Returns the chosen options, or those that the environment variable chooses.
    ///
    /// # Errors
    /// Returns `Setting` if the variable has an unknown value.
    pub(crate) fn or_variable(chosen: Option<Self>) -> Result<Option<Self>> {
        match chosen {
            None => of_value(&std::env::var_os(CHECK_VARIABLE).unwrap_or_default().to_string_lossy()),
            chosen => Ok(chosen),
        }
    }
}

#[cfg(cpu)]
fn of_value(value: &str) -> Result<Option<CheckOptions>> {
    match value.trim() {
        "1" => Ok(Some(CheckOptions::default())),
        "" | "0" => Ok(None),
        _ => {
            let needed = "`1` to check kernels, or `0` or empty to check none";
            Err(ErrorDetail::Setting { name: CHECK_VARIABLE, value: value.into(), needed }.into())
        }
    }
}

impl Default for CheckOptions {
    fn default() -> Self {
        Self {
            operands: true,
            nan: false,
            unwritten_workgroup: false,
            whole_vectors: false,
            fail_queue: false,
        }
    }
}

impl CheckOptions {
    /// With `true`, finds integer operations and conversions without a meaningful result.
    #[must_use]
    pub fn operands(mut self, operands: bool) -> Self {
        self.operands = operands;
        self
    }

    /// With `true`, finds operations that make a NaN.
    #[must_use]
    pub fn nan(mut self, nan: bool) -> Self {
        self.nan = nan;
        self
    }

    /// With `true`, finds reads of workgroup variables that no invocation wrote.
    #[must_use]
    pub fn unwritten_workgroup(mut self, unwritten_workgroup: bool) -> Self {
        self.unwritten_workgroup = unwritten_workgroup;
        self
    }

    /// With `true`, counts a store to a component as a store to the whole vector.
    #[must_use]
    pub fn whole_vectors(mut self, whole_vectors: bool) -> Self {
        self.whole_vectors = whole_vectors;
        self
    }

    /// With `true`, makes the queue of a launch with mistakes fail.
    #[must_use]
    pub fn fail_queue(mut self, fail_queue: bool) -> Self {
        self.fail_queue = fail_queue;
        self
    }
}

const CHECKED_VARIABLE: &str = "FENCEPOST_CHECKED";

/// Returns `true` if the variable requires all runtime checks for all kernels.
///
/// # Errors
/// Returns `Setting` if the variable has an unknown value.
pub(crate) fn all_checked() -> Result<bool> {
    is_yes(&std::env::var_os(CHECKED_VARIABLE).unwrap_or_default().to_string_lossy())
}

fn is_yes(value: &str) -> Result<bool> {
    match value.trim() {
        "1" => Ok(true),
        "" | "0" => Ok(false),
        _ => {
            let needed =
                "`1` to compile all kernels with all runtime checks, or `0` or empty to trust proven kernels";
            Err(ErrorDetail::Setting { name: CHECKED_VARIABLE, value: value.into(), needed }.into())
        }
    }
}

thread_local! {
    /// Devices whose host functions this thread is executing. There may be several, because a thread that waits inside
    /// a function may execute a function of another device.
    static DEVICES: RefCell<Vec<DeviceNumber>> = const { RefCell::new(Vec::new()) };
}

/// Endless waits inside host functions, on all threads: pairs of the function's device and the device that it waits
/// for. A lock of `std` even in loom models, because a static needs a constant initializer. No other lock is taken
/// under it.
static FUNCTION_WAITS: PerProcess<Mutex<Vec<(DeviceNumber, DeviceNumber)>>> =
    PerProcess::new(Mutex::new(Vec::new()), Mutex::default);

/// Id of a device, unique among the existing ones.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct DeviceNumber(pub(crate) usize);

/// Guard that marks this thread as executing a host function.
#[cfg(cpu)]
pub(crate) struct FunctionMark(());

#[cfg(cpu)]
impl FunctionMark {
    /// Marks this thread as executing a function of `device`.
    pub(crate) fn set(device: DeviceNumber) -> Self {
        let _ = DEVICES.try_with(|devices| devices.borrow_mut().push(device));
        Self(())
    }
}

#[cfg(cpu)]
impl Drop for FunctionMark {
    fn drop(&mut self) {
        let _ = DEVICES.try_with(|devices| devices.borrow_mut().pop());
    }
}

/// Returns `true` if this thread is executing a function of `device`.
pub(crate) fn is_set(device: DeviceNumber) -> bool {
    with_devices(|devices| devices.contains(&device))
}

/// Returns `true` if this thread is executing a function of any device.
pub(crate) fn is_any_set() -> bool {
    with_devices(|devices| !devices.is_empty())
}

/// Calls `look` with the devices whose functions this thread is executing. In a destructor at the end of a thread, the
/// list may be gone; then the thread executes no function.
fn with_devices<R>(mut look: impl FnMut(&[DeviceNumber]) -> R) -> R {
    let looked = DEVICES.try_with(|devices| look(&devices.borrow()));
    looked.unwrap_or_else(|_| look(&[]))
}

/// This thread's wait for a device, recorded until the value is dropped.
#[derive(Default)]
pub(crate) struct FunctionWait(Vec<(DeviceNumber, DeviceNumber)>);

impl FunctionWait {
    /// Records that this thread waits for `device`, unless the wait has a limit. Returns `None` if the wait can never
    /// end: because the thread is executing a function of that device, or of a device that `device` itself waits for.
    pub(crate) fn begin(device: DeviceNumber, is_endless: bool) -> Option<Self> {
        with_devices(|own| {
            if own.is_empty() || !is_endless {
                return (!own.contains(&device)).then(Self::default);
            }
            let mut waits = FUNCTION_WAITS.get().lock().unwrap_or_else(PoisonError::into_inner);
            if leads_to(&waits, device, own) {
                return None;
            }
            let new: Vec<_> = own.iter().map(|&own| (own, device)).collect();
            waits.extend(&new);
            Some(Self(new))
        })
    }
}

impl Drop for FunctionWait {
    fn drop(&mut self) {
        if self.0.is_empty() {
            return;
        }
        let mut waits = FUNCTION_WAITS.get().lock().unwrap_or_else(PoisonError::into_inner);
        for wait in &self.0 {
            let at = waits.iter().position(|other| other == wait);
            at.map(|at| waits.swap_remove(at));
        }
    }
}

/// Returns `true` if `from` is one of `ends`, or waits for one of them, directly or through other devices.
fn leads_to(waits: &[(DeviceNumber, DeviceNumber)], from: DeviceNumber, ends: &[DeviceNumber]) -> bool {
    let mut reached = vec![from];
    let mut at = 0;
    while let Some(&device) = reached.get(at) {
        if ends.contains(&device) {
            return true;
        }
        for &(waiter, awaited) in waits {
            if waiter == device && !reached.contains(&awaited) {
                reached.push(awaited);
            }
        }
        at += 1;
    }
    false
}

#[cfg(all(test, cpu))]
mod check_options_tests {
    use super::*;

    #[test]
    fn the_variable_turns_checks_on_or_off_or_is_an_error() {
        for value in ["1", " 1 "] {
            assert_eq!(of_value(value).ok(), Some(Some(CheckOptions::default())), "{value:?}");
        }
        for value in ["", "0"] {
            assert_eq!(of_value(value).ok(), Some(None), "{value:?}");
        }
        for value in ["yes", "2", "true"] {
            let error = of_value(value).unwrap_err().to_string();
            let expected =
                format!("variable `FENCEPOST_CHECK` is `{value}`; it must be `1` to check kernels, or");
            assert!(error.starts_with(&expected), "{error}");
        }
    }

    #[test]
    fn the_options_of_the_program_are_kept() {
        let chosen = CheckOptions { nan: true, ..CheckOptions::default() };
        assert_eq!(CheckOptions::or_variable(Some(chosen)).ok(), Some(Some(chosen)));
    }
}

#[cfg(test)]
mod checked_kernels_tests {
    use super::*;

    #[test]
    fn the_variable_demands_checks_or_is_an_error() {
        for (value, checked) in [("1", true), (" 1 ", true), ("0", false), ("", false)] {
            assert_eq!(is_yes(value).ok(), Some(checked), "{value:?}");
        }
        let error = is_yes("yes").unwrap_err().to_string();
        assert!(
            error.starts_with("variable `FENCEPOST_CHECKED` is `yes`; it must be `1` to compile"),
            "{error}"
        );
    }
}
