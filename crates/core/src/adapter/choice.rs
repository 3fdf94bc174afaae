//! Which adapter is meant.

use super::AdapterInfo;
use crate::error::{Error, Kind};
use std::fmt;
use std::str::FromStr;

/// Which adapter to open.
///
/// # Example
/// ```
/// use fencepost_core::AdapterChoice;
/// assert_eq!("1".parse(), Ok(AdapterChoice::Index(1)));
/// assert_eq!("llvmpipe".parse(), Ok(AdapterChoice::Name("llvmpipe".into())));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AdapterChoice {
    /// What `FENCEPOST_ADAPTER` says, else the first of [`adapters`](crate::adapters).
    #[default]
    Auto,
    /// The first whose name and backend, written one after the other, contain this in any case of letters.
    Name(String),
    /// The one at this place of [`adapters`](crate::adapters).
    Index(usize),
}

impl AdapterChoice {
    /// The place of the adapter that is meant.
    pub(super) fn find(&self, known: &[AdapterInfo]) -> Option<usize> {
        match self {
            Self::Auto => (!known.is_empty()).then_some(0),
            Self::Index(at) => (*at < known.len()).then_some(*at),
            Self::Name(part) => {
                let part = part.to_lowercase();
                known.iter().position(|a| format!("{} {}", a.name, a.backend).to_lowercase().contains(&part))
            }
        }
    }
}

impl FromStr for AdapterChoice {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text.trim() {
            "" => Self::Auto,
            text => text.parse().map_or_else(|_| Self::Name(text.into()), Self::Index),
        })
    }
}

impl fmt::Display for AdapterChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("any"),
            Self::Name(part) => write!(f, "`{part}`"),
            Self::Index(at) => write!(f, "number {at}"),
        }
    }
}

/// The error for a choice that nothing fits, with what there is.
pub(super) fn no_adapter(choice: &AdapterChoice, known: &[AdapterInfo]) -> Error {
    let list: Vec<String> =
        known.iter().enumerate().map(|(at, adapter)| format!("{at}: {adapter}")).collect();
    let found = if list.is_empty() { "none".into() } else { list.join("; ") };
    Kind::NoAdapter { wanted: choice.to_string(), found }.into()
}

#[cfg(test)]
mod tests {
    use super::super::AdapterKind;
    use super::*;

    fn adapter(name: &str, backend: &'static str) -> AdapterInfo {
        let (name, driver, abilities) = (name.into(), String::new(), Vec::new());
        let kind = AdapterKind::Software;
        AdapterInfo { name, backend, kind, driver, abilities, max_array: 0, max_invocations: 0 }
    }

    fn found(text: &str) -> Option<usize> {
        let known =
            [adapter("llvmpipe (LLVM 15)", "Vulkan"), adapter("llvmpipe", "GL"), adapter("Swift", "Vulkan")];
        let choice: AdapterChoice = text.parse().expect("every text is a choice");
        choice.find(&known)
    }

    #[test]
    fn a_name_is_found_in_any_case_and_with_its_backend() {
        assert_eq!(found("LLVMpipe"), Some(0));
        assert_eq!(found("llvmpipe gl"), Some(1));
        assert_eq!(found("swift"), Some(2));
        assert_eq!(found("radeon"), None);
    }

    #[test]
    fn a_number_is_a_place_and_is_checked() {
        assert_eq!(found("2"), Some(2));
        assert_eq!(found("3"), None);
        assert_eq!(found(" "), Some(0));
    }

    #[test]
    fn what_there_is_not_is_an_error_that_lists_what_there_is() {
        let error = no_adapter(&AdapterChoice::Name("x".into()), &[adapter("Swift", "Vulkan")]);
        assert_eq!(error.to_string(), "no adapter fits `x`; this machine has: 0: Swift (Vulkan, software, )");
    }
}
