//! Runs the demo as a program, on the CPU device, and tests its modules that use no device.

#[path = "../src/arguments.rs"]
#[allow(dead_code, reason = "only the program uses all of it")]
mod arguments;
#[path = "../src/terminal.rs"]
#[allow(dead_code, reason = "only the program uses all of it")]
mod terminal;

use std::collections::HashSet;
use std::fs;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

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
    assert!(lines[1].contains("Kernels run on the CPU"), "{lines:#?}");
    assert_eq!(lines[3..5], expected);
    let verified = lines.iter().filter(|line| line.ends_with(" verified on the CPU")).count();
    let rates = lines.iter().filter(|line| line.ends_with(" GB/s") || line.ends_with(" steps/s")).count();
    assert_eq!((verified, rates), (2, 2), "{lines:#?}");
    let picture = results.join("waves.png");
    let timeline = results.join("timeline.html");
    let last = [
        format!("picture    {}", picture.display()),
        format!("timeline   {}, a page for a browser", timeline.display()),
    ];
    assert_eq!(lines[lines.len() - 2..], last);
    assert!(lines.iter().all(|line| !line.contains('\x1b')), "a headless run has no control sequences");

    let page = fs::read_to_string(timeline).unwrap();
    for kernel in ["blake3_chunks", "blake3_parents", "step", "paint"] {
        assert!(page.contains(&format!("\"launch\",\"{kernel}\"")), "the timeline lacks `{kernel}`");
    }
    assert!(colours(&picture, [96, 60]).len() > 10, "the picture has few colours");
}

/// Returns the colours of a picture of this size.
fn colours(file: &Path, size: [u32; 2]) -> HashSet<Vec<u8>> {
    let mut reader = png::Decoder::new(Cursor::new(fs::read(file).unwrap())).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!([info.width, info.height], size);
    assert_eq!((info.color_type, info.bit_depth), (png::ColorType::Rgba, png::BitDepth::Eight));
    pixels.chunks(4).map(<[u8]>::to_vec).collect()
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
fn a_wrong_argument_is_an_error_before_any_work() {
    let output = Command::new(env!("CARGO_BIN_EXE_fencepost-demo")).args(["a", "--fast"]).output();
    let output = output.expect("the demo starts");
    assert!(output.stdout.is_empty());
    assert!(error(&output).starts_with("demo: there is no option `--fast`"));
}
