//! The adapters of `info` as tables.

use super::{Adapter, Report};
use crate::bytes::bytes;
use crate::table::Columns;

/// Name of a property, and a function that writes its value for an adapter.
type Property = (&'static str, fn(&Adapter) -> String);

const LIMITS: [Property; 9] = [
    ("memory", |adapter| adapter.memory_bytes.map_or("?".into(), bytes)),
    ("largest array", |adapter| bytes(adapter.limits.array_bytes)),
    ("largest binding", |adapter| bytes(adapter.limits.binding_bytes)),
    ("alignment of a binding", |adapter| bytes(adapter.limits.binding_alignment)),
    ("bindings", |adapter| adapter.limits.bindings.to_string()),
    ("workgroups in a dimension", |adapter| adapter.limits.workgroups.to_string()),
    ("workgroup size", |adapter| adapter.limits.workgroup_size.map(|n| n.to_string()).join(" x ")),
    ("workgroup invocations", |adapter| adapter.limits.invocations.to_string()),
    ("workgroup memory", |adapter| bytes(adapter.limits.workgroup_bytes)),
];

const FEATURES: [Property; 7] = [
    ("f16", |adapter| yes(adapter.features.f16)),
    ("f64", |adapter| yes(adapter.features.f64)),
    ("int64", |adapter| yes(adapter.features.int64)),
    ("f32 atomics", |adapter| yes(adapter.features.f32_atomics)),
    ("subgroups", subgroups),
    ("timestamps", |adapter| yes(adapter.features.timestamps)),
    ("immediates", |adapter| {
        let immediates = adapter.limits.immediates;
        if immediates > 0 { bytes(immediates.into()) } else { yes(false) }
    }),
];

/// Returns the whole report.
pub(super) fn text(report: &Report) -> String {
    let mut text = String::new();
    if !report.adapters.is_empty() {
        text += &names(report);
        text += "\n";
        text += &properties(report);
        text += "\n";
    }
    text += &match report.default.index {
        Some(index) => format!("`Context::new()` opens adapter {index}: {}.\n", report.default.reason),
        None => format!("`Context::new()` fails: {}\n", report.default.reason),
    };
    for adapter in &report.adapters {
        if let Some(error) = &adapter.error {
            text += &format!("Adapter {} does not open: {error}\n", adapter.index);
        }
    }
    text
}

fn names(report: &Report) -> String {
    let mut table =
        Columns::with_heading(["", "adapter", "kind", "backend", "recorder", "vendor:device", "driver"]);
    for adapter in &report.adapters {
        table.row([
            adapter.index.to_string(),
            adapter.name.clone(),
            adapter.kind.clone(),
            adapter.backend.into(),
            adapter.recorder.unwrap_or("?").into(),
            format!("{:04x}:{:04x}", adapter.vendor_id, adapter.device_id),
            adapter.driver.clone(),
        ]);
    }
    table.text()
}

fn properties(report: &Report) -> String {
    let numbers = report.adapters.iter().map(|adapter| adapter.index.to_string());
    let mut table = Columns::with_heading(std::iter::once(String::new()).chain(numbers));
    for (name, value) in LIMITS.iter().chain(&FEATURES) {
        let values = report.adapters.iter().map(value);
        table.row(std::iter::once((*name).to_owned()).chain(values));
    }
    table.text()
}

fn yes(has: bool) -> String {
    if has { "yes" } else { "-" }.into()
}

fn subgroups(adapter: &Adapter) -> String {
    match adapter.limits.subgroup_sizes {
        Some([min, max]) if min == max => format!("of {min}"),
        Some([min, max]) => format!("of {min} to {max}"),
        None => yes(adapter.features.subgroups),
    }
}
