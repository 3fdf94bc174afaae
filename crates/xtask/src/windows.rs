//! `cargo xtask windows`: runs the tests as programs for Windows, under Wine.

use std::env;
use std::fs;
use std::io::{BufRead, BufReader, PipeReader, pipe};
use std::path::{Path, PathBuf};
use std::process::Child;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::adapters::{Driver, usable_drivers};
use crate::debs::{Found, Packaged};
use crate::environment::{Vars, missing_runtime_dir};
use crate::foreign::Foreign;
use crate::packages::Manager;
use crate::shell::{Line, line, which};
use crate::software::ensure_adapter;
use crate::steps::Done;
use crate::suite::{self, DeviceTests, Program};
use crate::tally::{Tally, last_lines};
use crate::workspace::Workspace;

const TRIPLE: &str = "x86_64-pc-windows-gnu";
static COMPILER: Packaged = Packaged {
    names: &["x86_64-w64-mingw32-gcc"],
    packages: &[
        "gcc-mingw-w64-x86-64-win32",
        "gcc-mingw-w64-x86-64-win32-runtime",
        "binutils-mingw-w64-x86-64",
        "mingw-w64-x86-64-dev",
        "mingw-w64-common",
    ],
    file: "usr/bin/x86_64-w64-mingw32-gcc-win32",
};
static WINE: Packaged = Packaged {
    names: &["wine", "wine64"],
    packages: &["wine64", "libwine", "libz-mingw-w64"],
    file: "usr/lib/wine/wine64",
};
/// Name of Wine's server in its packages, beside the program. No other server has this name.
const SERVER: &str = "wineserver64";
/// The graphics APIs of this system that Wine passes on, as `fencepost info` names them.
const PASSED_ON: [&str; 2] = ["Vulkan", "GL"];
/// Program of an X server without a screen. Its keyboard needs installed files.
const DISPLAY_SERVER: &str = "Xvfb";

/// Wine's libraries that are not loaded: those of .NET and of HTML, which would ask to be installed, and Direct3D 12,
/// which computes wrong numbers.
const WITHOUT_DX12: &str = "mscoree,mshtml,d3d12=";
/// The same with Direct3D 12.
const WITH_DX12: &str = "mscoree,mshtml=";

/// Tests that do not run: they replace functions of the driver, which is Linux's, and do so on Linux.
const LEFT_OUT: &str = "refusals";

/// Library that Wine 8 lacks: the source of random numbers of Rust's standard library.
const RANDOM: (&str, &str) = (
    "bcryptprimitives.dll",
    "#include <windows.h>
BOOLEAN NTAPI SystemFunction036(void *bytes, ULONG count);
__declspec(dllexport) BOOL WINAPI ProcessPrng(BYTE *bytes, SIZE_T count) {
    while (count > 0) {
        ULONG part = count > 4096 ? 4096 : (ULONG)count;
        if (!SystemFunction036(bytes, part)) return FALSE;
        bytes += part;
        count -= part;
    }
    return TRUE;
}
",
);

/// Arguments of the command `windows`.
pub(crate) struct Options {
    /// Names of modes; the default mode if empty.
    pub(crate) modes: Vec<String>,
    /// `true` if missing packages may be fetched and unpacked below `target`, and Xvfb and lavapipe installed.
    pub(crate) may_fetch: bool,
}

/// Builds the tests, the examples and the command for Windows, and runs them under Wine on the adapters that they find:
/// Vulkan and GL through the drivers of this system, and the CPU. Skipped if a tool is missing and may not be fetched.
///
/// # Errors
/// A tool cannot be fetched, a program does not build, or a test fails.
pub(crate) fn windows(workspace: &Workspace, options: &Options) -> Result<Done> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Ok(Done::Skipped("Wine is used on Linux on x86-64".to_owned()));
    }
    let may_fetch = options.may_fetch;
    let Some(compiler) = COMPILER.find(workspace, may_fetch)? else {
        return Ok(Done::Skipped(COMPILER.missing()));
    };
    let Some(wine) = WINE.find(workspace, may_fetch)? else {
        return Ok(Done::Skipped(WINE.missing()));
    };
    let Some(foreign) = Foreign::find(workspace, TRIPLE, (compiler, Vec::new()), may_fetch)? else {
        return Ok(Done::Skipped(format!("no standard library for {TRIPLE}: `rustup target add {TRIPLE}`")));
    };
    let Some(display) = Display::open(may_fetch)? else {
        return Ok(Done::Skipped(format!("no display: install {DISPLAY_SERVER}, or set DISPLAY")));
    };
    let no_driver = ensure_adapter(may_fetch)?;
    let DeviceTests { programs, command } = suite::build_for_devices(foreign.cargo()?)?;
    let wine = Wine::start(workspace, wine, &foreign, &display)?;
    let absent = absent(&wine, &command)?.map(|apis| format!("{apis} on display `{}`", display.name));
    println!("{}", smoke(&wine, &command)?);
    let default = ["default".to_owned()];
    let modes: &[String] = if options.modes.is_empty() { &default } else { &options.modes };
    let modes = suite::modes_named(modes)?;
    let programs: Vec<Program> = programs
        .into_iter()
        .filter(|program| program.name != LEFT_OUT)
        .map(|program| program.under(&wine.line(WITHOUT_DX12)))
        .collect();
    let vars = vec![("FENCEPOST_TEST_ADAPTERS".to_owned(), "all".to_owned())];
    Tally::run(workspace, "windows", &programs, (&vars, &modes, &[]))?.print()?;
    let without: Vec<String> = no_driver.into_iter().chain(absent).collect();
    Ok(if without.is_empty() { Done::Yes } else { Done::Partly(without.join("; ")) })
}

