//! `cargo xtask page`: builds the page of `examples/web` into target/page, prints its size, serves it, and takes pictures.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::shell::{cargo, line};
use crate::steps::Done;
use crate::targets::{self, Target};
use crate::web::devtools::DevTools;
use crate::web::server::{self, Server};
use crate::web::{Browser, bindgen};
use crate::workspace::{Workspace, text_of};

/// Folder of the package.
const PACKAGE: &str = "examples/web";
/// Name of the library in the package.
const LIBRARY: &str = "page";
/// Name of the module that page.js imports.
const MODULE: &str = "fencepost";
/// Line of index.html that the style sheet replaces, so that a browser shows the first text in its style.
const LINK: &str = r#"<link rel="stylesheet" href="style.css">"#;
/// Maximum size of the compressed page, in bytes.
const LIMIT: u64 = 3_000_000;

/// The looks of the page in the pictures. The last one changes the browser.
const LOOKS: [Look; 3] = [
    Look { name: "light", scheme: "light", has_webgpu: true },
    Look { name: "dark", scheme: "dark", has_webgpu: true },
    Look { name: "without-webgpu", scheme: "light", has_webgpu: false },
];
/// Width of the window in the pictures, and its height until the page is complete: all sections fit in and start.
const WINDOW: (u64, u64) = (900, 5000);
/// Longest time until all sections show a result. Without WebGPU the CPU device interprets their kernels.
const COMPLETE: Duration = Duration::from_secs(300);
/// Longest time in which the browser goes to the address of the page.
const NAVIGATION: Duration = Duration::from_secs(30);
/// Expression of JavaScript for the state of the page: its address, `true` if all sections show a result, its errors, and
/// the height of its contents.
const STATE: &str = "({
    look: location.search,
    complete: ['first', 'bits', 'races', 'queues', 'water'].every(
        (section) => document.getElementById(`${section}-result`).textContent),
    errors: [...document.querySelectorAll('.error')].map((error) => error.textContent).join(' ').trim(),
    height: Math.ceil(document.querySelector('footer').getBoundingClientRect().bottom + scrollY) + 32,
})";

/// Arguments of the command `page`.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Options {
    pub(crate) serve: bool,
    pub(crate) screenshots: bool,
}

/// A way in which a visitor sees the page.
struct Look {
    name: &'static str,
    /// Colours that the visitor prefers.
    scheme: &'static str,
    has_webgpu: bool,
}

/// The size of a file of the page.
struct FileSize {
    name: String,
    bytes: u64,
    gzipped: u64,
}

/// Builds the page and prints its size. Takes pictures if they are wanted. With `serve`, serves the page until the program
/// is interrupted.
///
/// # Errors
/// The page cannot be built, is too large, or shows an error in a picture.
pub(crate) fn page(workspace: &Workspace, options: &Options) -> Result<()> {
    let folder = build(workspace)?;
    let sizes = sizes(&folder)?;
    println!("{}", table(&sizes));
    check_size(&sizes)?;
    eprintln!("xtask: the page is in {}", folder.display());
    if options.screenshots {
        take_pictures(workspace, &folder)?;
    }
    if options.serve { server::serve(&folder) } else { Ok(()) }
}

/// Shows the page in Chromium in each look, and writes a picture of each.
fn take_pictures(workspace: &Workspace, folder: &Path) -> Result<()> {
    let program = Browser::Chromium.find(true)?.context("there is no Chromium")?;
    let (post, _posted) = channel();
    let server = Server::start(folder, post)?;
    let profile = workspace.made("page-profile")?;
    let _browser = Browser::Chromium.start(&program, &profile, "about:blank")?;
    let mut tools = DevTools::connect(&profile)?;
    tools.call("Page.enable", json!({}))?;
    let pictures = workspace.made("page-pictures")?;
    for look in &LOOKS {
        let png = picture(&mut tools, &server.address(), look);
        let file = pictures.join(format!("{}.png", look.name));
        fs::write(&file, png.with_context(|| format!("no picture `{}`", look.name))?)
            .with_context(|| format!("cannot write {}", file.display()))?;
        eprintln!("xtask: a picture is {}", file.display());
    }
    Ok(())
}

/// Returns a picture of the whole page, once all sections show a result.
fn picture(tools: &mut DevTools, address: &str, look: &Look) -> Result<Vec<u8>> {
    let preferred = json!({ "name": "prefers-color-scheme", "value": look.scheme });
    tools.call("Emulation.setEmulatedMedia", json!({ "features": [preferred] }))?;
    if !look.has_webgpu {
        let source = "delete Navigator.prototype.gpu";
        tools.call("Page.addScriptToEvaluateOnNewDocument", json!({ "source": source }))?;
    }
    resize(tools, WINDOW.1)?;
    tools.call("Page.navigate", json!({ "url": format!("{address}?{}", look.name) }))?;
    let start = Instant::now();
    let height = loop {
        let state = match tools.value_of(STATE) {
            // While the browser goes to the address, it may refuse to evaluate.
            Err(_) if start.elapsed() < NAVIGATION => Value::Null,
            state => state?,
        };
        if let Some(height) = height_if_complete(&state, look.name)? {
            break height;
        }
        ensure!(start.elapsed() < COMPLETE, "after {COMPLETE:?}, the state of the page is {state}");
        thread::sleep(Duration::from_millis(250));
    };
    resize(tools, height)?;
    tools.picture()
}

