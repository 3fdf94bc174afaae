//! The engines of a run. A new engine, such as an interpreter, is added here.

use anyhow::{Result, bail};
use fencepost::{AdapterChoice, Context, CpuOptions, adapters};

use crate::context_engine::ContextEngine;
use crate::engine::Engine;

/// Names the CPU recorder, which interprets kernels and runs their invocations in an order that it draws.
const INTERPRETER: &str = "interpreter";

/// Returns an engine for each name, or for each adapter and the interpreter without names. A name is a part of an
/// adapter's name and backend; adapters of GL are used only if a name ends with `gl`.
///
/// # Errors
/// No adapter has a name, or there is no adapter.
pub fn engines(names: &[String]) -> Result<Vec<Box<dyn Engine>>> {
    let mut found: Vec<Box<dyn Engine>> = Vec::new();
    let known = adapters();
    for (at, adapter) in known.iter().enumerate() {
        let name = format!("{} {}", adapter.name, adapter.backend);
        // GLSL does not define integers at their edges as WGSL does, so GL has to be named.
        let is_gl = adapter.backend == "GL";
        let fits = |part: &String| {
            let part = part.to_lowercase();
            name.to_lowercase().contains(&part) && (!is_gl || part.ends_with("gl"))
        };
        if (names.is_empty() && !is_gl) || names.iter().any(fits) {
            found.push(Box::new(ContextEngine::of_adapter(name, AdapterChoice::Index(at))));
        }
    }
    if names.is_empty() || names.iter().any(|name| name.eq_ignore_ascii_case(INTERPRETER)) {
        let open = || Ok(Context::on_cpu(CpuOptions::default()));
        found.push(Box::new(ContextEngine::new(INTERPRETER, open)));
    }
    if found.is_empty() {
        let names: Vec<String> = known.iter().map(ToString::to_string).collect();
        bail!("no adapter fits: there are {}", names.join("; "));
    }
    Ok(found)
}
