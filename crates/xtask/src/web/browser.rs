//! The browsers that run the tests, without a window.

use std::fs;
use std::io::{PipeReader, Read as _, pipe};
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result};
use clap::ValueEnum;

use super::emptied;
use crate::adapters::usable_drivers;
use crate::packages::Manager;
use crate::shell::{Line, line, which};

/// A browser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Browser {
    /// Chromium, on its own SwiftShader
    Chromium,
    /// Firefox, on lavapipe
    Firefox,
}

/// Settings of Firefox: WebGPU on a driver without a card, and suspended stacks of WebAssembly.
const SETTINGS: &str = r#"user_pref("dom.webgpu.enabled", true);
user_pref("gfx.webgpu.ignore-blocklist", true);
user_pref("gfx.webgpu.force-enabled", true);
user_pref("security.sandbox.gpu.level", 0);
user_pref("javascript.options.wasm_js_promise_integration", true);
user_pref("browser.shell.checkDefaultBrowser", false);
user_pref("datareporting.policy.dataSubmissionEnabled", false);
user_pref("app.normandy.enabled", false);
"#;

impl Browser {
    /// Returns the name of its place in the results.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Chromium => "chromium",
            Self::Firefox => "firefox",
        }
    }

    /// Returns the package of Debian with the browser.
    pub(super) fn package(self) -> &'static str {
        match self {
            Self::Chromium => "chromium",
            Self::Firefox => "firefox-esr",
        }
    }

    /// Returns the browser's program. If it is missing, and `may_install`, it is installed first.
    pub(super) fn find(self, may_install: bool) -> Result<Option<PathBuf>> {
        let names: &[&str] = match self {
            Self::Chromium => &["chromium", "chromium-browser", "google-chrome"],
            Self::Firefox => &["firefox-esr", "firefox"],
        };
        let find = || names.iter().find_map(|name| which(name));
        if find().is_none()
            && may_install
            && let Some(manager @ Manager::Apt) = Manager::find()
        {
            eprintln!("xtask: there is no {}: installing it", self.package());
            manager.install(&[self.package()])?;
        }
        Ok(find())
    }

    /// Starts the browser with an empty profile, and opens an address.
    pub(super) fn start(self, program: &Path, profile: &Path, address: &str) -> Result<Running> {
        emptied(profile)?;
        let line = match self {
            Self::Chromium => {
                let data = format!("--user-data-dir={}", profile.display());
                // Chromium refuses its sandbox to root.
                let flags =
                    ["--headless=new", "--no-sandbox", "--no-first-run", "--disable-background-networking"];
                let gpu = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"];
                line(program).args(flags).args(gpu).arg(data).arg(address)
            }
            Self::Firefox => {
                fs::write(profile.join("user.js"), SETTINGS)
                    .context("cannot write the settings of Firefox")?;
                let line = line(program).args(["--headless", "--profile"]).arg(profile).arg(address);
                let lavapipe = usable_drivers().into_iter().find(|driver| driver.is_lavapipe());
                lavapipe
                    .into_iter()
                    .fold(line, |line: Line, driver| line.var("VK_DRIVER_FILES", driver.manifest))
            }
        };
        let (reader, writer) = pipe().context("no pipe")?;
        let child = line.start(writer)?;
        Ok(Running { child, said: drained(reader) })
    }
}

/// A browser that runs. Its drop ends it.
pub(super) struct Running {
    child: Child,
    said: Arc<Mutex<String>>,
}

impl Running {
    /// Returns the last messages of the browser.
    pub(super) fn said(&self) -> String {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A browser whose main process is killed ends its other processes.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Reads the messages of a browser, which would wait otherwise, and keeps the last ones.
fn drained(mut reader: PipeReader) -> Arc<Mutex<String>> {
    const KEPT: usize = 4000;
    let said = Arc::new(Mutex::new(String::new()));
    let of_thread = said.clone();
    thread::spawn(move || {
        let mut bytes = [0; 4096];
        while let Ok(count @ 1..) = reader.read(&mut bytes) {
            let mut said = of_thread.lock().unwrap_or_else(PoisonError::into_inner);
            *said += &String::from_utf8_lossy(&bytes[..count]);
            let from = said.len().saturating_sub(KEPT);
            let from = (from..=said.len()).find(|&at| said.is_char_boundary(at)).unwrap_or(0);
            said.drain(..from);
        }
    });
    said
}