/// Returns the height of the page with this look if all its sections show a result.
///
/// # Errors
/// The page shows an error.
fn height_if_complete(state: &Value, look: &str) -> Result<Option<u64>> {
    // Until the browser has gone to the address, the state is that of the page before, or none.
    if state["look"].as_str().and_then(|search| search.strip_prefix('?')) != Some(look) {
        return Ok(None);
    }
    if let Some(errors) = state["errors"].as_str().filter(|errors| !errors.is_empty()) {
        bail!("the page shows an error: {errors}");
    }
    Ok(state["height"].as_u64().filter(|_| state["complete"] == true))
}

/// Gives the window another height.
fn resize(tools: &mut DevTools, height: u64) -> Result<()> {
    let size = json!({ "width": WINDOW.0, "height": height, "deviceScaleFactor": 1, "mobile": false });
    tools.call("Emulation.setDeviceMetricsOverride", size).map(drop)
}

/// Tests the package on this machine, and builds the page if tools may be installed for it.
///
/// # Errors
/// A test fails; the page cannot be built, or is too large.
pub(crate) fn check(workspace: &Workspace, may_install: bool) -> Result<Done> {
    let manifest = workspace.path(PACKAGE).join("Cargo.toml");
    let in_package = |args: &[&str]| {
        cargo().args(args).arg("--manifest-path").arg(&manifest).dir(workspace.root()).without("RUSTFLAGS")
    };
    in_package(&["fmt", "--check"]).run()?;
    let tests = workspace.made("page-tests")?;
    in_package(&["test", "--quiet", "--lib"]).arg("--target-dir").arg(tests).run()?;
    if !may_install {
        return Ok(Done::Partly("the build for the web, whose tools may have to be installed".to_owned()));
    }
    page(workspace, &Options::default()).map(|()| Done::Yes)
}

/// Builds the page and returns its folder.
fn build(workspace: &Workspace) -> Result<PathBuf> {
    let triple = targets::ready(Target::Web, true)?;
    let package = workspace.path(PACKAGE);
    let made = workspace.made("page-build")?;
    let build = cargo().args(["build", "--release", "--lib", "--target", triple, "--manifest-path"]);
    let build = build.arg(package.join("Cargo.toml")).arg("--target-dir").arg(&made);
    build.dir(workspace.root()).run()?;

    let folder = workspace.made("page")?;
    fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    let wasm = made.join(triple).join("release").join(format!("{LIBRARY}.wasm"));
    let bindgen = line(bindgen::bindgen(workspace)?).args(["--target", "web", "--no-typescript"]);
    let bindgen = bindgen.args(["--remove-name-section", "--remove-producers-section"]);
    bindgen.args(["--out-name", MODULE, "--out-dir"]).arg(&folder).arg(wasm).run()?;

    let text = |name: &str| text_of(&package.join(name));
    write(&folder, "index.html", &inlined(&text("index.html")?, &text("style.css")?)?)?;
    write(&folder, "page.js", &text("page.js")?)?;
    Ok(folder)
}

fn write(folder: &Path, name: &str, text: &str) -> Result<()> {
    let file = folder.join(name);
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// Returns a document with its style sheet inside.
fn inlined(document: &str, style: &str) -> Result<String> {
    ensure!(document.matches(LINK).count() == 1, "index.html must have `{LINK}` exactly once");
    Ok(document.replace(LINK, &format!("<style>\n{style}</style>")))
}

/// Returns the sizes of the files in a folder, sorted by name.
fn sizes(folder: &Path) -> Result<Vec<FileSize>> {
    let mut sizes = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let file = entry?.path();
        let bytes = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        sizes.push(FileSize { name, bytes: bytes.len() as u64, gzipped: gzipped(&bytes)? });
    }
    sizes.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(sizes)
}

/// Returns the number of bytes of a file after gzip has compressed it as well as it can.
fn gzipped(bytes: &[u8]) -> Result<u64> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    Ok(encoder.finish()?.len() as u64)
}

/// Returns the sum of the sizes.
fn total(sizes: &[FileSize]) -> FileSize {
    let bytes = sizes.iter().map(|file| file.bytes).sum();
    let gzipped = sizes.iter().map(|file| file.gzipped).sum();
    FileSize { name: "total".to_owned(), bytes, gzipped }
}

