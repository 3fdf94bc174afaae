//! The shader of a run: its file, its entry point, and where it is wrong.

use std::path::Path;

use anyhow::{Context as _, Result, anyhow, bail};
use fencepost::{Context, DynKernel, Error, KernelError, Kind, ShaderSource};

use super::argument::Setting;

/// Reads and compiles the kernel of a file. Without a name for the entry point it is the only one, or the one that is called
/// as the file.
///
/// # Errors
/// The file cannot be read, the shader is wrong, or there are several entry points.
pub(super) fn kernel(
    ctx: &Context,
    file: &Path,
    entry: Option<&str>,
    settings: &[Setting],
) -> Result<DynKernel> {
    let path = file.to_str().with_context(|| format!("the path {} is not UTF-8", file.display()))?;
    let source = ShaderSource::read(path).map_err(|error| shown(&error))?;
    let settings: Vec<_> = settings.iter().map(|setting| (setting.name.as_str(), setting.value)).collect();
    let compile = |entry: &str| ctx.kernel_from_source(&source, entry, &settings);
    if let Some(entry) = entry {
        return compile(entry).map_err(|error| explained(&error));
    }
    let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    match compile(stem) {
        Err(error) => match entries(&error) {
            Some([only]) => compile(only).map_err(|error| explained(&error)),
            Some([]) => bail!(
                "`{path}` has no compute entry point: write `@compute @workgroup_size(64) fn name() {{}}`"
            ),
            Some(several) => bail!(
                "`{path}` has several entry points, and none is called `{stem}`: give --entry and one of \
                {}",
                several.join(", ")
            ),
            None => Err(explained(&error)),
        },
        Ok(kernel) => Ok(kernel),
    }
}

/// The entry points that there are, if the one that was asked for is not among them.
fn entries(error: &Error) -> Option<&[String]> {
    match error.kind() {
        Kind::Kernel(KernelError::UnknownEntry { known, .. }) => Some(&known.0),
        _ => None,
    }
}

/// An error of the library, with a caret where it has a place in the source.
fn explained(error: &Error) -> anyhow::Error {
    match error.kind() {
        Kind::Kernel(error) => shown(error),
        _ => anyhow!("{error}"),
    }
}

fn shown(error: &KernelError) -> anyhow::Error {
    match error {
        KernelError::Wgsl { column, text, .. } => anyhow!("{error}\n  | {}", caret(text, *column)),
        _ => anyhow!("{error}"),
    }
}

/// A caret that stands below a column, counted in bytes from 1; tabs stay, so that it stands right with tabs of any width.
fn caret(text: &str, column: usize) -> String {
    let before = text.char_indices().take_while(|(at, _)| at + 1 < column);
    let mut line: String = before.map(|(_, c)| if c == '\t' { '\t' } else { ' ' }).collect();
    line.push('^');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caret_stands_below_its_column() {
        assert_eq!(caret("let x = y;", 9), "        ^");
        assert_eq!(caret("\tlet x = y;", 2), "\t^");
        assert_eq!(caret("let ä = y;", 10), "        ^");
        assert_eq!(caret("", 1), "^");
    }
}
