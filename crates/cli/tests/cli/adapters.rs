//! The adapters that the tests run on.

use std::collections::BTreeSet;
use std::env;

use fencepost::AdapterInfo;

/// Returns the numbers and the short names of the adapters, and `true` if the tests should run on adapters.
pub(crate) fn chosen() -> (Vec<(usize, String)>, bool) {
    let variable = "FENCEPOST_TEST_ADAPTERS";
    let all = match env::var(variable).as_deref() {
        Ok("none") => return (Vec::new(), false),
        Ok("all") => true,
        Ok("first-per-backend") | Err(_) => false,
        Ok(other) => panic!("{variable} is `{other}`; it must be first-per-backend, all or none"),
    };
    let mut backends = BTreeSet::new();
    let adapters = fencepost::adapters().into_iter().enumerate();
    let kept = adapters.filter(|(_, info)| backends.insert(info.backend) || all);
    (kept.map(|(index, info)| (index, short_name(&info))).collect(), true)
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
