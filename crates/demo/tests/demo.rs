//! Runs the demo as a program, on the CPU device, and tests those of its modules that no other package tests.

#[path = "../src/arguments.rs"]
#[allow(dead_code, reason = "only the program uses all of it")]
mod arguments;
#[path = "../src/device.rs"]
#[allow(dead_code, reason = "only the program uses all of it")]
mod device;
#[path = "../src/simulation.rs"]
#[allow(dead_code, reason = "only the program uses all of it")]
mod simulation;
#[path = "../src/terminal.rs"]
#[allow(dead_code, reason = "only the program uses all of it")]
mod terminal;

use std::collections::HashSet;
use std::fs;
use std::io::{Cursor, sink};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use fencepost::{AdapterChoice, Context, ContextOptions};
use serde_json::Value;

/// Returns the output of a quick run whose files go to `folder`.
fn demo(folder: &Path, files: &[PathBuf]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost-demo"));
    command.args(["--quick", "--headless", "--folder"]).arg(folder).args(files);
    command.env("FENCEPOST_ADAPTER", "cpu").output().expect("the demo starts")
}

/// Returns the lines of a run, which must have ended well.
fn lines(output: &Output) -> Vec<String> {
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// Returns the only error line of a run, which must have failed.
fn error(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(errors.lines().count(), 1, "{errors}");
    errors.into_owned()
}

#[test]
fn a_quick_run_prints_the_hashes_in_order_and_leaves_a_picture_and_a_timeline() {
    let folder = tempfile::tempdir().unwrap();
    let results = folder.path().join("made/by the demo");
    let mut expected = Vec::new();
    let mut files = Vec::new();
    for (name, length) in [("second", 70_000), ("first", 0)] {
        let bytes: Vec<u8> = (0..length).map(|i| (i % 251) as u8).collect();
        let file = folder.path().join(name);
        fs::write(&file, &bytes).unwrap();
        expected.push(format!("  {}  {name}", blake3::hash(&bytes)));
        files.push(file);
    }
    let lines = lines(&demo(&results, &files));

    assert!(lines[0].starts_with("device     Fencepost CPU (native code, software, "), "{lines:#?}");
    assert_eq!(lines[1], "           Kernels run on the CPU, because FENCEPOST_ADAPTER is `cpu`.");
    assert_eq!(lines[3..5], expected);
    let verified = lines.iter().filter(|line| line.ends_with(" verified on the CPU")).count();
    let rates = lines.iter().filter(|line| line.ends_with(" GB/s") || line.ends_with(" steps/s")).count();
    assert_eq!((verified, rates), (2, 2), "{lines:#?}");
    let cells = "           5760 cells and their pixels verified on the CPU";
    assert!(lines.iter().any(|line| line == cells), "{lines:#?}");
    let picture = results.join("waves.png");
    let timeline = results.join("timeline.html");
    let last = [
        format!("picture    {}", picture.display()),
        format!("timeline   {}, a page for a browser", timeline.display()),
    ];
    assert_eq!(lines[lines.len() - 2..], last);
    assert!(lines.iter().all(|line| !line.contains('\x1b')), "a headless run has no control sequences");

    // 70,000 bytes are 69 chunks, which seven levels of parents reduce to one value.
    let rows = rows(&fs::read_to_string(timeline).unwrap());
    let kernels = ["blake3_chunks", "blake3_parents", "step", "paint"];
    assert_eq!(kernels.map(|kernel| timed(&rows, kernel)), [1, 7, 200, 1]);
}

/// Returns the rows of a timeline.
fn rows(page: &str) -> Vec<Value> {
    let data = page.split_once("id=\"data\">").and_then(|(_, rest)| rest.split_once("</script>"));
    let data: Value = serde_json::from_str(data.expect("the page has data").0).unwrap();
    data["rows"].as_array().expect("the data has rows").clone()
}

/// Counts the launches of a kernel that have a start and an end.
fn timed(rows: &[Value], kernel: &str) -> usize {
    let is_timed = |row: &&Value| row[1] == "launch" && row[2] == kernel && row[3].is_array();
    rows.iter().filter(is_timed).count()
}

#[test]
fn the_picture_of_a_run_has_each_pixel_of_the_waves() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, [7; 100]).unwrap();
    lines(&demo(folder.path(), &[file]));
    let (size, pixels) = picture(&folder.path().join("waves.png"));
    assert_eq!(size, [96, 60]);
    assert_eq!(pixels[..4], [102, 140, 153, 255], "the water is still at the edge");
    assert!(pixels.chunks(4).collect::<HashSet<_>>().len() > 10, "the picture has few colours");

    let cpu = ContextOptions::default().adapter(AdapterChoice::Cpu);
    let ctx = Context::with_options(cpu).wait().unwrap();
    let waves = simulation::run(&ctx, true, &mut sink()).unwrap();
    assert_eq!(waves.size, size);
    assert!(waves.bytes == pixels, "the picture is another one than that of the waves");
}

/// Returns the size and the pixels of a picture.
fn picture(file: &Path) -> ([u32; 2], Vec<u8>) {
    let mut reader = png::Decoder::new(Cursor::new(fs::read(file).unwrap())).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.color_type, info.bit_depth), (png::ColorType::Rgba, png::BitDepth::Eight));
    ([info.width, info.height], pixels)
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_that_names_it_and_leaves_no_picture() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("missing");
    let results = folder.path().join("results");
    let said = error(&demo(&results, std::slice::from_ref(&missing)));
    assert!(said.starts_with(&format!("demo: file `{}`: ", missing.display())), "{said}");
    assert!(!results.join("waves.png").exists());
}

// Each read of this file of the system gives other bytes, so the two hashes differ.
#[cfg(target_os = "linux")]
#[test]
fn two_different_hashes_of_a_file_are_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let said = error(&demo(folder.path(), &[PathBuf::from("/proc/self/io")]));
    assert!(said.contains("self/io`: the device computed ") && said.contains(", the CPU "), "{said}");
    assert!(!folder.path().join("waves.png").exists());
}

#[test]
fn a_place_that_cannot_be_written_is_an_error_before_any_work() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["waves.png", "timeline.html"] {
        let results = folder.path().join(name);
        let taken = results.join(name);
        fs::create_dir_all(&taken).unwrap(); // a folder in the place of the file
        let output = demo(&results, &[folder.path().join("missing")]);
        assert!(output.stdout.is_empty(), "{output:?}");
        let said = error(&output);
        assert!(said.starts_with(&format!("demo: cannot write `{}`: ", taken.display())), "{said}");
    }
}

#[test]
fn a_wrong_argument_is_an_error_before_any_work() {
    let output = Command::new(env!("CARGO_BIN_EXE_fencepost-demo")).args(["a", "--fast"]).output();
    let output = output.expect("the demo starts");
    assert!(output.stdout.is_empty());
    assert!(error(&output).starts_with("demo: there is no option `--fast`"));
}
