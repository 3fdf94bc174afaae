//! `fencepost info`: lists the adapters of this machine.

mod text;

use anyhow::Result;
use fencepost::{AdapterChoice, AdapterInfo};
use serde::Serialize;

use crate::{Outcome, cli, opened, output};

/// Everything that is printed.
#[derive(Serialize)]
struct Report {
    default: Chosen,
    adapters: Vec<Adapter>,
}

/// The adapter that `Context::new()` opens.
#[derive(Serialize)]
struct Chosen {
    /// Index in the list; `None` after an error.
    index: Option<usize>,
    reason: String,
}

#[derive(Serialize)]
struct Adapter {
    index: usize,
    name: String,
    kind: String,
    backend: &'static str,
    driver: String,
    vendor_id: u32,
    device_id: u32,
    /// Bytes of the device's own memory, if the driver reports them.
    memory_bytes: Option<u64>,
    /// Reason why the adapter cannot be opened; then it has no recorder.
    error: Option<String>,
    recorder: Option<&'static str>,
    limits: Limits,
    features: Features,
}

#[derive(Serialize)]
struct Limits {
    array_bytes: u64,
    binding_bytes: u64,
    binding_alignment: u64,
    bindings: u32,
    workgroups: u32,
    /// Maximum number of invocations of a workgroup in each dimension.
    workgroup_size: [u32; 3],
    invocations: u32,
    workgroup_bytes: u64,
    /// Bytes of immediates; 0 if the adapter has none.
    immediates: u32,
    /// Sizes of the smallest and the largest subgroup.
    subgroup_sizes: Option<[u32; 2]>,
}

#[derive(Serialize)]
struct Features {
    f16: bool,
    f64: bool,
    int64: bool,
    f32_atomics: bool,
    subgroups: bool,
    timestamps: bool,
}

/// Prints the adapters.
pub(crate) fn info(options: &cli::Info) -> Result<Outcome> {
    let known = fencepost::adapters();
    let adapters: Vec<Adapter> = known.iter().enumerate().map(|(index, info)| look(index, info)).collect();
    let default = chosen(&known);
    let good = default.index.is_some() && adapters.iter().any(|adapter| adapter.error.is_none());
    let report = Report { default, adapters };
    if options.json {
        output::json(&report)?;
    } else {
        output::print(text::text(&report).as_bytes())?;
    }
    Ok(if good { Outcome::Good } else { Outcome::Bad })
}

fn look(index: usize, info: &AdapterInfo) -> Adapter {
    let (recorder, error) = match opened::open(AdapterChoice::Index(index)) {
        Ok(ctx) => (Some(ctx.recorder()), None),
        Err(error) => (None, Some(error.to_string())),
    };
    Adapter {
        index,
        name: info.name.clone(),
        kind: info.kind.to_string(),
        backend: info.backend,
        driver: info.driver.clone(),
        vendor_id: info.vendor_id,
        device_id: info.device_id,
        memory_bytes: info.memory,
        error,
        recorder,
        limits: Limits {
            array_bytes: info.max_array,
            binding_bytes: info.max_binding,
            binding_alignment: info.binding_alignment,
            bindings: info.max_bindings,
            workgroups: info.max_groups,
            workgroup_size: info.max_workgroup,
            immediates: info.max_immediates,
            subgroup_sizes: info.subgroup,
            invocations: info.max_invocations,
            workgroup_bytes: info.max_workgroup_memory,
        },
        features: Features::of(&info.abilities),
    }
}

impl Features {
    fn of(abilities: &[&str]) -> Self {
        let has = |ability: &str| abilities.contains(&ability);
        Self {
            f16: has("f16"),
            f64: has("f64"),
            int64: has("int64"),
            f32_atomics: has("f32 atomics"),
            subgroups: has("subgroups"),
            timestamps: has("timestamps"),
        }
    }
}

/// Returns the adapter that a context opens by default, and the reason.
fn chosen(known: &[AdapterInfo]) -> Chosen {
    let variable = std::env::var("FENCEPOST_ADAPTER").unwrap_or_default();
    match opened::open(AdapterChoice::Auto) {
        Ok(ctx) => {
            let index = known.iter().position(|info| info == ctx.info());
            let reason = match variable.trim() {
                "" if index == Some(0) => {
                    "it is the first of the list, and FENCEPOST_ADAPTER is not set".into()
                }
                "" => "it comes before software drivers, and FENCEPOST_ADAPTER is not set".into(),
                value => format!("FENCEPOST_ADAPTER is `{value}`"),
            };
            Chosen { index, reason }
        }
        Err(error) => Chosen { index: None, reason: error.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ability_sets_the_feature_of_its_name() {
        for ability in ["f16", "f64", "int64", "f32 atomics", "subgroups", "timestamps"] {
            let json = serde_json::to_value(Features::of(&[ability])).expect("it is plain");
            let has: Vec<_> =
                json.as_object().into_iter().flatten().filter(|(_, has)| **has == true).collect();
            assert_eq!(has.len(), 1, "{ability}");
            assert_eq!(*has[0].0, ability.replace(' ', "_"));
        }
    }
}
