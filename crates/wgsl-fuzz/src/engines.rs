//! The engines of a run. New engines are added here.

#[cfg(feature = "adapters")]
use anyhow::{Result, bail};
#[cfg(feature = "adapters")]
use fencepost::{AdapterChoice, Context, SimulatorOptions, adapters};

#[cfg(feature = "adapters")]
use crate::context_engine::ContextEngine;
use crate::direct_engine::DirectEngine;
use crate::engine::Engine;

/// Name of the CPU recorder, which interprets kernels and runs their invocations in random order.
#[cfg(feature = "adapters")]
const RECORDER: &str = "recorder";
/// Numbers of invocations that machine code executes together.
const WIDTHS: [u32; 4] = [1, 4, 8, 16];

/// Returns the engines that need no context: the interpreter, which gives the expected results, and machine code of
/// each width.
pub fn direct_engines() -> Vec<Box<dyn Engine>> {
    let mut found: Vec<Box<dyn Engine>> = vec![Box::new(DirectEngine::interpreter())];
    for lanes in WIDTHS {
        found.push(Box::new(DirectEngine::compiled(lanes)));
    }
    found
}

/// Returns an engine for each name; without names, one for each adapter and the recorder. A name is a part of an
/// adapter's name and backend; GL adapters are used only if a name ends with `gl`.
///
/// # Errors
/// No adapter matches a name, or there is no adapter.
#[cfg(feature = "adapters")]
pub fn engines(names: &[String]) -> Result<Vec<Box<dyn Engine>>> {
    let mut found: Vec<Box<dyn Engine>> = Vec::new();
    let known = adapters();
    for (at, adapter) in known.iter().enumerate() {
        let name = format!("{} {}", adapter.name, adapter.backend);
        // naga writes GLSL for `pack4xU8Clamp` that no driver compiles, so GL must be asked for by name.
        let is_gl = adapter.backend == "GL";
        let fits = |part: &String| {
            let part = part.to_lowercase();
            name.to_lowercase().contains(&part) && (!is_gl || part.ends_with("gl"))
        };
        if (names.is_empty() && !is_gl) || names.iter().any(fits) {
            found.push(Box::new(ContextEngine::of_adapter(name, AdapterChoice::Index(at))));
        }
    }
    if names.is_empty() || names.iter().any(|name| name.eq_ignore_ascii_case(RECORDER)) {
        let open = || Ok(Context::simulated(SimulatorOptions::default()));
        found.push(Box::new(ContextEngine::new(RECORDER, open)));
    }
    if found.is_empty() {
        let names: Vec<String> = known.iter().map(ToString::to_string).collect();
        bail!("no adapter fits: there are {}", names.join("; "));
    }
    Ok(found)
}
