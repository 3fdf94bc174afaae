//! Writes the WGSL of kernels to the folder that the environment names, for the developers of a program.

use fencepost_kernels::ShaderSource;
use fencepost_kernels::report;
use siphasher::sip::SipHasher13;
use std::hash::Hasher as _;
use std::path::PathBuf;
use std::sync::LazyLock;

/// The folder of `FENCEPOST_DUMP`, if the variable is set.
static FOLDER: LazyLock<Option<PathBuf>> = LazyLock::new(|| {
    std::env::var_os("FENCEPOST_DUMP").filter(|folder| !folder.is_empty()).map(PathBuf::from)
});

/// Most characters of an entry point in a file name.
const LONGEST: usize = 80;

/// Writes the text of a kernel, with the snippets that it uses, to the folder if there is one. If a file cannot be
/// written, the log has a warning.
pub(crate) fn write(source: &ShaderSource, entry: &str) {
    let Some(folder) = &*FOLDER else { return };
    let Ok(text) = source.whole_text() else { return };
    let path = folder.join(name(entry, &text));
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, text));
    if let Err(error) = written {
        report!(Warn, "`FENCEPOST_DUMP`: cannot write {}: {error}", path.display());
    }
}

/// Returns the file name of a text. Equal texts have the same name, and other texts have other names.
fn name(entry: &str, text: &str) -> String {
    let mut hash = SipHasher13::new();
    hash.write(text.as_bytes());
    let entry: String = entry.chars().take(LONGEST).collect();
    format!("{entry}-{:016x}.wgsl", hash.finish())
}

#[cfg(all(test, cpu))]
mod tests {
    use super::*;
    use crate::api::context::Context;
    use crate::record::cpu::cpu_recorder::CpuOptions;
    use std::process::Command;

    /// Compiles a kernel, in the process that the next test starts.
    #[test]
    #[ignore = "another test starts it with a folder"]
    fn a_kernel_is_compiled() {
        let ctx = Context::on_cpu(CpuOptions::default());
        let text = crate::builtin_shader("saxpy.wgsl").expect("it is a shader of the library");
        ctx.host_kernel("saxpy", fencepost_kernels::reference("saxpy").expect("it has one"))
            .expect("it is the CPU");
        ctx.kernel_from(text, "saxpy").expect("it compiles");
    }

    #[test]
    fn the_text_of_a_compiled_kernel_is_in_the_folder() {
        let folder = std::env::temp_dir().join(format!("fencepost-texts-{}", std::process::id()));
        let own = concat!(module_path!(), "::a_kernel_is_compiled");
        let (_, own) = own.split_once("::").expect("a path begins with the crate");
        let mut child = Command::new(std::env::current_exe().expect("it runs"));
        child.args(["--ignored", "--exact", own]).env("FENCEPOST_DUMP", &folder);
        assert!(child.output().expect("it starts").status.success());
        let files = std::fs::read_dir(&folder)
            .expect("the folder is made")
            .map(|file| file.expect("it is read").path());
        let texts: Vec<PathBuf> =
            files.filter(|file| file.extension().is_some_and(|kind| kind == "wgsl")).collect();
        let [file] = &texts[..] else { panic!("{texts:?}") };
        assert!(std::fs::read_to_string(file).expect("it is written").contains("fn saxpy("));
        std::fs::remove_dir_all(folder).expect("it is there");
    }

    #[test]
    fn equal_texts_have_one_file() {
        assert_eq!(name("sum", "a"), name("sum", "a"));
        assert_ne!(name("sum", "a"), name("sum", "b"));
        let long = name(&"é".repeat(200), "a");
        assert!(long.starts_with('é') && long.len() < 255, "{long}");
    }
}
