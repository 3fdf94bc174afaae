//! Writes the code of a program as text, and its addresses for profilers.

use crate::dump;
use cranelift_codegen::Context;
use cranelift_jit::JITModule;
use cranelift_module::FuncId;
use fencepost_kernels::report;
use std::fmt::Write as _;
use std::io::Write as _;
use std::sync::LazyLock;

/// `true` if `FENCEPOST_PERF=1` asks to write the names of functions to the file that `perf` reads.
static PERF: LazyLock<bool> =
    LazyLock::new(|| std::env::var_os("FENCEPOST_PERF").is_some_and(|it| it == "1"));

/// Listing of the functions of a program, collected while they are compiled.
pub(super) struct Listing {
    intermediate: String,
    assembly: String,
    /// Functions and their code sizes, in the order of compilation, the entry point first.
    functions: Vec<(FuncId, usize)>,
}

impl Listing {
    /// Returns an empty listing if the environment asks for one.
    pub(super) fn wanted() -> Option<Self> {
        let intermediate = String::new();
        let assembly = String::new();
        (dump::is_wanted() || *PERF).then(|| Self { intermediate, assembly, functions: Vec::new() })
    }

    /// Adds a function before its compilation, and asks the compiler for its assembly.
    pub(super) fn begin(&mut self, code: &mut Context) {
        code.set_disasm(true);
        let _ = writeln!(self.intermediate, "{}", code.func.display());
    }

    /// Adds the compiled function.
    pub(super) fn end(&mut self, id: FuncId, code: &Context) {
        let Some(compiled) = code.compiled_code() else { return };
        let number = self.functions.len();
        let assembly = compiled.vcode.as_deref().unwrap_or_default();
        let _ = writeln!(self.assembly, "function {number}:\n{assembly}");
        self.functions.push((id, compiled.code_buffer().len()));
    }

    /// Writes the files of a program whose functions are finished.
    pub(super) fn write(self, kernel: &str, lanes: u32, jit: &JITModule) {
        if dump::is_wanted() {
            let name = dump::name(kernel);
            dump::write(&format!("{name}.{lanes}.clif"), &self.intermediate);
            dump::write(&format!("{name}.{lanes}.asm"), &self.assembly);
        }
        if *PERF && let Err(error) = self.write_map(kernel, lanes, jit) {
            report!(Warn, "`FENCEPOST_PERF`: cannot write the map of the code: {error}");
        }
    }

    /// Adds the functions to the map that `perf` reads: the address, the size, the name.
    fn write_map(&self, kernel: &str, lanes: u32, jit: &JITModule) -> std::io::Result<()> {
        let mut lines = String::new();
        for (number, &(id, bytes)) in self.functions.iter().enumerate() {
            let start = jit.get_finalized_function(id).addr();
            let _ = writeln!(lines, "{start:x} {bytes:x} fencepost::{kernel}.{lanes}.{number}");
        }
        // `perf` looks for the map of a process only in this file.
        let path = format!("/tmp/perf-{}.map", std::process::id());
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
        file.write_all(lines.as_bytes())
    }
}
