//! `cargo xtask peers`: measures replays of recorded launches with this library and with CubeCL, sums of rows with this
//! library and with cubek, and sorts with this library and with wgpu_sort.

use anyhow::{Context as _, Result, anyhow};
use serde::Serialize;

use crate::environment::{Vars, unwatched_on_driver};
use crate::peer_program::{PeerProgram, executable, in_package};
use crate::peer_row;
use crate::peer_sorts;
use crate::peer_sums;
use crate::progress::bar;
use crate::shell::{cargo, line};
use crate::workspace::Workspace;

/// Processes of each program. They alternate, so that other load on the machine affects both alike.
const PROCESSES: usize = 7;

/// Programs that launch a chain of 1,000 small kernels, and replay a recording of the same launches. Each prints four
/// medians in microseconds per launch: for launches and for replays, of the calls alone and until the results are read.
const PROGRAMS: [PeerProgram; 2] = [
    PeerProgram {
        name: "fencepost",
        dependencies: r#"fencepost = { path = "{root}/crates/fencepost" }"#,
        main: &[FENCEPOST, MEDIAN],
    },
    PeerProgram {
        name: "cubecl, wgpu",
        dependencies: r#"cubecl = { version = "0.11", default-features = false, features = ["std", "wgpu"] }
bytemuck = "1""#,
        main: &[CUBECL, MEDIAN],
    },
];

const FENCEPOST: &str = r#"use std::time::{Duration, Instant};

use fencepost::prelude::*;

const LAUNCHES: u32 = 1000;
const ROUNDS: usize = 61;

#[derive(KernelArgs)]
#[kernel(wgsl = "
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64) fn next(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&y) { y[id.x] = x[id.x] + 1.0; }
}")]
struct Next<'a> {
    x: &'a DeviceArray<f32>,
    y: &'a mut DeviceArray<f32>,
}

fn main() -> Result<()> {
    let ctx = Context::new().wait()?;
    let queue = ctx.queue("main");
    let next = ctx.kernel::<Next>()?;
    let arrays = [ctx.zeros::<f32, 1>([64])?, ctx.zeros::<f32, 1>([64])?];
    let launches = |queue: &CommandQueue| -> Result<()> {
        for at in 0..LAUNCHES as usize {
            let x = &arrays[at % 2];
            let y = &mut arrays[(at + 1) % 2].clone();
            queue.launch(&next, Grid::threads([64]), Next { x, y })?;
        }
        queue.flush()
    };
    let (graph, ()) = queue.capture(|c| {
        for at in 0..LAUNCHES as usize {
            let x = &arrays[at % 2];
            let y = &mut arrays[(at + 1) % 2].clone();
            c.launch(&next, Grid::threads([64]), Next { x, y })?;
        }
        Ok(())
    })?;
    let read = || queue.read(&arrays[0]).wait();
    launches(&queue)?;
    queue.replay(&graph)?;
    let before = read()?[0];
    let mut times: [Vec<Duration>; 4] = Default::default();
    for _ in 0..ROUNDS {
        let mut timed = |first: usize, work: &dyn Fn() -> Result<()>| -> Result<()> {
            let start = Instant::now();
            work()?;
            times[first].push(start.elapsed());
            read()?;
            times[first + 1].push(start.elapsed());
            Ok(())
        };
        timed(0, &|| launches(&queue))?;
        timed(2, &|| {
            queue.replay(&graph)?;
            queue.flush()
        })?;
    }
    assert_eq!(read()?[0] - before, (2 * ROUNDS as u32 * LAUNCHES) as f32);
    println!("{}", times.map(|mut times| median(&mut times)).join(" "));
    Ok(())
}
"#;

const CUBECL: &str = r#"use std::time::{Duration, Instant};

use cubecl::prelude::*;

const LAUNCHES: u32 = 1000;
const ROUNDS: usize = 61;

#[cube(launch)]
fn next(x: &[f32], y: &mut [f32]) {
    if ABSOLUTE_POS < y.len() {
        y[ABSOLUTE_POS] = x[ABSOLUTE_POS] + 1.0;
    }
}

fn main() {
    let client = cubecl::Device::default().client();
    let array = || client.create_from_slice(bytemuck::cast_slice(&[0.0_f32; 64]));
    let arrays = [array(), array()];
    let launches = || {
        for at in 0..LAUNCHES as usize {
            // SAFETY: both have 64 elements.
            let [x, y] =
                [at, at + 1].map(|at| unsafe { BufferArg::from_raw_parts(arrays[at % 2].clone(), 64) });
            next::launch(&client, CubeCount::Static(1, 1, 1), CubeDim::new_1d(64), x, y);
        }
    };
    let read = || bytemuck::cast_slice::<u8, f32>(&client.read_one_unchecked(arrays[0].clone())).to_vec();
    launches();
    read();
    client.graph_prepare().expect("a prepared graph");
    launches();
    read();
    client.start_capture().expect("a capture");
    launches();
    let graph = client.stop_capture().expect("a graph");
    let before = read()[0];
    let mut times: [Vec<Duration>; 4] = Default::default();
    for _ in 0..ROUNDS {
        let mut timed = |first: usize, work: &dyn Fn()| {
            let start = Instant::now();
            work();
            times[first].push(start.elapsed());
            read();
            times[first + 1].push(start.elapsed());
        };
        timed(0, &launches);
        // SAFETY: the arrays of the graph are alive.
        timed(2, &|| unsafe { graph.replay() }.expect("a replay"));
    }
    // The capture may or may not have executed its launches.
    let rounds = (read()[0] - before) / LAUNCHES as f32;
    assert_eq!(rounds, 2.0 * ROUNDS as f32);
    println!("{}", times.map(|mut times| median(&mut times)).join(" "));
}
"#;

