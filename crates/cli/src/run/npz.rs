//! Reads archives of NumPy: `.npz`.

use std::io::BufReader;
use std::path::Path;

use anyhow::{Context, Result, bail};
use zip::ZipArchive;

use super::host::{Limit, Numbers, open, quoted};
use super::npy;
use super::number::Number;
use super::signature::Buffer;

/// Ending of the names of arrays in an archive.
const ENDING: &str = ".npy";

/// Reads an array for a buffer. Without a name, it is the only array, or the one with the name of the buffer.
///
/// # Errors
/// The file is not an archive or is cut off, the array is not in it, or [`npy::read`] fails.
pub(super) fn read<T: Number>(
    path: &Path,
    array: Option<&str>,
    buffer: &Buffer,
    limit: &Limit,
) -> Result<Numbers<T>> {
    let file = quoted(path);
    let archive = ZipArchive::new(BufReader::new(open(path)?));
    let mut archive = archive.with_context(|| {
        format!("{file} is not a .npz file, or is cut off: save the arrays again with `numpy.savez`")
    })?;
    let names: Vec<String> =
        archive.file_names().filter_map(|name| name.strip_suffix(ENDING)).map(Into::into).collect();
    let array = choose(&file, &names, array, &buffer.name)?;
    let name = format!("array `{array}` of {file}");
    let inside = archive.by_name(&format!("{array}{ENDING}"));
    npy::read(&name, inside.with_context(|| format!("cannot read {name}"))?, &buffer.text, limit)
}

/// Returns the name of the wanted array.
fn choose<'a>(file: &str, arrays: &'a [String], wanted: Option<&str>, buffer: &str) -> Result<&'a str> {
    let find = |name: &str| arrays.iter().find(|array| array.as_str() == name).map(String::as_str);
    let list = || arrays.iter().map(|array| format!("`{array}`")).collect::<Vec<_>>().join(", ");
    match (wanted, arrays) {
        (_, []) => bail!("{file} has no arrays: save some with `numpy.savez`"),
        (Some(wanted), _) => match find(wanted) {
            Some(found) => Ok(found),
            None => bail!("{file} has no array `{wanted}`: its arrays are {}", list()),
        },
        (None, [only]) => Ok(only.as_str()),
        (None, several) => match find(buffer) {
            Some(found) => Ok(found),
            None => bail!(
                "{file} has {} arrays, and none is called `{buffer}`: give FILE.npz:ARRAY with one of {}",
                several.len(),
                list()
            ),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_array_is_the_named_one_the_only_one_or_the_one_of_the_buffer() {
        let arrays = ["x", "y"].map(String::from);
        let of = |arrays: &[String], wanted: Option<&str>, buffer: &str| {
            choose("`a.npz`", arrays, wanted, buffer).map(str::to_owned).map_err(|error| error.to_string())
        };
        assert_eq!(of(&arrays, Some("y"), "x"), Ok("y".into()));
        assert_eq!(of(&arrays, None, "x"), Ok("x".into()));
        assert_eq!(of(&arrays[..1], None, "other"), Ok("x".into()));
        let error = of(&arrays, None, "z").unwrap_err();
        assert_eq!(
            error,
            "`a.npz` has 2 arrays, and none is called `z`: give FILE.npz:ARRAY with one of `x`, `y`"
        );
        let error = of(&arrays, Some("z"), "x").unwrap_err();
        assert_eq!(error, "`a.npz` has no array `z`: its arrays are `x`, `y`");
        assert!(of(&[], None, "x").unwrap_err().contains("has no arrays"));
    }
}
