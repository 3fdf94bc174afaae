//! The choice of what a check of kernels looks for.

#[cfg(cpu_code)]
use crate::error::{Kind, Result};

/// Environment variable that turns the checks of kernels on.
#[cfg(cpu_code)]
const CHECK_VARIABLE: &str = "FENCEPOST_CHECK";

/// The mistakes that the checks of kernels look for, besides races between invocations, barriers that only some
/// invocations reach, indices out of range and reads of device memory that nothing wrote.
///
/// # Example
/// ```
/// use fencepost::{AdapterChoice, CheckOptions, Context, ContextOptions};
/// let check = Some(CheckOptions { nan: true, ..CheckOptions::default() });
/// let options = ContextOptions { adapter: AdapterChoice::Cpu, check, ..ContextOptions::default() };
/// let ctx = Context::with_options(options).wait()?;
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CheckOptions {
    /// `true` to find integer divisions by zero, divisions of the least integer by -1, shifts by too many bits, and
    /// conversions of floats that the integer type lacks. WGSL gives all of them a result, which is rarely meant.
    pub operands: bool,
    /// `true` to find operations that make a NaN from operands that are not NaN. Such a kernel computes each float
    /// twice.
    pub nan: bool,
    /// `true` to find reads of workgroup variables that no invocation wrote. WGSL sets the variables to zero, so such a
    /// read is not a mistake by itself.
    pub unwritten_workgroup: bool,
    /// `true` to count a store to a component of a vector as a store to the whole vector, which WGSL allows a device to
    /// do.
    pub whole_vectors: bool,
    /// `true` to fail the queue of a launch that has mistakes, with
    /// [`Kind::KernelMistakes`](crate::Kind::KernelMistakes). The later commands of the queue are not executed then,
    /// and the contents of the arrays that the launch writes are undefined.
    pub fail_queue: bool,
}

#[cfg(cpu_code)]
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

#[cfg(cpu_code)]
fn of_value(value: &str) -> Result<Option<CheckOptions>> {
    match value.trim() {
        "1" => Ok(Some(CheckOptions::default())),
        "" | "0" => Ok(None),
        _ => {
            let needed = "`1` to check kernels, or `0` or empty to check none";
            Err(Kind::Setting { name: CHECK_VARIABLE, value: value.into(), needed }.into())
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

#[cfg(all(test, cpu_code))]
mod tests {
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
