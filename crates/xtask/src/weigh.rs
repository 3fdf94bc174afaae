//! `cargo xtask weigh`: measures a minimal program with this library, with wgpu alone and with CubeCL.

use std::collections::BTreeSet;
use std::fs;
use std::thread::available_parallelism;
use std::time::Instant;

use anyhow::{Result, ensure};
use serde::Serialize;

use crate::environment::{Vars, unwatched_on_driver};
use crate::peer_program::{PeerProgram, executable, in_package};
use crate::progress::bar;
use crate::shell::{Line, cargo, line, which};
use crate::workspace::Workspace;

/// Programs that multiply and add four numbers on a GPU.
const CANDIDATES: [PeerProgram; 5] = [
    PeerProgram {
        name: "fencepost",
        dependencies: r#"fencepost = { path = "{root}/crates/fencepost" }"#,
        main: &[FENCEPOST],
    },
    PeerProgram {
        name: "fencepost, no cpu",
        dependencies: r#"fencepost = { path = "{root}/crates/fencepost", default-features = false, features = ["vulkan", "metal", "dx12", "gles", "profile"] }"#,
        main: &[FENCEPOST],
    },
    PeerProgram {
        name: "fencepost, vulkan only",
        dependencies: r#"fencepost = { path = "{root}/crates/fencepost", default-features = false, features = ["vulkan"] }"#,
        main: &[FENCEPOST],
    },
    PeerProgram {
        name: "wgpu",
        dependencies: r#"wgpu = "=30.0.1"
pollster = "1"
bytemuck = "1""#,
        main: &[WGPU],
    },
    PeerProgram {
        name: "cubecl, wgpu",
        dependencies: r#"cubecl = { version = "0.11", default-features = false, features = ["std", "wgpu"] }
bytemuck = "1""#,
        main: &[CUBECL],
    },
];

const FENCEPOST: &str = r#"use fencepost::prelude::*;

#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl")]
struct Saxpy<'a> {
    a: f32,
    x: &'a DeviceArray<f32>,
    y: &'a mut DeviceArray<f32>,
}

fn main() -> Result<()> {
    let ctx = Context::new().wait()?;
    let queue = ctx.queue("main");
    let saxpy = ctx.kernel::<Saxpy>()?;
    let (x, mut y) = (queue.array(&[1.0, 2.0, 3.0, 4.0])?, queue.array(&[1.0; 4])?);
    queue.launch(&saxpy, Grid::threads([4]), Saxpy { a: 2.0, x: &x, y: &mut y })?;
    println!("{:?}", queue.read(&y).wait()?);
    Ok(())
}
"#;

const WGPU: &str = r#"use wgpu::util::DeviceExt;

const SAXPY: &str = "
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn saxpy(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&y) { y[id.x] = 2.0 * x[id.x] + y[id.x]; }
}";

fn main() {
    let instance = wgpu::Instance::default();
    let adapter = pollster::block_on(instance.request_adapter(&Default::default())).expect("an adapter");
    let (device, queue) = pollster::block_on(adapter.request_device(&Default::default())).expect("a device");
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
    let buffer = |contents: &[f32]| {
        let contents = bytemuck::cast_slice(contents);
        device.create_buffer_init(&wgpu::util::BufferInitDescriptor { label: None, contents, usage })
    };
    let (x, y) = (buffer(&[1.0, 2.0, 3.0, 4.0]), buffer(&[1.0; 4]));
    let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
    let back = device.create_buffer(&wgpu::BufferDescriptor { label: None, size: 16, usage, mapped_at_creation: false });
    let source = wgpu::ShaderSource::Wgsl(SAXPY.into());
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: None,
        layout: None,
        module: &module,
        entry_point: None,
        compilation_options: Default::default(),
        cache: None,
    });
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[
            wgpu::BindGroupEntry { binding: 0, resource: x.as_entire_binding() },
            wgpu::BindGroupEntry { binding: 1, resource: y.as_entire_binding() },
        ],
    });
    let mut encoder = device.create_command_encoder(&Default::default());
    let mut pass = encoder.begin_compute_pass(&Default::default());
    pass.set_pipeline(&pipeline);
    pass.set_bind_group(0, &group, &[]);
    pass.dispatch_workgroups(1, 1, 1);
    drop(pass);
    encoder.copy_buffer_to_buffer(&y, 0, &back, 0, 16);
    queue.submit([encoder.finish()]);
    back.slice(..).map_async(wgpu::MapMode::Read, |mapped| mapped.expect("it can be mapped"));
    device.poll(wgpu::PollType::wait_indefinitely()).expect("the device works");
    let view = back.slice(..).get_mapped_range().expect("it is mapped");
    println!("{:?}", bytemuck::cast_slice::<u8, f32>(&view));
}
"#;

/// The program on CubeCL. It contains unsafe code because CubeCL has no safe function to make an argument from a
/// handle.
const CUBECL: &str = r#"use cubecl::prelude::*;

#[cube(launch)]
fn saxpy(a: f32, x: &[f32], y: &mut [f32]) {
    if ABSOLUTE_POS < y.len() {
        y[ABSOLUTE_POS] += a * x[ABSOLUTE_POS];
    }
}

fn main() {
    let client = cubecl::Device::default().client();
    let array = |contents: &[f32]| client.create_from_slice(bytemuck::cast_slice(contents));
    let (x, y) = (array(&[1.0, 2.0, 3.0, 4.0]), array(&[1.0; 4]));
    // SAFETY: both have four elements.
    let [of_x, of_y] = [&x, &y].map(|handle| unsafe { BufferArg::from_raw_parts(handle.clone(), 4) });
    saxpy::launch(&client, CubeCount::Static(1, 1, 1), CubeDim::new_1d(64), 2.0, of_x, of_y);
    println!("{:?}", bytemuck::cast_slice::<u8, f32>(&client.read_one_unchecked(y)));
}
"#;

