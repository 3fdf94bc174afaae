//! `cargo xtask weigh`: what a minimal program costs with this library, with wgpu alone and with CubeCL.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context, Result};
use serde::Serialize;

use crate::progress::bar;
use crate::shell::{Line, cargo};
use crate::workspace::Workspace;

/// A program that multiplies and adds four numbers on a GPU.
struct Candidate {
    name: &'static str,
    /// Its dependencies; `{root}` is the workspace.
    dependencies: &'static str,
    main: &'static str,
}

const CANDIDATES: [Candidate; 4] = [
    Candidate {
        name: "fencepost",
        dependencies: r#"fencepost = { path = "{root}/crates/fencepost" }"#,
        main: FENCEPOST,
    },
    Candidate {
        name: "fencepost, vulkan only",
        dependencies: r#"fencepost = { path = "{root}/crates/fencepost", default-features = false, features = ["vulkan"] }"#,
        main: FENCEPOST,
    },
    Candidate {
        name: "wgpu",
        dependencies: r#"wgpu = "=30.0.1"
pollster = "1"
bytemuck = "1""#,
        main: WGPU,
    },
    Candidate {
        name: "cubecl, wgpu",
        dependencies: r#"cubecl = { version = "0.11", features = ["wgpu"] }"#,
        main: CUBECL,
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
    let (x, mut y) = (queue.array(&[1.0, 2.0, 3.0, 4.0])?, ctx.zeros([4])?);
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
    let (x, y) = (buffer(&[1.0, 2.0, 3.0, 4.0]), buffer(&[0.0; 4]));
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
    let entry = |binding, buffer: &wgpu::Buffer| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() };
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: None,
        layout: &pipeline.get_bind_group_layout(0),
        entries: &[entry(0, &x), entry(1, &y)],
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

const CUBECL: &str = r#"use cubecl::prelude::*;
use cubecl::wgpu::WgpuRuntime;

#[cube(launch_unchecked)]
fn saxpy(x: &Array<f32>, y: &mut Array<f32>) {
    if ABSOLUTE_POS < y.len() {
        y[ABSOLUTE_POS] += 2.0 * x[ABSOLUTE_POS];
    }
}

fn main() {
    let client = WgpuRuntime::client(&Default::default());
    println!("{}", client.properties().hardware.max_bindings);
    let _ = saxpy::launch_unchecked::<WgpuRuntime>;
}
"#;

/// What a program costs.
#[derive(Serialize)]
struct Weight {
    program: &'static str,
    /// Packages that are compiled for it, its own among them.
    crates: usize,
    /// Seconds of a release build from nothing.
    build: f64,
    /// Bytes of the stripped program.
    binary: u64,
}

/// Builds each program from nothing, one after the other, and prints what they cost.
///
/// # Errors
/// One does not build.
pub(crate) fn weigh(workspace: &Workspace, json: bool, filter: &[String]) -> Result<()> {
    let wanted = |candidate: &&Candidate| {
        filter.is_empty() || filter.iter().any(|part| candidate.name.contains(&**part))
    };
    let chosen: Vec<_> = CANDIDATES.iter().filter(wanted).collect();
    let progress = bar(chosen.len() as u64).with_message("programs");
    let mut weights = Vec::new();
    for candidate in chosen {
        weights.push(
            measure(workspace, candidate).with_context(|| format!("the program with {}", candidate.name))?,
        );
        progress.inc(1);
    }
    progress.finish_and_clear();
    if json {
        println!("{}", serde_json::to_string_pretty(&weights)?);
        return Ok(());
    }
    println!("| program | crates | release build, s | stripped binary, MB |\n|---|---|---|---|");
    for Weight { program, crates, build, binary } in &weights {
        println!("| {program} | {crates} | {build:.0} | {:.1} |", *binary as f64 / 1e6);
    }
    Ok(())
}

fn measure(workspace: &Workspace, candidate: &Candidate) -> Result<Weight> {
    let folder = workspace.made("weigh")?.join(candidate.name.replace([',', ' '], "-"));
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(folder.join("src"))?;
    let root = workspace.root().display().to_string();
    let dependencies = candidate.dependencies.replace("{root}", &root);
    let manifest = format!(
        "[package]\nname = \"minimal\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[dependencies]\n{dependencies}\n\n\
         [profile.release]\nstrip = true\n\n[workspace]\n"
    );
    fs::write(folder.join("Cargo.toml"), manifest)?;
    fs::write(folder.join("src/main.rs"), candidate.main)?;
    let line = |args: &[&str]| in_folder(&folder, args);
    line(&["fetch", "--quiet"]).run()?;
    let tree = line(&["tree", "--edges", "normal,build", "--prefix", "none", "--format", "{p}"]).read()?;
    let crates: BTreeSet<&str> = tree.lines().map(|line| line.trim_end_matches(" (*)")).collect();
    let start = Instant::now();
    line(&["build", "--quiet", "--release"]).run()?;
    let build = start.elapsed().as_secs_f64();
    let binary = fs::metadata(program(&folder))?.len();
    Ok(Weight { program: candidate.name, crates: crates.len(), build, binary })
}

fn in_folder(folder: &Path, args: &[&str]) -> Line {
    cargo().args(args).without("CARGO_TARGET_DIR").without("RUSTFLAGS").dir(folder)
}

fn program(folder: &Path) -> PathBuf {
    folder.join("target/release").join(format!("minimal{}", std::env::consts::EXE_SUFFIX))
}
