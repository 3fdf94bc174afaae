//! The choice of an adapter.

use crate::device::adapter_info::{AdapterInfo, AdapterKind};
use crate::device::driver_remedy::remedy;
use crate::error::{Error, Kind};
use std::fmt;
use std::str::FromStr;

/// The adapter to open.
///
/// # Example
/// ```
/// use fencepost::AdapterChoice;
/// assert_eq!("1".parse(), Ok(AdapterChoice::Index(1)));
/// assert_eq!("llvmpipe".parse(), Ok(AdapterChoice::Name("llvmpipe".into())));
///
/// // A closure checks any other property of an adapter:
/// let fits = |adapter: &fencepost::AdapterInfo| adapter.max_array >= 1 << 30;
/// let choice = fencepost::adapters().iter().position(fits).map(AdapterChoice::Index);
/// # drop(choice);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AdapterChoice {
    /// The adapter that `FENCEPOST_ADAPTER` names. Without that variable, the first of [`adapters`](crate::adapters)
    /// that is not a software driver: the CPU needs no driver and comes before them. If a recorder is named, which the
    /// CPU does not have, or without the feature `cpu`, a software driver is taken too.
    #[default]
    Auto,
    /// The first adapter whose name and backend, joined by a space, contain this text in any case. `lavapipe` also fits
    /// the driver of Mesa for Vulkan, which calls itself `llvmpipe`, as the one for GL does.
    Name(String),
    /// The adapter at this index of [`adapters`](crate::adapters).
    Index(usize),
    /// The first adapter of this kind. The text form is `discrete`, `integrated`, `virtual` or `software`.
    Kind(AdapterKind),
    /// The CPU, which needs no driver. The text form is `cpu`.
    Cpu,
}

impl AdapterChoice {
    /// Returns the index of the chosen adapter.
    pub(crate) fn find(&self, known: &[AdapterInfo]) -> Option<usize> {
        match self {
            Self::Auto => {
                let preferred = known.iter().position(|adapter| !is_software_driver(adapter));
                preferred.or((!known.is_empty()).then_some(0))
            }
            Self::Cpu => known.iter().position(|adapter| adapter.backend == AdapterInfo::CPU_BACKEND),
            Self::Index(at) => (*at < known.len()).then_some(*at),
            Self::Kind(kind) => known.iter().position(|adapter| adapter.kind == *kind),
            Self::Name(part) => {
                let part = part.to_lowercase();
                known.iter().position(|adapter| names(adapter).contains(&part))
            }
        }
    }
}

/// Returns `true` if a driver computes on the processor.
fn is_software_driver(adapter: &AdapterInfo) -> bool {
    adapter.kind == AdapterKind::Software && adapter.backend != AdapterInfo::CPU_BACKEND
}

/// Returns the text in which a name is searched. Mesa calls its software driver for Vulkan lavapipe, but the driver
/// reports the name `llvmpipe`.
fn names(adapter: &AdapterInfo) -> String {
    let names = format!("{} {}", adapter.name, adapter.backend).to_lowercase();
    let is_lavapipe = adapter.backend == "Vulkan" && names.starts_with("llvmpipe");
    if is_lavapipe { names + " lavapipe" } else { names }
}

impl FromStr for AdapterChoice {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(match text.trim() {
            "" => Self::Auto,
            "discrete" => Self::Kind(AdapterKind::Discrete),
            "integrated" => Self::Kind(AdapterKind::Integrated),
            "virtual" => Self::Kind(AdapterKind::Virtual),
            "software" => Self::Kind(AdapterKind::Software),
            "cpu" => Self::Cpu,
            text => text.parse().map_or_else(|_| Self::Name(text.into()), Self::Index),
        })
    }
}

impl fmt::Display for AdapterChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("any"),
            Self::Cpu => f.write_str("the CPU, for which the feature `cpu` is needed"),
            Self::Name(part) => write!(f, "`{part}`"),
            Self::Index(at) => write!(f, "number {at}"),
            Self::Kind(kind) => write!(f, "any that is {kind}"),
        }
    }
}

/// Returns the error for a choice that no adapter fits. The error lists the adapters, or the packages to install if
/// there are none.
pub(crate) fn no_adapter(choice: &AdapterChoice, known: &[AdapterInfo]) -> Error {
    let list: Vec<String> =
        known.iter().enumerate().map(|(at, adapter)| format!("{at}: {adapter}")).collect();
    let found = if list.is_empty() { format!("none; {}", remedy()) } else { list.join("; ") };
    Kind::NoAdapter { wanted: choice.to_string(), found }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapter(name: &str, backend: &'static str) -> AdapterInfo {
        AdapterInfo { name: name.into(), backend, ..AdapterInfo::cpu_recorder() }
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
    fn lavapipe_is_the_driver_of_vulkan_that_is_named_llvmpipe() {
        let known =
            [adapter("llvmpipe", "GL"), adapter("Swift", "Vulkan"), adapter("llvmpipe (LLVM 15)", "Vulkan")];
        let found = |text: &str| AdapterChoice::Name(text.into()).find(&known);
        assert_eq!((found("lavapipe"), found("Lavapipe")), (Some(2), Some(2)));
        assert_eq!(
            (found("llvmpipe"), AdapterChoice::Name("lavapipe".into()).find(&known[..2])),
            (Some(0), None)
        );
    }

    #[test]
    fn a_number_is_an_index_and_is_checked() {
        assert_eq!(found("2"), Some(2));
        assert_eq!(found("3"), None);
        assert_eq!(found(" "), Some(0));
    }

    #[test]
    fn a_kind_chooses_the_first_adapter_of_that_kind() {
        assert_eq!((found("software"), found("discrete")), (Some(0), None));
    }

    #[test]
    fn the_cpu_is_found_by_its_choice_and_its_name_alone() {
        let known = [adapter("llvmpipe (CPU)", "Vulkan"), adapter("CPU", AdapterInfo::CPU_BACKEND)];
        let found = |choice: AdapterChoice| choice.find(&known);
        assert_eq!("cpu".parse(), Ok(AdapterChoice::Cpu));
        assert_eq!(found(AdapterChoice::Cpu), Some(1));
        assert_eq!(found(AdapterChoice::Kind(AdapterKind::Software)), Some(0));
    }

    #[test]
    fn the_cpu_comes_before_software_drivers_and_behind_all_others() {
        let cpu = || adapter("CPU", AdapterInfo::CPU_BACKEND);
        let driver = |kind| AdapterInfo { kind, ..adapter("driver", "Vulkan") };
        let software = || driver(AdapterKind::Software);
        let found = |known: &[AdapterInfo]| AdapterChoice::Auto.find(known);
        assert_eq!(found(&[software(), software(), cpu()]), Some(2));
        assert_eq!(found(&[cpu()]), Some(0));
        assert_eq!(found(&[software(), software()]), Some(0), "without the feature `cpu`");
        assert_eq!(found(&[]), None);
        for kind in
            [AdapterKind::Discrete, AdapterKind::Integrated, AdapterKind::Virtual, AdapterKind::Unknown]
        {
            assert_eq!(found(&[driver(kind), software(), cpu()]), Some(0), "{kind}");
        }
    }

    #[test]
    fn the_error_for_an_unknown_adapter_lists_the_known_ones() {
        let error = no_adapter(&AdapterChoice::Name("x".into()), &[adapter("Swift", "Vulkan")]);
        assert_eq!(error.to_string(), "no adapter fits `x`; this machine has: 0: Swift (Vulkan, software, )");
    }
}
