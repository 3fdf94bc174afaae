//! Parses the command line. `cargo xtask demo` has the help; a crate for command lines would make the first build longer.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

/// Form of the command line.
pub(crate) const USAGE: &str = "fencepost-demo [--quick] [--headless] [--folder FOLDER] FILE...";

/// Arguments of the demo.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Arguments {
    /// `true` for a small simulation.
    pub(crate) quick: bool,
    /// `true` to show no picture, not even in a terminal.
    pub(crate) headless: bool,
    /// Folder for the picture and the timeline.
    pub(crate) folder: PathBuf,
    /// Files to hash, at least one.
    pub(crate) files: Vec<PathBuf>,
}

impl Arguments {
    /// Parses a command line without the name of the program.
    ///
    /// # Errors
    /// Fails if it names an unknown option, no folder after `--folder`, or no file.
    pub(crate) fn parse(args: impl IntoIterator<Item = OsString>) -> Result<Self> {
        let folder = PathBuf::from("target/demo");
        let mut parsed = Self { quick: false, headless: false, folder, files: Vec::new() };
        let mut args = args.into_iter();
        while let Some(arg) = args.next() {
            match arg.to_str() {
                Some("--quick") => parsed.quick = true,
                Some("--headless") => parsed.headless = true,
                Some("--folder") => {
                    let folder = args.next();
                    parsed.folder =
                        folder.with_context(|| format!("no folder after `--folder`: {USAGE}"))?.into();
                }
                Some(option) if option.starts_with('-') => bail!("there is no option `{option}`: {USAGE}"),
                _ => parsed.files.push(PathBuf::from(arg)),
            }
        }
        if parsed.files.is_empty() {
            bail!("no file to hash: {USAGE}");
        }
        Ok(parsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Arguments> {
        Arguments::parse(args.iter().map(OsString::from))
    }

    #[test]
    fn files_keep_their_order_and_options_may_stand_between_them() {
        let found = parse(&["b", "--quick", "a", "--folder", "out", "--headless"]).unwrap();
        let files = ["b", "a"].map(PathBuf::from).into();
        assert_eq!(found, Arguments { quick: true, headless: true, folder: "out".into(), files });
        let found = parse(&["a"]).unwrap();
        let files = vec![PathBuf::from("a")];
        assert_eq!(found, Arguments { quick: false, headless: false, folder: "target/demo".into(), files });
    }

    #[test]
    fn a_wrong_command_line_is_an_error_that_names_the_mistake() {
        for (args, says) in [
            (&["a", "--fast"][..], "there is no option `--fast`"),
            (&["a", "--folder"][..], "no folder after `--folder`"),
            (&["--quick"][..], "no file to hash"),
        ] {
            let error = parse(args).unwrap_err().to_string();
            assert!(error.starts_with(says) && error.ends_with(USAGE), "{error}");
        }
    }
}