/// Common end of both programs: the median time, in microseconds per launch.
const MEDIAN: &str = r#"
fn median(times: &mut [Duration]) -> String {
    times.sort();
    format!("{:.4}", times[times.len() / 2].as_secs_f64() * 1e6 / f64::from(LAUNCHES))
}
"#;

/// Work of the measured programs.
#[derive(Clone, Copy)]
pub(crate) enum PeerWork {
    Launches,
    Sums,
    Sorts,
}

impl PeerWork {
    /// Returns the work of the options `--sums` and `--sorts`.
    pub(crate) fn of(sums: bool, sorts: bool) -> Self {
        match (sums, sorts) {
            (true, _) => Self::Sums,
            (_, true) => Self::Sorts,
            _ => Self::Launches,
        }
    }
}

/// Medians of one program.
#[derive(Serialize)]
struct Medians {
    program: &'static str,
    launch_us: f64,
    launch_done_us: f64,
    replay_us: f64,
    replay_done_us: f64,
}

/// Builds the programs, runs them alternately, and prints their medians.
///
/// # Errors
/// A program does not build, or its results are wrong.
pub(crate) fn peers(workspace: &Workspace, work: PeerWork, json: bool) -> Result<()> {
    match work {
        PeerWork::Launches => launches(workspace, json),
        PeerWork::Sums => one_time(workspace, &peer_sums::PROGRAMS, peer_sums::HEAD, json),
        PeerWork::Sorts => one_time(workspace, &peer_sorts::PROGRAMS, peer_sorts::HEAD, json),
    }
}

/// Measures programs that each print one time.
fn one_time(workspace: &Workspace, programs: &[PeerProgram], head: &str, json: bool) -> Result<()> {
    let rows = peer_row::rows(programs, &measured::<1>(workspace, programs)?);
    print(&rows, json, |rows| peer_row::table(head, rows))
}

fn launches(workspace: &Workspace, json: bool) -> Result<()> {
    let samples = measured::<4>(workspace, &PROGRAMS)?;
    let rows: Vec<Medians> =
        PROGRAMS.iter().zip(&samples).map(|(program, samples)| medians(program.name, samples)).collect();
    print(&rows, json, table)
}

fn print<T: Serialize>(rows: &[T], json: bool, table: impl Fn(&[T]) -> String) -> Result<()> {
    let text = if json { serde_json::to_string_pretty(rows)? } else { table(rows) };
    println!("{text}");
    Ok(())
}

/// Builds the programs, and returns the times that each of their processes prints.
fn measured<const N: usize>(workspace: &Workspace, programs: &[PeerProgram]) -> Result<Vec<Vec<[f64; N]>>> {
    let made = workspace.made("peers")?;
    let progress = bar((programs.len() * (1 + PROCESSES)) as u64).with_message("programs");
    for program in programs {
        let folder = program.folder(&made);
        program.write(workspace, &folder)?;
        in_package(cargo().args(["build", "--quiet", "--release"]), &folder)
            .run()
            .with_context(|| format!("the program with {}", program.name))?;
        progress.inc(1);
    }
    let vars = unwatched_on_driver(workspace)?;
    let mut samples = vec![Vec::new(); programs.len()];
    for _ in 0..PROCESSES {
        for (program, samples) in programs.iter().zip(&mut samples) {
            samples.push(times(&made, program, &vars)?);
            progress.inc(1);
        }
    }
    progress.finish_and_clear();
    Ok(samples)
}

/// Runs a program, and returns the times that it prints.
fn times<const N: usize>(made: &std::path::Path, program: &PeerProgram, vars: &Vars) -> Result<[f64; N]> {
    let folder = program.folder(made);
    let printed = line(executable(&folder)).vars(vars).dir(&folder).read()?;
    let times: Vec<f64> = printed.split_whitespace().map(str::parse).collect::<Result<_, _>>()?;
    times.try_into().map_err(|_| anyhow!("the program with {} printed {printed}", program.name))
}

/// Returns the medians of the processes of a program.
fn medians(program: &'static str, samples: &[[f64; 4]]) -> Medians {
    let median = |at: usize| {
        let mut sorted: Vec<f64> = samples.iter().map(|times| times[at]).collect();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    };
    let [launch_us, launch_done_us, replay_us, replay_done_us] = [0, 1, 2, 3].map(median);
    Medians { program, launch_us, launch_done_us, replay_us, replay_done_us }
}

fn table(rows: &[Medians]) -> String {
    let head = "| µs a launch | launches, the calls | until read | replay, the call | until read |\n|---|---|---|---|---|";
    let rows =
        rows.iter().map(|Medians { program, launch_us, launch_done_us, replay_us, replay_done_us }| {
            format!(
                "| {program} | {launch_us:.3} | {launch_done_us:.3} | {replay_us:.4} | {replay_done_us:.3} |"
            )
        });
    [head.to_owned()].into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_processes_is_that_of_each_column() {
        let medians = medians("none", &[[1.0, 5.0, 9.0, 0.0], [3.0, 4.0, 7.0, 0.0], [2.0, 6.0, 8.0, 0.0]]);
        assert_eq!((medians.launch_us, medians.launch_done_us, medians.replay_us), (2.0, 5.0, 8.0));
        assert!(table(&[medians]).ends_with("| none | 2.000 | 5.000 | 8.0000 | 0.000 |"));
    }
}
