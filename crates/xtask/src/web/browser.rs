//! The browsers that run the tests, without a window.

use std::fs;
use std::io::{PipeReader, Read as _, pipe};
use std::iter;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;

use super::emptied;
use super::pages::PageHost;
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

    /// Returns `true` if these are the arguments of the browser's process for GPU work. `arguments` end with zeros or, after
    /// a process has changed them, with spaces.
    fn is_gpu_process(self, arguments: &str) -> bool {
        let mut words = arguments.split(['\0', ' ']).filter(|word| !word.is_empty());
        match self {
            Self::Chromium => words.any(|word| word == "--type=gpu-process"),
            Self::Firefox => {
                words.clone().any(|word| word == "-contentproc") && words.next_back() == Some("gpu")
            }
        }
    }

    /// Returns the browser's program. If it is missing, and `may_install`, it is installed first.
    pub(crate) fn find(self, may_install: bool) -> Result<Option<PathBuf>> {
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
    pub(crate) fn start(self, program: &Path, profile: &Path, address: &str) -> Result<Running> {
        emptied(profile)?;
        let line = match self {
            Self::Chromium => {
                let data = format!("--user-data-dir={}", profile.display());
                // Chromium refuses its sandbox to root.
                let flags =
                    ["--headless=new", "--no-sandbox", "--no-first-run", "--disable-background-networking"];
                let gpu = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"];
                // The first writes the port of the DevTools into the profile. Without the second, a page that has lost the
                // GPU process may get no other device until its visitor agrees.
                let tools = ["--remote-debugging-port=0", "--disable-domain-blocking-for-3d-apis"];
                line(program).args(flags).args(gpu).args(tools).arg(data).arg(address)
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
        Ok(Running { browser: self, child, said: drained(reader) })
    }
}

/// A browser that runs. Its drop ends it.
pub(crate) struct Running {
    browser: Browser,
    child: Child,
    said: Arc<Mutex<String>>,
}

impl PageHost for Running {
    fn said(&self) -> String {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn end_gpu_process(&self) -> Result<bool> {
        let found = gpu_processes(Path::new("/proc"), self.browser, self.child.id());
        for process in &found {
            let (has_ended, said) = line("kill").args(["-KILL", &process.to_string()]).said()?;
            ensure!(has_ended, "cannot end process {process}: {}", said.trim());
        }
        let may_be_absent = self.browser != Browser::Chromium || cfg!(not(target_os = "linux"));
        ensure!(may_be_absent || !found.is_empty(), "the browser has no GPU process");
        Ok(!found.is_empty())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // A browser whose main process is killed ends its other processes.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the GPU processes among the descendants of a browser's main process. `processes` is the folder in which Linux
/// has one folder for each process.
fn gpu_processes(processes: &Path, browser: Browser, main: u32) -> Vec<u32> {
    let text = |process: u32, name: &str| {
        let bytes = fs::read(processes.join(process.to_string()).join(name)).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    };
    let parent = |process: &u32| {
        // The name of the program, which may have brackets itself, is in brackets.
        let stat = text(*process, "stat")?;
        let mut after_name = stat.rsplit_once(')')?.1.split_whitespace();
        after_name.nth(1)?.parse::<u32>().ok()
    };
    let is_below = |process: u32| iter::successors(Some(process), parent).any(|above| above == main);
    let is_of_gpu = |process: u32| text(process, "cmdline").is_some_and(|args| browser.is_gpu_process(&args));
    let all = fs::read_dir(processes).into_iter().flatten().flatten();
    let all = all.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    all.filter(|&process| is_of_gpu(process) && is_below(process)).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_gpu_processes_below_the_browser_are_found() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let add = |process: u32, parent: u32, name: &str, args: &str| {
            let folder = dir.path().join(process.to_string());
            fs::create_dir(&folder).expect("made");
            fs::write(folder.join("stat"), format!("{process} ({name}) S {parent} 1 1 0")).expect("written");
            fs::write(folder.join("cmdline"), args).expect("written");
        };
        add(1, 0, "init", "init\0");
        add(10, 1, "chromium", "chromium\0--headless=new\0");
        add(11, 10, "chromium", "chromium\0--type=zygote\0");
        add(12, 11, "a (b) c", "chromium\0--type=gpu-process\0");
        add(13, 11, "chromium", "chromium\0--type=renderer\0");
        add(14, 10, "chromium", "chromium --type=gpu-process --no-sandbox");
        add(15, 10, "firefox", "firefox\0-contentproc\0{a}\x003\0gpu\0");
        add(20, 1, "chromium", "chromium\0--type=gpu-process\0");
        fs::create_dir(dir.path().join("self")).expect("made");
        let found = |browser, main| {
            let mut found = gpu_processes(dir.path(), browser, main);
            found.sort_unstable();
            found
        };
        assert_eq!(found(Browser::Chromium, 10), [12, 14]);
        assert_eq!(found(Browser::Chromium, 13), [0; 0]);
        assert_eq!(found(Browser::Firefox, 10), [15]);
        assert_eq!(gpu_processes(&dir.path().join("none"), Browser::Chromium, 10), [0; 0]);
    }

    #[test]
    fn a_process_of_firefox_for_pages_is_not_its_gpu_process() {
        let is = |args: &str| Browser::Firefox.is_gpu_process(args);
        assert!(is("firefox-esr\0-contentproc\0-appDir\0/gpu\0{a}\x001\0gpu\0"));
        assert!(!is("firefox-esr\0-contentproc\0-gpu\0gpu\0{a}\x002\0tab\0"));
        assert!(!is("firefox-esr\0--profile\0gpu\0") && !is(""));
    }
}
