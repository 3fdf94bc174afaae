//! `cargo xtask window`: runs the program and the tests of `examples/window` on a display server without a screen.

use std::io::{BufRead, BufReader, PipeReader, PipeWriter, Read, pipe};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::time::{Duration, Instant};
use std::{slice, thread};

use anyhow::{Context, Error, Result, anyhow};

use crate::adapters::{has_library, usable_drivers};
use crate::environment::{RUNTIME_DIR, Vars, private_dir};
use crate::packages::Manager;
use crate::shell::{Line, cargo, line, which};
use crate::steps::Done;
use crate::workspace::Workspace;

/// Frames of each library in the comparison.
const FRAMES: &str = "600";
/// Variables with the display of a session, which the program must not use.
const DISPLAYS: [&str; 3] = ["DISPLAY", "WAYLAND_DISPLAY", "WAYLAND_SOCKET"];
/// Time limit for the start of a display server.
const START: Duration = Duration::from_secs(60);

/// Kind of a display.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    X11,
    Wayland,
}

impl Kind {
    /// Returns the program of a server that needs no screen.
    fn program(self) -> &'static str {
        match self {
            Self::X11 => "Xvfb",
            Self::Wayland => "weston",
        }
    }

    /// Returns the libraries that winit loads.
    fn libraries(self) -> &'static [&'static str] {
        match self {
            Self::X11 => &[
                "libX11.so.6",
                "libX11-xcb.so.1",
                "libXcursor.so.1",
                "libXi.so.6",
                "libxkbcommon.so.0",
                "libxkbcommon-x11.so.0",
            ],
            Self::Wayland => &["libwayland-client.so.0", "libxkbcommon.so.0"],
        }
    }

    /// Returns the packages of Debian with the server and the libraries.
    fn packages(self) -> &'static [&'static str] {
        match self {
            Self::X11 => &["xvfb", "libx11-6", "libx11-xcb1", "libxcursor1", "libxi6", "libxkbcommon-x11-0"],
            Self::Wayland => &["weston", "libwayland-client0", "libxkbcommon0"],
        }
    }

    fn missing(self) -> Option<&'static str> {
        let program = Some(self.program()).filter(|program| which(program).is_none());
        program.or_else(|| self.libraries().iter().copied().find(|name| !has_library(name)))
    }
}

/// Tests the program on X11 and on Wayland. The kind that is not possible here is left out.
pub(crate) fn check(workspace: &Workspace, may_install: bool) -> Result<Done> {
    let mut left_out = Vec::new();
    for kind in [Kind::X11, Kind::Wayland] {
        if let Done::Skipped(why) = window(workspace, kind, may_install)? {
            left_out.push(format!("{kind:?}: {why}"));
        }
    }
    let why = left_out.join("; ");
    Ok(match left_out.len() {
        0 => Done::Yes,
        1 => Done::Partly(why),
        _ => Done::Skipped(why),
    })
}

/// Builds the program, starts a display server, and runs the tests and the comparison there, on lavapipe. Skipped if the
/// server, a library or the driver is missing and may not be installed.
///
/// # Errors
/// The program does not build, a test fails, or a frame of the comparison is an error.
pub(crate) fn window(workspace: &Workspace, kind: Kind, may_install: bool) -> Result<Done> {
    if cfg!(not(target_os = "linux")) {
        return Ok(Done::Skipped("displays without a screen are started on Linux only".into()));
    }
    if let Some(missing) = install(kind, may_install)? {
        let packages = kind.packages().join(" ");
        return Ok(Done::Skipped(format!("`{missing}` not found: install {packages}")));
    }
    let Some(driver) = lavapipe(may_install)? else {
        return Ok(Done::Skipped("lavapipe, Mesa's Vulkan driver on the CPU, not found".into()));
    };
    line_of(workspace, &["fmt", "--check"]).run()?;
    line_of(workspace, &["test", "--no-run"]).run()?;
    let display = Display::start(workspace, kind)?;
    let in_it = |args: &[&str]| {
        let line = DISPLAYS.into_iter().fold(line_of(workspace, args), Line::without);
        line.var("VK_DRIVER_FILES", &driver).var("VK_ICD_FILENAMES", &driver).vars(&display.vars)
    };
    in_it(&["test"]).run()?;
    in_it(&["run", "--", "--frames", FRAMES, "--compare"]).run()?;
    Ok(Done::Yes)
}

/// Returns a command line of cargo for the program. All but `fmt` build it, with optimisation.
fn line_of(workspace: &Workspace, args: &[&str]) -> Line {
    let (command, rest) = args.split_first().expect("bug: no command");
    let line = cargo().arg(command).arg("--manifest-path").arg(workspace.path("examples/window/Cargo.toml"));
    let line = line.var("CARGO_TARGET_DIR", workspace.path("target/window")).dir(workspace.root());
    line.args((*command != "fmt").then_some("--release")).args(rest)
}

