//! Runs the program, and compares its pictures with the waves of plain Rust. `cargo xtask window` starts the display that
//! the tests need.

#[path = "../src/rain.rs"]
#[allow(dead_code, reason = "the program uses more of it")]
mod rain;
#[path = "../../wave/reference.rs"]
#[allow(dead_code, reason = "the example `14_wave` uses more of it")]
mod reference;
#[path = "../../wave/waves.rs"]
#[allow(dead_code, reason = "the program uses more of it")]
mod waves;

use std::collections::HashSet;
use std::fs;
use std::io::Cursor;
use std::path::Path;
use std::process::Command;

use reference::Reference;

/// Largest difference of a channel: the device may round to another level.
const TOLERANCE: u8 = 1;

/// Runs the program, which must end well, and returns the lines that it prints.
fn lines(args: &[&str], screenshot: Option<&Path>) -> Vec<String> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fencepost-window"));
    command.args(args);
    if let Some(file) = screenshot {
        command.arg("--screenshot").arg(file);
    }
    let output = command.output().expect("the program starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// Fails unless the line counts these frames of a library, and no errors.
fn check_line(line: &str, library: &str, frames: u32) {
    let start = format!("{library}: {frames} frames in ");
    assert!(line.starts_with(&start) && line.contains(" frames/s, 0 errors"), "{line}");
}

/// Returns the width, the height and the pixels of a picture.
fn picture(file: &Path) -> ([u32; 2], Vec<u8>) {
    let mut reader = png::Decoder::new(Cursor::new(fs::read(file).unwrap())).read_info().unwrap();
    let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
    let info = reader.next_frame(&mut pixels).unwrap();
    assert_eq!((info.color_type, info.bit_depth), (png::ColorType::Rgba, png::BitDepth::Eight));
    ([info.width, info.height], pixels)
}

/// Fails unless a picture shows the water after some frames. Returns its size.
fn check_picture(file: &Path, cells: [u32; 2], frames: u32) -> [u32; 2] {
    let mut reference = Reference::new(cells);
    for frame in 0..frames {
        rain::steps(frame).for_each(|number| reference.step(number, rain::drop_at(frame, cells)));
    }
    let colours: Vec<[u8; 4]> = reference.colours().collect();
    assert!(colours.iter().collect::<HashSet<_>>().len() > 100, "the water has few colours");
    let ([width, height], pixels) = picture(file);
    assert_eq!(pixels.len(), 4 * (width * height) as usize);
    for (at, pixel) in (0..width * height).zip(pixels.chunks(4)) {
        let [x, y] = [at % width * cells[0] / width, at / width * cells[1] / height];
        let colour = colours[(y * cells[0] + x) as usize];
        let is_off = pixel.iter().zip(colour).any(|(found, colour)| found.abs_diff(colour) > TOLERANCE);
        assert!(!is_off, "pixel {at} is {pixel:?}, and cell ({x}, {y}) is {colour:?}");
    }
    [width, height]
}

#[test]
fn six_hundred_frames_end_without_an_error_and_the_last_is_that_of_plain_rust() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("waves.png");
    for options in [&["--frames", "600", "--threads"][..], &["--frames", "600"]] {
        let lines = lines(options, Some(&file));
        check_line(&lines[0], "fencepost", 600);
        assert_eq!(lines.len(), 1);
        assert_eq!(check_picture(&file, [256, 192], 600), [512, 384]);
    }
}

#[test]
fn wgpu_alone_draws_the_same_waves() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("waves.png");
    let lines = lines(&["--frames", "66", "--size", "128x96", "--plain"], Some(&file));
    check_line(&lines[0], "wgpu", 66);
    check_picture(&file, [128, 96], 66);
}

#[test]
fn a_comparison_counts_the_frames_of_both_and_prints_the_ratio_of_their_rates() {
    let lines = lines(&["--frames", "60", "--size", "128x96", "--compare"], None);
    check_line(&lines[0], "fencepost", 60);
    check_line(&lines[1], "wgpu", 60);
    let ratio = lines[2].strip_prefix("ratio of the frame rates: ").expect("the last line is the ratio");
    assert!(ratio.parse::<f64>().unwrap() > 0.0, "{ratio}");
    assert_eq!(lines.len(), 3);
}

#[test]
fn the_picture_fills_a_window_whose_size_changes() {
    let folder = tempfile::tempdir().unwrap();
    for (library, option) in [("fencepost", None), ("wgpu", Some("--plain"))] {
        let file = folder.path().join("waves.png");
        let mut args = vec!["--frames", "155", "--size", "128x96", "--scale", "3", "--resize"];
        args.extend(option);
        let lines = lines(&args, Some(&file));
        check_line(&lines[0], library, 155);
        let resizes = lines[0].split_once(" errors, ").expect("the size changes").1;
        let number: u32 = resizes.strip_suffix(" resizes").unwrap().parse().unwrap();
        assert!(number >= 2, "{}", lines[0]);
        let size = check_picture(&file, [128, 96], 155);
        assert!([[384, 288], [192, 144]].contains(&size), "{size:?}");
    }
}
