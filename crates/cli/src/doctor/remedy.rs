//! What helps against a failure.

use fencepost::{Error, Kind};

const DRIVER: &str = "update the driver of the adapter; on Linux `dmesg | tail` may say more";

/// What helps where the library says an error.
pub(super) fn of(error: &Error) -> Option<String> {
    Some(match error.kind() {
        Kind::Setting { name, .. } => format!("`unset {name}`"),
        Kind::NoAdapter { found, .. } if found.starts_with("none") => return None, // the error says it
        Kind::NoAdapter { .. } => {
            "`unset FENCEPOST_ADAPTER`, or set it to a name or a number of `fencepost info`".into()
        }
        Kind::OutOfMemory { .. } => "end other programs that use the memory of the adapter".into(),
        _ => DRIVER.into(),
    })
}

/// What helps where work on an open adapter fails.
pub(super) fn of_work(error: &anyhow::Error) -> Option<String> {
    match error.downcast_ref::<Error>() {
        Some(error) => of(error),
        None => Some("update the driver of the adapter, or choose another one with FENCEPOST_ADAPTER".into()),
    }
}

/// What helps where a check is not done in time.
pub(super) fn of_lateness() -> Option<String> {
    Some(format!("try `fencepost doctor --limit 300`; if it is late again, {DRIVER}"))
}

/// What helps where a driver crashes.
pub(super) fn of_crash() -> Option<String> {
    Some(DRIVER.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_that_is_wrong_is_to_be_unset() {
        let kind = Kind::Setting { name: "FENCEPOST_RECORDER", value: "x".into(), needed: "`wgpu`" };
        assert_eq!(of(&kind.into()).as_deref(), Some("`unset FENCEPOST_RECORDER`"));
    }

    #[test]
    fn what_the_error_says_is_not_said_twice() {
        let error = |found: &str| Error::from(Kind::NoAdapter { wanted: "any".into(), found: found.into() });
        assert_eq!(of(&error("none; install a driver")), None);
        assert!(of(&error("0: G (GL)")).is_some_and(|remedy| remedy.contains("FENCEPOST_ADAPTER")));
    }

    #[test]
    fn wrong_numbers_are_the_drivers() {
        let remedy = of_work(&anyhow::anyhow!("number 2 is 4 in place of 3"));
        assert!(remedy.is_some_and(|remedy| remedy.contains("driver")));
    }
}
