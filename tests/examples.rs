//! Runs each example of the tutorial as its own program, on every adapter that the tests run on.

mod common;

use common::adapters::{self, Found};
use common::example::{program, within};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use serde_json::Value;
use std::collections::HashSet;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

/// An example: its name, the start of its last line (`last`), files that it may write, and arguments.
#[derive(Clone, Copy)]
struct Example {
    name: &'static str,
    last: &'static str,
    /// Arguments of the run, which make the work smaller.
    args: &'static [&'static str],
    files: Files,
    /// Wrong arguments that are specific to this example.
    wrong: &'static [&'static str],
}

#[derive(Clone, Copy)]
enum Files {
    None,
    Picture,
    Frames,
}

const EXAMPLES: [Example; 23] = [
    prints(
        "01_saxpy",
        "a mistake: kernel `saxpy`: a grid of [1048576, 1, 1] workgroups is over the device's limit of ",
    ),
    prints("02_transfers", "the last row is [2, 70]"),
    prints("03_two_queues", "the gate opened"),
    prints("04_async", "by hand:  14 everywhere"),
    prints("05_double_buffer", "200 blocks of 4096 numbers, all in order; y[0] = "),
    draws("06_nbody", "250 steps of 1024 bodies, every 50th verified on the CPU, drawn in "),
    draws("07_image", "the edges of 300 by 210 pixels, verified on the CPU, are in "),
    draws("08_spectrogram", "2032 frames, every 37th verified on the CPU, the loudest at 4."),
    prints(
        "09_arrays",
        "sum, running sum, histogram, product and transpose verified on the CPU; the sum is ",
    ),
    prints("10_service", "75 answers verified on the CPU, 25 clients disconnected, at most "),
    prints("11_wgpu_interop", "16 bars, computed here and drawn by wgpu, are verified on the CPU"),
    prints("12_replay", "2000 launches, and the temperatures are verified on the CPU"),
    prints(
        "13_threads",
        "8 threads, verified on the CPU; of the first 131072 numbers 106239 takes the most steps: 353",
    ),
    Example {
        name: "14_wave",
        last: "6 frames of 200 steps, the first 3 verified on the CPU, are in ",
        args: &[],
        files: Files::Frames,
        wrong: &["--mouse=2,1", "--size=8x8", "--frames=0"],
    },
    Example {
        args: &["--side", "160"],
        wrong: &["--side=7", "--side=x"],
        ..prints("15_conjugate_gradient", "both loops end after ")
    },
    Example { wrong: &["--top=x"], ..prints("16_words", "verified on the CPU: ") },
    prints("17_print", "a failed assertion: kernel `roots`, launched at "),
    prints("18_particles", "the counts of 500000 particles are verified on the CPU; the mean speed is 1.59"),
    Example {
        args: &["--points", "20000"],
        wrong: &["--points=7", "--points=x"],
        ..prints("19_kmeans", "8 clusters of 20000 points are verified on the CPU")
    },
    Example {
        args: &["--pages", "20000"],
        wrong: &["--pages=7", "--pages=x"],
        ..prints("20_pagerank", "the ranks of 20000 pages are verified on the CPU")
    },
    Example {
        args: &["--rows=100000"],
        wrong: &["--rows=9", "--rows=x"],
        ..prints("21_groups", "verified on the CPU: 100000 orders in ")
    },
    Example {
        args: &["--dumps=3", "--baselines=16"],
        wrong: &["--dumps=1", "--baselines=x"],
        ..prints("22_flagger", "the flags of 3 dumps of 16 baselines are verified on the CPU")
    },
    Example {
        args: &["--side=95", "--steps=32"],
        wrong: &["--picture=run.txt", "--side=9", "--steps=x"],
        ..draws("23_heat_implicit", "32 steps of 95 by 95 cells, verified on the CPU, drawn in ")
    },
];

/// The example that draws with wgpu, and its last line on a machine without a driver.
const DRAWS: (&str, &str) = ("11_wgpu_interop", "no driver of this machine draws");

const fn prints(name: &'static str, last: &'static str) -> Example {
    Example { name, last, args: &[], files: Files::None, wrong: &[] }
}

const fn draws(name: &'static str, last: &'static str) -> Example {
    Example { name, last, args: &[], files: Files::Picture, wrong: &["--picture=run.txt"] }
}

/// Time limit of a run. A longer run counts as a hang and fails.
const LIMIT: Duration = Duration::from_secs(60);

