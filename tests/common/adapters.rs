//! Finds the adapters that the tests run on: `FENCEPOST_TEST_ADAPTERS=first-per-backend|all|cpu|none`.

use super::full::full;
use super::subject::{NATIVE_CODE, Place};
use fencepost::AdapterInfo;
use std::collections::BTreeSet;
use std::sync::Arc;

const VARIABLE: &str = "FENCEPOST_TEST_ADAPTERS";

/// The places where the cases run.
pub struct Found {
    pub places: Vec<Arc<Place>>,
    /// Reason why there is no adapter, if there is none.
    pub no_adapter: Option<&'static str>,
}

/// Returns the chosen adapters, then the CPU recorder with one and with four lanes, and in the full suite with two and three too.
pub fn find() -> Found {
    let (adapters, no_adapter) = chosen();
    let mut places: Vec<Arc<Place>> =
        adapters.into_iter().map(|(index, name, info)| Arc::new(Place::adapter(name, index, info))).collect();
    let seeds = if full() { &[1, 2, 3, 4][..] } else { &[1, 4] };
    places.extend(seeds.iter().map(|&seed| Arc::new(Place::cpu(seed))));
    Found { places, no_adapter }
}

fn chosen() -> (Vec<(usize, String, AdapterInfo)>, Option<&'static str>) {
    let wanted = std::env::var(VARIABLE).unwrap_or_else(|_| "first-per-backend".into());
    let known = match wanted.as_str() {
        "none" => return (Vec::new(), Some("FENCEPOST_TEST_ADAPTERS is `none`")),
        "all" | "cpu" | "first-per-backend" => fencepost::adapters(),
        other => panic!("{VARIABLE} is `{other}`; it must be first-per-backend, all, cpu or none"),
    };
    let only_cpu = wanted == "cpu";
    let mut backends = BTreeSet::new();
    let all = wanted == "all";
    let kept = known
        .into_iter()
        .enumerate()
        .filter(|(_, info)| !only_cpu || info.backend == NATIVE_CODE)
        .filter(|(_, info)| backends.insert(info.backend) || all);
    let mut names = BTreeSet::new();
    let named: Vec<_> = kept
        .map(|(index, info)| {
            let name = short_name(&info);
            let name = if names.insert(name.clone()) { name } else { format!("{name}_{index}") };
            (index, name, info)
        })
        .collect();
    let no_adapter = named.is_empty().then_some("this machine has no adapter");
    (named, no_adapter)
}

/// Returns the last part of the names of the adapter's tests.
fn short_name(info: &AdapterInfo) -> String {
    let name = info.name.to_lowercase();
    match (name.contains("llvmpipe"), info.backend) {
        (true, "Vulkan") => return "lavapipe".into(),
        (true, "GL") => return "llvmpipe_gl".into(),
        (_, NATIVE_CODE) => return "threads".into(),
        _ if name.contains("swiftshader") => return "swiftshader".into(),
        _ => {}
    }
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '_' };
    let text: String = format!("{} {}", info.name, info.backend).chars().map(plain).collect();
    text.split('_').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_")
}