/// Returns a description of the graphics APIs that Wine cannot use here. The tests leave them out.
///
/// # Errors
/// The command does not start under Wine.
fn absent(wine: &Wine, command: &Path) -> Result<Option<String>> {
    let (_, said) = wine.line(WITHOUT_DX12).arg(command).args(["info", "--json"]).run_quietly()?;
    let apis = unopened(&said)
        .with_context(|| format!("`fencepost info` printed no report under Wine:\n{}", last_lines(&said)))?;
    Ok((!apis.is_empty()).then(|| format!("an adapter of {}", apis.join(" and "))))
}

/// Returns the APIs for which a report of `fencepost info --json` has no adapter that opens.
fn unopened(said: &str) -> Option<Vec<&'static str>> {
    let mut reports = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let adapters = reports.find_map(|report| report["adapters"].as_array().cloned())?;
    let opens = |api: &str| adapters.iter().any(|known| known["backend"] == api && known["error"].is_null());
    Some(PASSED_ON.into_iter().filter(|api| !opens(api)).collect())
}

/// Runs a kernel on Direct3D 12, and returns a line about it. Its numbers are not compared, because those of Wine are
/// wrong.
///
/// # Errors
/// The program crashed.
fn smoke(wine: &Wine, command: &Path) -> Result<String> {
    let run = wine.line(WITH_DX12).arg(command).args(["run", "saxpy.wgsl", "a=2", "x=iota:8", "y=zeros:8"]);
    let (passed, said) = run.args(["--adapter", "dx12", "--check=never"]).run_quietly()?;
    let last = last_lines(&said);
    if said.contains("panicked at") || (!passed && last.is_empty()) {
        bail!("a launch on Direct3D 12 crashed: {last}");
    }
    let ended = if passed { "ended" } else { "was refused" };
    Ok(format!("DX12, a smoke test whose numbers are not compared: a launch {ended}: {last}"))
}

/// Wine with its own folder for Windows' files, and its variables.
struct Wine {
    found: Found,
    vars: Vars,
}

impl Wine {
    /// Makes the folder below `target` if it is missing.
    ///
    /// # Errors
    /// Wine does not start, or the library that it lacks does not compile.
    fn start(workspace: &Workspace, found: Found, foreign: &Foreign, display: &Display) -> Result<Self> {
        let prefix = workspace.made("wine")?;
        if let Some(root) = &found.root {
            complete(root, &found.program)?;
        }
        let var = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let mut vars = found.vars()?;
        vars.extend(missing_runtime_dir(workspace)?);
        vars.extend(lavapipe());
        vars.push(var("WINEPREFIX", &prefix.to_string_lossy()));
        vars.extend([var("WINEARCH", "win64"), var("WINEDEBUG", "-all"), var("DISPLAY", &display.name)]);
        if let Some(server) = server_of(&found.program) {
            vars.push(var("WINELOADER", &found.program.to_string_lossy()));
            vars.push(var("WINESERVER", &server.to_string_lossy()));
        }
        let wine = Self { found, vars };
        if !prefix.join("system.reg").is_file() {
            wine.line(WITHOUT_DX12).args(["wineboot", "-i"]).run_aside()?;
        }
        add_random_numbers(&prefix, foreign)?;
        Ok(wine)
    }

    /// Returns the command line that runs a program, without some of Wine's libraries.
    fn line(&self, without: &str) -> Line {
        line(&self.found.program).vars(&self.vars).var("WINEDLLOVERRIDES", without)
    }
}

impl Drop for Wine {
    /// Ends the server of the folder, and with it the programs that Wine has left running there.
    fn drop(&mut self) {
        if let Some(server) = server_of(&self.found.program).or_else(|| which("wineserver")) {
            let _ = line(server).vars(&self.vars).arg("-k").said(); // it fails if the server has ended
        }
    }
}

/// Returns the server beside the program of Debian's package. Other programs find their server themselves.
fn server_of(program: &Path) -> Option<PathBuf> {
    Some(program.with_file_name(SERVER)).filter(|server| server.is_file())
}

