//! Profiles as files.

use crate::error::{Kind, Result};
use crate::profile::Profile;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

// As the module: the documentation of `fencepost` sees this one only.
#[cfg(feature = "profile")]
impl Profile {
    /// Writes the profile to a file: `.json` gets the trace of [`write_chrome_trace`](Self::write_chrome_trace), `.html`
    /// the timeline of [`write_html`](Self::write_html).
    ///
    /// # Errors
    /// [`Kind::File`] if it cannot be written, or is to be of another kind.
    ///
    /// # Example
    /// ```no_run
    /// # let (ctx, queue) = fencepost::doctest();
    /// let profiler = ctx.profile();
    /// queue.full::<u32, 1>([1024], 7)?;
    /// profiler.finish().wait()?.write("timeline.html")?;
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn write(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let refused = |reason: String| Kind::File { path: path.display().to_string(), reason };
        let html = match path.extension().and_then(|extension| extension.to_str()) {
            Some("json") => false,
            Some("html") => true,
            _ => return Err(refused("a profile is written to `.json` or `.html`".into()).into()),
        };
        let write = || {
            let mut file = BufWriter::new(File::create(path)?);
            if html { self.write_html(&mut file) } else { self.write_chrome_trace(&mut file) }?;
            file.flush()
        };
        Ok(write().map_err(|error| refused(error.to_string()))?)
    }
}
