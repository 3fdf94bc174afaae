//! Checks which error a call returns.

use fencepost::{Error, Result};

/// Asserts that a call returns an error whose detail matches a pattern, and returns the error. A message may follow,
/// as in `assert!`.
macro_rules! assert_error {
    ($result:expr, $pattern:pat $(if $guard:expr)? $(,)?) => {
        $crate::common::assert_error!($result, $pattern $(if $guard)?, "the call")
    };
    ($result:expr, $pattern:pat $(if $guard:expr)?, $($what:tt)+) => {
        match $result {
            Ok(_) => panic!("{} returns no error", format_args!($($what)+)),
            Err(error) => {
                let right = matches!(error.detail(), $pattern $(if $guard)?);
                assert!(right, "{}: {error}", format_args!($($what)+));
                error
            }
        }
    };
}
pub(crate) use assert_error;

/// Checks that a result is an error whose message contains a text, and returns the error.
#[track_caller]
pub fn assert_says<T>(result: Result<T>, text: &str) -> Error {
    let error = result.map(drop).unwrap_err();
    assert!(error.to_string().contains(text), "{error}");
    error
}
