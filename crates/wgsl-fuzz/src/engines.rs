//! The engines of a run. A new engine, such as an interpreter, is added here.

use anyhow::{Result, bail};
use fencepost::{AdapterChoice, adapters};

use crate::context_engine::ContextEngine;
use crate::engine::Engine;

/// Returns an engine for each name, or for each adapter without names. A name is a part of an adapter's name and backend.
///
/// # Errors
/// No adapter has a name, or there is no adapter.
pub fn engines(names: &[String]) -> Result<Vec<Box<dyn Engine>>> {
    let mut found: Vec<Box<dyn Engine>> = Vec::new();
    let known = adapters();
    for (at, adapter) in known.iter().enumerate() {
        let name = format!("{} {}", adapter.name, adapter.backend);
        let is_wanted = if names.is_empty() {
            // GLSL does not define integers at their edges as WGSL does.
            !name.ends_with("GL")
        } else {
            names.iter().any(|part| name.to_lowercase().contains(&part.to_lowercase()))
        };
        if is_wanted {
            found.push(Box::new(ContextEngine::of_adapter(name, AdapterChoice::Index(at))));
        }
    }
    if found.is_empty() {
        let names: Vec<String> = known.iter().map(ToString::to_string).collect();
        bail!("no adapter fits: there are {}", names.join("; "));
    }
    Ok(found)
}