/// Does in unpacked packages what their installation does. Copies the library of zlib into Wine's folder. Replaces the script
/// `wineserver` by the server itself, because Wine starts the script before it looks at its variable, and the script knows
/// only the server of an installed package.
fn complete(root: &Path, program: &Path) -> Result<()> {
    let zlib = root.join("usr/x86_64-w64-mingw32/lib/zlib1.dll");
    replace(&root.join("usr/lib/x86_64-linux-gnu/wine/x86_64-windows/zlib1.dll"), &zlib)?;
    let Some(server) = server_of(program) else { return Ok(()) };
    replace(&program.with_file_name("wineserver"), &server)
}

/// Replaces a file by a copy of `source`, unless it has the same length.
fn replace(file: &Path, source: &Path) -> Result<()> {
    let length = |path: &Path| fs::metadata(path).ok().map(|metadata| metadata.len());
    if length(source).is_none() || length(file) == length(source) {
        return Ok(());
    }
    if file.exists() {
        fs::remove_file(file).with_context(|| format!("cannot remove {}", file.display()))?;
    }
    fs::copy(source, file).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(())
}

/// Returns the variables that select lavapipe. SwiftShader has no surfaces for Windows, which Wine requires.
fn lavapipe() -> Vars {
    let driver = usable_drivers().into_iter().find(Driver::is_lavapipe);
    let manifest = driver.map(|driver| driver.manifest.to_string_lossy().into_owned());
    let names = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"];
    manifest.iter().flat_map(|path| names.map(|name| (name.to_owned(), path.clone()))).collect()
}

/// Compiles the library that Wine lacks into the folder of system libraries, unless it is there.
fn add_random_numbers(prefix: &Path, foreign: &Foreign) -> Result<()> {
    let (name, text) = RANDOM;
    let library = prefix.join("drive_c/windows/system32").join(name);
    if library.is_file() {
        return Ok(());
    }
    let source: PathBuf = prefix.join("random.c");
    fs::write(&source, text).with_context(|| format!("cannot write {}", source.display()))?;
    let compile = foreign.compiler()?.args(["-shared", "-O1", "-o"]).arg(&library).arg(&source);
    compile.arg("-ladvapi32").run_aside()
}

/// The display that Wine draws on.
struct Display {
    name: String,
    server: Option<Child>,
    /// Output of the server. A server without a reader of its messages may end.
    _output: Option<PipeReader>,
}

impl Display {
    /// Returns the display of the session, or starts an X server; installs it if `may_install`. `None` if there is none.
    ///
    /// # Errors
    /// The server cannot be installed, or does not start.
    fn open(may_install: bool) -> Result<Option<Self>> {
        if let Some(name) = env::var("DISPLAY").ok().filter(|name| !name.is_empty()) {
            return Ok(Some(Self { name, server: None, _output: None }));
        }
        if which(DISPLAY_SERVER).is_none()
            && may_install
            && let Some(manager @ Manager::Apt) = Manager::find()
        {
            eprintln!("xtask: there is no display: installing xvfb");
            manager.install(&["xvfb"])?;
        }
        let Some(program) = which(DISPLAY_SERVER) else { return Ok(None) };
        let (reader, writer) = pipe().context("no pipe")?;
        let screen = ["-screen", "0", "640x480x24", "-nolisten", "tcp"];
        let start = line(program).args(["-displayfd", "1"]).args(screen);
        eprintln!("+ {start}");
        let server = start.start(writer)?;
        let mut display = Self { name: String::new(), server: Some(server), _output: None };
        let mut lines = BufReader::new(&reader).lines().map_while(Result::ok);
        let number = lines.find(|line| line.trim().parse::<u32>().is_ok());
        drop(lines);
        let number = number.with_context(|| format!("{DISPLAY_SERVER} does not name its display"))?;
        display.name = format!(":{}", number.trim());
        display._output = Some(reader);
        Ok(Some(display))
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        if let Some(server) = &mut self.server {
            let _ = server.kill(); // it fails if the server has ended
            let _ = server.wait();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_api_is_absent_if_none_of_its_adapters_opens() {
        let report = |adapters: &str| format!("a warning\n7\n{{\"adapters\":[{adapters}]}}\n");
        let vulkan = r#"{"backend":"Vulkan","error":null}"#;
        let gl = r#"{"backend":"GL","error":"no context"},{"backend":"GL","error":null}"#;
        let closed = r#"{"backend":"GL","error":"no context"},{"backend":"native code","error":null}"#;
        assert_eq!(unopened(&report(&format!("{vulkan},{gl}"))), Some(vec![]));
        assert_eq!(unopened(&report(&format!("{vulkan},{closed}"))), Some(vec!["GL"]));
        assert_eq!(unopened(&report("")), Some(PASSED_ON.to_vec()));
        assert_eq!(unopened("wine: could not load ntdll.so"), None);
    }
}
