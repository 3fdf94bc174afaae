//! Runs each example of the tutorial as its own program, on every adapter that the tests run on.

mod common;

use common::adapters::{self, Found};
use common::example::{program, within};
use hound::{SampleFormat, WavSpec, WavWriter};
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
    Example {
        args: &["--whiten", "--band", "35", "350", "--zoom", "2"],
        wrong: &["--picture=run.txt", "--window=8", "--hop=0", "--zoom=x"],
        ..draws("08_spectrogram", "the loudest cell is at 9.9")
    },
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
            let id = format!("the_spectrogram_finds_a_rising_tone_in_noise::{}", place.name());
            trials.push(Trial::test(id, move || finds_a_chirp(index)));
            let id = format!("the_spectrogram_finds_a_short_tone_in_each_format::{}", place.name());
            trials.push(Trial::test(id, move || reads_each_format(index)));
            let id = format!("the_spectrogram_measures_a_click_in_stronger_noise::{}", place.name());
            trials.push(Trial::test(id, move || measures_a_click(index)));
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
    record(&file("a.wav"), (32, SampleFormat::Float, 2), 1000, |i, _| (i % 7) as f32)?;
    let filters = program("07_image")?;
    let spectrogram = program("08_spectrogram")?;
    let with = |program: &Path, input: &str| {
        let mut command = Command::new(program);
        command.arg(file(input)).arg("--picture").arg(file("out.png"));
        command
    };
    run(&mut with(&filters, "a.jpg"), "the edges of 50 by 30 pixels, verified on the CPU, are in ", index)?;
    run(&mut with(&spectrogram, "a.wav"), "the loudest cell is at 0.", index)?;
    for (program, wrong) in [(&filters, "a.wav"), (&spectrogram, "a.jpg"), (&filters, "none.png")] {
        let output = with(program, wrong).output()?;
        if output.status.success() || output.stderr.is_empty() {
            return Err(format!("{} with {wrong}: {output:?}", program.display()).into());
        }
    }
    Ok(())
}

/// Samples of a second in the recordings of these tests.
const RATE: u32 = 1024;

/// Number of bits, kind of samples and number of channels of a WAV file.
type Format = (u16, SampleFormat, u16);

/// Writes a WAV file whose samples from -1 to 1 are a function of their number and of their channel.
fn record(
    file: &Path,
    (bits_per_sample, sample_format, channels): Format,
    len: usize,
    mut sample: impl FnMut(usize, u16) -> f32,
) -> hound::Result<()> {
    let spec = WavSpec { channels, sample_rate: RATE, bits_per_sample, sample_format };
    let mut writer = WavWriter::create(file, spec)?;
    let most = (1_i64 << (bits_per_sample - 1)) - 1;
    for i in 0..len {
        for channel in 0..channels {
            let sample = sample(i, channel);
            match sample_format {
                SampleFormat::Float => writer.write_sample(sample)?,
                SampleFormat::Int => writer.write_sample((f64::from(sample) * most as f64) as i32)?,
            }
        }
    }
    writer.finalize()
}

/// Returns the JSON that the spectrogram prints with `--peak`. Fails if it prints more.
fn peak(command: &mut Command, index: usize) -> Result<Value, Failed> {
    let out = printed(command.arg("--peak"), index)?;
    serde_json::from_str(&out).map_err(|error| format!("{error} in\n{out}").into())
}

/// Fails unless the program without a file finds one of the last cycles of its rising tone, which ends at 9.99 s. Their
/// amplitude is 0.76. The noise has a deviation of 0.289, or of 0.113 in the band, so the tone has a size of 6.7, and
/// the noise adds 0.8.
fn finds_a_chirp(index: usize) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let mut command = Command::new(program("08_spectrogram")?);
    command.args(["--whiten", "--band", "35", "350", "--picture"]).arg(folder.path().join("out.png"));
    let peak = peak(&mut command, index)?;
    let is_in = |value: &Value, from: f64, to: f64| value.as_f64().is_some_and(|x| (from..to).contains(&x));
    let is_found = is_in(&peak["time"], 9.975, 9.99) && is_in(&peak["size"], 6.8, 8.3);
    let cell = &peak["cell"];
    let is_loudest = is_in(&cell["time"], 9.93, 9.99) && is_in(&cell["frequency"], 120.0, 200.0);
    if is_found && is_loudest { Ok(()) } else { Err(format!("another peak: {peak}").into()) }
}

