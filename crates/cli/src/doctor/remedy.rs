//! The remedies for failures.

use fencepost::{Error, ErrorDetail};

const DRIVER: &str = "update the driver of the adapter; on Linux `dmesg | tail` may say more";

/// Returns the remedy for an error of the library.
pub(super) fn of(error: &Error) -> Option<String> {
    Some(match error.detail() {
        ErrorDetail::Setting { name, .. } => format!("`unset {name}`"),
        ErrorDetail::NoAdapter { found, .. } if found.starts_with("none") => return None, // the error has the remedy
        ErrorDetail::NoAdapter { .. } => {
            "`unset FENCEPOST_ADAPTER`, or set it to a name or a number of `fencepost info`".into()
        }
        ErrorDetail::OutOfMemory { .. } => "end other programs that use the memory of the adapter".into(),
        _ => DRIVER.into(),
    })
}

/// Returns the remedy for a failure of work on an open adapter.
pub(super) fn of_work(error: &anyhow::Error) -> Option<String> {
    match error.downcast_ref::<Error>() {
        Some(error) => of(error),
        None => Some("update the driver of the adapter, or choose another one with FENCEPOST_ADAPTER".into()),
    }
}

/// Returns the remedy for a check that reached its time limit.
pub(super) fn of_lateness() -> Option<String> {
    Some(format!("try `fencepost doctor --limit 300`; if it is late again, {DRIVER}"))
}

/// Returns the remedy for a crash of a driver.
pub(super) fn of_crash() -> Option<String> {
    Some(DRIVER.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_for_a_wrong_variable_unsets_it() {
        let kind = ErrorDetail::Setting { name: "FENCEPOST_RECORDER", value: "x".into(), needed: "`wgpu`" };
        assert_eq!(of(&kind.into()).as_deref(), Some("`unset FENCEPOST_RECORDER`"));
    }

    #[test]
    fn an_error_that_has_a_remedy_gets_no_second_one() {
        let error =
            |found: &str| Error::from(ErrorDetail::NoAdapter { wanted: "any".into(), found: found.into() });
        assert_eq!(of(&error("none; install a driver")), None);
        assert!(of(&error("0: G (GL)")).is_some_and(|remedy| remedy.contains("FENCEPOST_ADAPTER")));
    }

    #[test]
    fn the_remedy_for_wrong_numbers_names_the_driver() {
        let remedy = of_work(&anyhow::anyhow!("number 2 is 4 in place of 3"));
        assert!(remedy.is_some_and(|remedy| remedy.contains("driver")));
    }
}