fn main() {
    let Found { places, no_adapter } = adapters::find();
    let mut trials = Vec::new();
    for example in EXAMPLES {
        let name = example.name;
        trials.push(Trial::test(format!("{name} rejects unknown arguments"), move || refuses(example)));
        if let Some(reason) = no_adapter {
            let ignored = move || Ok(Completion::ignored_with(reason));
            trials.push(Trial::ignorable_test(format!("{name}::no_adapter"), ignored));
        }
        let no_driver = name == DRAWS.0 && !places.iter().any(|place| place.has_wgpu());
        let example = if no_driver { Example { last: DRAWS.1, ..example } } else { example };
        for place in &places {
            if let Some(index) = place.adapter_index() {
                let id = format!("{name}::{}", place.name());
                trials.push(Trial::test(id, move || ends_well(example, index)));
            }
        }
    }
    for place in &places {
        if let Some(index) = place.adapter_index() {
            let id = format!("a_trace_holds_every_launch::{}", place.name());
            trials.push(Trial::test(id, move || traced(index)));
            let id = format!("examples_read_a_picture_and_a_sound_from_files::{}", place.name());
            trials.push(Trial::test(id, move || takes_files(index)));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// Fails unless the example rejects wrong arguments before it prints anything, and names them.
fn refuses(Example { name, wrong, .. }: Example) -> Result<(), Failed> {
    for wrong in ["--bogus", "--trace", "--trace=run.txt"].iter().chain(wrong) {
        let Output { status, stdout, stderr } = Command::new(program(name)?).arg(wrong).output()?;
        let said = String::from_utf8_lossy(&stderr);
        let named = wrong.split('=').all(|part| said.contains(part));
        if status.success() || !stdout.is_empty() || !named {
            return Err(format!("`{name} {wrong}`, {status}:\n{said}").into());
        }
    }
    Ok(())
}

/// Fails unless the example exits with 0 on adapter `index`, its last line begins with `last`, and its files have
/// contents.
fn ends_well(Example { name, last, args, files, .. }: Example, index: usize) -> Result<(), Failed> {
    let mut command = Command::new(program(name)?);
    command.args(args);
    let folder = tempfile::tempdir()?;
    match files {
        Files::None => run(&mut command, last, index),
        Files::Picture => {
            let file = folder.path().join("picture.png");
            run(command.arg("--picture").arg(&file), last, index)?;
            pixels(&file).map(drop)
        }
        Files::Frames => {
            let frames = folder.path().join("frames");
            run(command.arg("--folder").arg(&frames), last, index)?;
            has_frames(&frames)
        }
    }
}

/// Fails unless the folder contains 6 different frames, and a graph as SVG with a node for each of the 200 steps.
fn has_frames(folder: &Path) -> Result<(), Failed> {
    let frames: HashSet<_> =
        (0..6).map(|frame| pixels(&folder.join(format!("{frame:04}.png")))).collect::<Result<_, _>>()?;
    if frames.len() != 6 {
        return Err("two frames are equal".into());
    }
    let graph = std::fs::read_to_string(folder.join("graph.svg"))?;
    let steps = graph.matches("step").count();
    if steps >= 200 { Ok(()) } else { Err(format!("the graph names {steps} steps, not 200").into()) }
}

/// Returns the pixels of a picture. Fails if they all have the same colour.
fn pixels(file: &Path) -> Result<Vec<u8>, Failed> {
    let pixels = image::open(file)?.into_rgb8();
    let colours: HashSet<_> = pixels.pixels().collect();
    let is_drawn = colours.len() > 1;
    if is_drawn { Ok(pixels.into_raw()) } else { Err("the picture is one colour".into()) }
}

/// Fails unless the examples read a picture and a sound from files, and reject a file of another kind.
fn takes_files(index: usize) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let file = |name: &str| folder.path().join(name);
    image::RgbImage::from_fn(50, 30, |x, y| image::Rgb([5 * x as u8, 8 * y as u8, 99]))
        .save(file("a.jpg"))?;
    let spec = hound::WavSpec {
        channels: 2,
        sample_rate: 800,
        bits_per_sample: 16,
        sample_format: hound::SampleFormat::Int,
    };
    let mut sound = hound::WavWriter::create(file("a.wav"), spec)?;
    (0..2000).try_for_each(|i: i16| sound.write_sample(i.wrapping_mul(i)))?;
    sound.finalize()?;
    let filters = program("07_image")?;
    let spectrogram = program("08_spectrogram")?;
    let with = |program: &Path, input: &str| {
        let mut command = Command::new(program);
        command.arg(file(input)).arg("--picture").arg(file("out.png"));
        command
    };
    run(&mut with(&filters, "a.jpg"), "the edges of 50 by 30 pixels, verified on the CPU, are in ", index)?;
    run(
        &mut with(&spectrogram, "a.wav"),
        "47 frames, every 37th verified on the CPU, the loudest at ",
        index,
    )?;
    for (program, wrong) in [(&filters, "a.wav"), (&spectrogram, "a.jpg"), (&filters, "none.png")] {
        let output = with(program, wrong).output()?;
        if output.status.success() || output.stderr.is_empty() {
            return Err(format!("{} with {wrong}: {output:?}", program.display()).into());
        }
    }
    Ok(())
}

/// Fails unless both kinds of trace files contain the 200 launches of the double buffer.
fn traced(index: usize) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let Example { name, last, .. } = EXAMPLES[4];
    let written = |file: &str| {
        let path = folder.path().join(file);
        run(Command::new(program(name)?).arg("--trace").arg(&path), last, index)?;
        Ok::<_, Failed>(std::fs::read_to_string(path)?)
    };
    let trace: Value = serde_json::from_str(&written("trace.json")?)?;
    let launch = |event: &&Value| event["cat"] == "launch" && event["name"] == "mix";
    let events = trace["traceEvents"].as_array().into_iter().flatten().filter(launch).count();
    let page = written("page.html")?;
    let data = page.split_once("id=\"data\">").and_then(|(_, rest)| rest.split_once("</script>"));
    let data: Value = serde_json::from_str(data.ok_or("the page has no data")?.0)?;
    let launch = |row: &&Value| row[1] == "launch" && row[2] == "mix";
    let rows = data["rows"].as_array().into_iter().flatten().filter(launch).count();
    let found = format!("{events} launches in the trace, {rows} in the page, not 200");
    if (events, rows) == (200, 200) { Ok(()) } else { Err(found.into()) }
}

/// Fails unless the program exits with 0 on adapter `index`, and its last line begins with `last`.
fn run(command: &mut Command, last: &str, index: usize) -> Result<(), Failed> {
    let child =
        command.env("FENCEPOST_ADAPTER", index.to_string()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = within(LIMIT, child.spawn()?)?;
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    if output.status.success() && out.lines().last().is_some_and(|line| line.starts_with(last)) {
        return Ok(());
    }
    Err(format!("{}; it printed\n{out}{err}and should have ended with\n{last}", output.status).into())
}
