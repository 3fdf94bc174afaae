//! Writes a profile to a file.

use crate::file_error::FileError;
use crate::profile::Profile;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

// Repeats the `cfg` of the module, because the documentation of `fencepost` shows only a `cfg` on the item itself.
#[cfg(feature = "profile")]
impl Profile {
    /// Writes the profile to a file: a `.json` file contains the trace of
    /// [`write_chrome_trace`](Self::write_chrome_trace), an `.html` file the timeline of
    /// [`write_html`](Self::write_html).
    ///
    /// # Errors
    /// [`FileError`] if the file cannot be written, or its name has another extension. `?` turns this error into
    /// an error of `fencepost` of the kind `File`.
    ///
    /// # Example
    /// ```no_run
    /// # let (ctx, queue) = fencepost::doctest();
    /// let profiler = ctx.profile();
    /// queue.full::<u32, 1>([1024], 7)?;
    /// profiler.finish().wait()?.write("timeline.html")?;
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), FileError> {
        let path = path.as_ref();
        let refused = |reason: String| FileError { path: path.display().to_string(), reason };
        let html = match path.extension().and_then(|extension| extension.to_str()) {
            Some("json") => false,
            Some("html") => true,
            _ => return Err(refused("the name of a profile's file ends in `.json` or `.html`".into())),
        };
        let write = || {
            let mut file = BufWriter::new(File::create(path)?);
            if html { self.write_html(&mut file) } else { self.write_chrome_trace(&mut file) }?;
            file.flush()
        };
        write().map_err(|error| refused(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use crate::test_profiles::profile;

    #[test]
    fn the_error_of_a_file_names_it_and_the_reason() {
        let error = profile(Vec::new()).write("profile.txt").unwrap_err();
        let needed = "the name of a profile's file ends in `.json` or `.html`";
        assert_eq!(error.to_string(), format!("file `profile.txt` was not written: {needed}"));
    }
}
