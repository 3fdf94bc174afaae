//! The shader compiler of DX12. wgpu chooses it when the first adapter is looked for, and names it only in its log.

use std::sync::OnceLock;

use log::{LevelFilter, Log, Metadata, Record};

use super::Line;

/// Name of the line in the report.
const NAME: &str = "DX12 shaders";

/// Start of the targets of wgpu's messages about DX12.
const TARGET: &str = "wgpu_hal::dx12";

/// A compiler of DX12 shaders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Compiler {
    Dxc,
    Fxc,
}

/// Logger that keeps the compiler named in the first message that names one.
struct Listener(OnceLock<Compiler>);

static LISTENER: Listener = Listener(OnceLock::new());

/// Begins to read the log. Call it before the first call that looks for adapters.
pub(super) fn listen() {
    if log::set_logger(&LISTENER).is_ok() {
        log::set_max_level(LevelFilter::Debug);
    }
}

/// Returns a line about the compiler; `None` if wgpu has not named one, as on systems without DX12.
pub(super) fn line() -> Option<Line> {
    LISTENER.0.get().copied().map(Compiler::line)
}

impl Log for Listener {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with(TARGET)
    }

    fn log(&self, record: &Record<'_>) {
        if self.enabled(record.metadata())
            && let Some(compiler) = Compiler::named(&record.args().to_string())
        {
            let _ = self.0.set(compiler); // fails if an earlier message named one
        }
    }

    fn flush(&self) {}
}

impl Compiler {
    /// Returns the compiler that a message of wgpu names.
    fn named(message: &str) -> Option<Self> {
        match message.strip_prefix("Using ")?.strip_suffix(" for shader compilation")? {
            "dynamic DXC" | "static DXC" => Some(Self::Dxc),
            "FXC" => Some(Self::Fxc),
            _ => None,
        }
    }

    fn line(self) -> Line {
        match self {
            Self::Dxc => Line::ok(NAME, "DXC compiles them"),
            Self::Fxc => Line::warning(
                NAME,
                "FXC compiles them, because no dxcompiler.dll was found: it is old, takes much longer than DXC for large kernels, \
                 refuses some loops, and has no f16, no 64-bit integers and no subgroups",
                "put dxcompiler.dll, version 1.8.2502 or newer, into the folder of the program or of the PATH; it is in the \
                 releases of https://github.com/microsoft/DirectXShaderCompiler",
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Status;
    use super::*;

    #[test]
    fn the_compiler_is_the_one_that_wgpu_names_first() {
        let listener = Listener(OnceLock::new());
        let say = |target: &str, message: &str| {
            listener.log(&Record::builder().target(target).args(format_args!("{message}")).build());
            listener.0.get().copied()
        };
        assert_eq!(say("wgpu_hal::dx12::instance", "Unable to check for tearing support"), None);
        assert_eq!(say("wgpu_hal::vulkan", "Using FXC for shader compilation"), None);
        assert_eq!(say("wgpu_hal::dx12::instance", "Using FXC for shader compilation"), Some(Compiler::Fxc));
        assert_eq!(
            say("wgpu_hal::dx12::instance", "Using static DXC for shader compilation"),
            Some(Compiler::Fxc)
        );
    }

    #[test]
    fn each_form_of_dxc_is_dxc() {
        for form in ["dynamic DXC", "static DXC"] {
            let named = Compiler::named(&format!("Using {form} for shader compilation"));
            assert_eq!(named, Some(Compiler::Dxc), "{form}");
        }
        assert_eq!(Compiler::named("Using another one for shader compilation"), None);
    }

    #[test]
    fn fxc_is_a_warning_with_the_reason_and_a_remedy() {
        let line = Compiler::Fxc.line();
        assert_eq!((line.check.as_str(), line.status), (NAME, Status::Warning));
        for reason in ["longer than DXC", "f16", "64-bit integers", "subgroups"] {
            assert!(line.detail.contains(reason), "{}", line.detail);
        }
        assert!(line.remedy.is_some_and(|remedy| remedy.contains("put dxcompiler.dll")));
        let line = Compiler::Dxc.line();
        assert_eq!((line.status, line.remedy), (Status::Ok, None));
    }
}
