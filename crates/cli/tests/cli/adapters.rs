//! The adapters that the tests run on.

use std::collections::BTreeSet;
use std::env;

use fencepost::AdapterInfo;

/// Backend of the CPU, which needs no driver.
const NATIVE_CODE: &str = "native code";

/// The choice of `FENCEPOST_TEST_ADAPTERS`.
pub(crate) struct Chosen {
    /// The adapters, each with its number and its short name.
    pub(crate) adapters: Vec<(usize, String)>,
    /// `true` if the tests should run on adapters.
    pub(crate) wants_adapters: bool,
    /// `true` if one of the adapters must have a driver.
    pub(crate) wants_driver: bool,
    /// `true` if one of the adapters has a driver.
    pub(crate) has_driver: bool,
}

/// Returns the adapters that the tests run on.
pub(crate) fn chosen() -> Chosen {
    let variable = "FENCEPOST_TEST_ADAPTERS";
    let wanted = env::var(variable).unwrap_or_else(|_| "first-per-backend".into());
    let known = match wanted.as_str() {
        "none" => Vec::new(),
        "all" | "cpu" | "first-per-backend" => fencepost::adapters(),
        other => panic!("{variable} is `{other}`; it must be first-per-backend, all, cpu or none"),
    };
    let all = wanted == "all";
    let only_cpu = wanted == "cpu";
    let mut backends = BTreeSet::new();
    let kept: Vec<(usize, AdapterInfo)> = known
        .into_iter()
        .enumerate()
        .filter(|(_, info)| !only_cpu || info.backend == NATIVE_CODE)
        .filter(|(_, info)| backends.insert(info.backend) || all)
        .collect();
    let wants_adapters = wanted != "none";
    Chosen {
        wants_adapters,
        wants_driver: wants_adapters && !only_cpu,
        has_driver: kept.iter().any(|(_, info)| info.backend != NATIVE_CODE),
        adapters: kept.iter().map(|(index, info)| (*index, short_name(info))).collect(),
    }
}

/// Returns the end of a test's name.
fn short_name(info: &AdapterInfo) -> String {
    let name = info.name.to_lowercase();
    match info.backend {
        "Vulkan" if name.contains("llvmpipe") => return "lavapipe".into(),
        "GL" if name.contains("llvmpipe") => return "llvmpipe_gl".into(),
        _ if name.contains("swiftshader") => return "swiftshader".into(),
        _ => {}
    }
    let text = format!("{name} {}", info.backend).to_lowercase();
    text.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join("_")
}
