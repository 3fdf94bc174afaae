//! Writes the code of kernels as text to the folder that `FENCEPOST_DUMP` names.

use fencepost_kernels::report;
use std::path::PathBuf;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Folder of `FENCEPOST_DUMP`, if the variable is set.
static FOLDER: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    std::env::var_os("FENCEPOST_DUMP").filter(|folder| !folder.is_empty()).map(PathBuf::from)
});

/// Maximum number of characters of a kernel's name in a file name.
const LONGEST: usize = 80;

/// Returns `true` if a folder is named.
pub(crate) fn is_wanted() -> bool {
    FOLDER.is_some()
}

/// Returns the start of the names of a kernel's files: the kernel's number in this process, and its name.
pub(crate) fn name(kernel: &str) -> String {
    static COUNT: AtomicU32 = AtomicU32::new(1);
    let kernel: String = kernel.chars().take(LONGEST).collect();
    format!("{}-{kernel}", COUNT.fetch_add(1, Ordering::Relaxed))
}

/// Writes a file. If it cannot be written, logs a warning.
pub(crate) fn write(file: &str, text: &str) {
    let Some(folder) = &*FOLDER else { return };
    let path = folder.join(file);
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text));
    if let Err(error) = written {
        report!(Warn, "`FENCEPOST_DUMP`: cannot write {}: {error}", path.display());
    }
}