/// Installs the packages of a display if a part is missing. Returns the part that is still missing.
fn install(kind: Kind, may_install: bool) -> Result<Option<&'static str>> {
    if let Some(missing) = kind.missing()
        && may_install
        && let Some(manager @ Manager::Apt) = Manager::find()
    {
        eprintln!("xtask: there is no `{missing}`: installing {}", kind.packages().join(" "));
        manager.install(kind.packages())?;
    }
    Ok(kind.missing())
}

/// Returns the manifest of lavapipe. If it is missing, and `may_install`, it is installed first.
fn lavapipe(may_install: bool) -> Result<Option<PathBuf>> {
    let find = || usable_drivers().into_iter().find(|driver| driver.is_lavapipe());
    if find().is_none()
        && may_install
        && let Some(manager) = Manager::find()
    {
        eprintln!("xtask: there is no lavapipe: installing {}", manager.software_driver().join(" "));
        manager.install(manager.software_driver())?;
    }
    Ok(find().map(|driver| driver.manifest))
}

/// A display server, which ends with this value.
struct Display {
    server: Child,
    /// End of the pipe that the server writes its messages to. A server without it would end.
    _messages: BufReader<PipeReader>,
    /// Variables that lead a program to the server.
    vars: Vars,
}

impl Display {
    fn start(workspace: &Workspace, kind: Kind) -> Result<Self> {
        let sockets = private_dir(workspace)?;
        let folder = (RUNTIME_DIR.to_owned(), sockets.clone());
        let (reader, writer) = pipe().context("no pipe")?;
        let mut messages = BufReader::new(reader);
        match kind {
            Kind::X11 => {
                // The server takes a free number, and writes it once it accepts programs.
                let args = ["-displayfd", "1", "-screen", "0", "1280x1024x24", "-nolisten", "tcp"];
                let mut server = started(&line("Xvfb").args(args), writer)?;
                let number = number(&mut messages).map_err(|said| ended(&mut server, &said))?;
                let vars = vec![("DISPLAY".to_owned(), format!(":{number}")), folder];
                Ok(Self { server, _messages: messages, vars })
            }
            Kind::Wayland => {
                let name = format!("fencepost-{}", std::process::id());
                let socket = Path::new(&sockets).join(&name);
                let weston = line("weston").args(["--backend=headless-backend.so", "--no-config"]);
                let weston = weston.args(["--idle-time=0", "--width=1280", "--height=1024"]);
                let weston = weston.arg(format!("--socket={name}")).vars(slice::from_ref(&folder));
                let mut server = started(&weston, writer)?;
                let start = Instant::now();
                while !socket.exists() {
                    let has_ended = server.try_wait().context("cannot wait for weston")?.is_some();
                    if has_ended || start.elapsed() > START {
                        let _ = server.kill(); // which closes the pipe
                        let mut said = Vec::new();
                        let _ = messages.read_to_end(&mut said);
                        return Err(ended(&mut server, &String::from_utf8_lossy(&said)));
                    }
                    thread::sleep(Duration::from_millis(20));
                }
                let vars = vec![("WAYLAND_DISPLAY".to_owned(), name), folder];
                Ok(Self { server, _messages: messages, vars })
            }
        }
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        // Asked to end, a server removes its socket.
        let pid = self.server.id().to_string();
        let is_asked = line("kill").arg(pid).said().is_ok_and(|(is_asked, _)| is_asked);
        if !is_asked {
            // A server that has ended already is not an error.
            let _ = self.server.kill();
        }
        let _ = self.server.wait();
    }
}

/// Prints a command line and starts it.
fn started(line: &Line, writer: PipeWriter) -> Result<Child> {
    eprintln!("+ {line} &");
    line.start(writer)
}

/// Returns the first line that is a number. If the server ends before, returns its messages.
fn number(messages: &mut impl BufRead) -> Result<u32, String> {
    let mut said = String::new();
    loop {
        let mut line = String::new();
        if !messages.read_line(&mut line).is_ok_and(|read| read > 0) {
            return Err(said);
        }
        if let Ok(number) = line.trim().parse() {
            return Ok(number);
        }
        said += &line;
    }
}

/// Ends a server that did not start, and returns the error.
fn ended(server: &mut Child, said: &str) -> Error {
    let _ = server.kill(); // a server that has ended already is not an error
    let _ = server.wait();
    anyhow!("the display server did not start: {}", said.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_a_display_is_found_after_other_messages() {
        assert_eq!(number(&mut &b"_XSERVTransmkdir: a warning\n7\nmore\n"[..]), Ok(7));
    }

    #[test]
    fn a_server_that_ends_without_a_number_leaves_its_messages() {
        assert_eq!(
            number(&mut &b"Fatal server error:\nno 7\n"[..]),
            Err("Fatal server error:\nno 7\n".into())
        );
    }

    #[test]
    fn each_display_has_a_package_of_its_server() {
        for kind in [Kind::X11, Kind::Wayland] {
            let server = kind.program().to_lowercase();
            assert!(kind.packages().contains(&server.as_str()), "{kind:?}");
        }
    }
}
