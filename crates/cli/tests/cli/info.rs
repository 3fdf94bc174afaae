//! `fencepost info`.

use anyhow::{Context, Result, ensure};
use fencepost::{AdapterInfo, AdapterKind};
use serde_json::Value;

use crate::Once;
use crate::program::{command, ended, fencepost};

pub(crate) const ONCE: [Once; 5] = [
    ("json_has_every_adapter_with_every_field", json),
    ("the_tables_have_every_adapter_and_property", tables),
    ("the_default_adapter_is_the_one_that_the_variable_names", default),
    ("an_adapter_that_does_not_exist_is_code_1_with_the_known_ones", nonsense),
    ("without_drivers_the_cpu_is_the_only_adapter", no_drivers),
];

fn json() -> Result<()> {
    let json = fencepost(["info", "--json"])?.json()?;
    let known = fencepost::adapters();
    let adapters = json["adapters"].as_array().context("no adapters")?;
    ensure!(adapters.len() == known.len(), "{} adapters in place of {}", adapters.len(), known.len());
    ensure!(json["default"]["index"] == preferred(&known)?, "{}", json["default"]);
    for (at, (found, known)) in adapters.iter().zip(&known).enumerate() {
        ensure!(
            found["index"] == at && found["name"] == *known.name && found["backend"] == known.backend,
            "{found}"
        );
        ensure!(found["kind"] == known.kind.to_string() && found["driver"] == *known.driver, "{found}");
        let limits = &found["limits"];
        ensure!(
            limits["array_bytes"] == known.max_array && limits["binding_bytes"] == known.max_binding,
            "{limits}"
        );
        ensure!(
            limits["bindings"] == known.max_bindings && limits["workgroups"] == known.max_groups,
            "{limits}"
        );
        ensure!(limits["invocations"] == known.max_invocations, "{limits}");
        ensure!(limits["workgroup_bytes"] == known.max_workgroup_memory, "{limits}");
        ensure!(limits["binding_alignment"] == known.binding_alignment, "{limits}");
        features(found, &known.abilities)?;
        ensure!(limits["workgroup_size"] == serde_json::json!(known.max_workgroup), "{limits}");
        ensure!(limits["immediates"] == known.max_immediates, "{limits}");
        ensure!(limits["subgroup_sizes"] == serde_json::json!(known.subgroup), "{limits}");
        ensure!(found["vendor_id"] == known.vendor_id && found["device_id"] == known.device_id, "{found}");
        ensure!(found["memory_bytes"] == serde_json::json!(known.memory), "{found}");
        device(found)?;
    }
    Ok(())
}

/// Returns the index of the adapter that a context opens: the first that is not a software driver.
fn preferred(known: &[AdapterInfo]) -> Result<usize> {
    let is_preferred =
        |known: &AdapterInfo| known.kind != AdapterKind::Software || known.backend == "native code";
    known.iter().position(is_preferred).context("the CPU is in the list")
}

fn features(found: &Value, abilities: &[&str]) -> Result<()> {
    for name in ["f16", "f64", "int64", "f32 atomics", "subgroups", "timestamps"] {
        let field = &found["features"][name.replace(' ', "_")];
        ensure!(*field == abilities.contains(&name), "{name} is {field}");
    }
    Ok(())
}

/// Checks the fields that only an open device has.
fn device(found: &Value) -> Result<()> {
    ensure!(found["error"].is_null(), "{found}");
    let recorder = found["recorder"].as_str().context("no recorder")?;
    ensure!(["direct", "hal", "wgpu", "threads"].contains(&recorder), "recorder {recorder}");
    Ok(())
}

fn tables() -> Result<()> {
    let text = fencepost(["info"])?.good()?;
    for known in fencepost::adapters() {
        let mut lines = text.lines();
        let is_there = lines.any(|line| line.contains(&known.name) && line.contains(known.backend));
        ensure!(is_there, "no {known} in\n{text}");
    }
    let properties = [
        "memory",
        "largest array",
        "largest binding",
        "workgroup size",
        "workgroup memory",
        "bindings",
        "f16",
        "f64",
    ];
    for property in
        properties.into_iter().chain(["int64", "f32 atomics", "subgroups", "timestamps", "immediates"])
    {
        ensure!(text.lines().any(|line| line.starts_with(property)), "no {property} in\n{text}");
    }
    let first = preferred(&fencepost::adapters())?;
    ensure!(text.contains(&format!("`Context::new()` opens adapter {first}: it ")), "{text}");
    Ok(())
}

fn default() -> Result<()> {
    let last = fencepost::adapters().len() - 1;
    let json = ended(command(["info", "--json"]).env("FENCEPOST_ADAPTER", last.to_string()))?.json()?;
    ensure!(json["default"]["index"] == last, "{}", json["default"]);
    let reason = json["default"]["reason"].as_str().context("no reason")?;
    ensure!(reason.contains("FENCEPOST_ADAPTER"), "{reason}");
    Ok(())
}

fn nonsense() -> Result<()> {
    let ran = ended(command(["info"]).env("FENCEPOST_ADAPTER", "nonsense"))?;
    ensure!(ran.code == Some(1), "{ran:?}");
    let last = ran.out.lines().last().unwrap_or_default();
    ensure!(last.contains("no adapter fits `nonsense`"), "{last}");
    ensure!(fencepost::adapters().iter().all(|known| last.contains(&known.name)), "{last}");
    Ok(())
}

fn no_drivers() -> Result<()> {
    if !cfg!(target_os = "linux") {
        return Ok(()); // only the loaders of Linux read these variables
    }
    let mut command = command(["info"]);
    for variable in ["VK_DRIVER_FILES", "VK_ICD_FILENAMES", "__EGL_VENDOR_LIBRARY_FILENAMES"] {
        command.env(variable, "/nothing");
    }
    let ran = ended(&mut command)?;
    ensure!(ran.code == Some(0) && ran.out.contains("Fencepost CPU"), "{ran:?}");
    ensure!(!ran.out.contains("llvmpipe") && !ran.out.contains("SwiftShader"), "{ran:?}");
    Ok(())
}