/// Writes a line for each file, and one for all.
fn table(sizes: &[FileSize]) -> String {
    let total = total(sizes);
    let width = sizes.iter().map(|file| file.name.len()).max().unwrap_or(0).max("total".len());
    let row = |file: &FileSize| {
        format!("{:width$}  {:>9} bytes  {:>9} gzipped", file.name, file.bytes, file.gzipped)
    };
    sizes.iter().chain([&total]).map(row).collect::<Vec<_>>().join("\n")
}

fn check_size(sizes: &[FileSize]) -> Result<()> {
    let gzipped = total(sizes).gzipped;
    ensure!(
        gzipped <= LIMIT,
        "the page has {gzipped} bytes, compressed, and the limit is {LIMIT}: look at the features of `fencepost` in \
         {PACKAGE}/Cargo.toml, and at its profile"
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(name: &str, bytes: u64, gzipped: u64) -> FileSize {
        FileSize { name: name.to_owned(), bytes, gzipped }
    }

    fn text(name: &str) -> String {
        let workspace = Workspace::find().expect("tests run in the workspace");
        text_of(&workspace.path(name)).expect("it is there")
    }

    #[test]
    fn the_style_sheet_replaces_its_link() {
        let document =
            inlined(&text("examples/web/index.html"), "p { color: red }\n").expect("it has the link");
        assert!(document.contains("<style>\np { color: red }\n</style>") && !document.contains(LINK));
        let error = inlined("<html>", "").expect_err("there is no link").to_string();
        assert!(error.contains("style.css"), "{error}");
    }

    #[test]
    fn the_compressed_sizes_of_all_files_count_towards_the_limit() {
        check_size(&[file("a", u64::MAX / 2, LIMIT - 1), file("b", 1, 1)]).expect("it is exactly the limit");
        let error = check_size(&[file("a", 0, LIMIT), file("b", 0, 1)]).expect_err("it is a byte too much");
        assert!(error.to_string().starts_with("the page has 3000001 bytes"), "{error}");
    }

    #[test]
    fn the_table_ends_with_the_total() {
        let table = table(&[file("a.wasm", 10, 5), file("b", 2, 1)]);
        let rows: Vec<Vec<&str>> = table.lines().map(|row| row.split_whitespace().collect()).collect();
        assert_eq!(rows[0][..2], ["a.wasm", "10"]);
        assert_eq!(rows[2], ["total", "12", "bytes", "6", "gzipped"]);
    }

    #[test]
    fn a_folder_is_measured_file_by_file() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        write(dir.path(), "b.js", &"a".repeat(10_000)).expect("written");
        write(dir.path(), "a.html", "a").expect("written");
        let sizes = sizes(dir.path()).expect("readable");
        assert_eq!((&*sizes[0].name, &*sizes[1].name, sizes[1].bytes), ("a.html", "b.js", 10_000));
        assert!(sizes[1].gzipped < 100, "{} bytes", sizes[1].gzipped);
    }

    #[test]
    fn a_picture_waits_for_all_results_of_its_look_and_refuses_errors() {
        let state = |look: &str, complete: bool, errors: &str| json!({ "look": look, "complete": complete, "errors": errors, "height": 3000 });
        let height = |state: Value| height_if_complete(&state, "dark");
        assert_eq!(height(state("?dark", true, "")).expect("no error"), Some(3000));
        for early in [state("?dark", false, ""), state("?light", true, "of the page before"), Value::Null] {
            assert_eq!(height(early).expect("no error"), None);
        }
        let error = height(state("?dark", false, "no adapter")).expect_err("the page shows one").to_string();
        assert!(error.contains("no adapter"), "{error}");
    }

    #[test]
    fn the_page_has_the_elements_whose_results_a_picture_needs() {
        let document = text("examples/web/index.html");
        for section in ["first", "bits", "races", "queues", "water"] {
            assert!(STATE.contains(&format!("'{section}'")), "{section}");
            assert!(document.contains(&format!("id=\"{section}-result\"")), "{section}");
        }
        assert!(document.contains("<footer>") && document.contains("class=\"error\""));
    }

    #[test]
    fn the_package_pins_the_versions_of_the_lock_file() {
        let manifest = text("examples/web/Cargo.toml");
        for package in ["wasm-bindgen", "wasm-bindgen-futures"] {
            let version = bindgen::version_of(&text("Cargo.lock"), package).expect("it is in the lock file");
            assert!(manifest.contains(&format!("\n{package} = \"={version}\"\n")), "{package} {version}");
            assert_eq!(bindgen::version_of(&text("examples/web/Cargo.lock"), package), Some(version));
        }
    }

    #[test]
    fn a_browser_lets_the_page_load_its_own_files_only() {
        let document = text("examples/web/index.html");
        let policy = "content=\"default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self' \
                      'unsafe-inline'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'\"";
        assert!(document.contains(&format!("http-equiv=\"Content-Security-Policy\" {policy}")));
        for name in ["page.js", "style.css"] {
            assert!(!text(&format!("examples/web/{name}")).contains("://"), "{name}");
        }
    }
}
