//! `fencepost shaders`.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::Once;
use crate::program::fencepost;

pub(crate) const ONCE: [Once; 4] = [
    ("the_list_has_every_built_in_shader_and_snippet_once", list),
    ("a_name_prints_the_text_of_the_shader", text),
    ("an_unknown_shader_is_refused", unknown),
    ("the_page_of_the_shaders_is_the_list", page),
];

fn list() -> Result<()> {
    let text = fencepost(["shaders"])?.good()?;
    let json = fencepost(["shaders", "--json"])?.json()?;
    let shaders = json["shaders"].as_array().context("no shaders")?;
    ensure!(shaders.len() == fencepost::builtins().len() + fencepost::snippets().count(), "{json}");
    for shader in shaders {
        let name = shader["name"].as_str().context("no name")?;
        let description = shader["description"].as_str().context("no description")?;
        let lines = text.lines().filter(|line| line.split_whitespace().next() == Some(name));
        let lines: Vec<&str> = lines.collect();
        ensure!(lines.len() == 1 && lines[0].ends_with(description), "{name}: {lines:?}");
        ensure!(shader["text"].is_null(), "{shader}");
    }
    let saxpy = shaders.iter().find(|shader| shader["name"] == "saxpy.wgsl").context("no saxpy")?;
    ensure!(saxpy["kind"] == "shader" && saxpy["internal"] == false, "{saxpy}");
    ensure!(saxpy["description"] == "y[i] = a * x[i] + y[i]", "{saxpy}");
    Ok(())
}

fn text() -> Result<()> {
    let saxpy = fencepost::builtin_shader("saxpy.wgsl").context("it is built in")?;
    for name in ["saxpy.wgsl", "saxpy"] {
        ensure!(fencepost(["shaders", name])?.good()? == saxpy, "{name}");
    }
    let json = fencepost(["shaders", "linear", "--json"])?.json()?;
    ensure!(json["kind"] == "snippet", "{json}");
    let out = fencepost(["shaders", "linear"])?.good()?;
    ensure!(json["text"] == *out && out.contains("fn linear_id("), "{out}");
    Ok(())
}

fn unknown() -> Result<()> {
    fencepost(["shaders", "daxpy"])?.refused(1, &["`daxpy`", "`fencepost shaders` lists them"])
}

/// Compares the page of the book. `fencepost shaders --markdown > docs/shaders.md` writes it.
fn page() -> Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/shaders.md");
    let page = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let wanted = fencepost(["shaders", "--markdown"])?.good()?;
    let differs = page.lines().zip(wanted.lines()).find(|(page, wanted)| page != wanted);
    ensure!(page == wanted, "write docs/shaders.md again, with --markdown: {differs:?}");
    Ok(())
}
