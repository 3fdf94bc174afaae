//! The shader of a run: its file and its entry point.

use std::path::Path;

use anyhow::{Context as _, Result, bail};
use fencepost::{Context, DynKernel, ShaderSource};

use super::argument::Setting;
use crate::output;

/// A shader with the entry point and the override constants of a run.
pub(super) struct Shader<'a> {
    pub(super) source: ShaderSource,
    pub(super) entry: String,
    pub(super) settings: &'a [Setting],
}

impl<'a> Shader<'a> {
    /// Reads the shader of a file. Without a name, the entry point is the only one, or the one with the name of the
    /// file.
    ///
    /// # Errors
    /// The file cannot be read, the shader is wrong, or it has several entry points.
    pub(super) fn read(file: &Path, entry: Option<&str>, settings: &'a [Setting]) -> Result<Self> {
        let path = file.to_str().with_context(|| format!("the path {} is not UTF-8", file.display()))?;
        let source = source(path)?;
        let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let known = source.entries()?;
        let entry = match (entry, &known[..]) {
            (Some(entry), _) => entry,
            (None, [only]) => only,
            (None, []) => {
                bail!(
                    "`{path}` has no compute entry point: write `@compute @workgroup_size(64) fn name() {{}}`"
                )
            }
            (None, several) if several.iter().any(|name| name == stem) => stem,
            (None, several) => bail!(
                "`{path}` has several entry points, and none is called `{stem}`: give --entry and one of {}",
                several.join(", ")
            ),
        };
        let entry = entry.to_owned();
        Ok(Self { source, entry, settings })
    }

    /// Compiles the kernel for a context.
    ///
    /// # Errors
    /// The shader is wrong, or the device lacks a feature that it needs.
    pub(super) fn kernel(&self, ctx: &Context) -> Result<DynKernel> {
        let settings = self.settings.iter().map(|setting| (setting.name.as_str(), setting.value));
        let settings: Vec<(&str, f64)> = settings.collect();
        Ok(ctx.kernel_from_with(&self.source, &self.entry, &settings)?)
    }
}

/// Returns the text of a file, or of the built-in shader of that name if the file does not exist.
fn source(path: &str) -> Result<ShaderSource> {
    if Path::new(path).exists() {
        return Ok(ShaderSource::read(path)?);
    }
    match ShaderSource::builtin(path) {
        Ok(source) => {
            output::complain(&format!("there is no file `{path}`: the built-in shader of that name runs"));
            Ok(source)
        }
        Err(error) => bail!("cannot read `{path}`: there is no such file, and {error}"),
    }
}
