//! The environment variable that compiles all kernels with all runtime checks.

use crate::error::{Kind, Result};

const CHECKED_VARIABLE: &str = "FENCEPOST_CHECKED";

/// Returns `true` if the variable demands all runtime checks for all kernels.
///
/// # Errors
/// Returns `Setting` if the variable has an unknown value.
pub(crate) fn all_checked() -> Result<bool> {
    of_value(&std::env::var_os(CHECKED_VARIABLE).unwrap_or_default().to_string_lossy())
}

fn of_value(value: &str) -> Result<bool> {
    match value.trim() {
        "1" => Ok(true),
        "" | "0" => Ok(false),
        _ => {
            let needed =
                "`1` to compile all kernels with all runtime checks, or `0` or empty to trust proven kernels";
            Err(Kind::Setting { name: CHECKED_VARIABLE, value: value.into(), needed }.into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_demands_checks_or_is_an_error() {
        for (value, checked) in [("1", true), (" 1 ", true), ("0", false), ("", false)] {
            assert_eq!(of_value(value).ok(), Some(checked), "{value:?}");
        }
        let error = of_value("yes").unwrap_err().to_string();
        assert!(
            error.starts_with("variable `FENCEPOST_CHECKED` is `yes`; it must be `1` to compile"),
            "{error}"
        );
    }
}