/// Output of each program.
const RESULT: &str = "[3.0, 5.0, 7.0, 9.0]";

/// Cost of a program.
#[derive(Serialize)]
struct Weight {
    program: &'static str,
    /// Number of packages that are compiled for it, including its own.
    crates: usize,
    /// Seconds of a release build from an empty target folder.
    build: f64,
    /// Seconds of CPU time in user mode, which other load on the machine changes little. `None` without a POSIX shell.
    processor: Option<f64>,
    /// Bytes of the stripped program.
    binary: u64,
}

/// Builds each program from an empty target folder, one after the other, runs it, and prints the costs; a failure of
/// one does not stop the others.
///
/// # Errors
/// A program does not build, or prints another result.
pub(crate) fn weigh(workspace: &Workspace, json: bool, filter: &[String]) -> Result<()> {
    let wanted = |candidate: &&PeerProgram| {
        filter.is_empty() || filter.iter().any(|part| candidate.name.contains(&**part))
    };
    let vars = unwatched_on_driver(workspace)?;
    let chosen: Vec<_> = CANDIDATES.iter().filter(wanted).collect();
    let progress = bar(chosen.len() as u64).with_message("programs");
    let mut weights = Vec::new();
    let mut failed = Vec::new();
    for candidate in chosen {
        match measure(workspace, candidate, &vars) {
            Ok(weight) => weights.push(weight),
            Err(error) => failed.push(format!("the program with {}: {error:#}", candidate.name)),
        }
        progress.inc(1);
    }
    progress.finish_and_clear();
    if json {
        println!("{}", serde_json::to_string_pretty(&weights)?);
    } else {
        let cores = available_parallelism().map_or("unknown".to_owned(), |cores| cores.to_string());
        println!(
            "{}\n\ncores: {cores}; each of these programs has run and printed {RESULT}",
            table(&weights)
        );
    }
    ensure!(failed.is_empty(), "{}", failed.join("\n"));
    Ok(())
}

fn table(weights: &[Weight]) -> String {
    let head = "| program | crates | release build, s | of processors, s | stripped binary, MB |\n|---|---|---|---|---|";
    let rows = weights.iter().map(|Weight { program, crates, build, processor, binary }| {
        let processor = processor.map_or("?".to_owned(), |seconds| format!("{seconds:.0}"));
        let megabytes = *binary as f64 / 1e6;
        format!("| {program} | {crates} | {build:.0} | {processor} | {megabytes:.1} |")
    });
    [head.to_owned()].into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}

fn measure(workspace: &Workspace, candidate: &PeerProgram, vars: &Vars) -> Result<Weight> {
    let folder = candidate.folder(&workspace.made("weigh")?);
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    candidate.write(workspace, &folder)?;
    let in_folder = |line: Line| in_package(line, &folder);
    in_folder(cargo().args(["fetch", "--quiet"])).run()?;
    let tree = cargo().args(["tree", "--edges", "normal,build", "--prefix", "none", "--format", "{p}"]);
    let tree = in_folder(tree).read()?;
    let crates: BTreeSet<&str> = tree.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    let start = Instant::now();
    let processor = build(in_folder)?;
    let build = start.elapsed().as_secs_f64();
    let program = executable(&folder);
    let printed = line(&program).vars(vars).dir(&folder).read()?;
    ensure!(printed.trim() == RESULT, "it printed {} instead of {RESULT}", printed.trim());
    let binary = fs::metadata(program)?.len();
    Ok(Weight { program: candidate.name, crates: crates.len(), build, processor, binary })
}

/// Builds the program, and returns the CPU seconds if a shell can count them.
fn build(in_folder: impl Fn(Line) -> Line) -> Result<Option<f64>> {
    let build = cargo().args(["build", "--quiet", "--release"]);
    if which("sh").is_none() {
        return in_folder(build).run().map(|()| None);
    }
    let counted = r#""$@" && times"#; // the times of the shell, and of the programs that it has waited for
    let (done, said) = in_folder(line("sh").args(["-c", counted, "sh"]).args(build.words())).run_quietly()?;
    ensure!(done, "{said}");
    Ok(seconds_of_children(&said))
}

/// Returns the user time in the second line that a shell's `times` prints, `1m2.50s 0m4.10s`.
fn seconds_of_children(said: &str) -> Option<f64> {
    let times = said.lines().filter(|line| line.ends_with('s') && line.contains('m')).nth(1)?;
    let (minutes, seconds) = times.split(' ').next()?.strip_suffix('s')?.split_once('m')?;
    Some(60.0 * minutes.parse::<f64>().ok()? + seconds.parse::<f64>().ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_seconds_of_the_programs_are_those_of_the_second_line() {
        assert_eq!(seconds_of_children("0m0.01s 0m0.02s\n2m3.50s 0m4.10s\n"), Some(123.5));
        assert_eq!(seconds_of_children("0m0.01s 0m0.02s\n"), None);
    }

    #[test]
    fn a_row_has_a_question_mark_for_an_unknown_time() {
        let weight = Weight { program: "none", crates: 3, build: 1.6, processor: None, binary: 2_340_000 };
        assert_eq!(table(&[weight]).lines().last(), Some("| none | 3 | 2 | ? | 2.3 |"));
    }
}