/// Fails unless the loudest cell is that of a short tone in the last channel, for each format of a WAV file, and unless
/// the picture shows it at its place. The middle of the tone is that of frame 1024, the first one of the third block.
fn reads_each_format(index: usize) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let sound = folder.path().join("a.wav");
    let picture = folder.path().join("a.png");
    let command = || -> Result<Command, Failed> {
        let mut command = Command::new(program("08_spectrogram")?);
        command.arg(&sound).arg("--picture").arg(&picture);
        Ok(command)
    };
    let int = SampleFormat::Int;
    let float = SampleFormat::Float;
    for format in [(8, int, 1), (16, int, 2), (24, int, 3), (32, int, 1), (32, float, 2)] {
        let mut random = fastrand::Rng::with_seed(1);
        record(&sound, format, 20_000, |i, channel| {
            let noise = 0.05 * (random.f32() - 0.5);
            let from_middle = i as f32 - (1024.0 * 16.0 + 128.0);
            let turn = 40.0 / 256.0 * from_middle; // 40 turns in a frame
            let tone = (-from_middle * from_middle / 7200.0).exp() * (std::f32::consts::TAU * turn).cos();
            if channel + 1 == format.2 { noise + 0.5 * tone } else { noise }
        })?;
        let peak = peak(&mut command()?, index)?;
        let is_right = peak["cell"]["time"] == 16.125 && peak["cell"]["frequency"] == 160.0;
        if !is_right || peak.get("time").is_some() {
            return Err(format!("another peak in {format:?}: {peak}").into());
        }
        // The picture has 1235 frames in 800 columns, and rows 2 to 127 in 400 lines.
        let [x, y] = brightest(&picture)?;
        if (x - 1024.5 / 1235.0 * 800.0).abs() > 2.0 || (y - 400.0 * (1.0 - 38.5 / 126.0)).abs() > 3.0 {
            return Err(format!("the brightest pixels are around {x}, {y}").into());
        }
    }
    for wrong in [["350", "35"], ["35", "512"], ["0", "35"], ["1", "2"]] {
        let output = command()?.arg("--band").args(wrong).output()?;
        if output.status.success() || !output.stdout.is_empty() || output.stderr.is_empty() {
            return Err(format!("--band {wrong:?}: {output:?}").into());
        }
    }
    Ok(())
}

/// Returns the mean position of the pixels with the colour of the loudest cell, in the area of the spectrogram.
fn brightest(picture: &Path) -> Result<[f64; 2], Failed> {
    let image = image::open(picture)?.into_rgb8();
    let area = image::imageops::crop_imm(&image, 72, 32, 800, 400).to_image();
    let found: Vec<[u32; 2]> = area
        .enumerate_pixels()
        .filter(|(_, _, pixel)| pixel.0 == [252, 255, 164])
        .map(|(x, y, _)| [x, y])
        .collect();
    let mean = |axis: usize| found.iter().map(|at| f64::from(at[axis])).sum::<f64>() / found.len() as f64;
    if found.is_empty() { Err("no pixel has the brightest colour".into()) } else { Ok([mean(0), mean(1)]) }
}

/// Fails unless a whitened click has its place and its size. The noise is a sum whose steps have a deviation of 0.289,
/// and the click is 10, so its whitened size is 10 / 0.289 times 4 / pi, the mean of the whitening filter's response.
/// The noise itself has a deviation of 2.
fn measures_a_click(index: usize) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let sound = folder.path().join("a.wav");
    let mut random = fastrand::Rng::with_seed(9);
    let mut noise = 0.0;
    record(&sound, (32, SampleFormat::Float, 1), 64 * RATE as usize, |i, _| {
        noise = 0.99 * noise + random.f32() - 0.5;
        if i == 40_000 { noise + 10.0 } else { noise }
    })?;
    let mut command = Command::new(program("08_spectrogram")?);
    command.arg(&sound).args(["--whiten", "--picture"]).arg(folder.path().join("a.png"));
    let peak = peak(&mut command, index)?;
    let size = peak["size"].as_f64().ok_or("there is no size")?;
    let expected = 10.0 * 12.0_f64.sqrt() * 4.0 / std::f64::consts::PI;
    let is_right = peak["time"] == 40_000.0 / f64::from(RATE) && (size / expected - 1.0).abs() < 0.06;
    if is_right { Ok(()) } else { Err(format!("not {expected}: {peak}").into()) }
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
    let out = printed(command, index)?;
    if out.lines().last().is_some_and(|line| line.starts_with(last)) {
        return Ok(());
    }
    Err(format!("it printed\n{out}and should have ended with\n{last}").into())
}

/// Returns the output of a program on adapter `index`. Fails unless it exits with 0.
fn printed(command: &mut Command, index: usize) -> Result<String, Failed> {
    let child =
        command.env("FENCEPOST_ADAPTER", index.to_string()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = within(LIMIT, child.spawn()?)?;
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        return Ok(out.into_owned());
    }
    Err(format!("{}; it printed\n{out}{err}", output.status).into())
}
