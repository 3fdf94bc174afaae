//! `fencepost run`: tests the check on the CPU before a run.

use std::fs;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::files::Folder;
use crate::program::{Ran, command, ended, numbers, on, same};
use crate::shaders::SAXPY;
use crate::{Each, Once};

pub(crate) const EACH: [Each; 9] = [
    ("an_index_past_the_end_of_an_array_is_found_before_the_run", past_the_end),
    ("a_parameter_larger_than_an_array_is_found", parameter),
    ("a_race_is_found", race),
    ("without_a_check_the_lengths_are_said_and_the_kernel_runs", never),
    ("integer_operations_are_checked_only_if_the_command_line_asks_for_it", operands),
    ("json_has_the_findings_with_their_places", json),
    ("a_line_that_a_kernel_prints_is_printed_once_and_beside_json", printed),
    ("a_run_with_the_same_lengths_and_integers_is_checked_once", remembered),
    ("a_run_with_another_part_of_the_launch_is_checked_again", parts_of_the_key),
];

pub(crate) const ONCE: [Once; 2] = [
    ("the_variable_for_checks_prints_its_findings_after_the_run", variable),
    ("the_variable_for_checks_prints_its_findings_if_the_run_fails", variable_and_failure),
];

/// `y[i] = x[places[i]]`.
const GATHER: &str = "
@group(0) @binding(0) var<storage, read> places: array<u32>;
@group(0) @binding(1) var<storage, read> x: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64)
fn gather(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&y) { y[id.x] = x[places[id.x]]; }
}
";

/// `y[0]` is the sum of the first `m` elements of `a`.
const SUM: &str = "
struct Params { m: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(1)
fn sum() {
    var total = 0.0;
    for (var i = 0u; i < params.m; i++) { total += a[i]; }
    y[0] = total;
}
";

/// `y[i] = 12 / x[i]` for integers.
const DIVIDE: &str = "
@group(0) @binding(0) var<storage, read> x: array<u32>;
@group(0) @binding(1) var<storage, read_write> y: array<u32>;
@compute @workgroup_size(64)
fn divide(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < arrayLength(&y) { y[id.x] = 12u / x[id.x]; }
}
";

/// `y[i] = a[m + i]`, and `y[i] = a[LAST + i] + m`.
const SHIFTED: &str = "
override LAST: u32 = 3;
struct Params { m: u32 }
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read> a: array<f32>;
@group(0) @binding(2) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(1) fn first(@builtin(global_invocation_id) id: vec3<u32>) {
    y[id.x] = a[params.m + id.x];
}
@compute @workgroup_size(1) fn second(@builtin(global_invocation_id) id: vec3<u32>) {
    y[id.x] = a[LAST + id.x] + f32(params.m);
}
";

fn run(adapter: usize, text: &str, args: &[&str]) -> Result<Ran> {
    let folder = Folder::new()?;
    let file = folder.write("kernel.wgsl", text)?;
    on(adapter, ["run", &file].iter().chain(args))
}

fn past_the_end(adapter: usize) -> Result<()> {
    let args = ["a=2", "x=iota:300", "y=zeros:60000"];
    let ran = run(adapter, SAXPY, &args)?;
    ensure!(!ran.err.contains(".rs:") && !ran.err.contains("launched"), "{}", ran.err);
    let line = "    if id.x < arrayLength(&y) { y[id.x] = params.a * x[id.x] + y[id.x]; }\n";
    let name = &fencepost::adapters()[adapter].name;
    let last =
        format!("error: the check on the CPU found 1 mistake, so the kernel did not run on `{name}`: ");
    let parts = [
        "note: the grid has 60000 invocations, and `x` has 300 elements\n",
        "index 300 is out of range: `x` has 300 elements",
        "invocation [300, 0, 0] of workgroup [4, 0, 0]",
        "kernel.wgsl:8:",
        line,
        "^\n",
        "times in all",
        &last,
        "--check=never",
    ];
    ran.refused(3, &parts)?;
    run(adapter, SAXPY, &[&args[..], &["--check"]].concat())?.refused(3, &parts)?;
    let written = SAXPY.replace("arrayLength(&y)", "arrayLength(&x)");
    run(adapter, &written, &["a=2", "x=iota:300", "y=zeros:200", "--grid=300"])?
        .refused(3, &["`y` has 200 elements", "index 200 is out of range"])
}

fn parameter(adapter: usize) -> Result<()> {
    run(adapter, SUM, &["m=3000", "a=iota:300", "y=zeros:1"])?
        .refused(3, &["index 300 is out of range: `a` has 300 elements", "kernel.wgsl:9:"])?;
    let ran = run(adapter, SUM, &["m=300", "a=iota:300", "y=zeros:1", "--json"])?;
    ensure!(!ran.err.contains("note: "), "{}", ran.err);
    same(&numbers(&ran.json()?, "y")?, &[44850.0])
}

fn race(adapter: usize) -> Result<()> {
    let text = "@group(0) @binding(0) var<storage, read_write> y: array<u32>;
        @compute @workgroup_size(64)
        fn k(@builtin(global_invocation_id) id: vec3<u32>) { y[0] = id.x; }";
    run(adapter, text, &["y=zeros:1", "--grid=64"])?
        .refused(3, &["two invocations of a workgroup access `y[0]`", "kernel.wgsl:3:"])
}

fn never(adapter: usize) -> Result<()> {
    let ran = run(adapter, SAXPY, &["a=2", "x=iota:300", "y=zeros:310", "--check=never", "--json"])?;
    ensure!(ran.err.contains("note: the grid has 310 invocations, and `x` has 300 elements"), "{}", ran.err);
    ensure!(!ran.err.contains("out of range"), "{}", ran.err);
    let json = ran.json()?;
    let y = json["buffers"][0]["values"].as_array().context("no values")?;
    ensure!(y.len() == 310 && (0..300).all(|i| y[i] == 2.0 * i as f64), "{json}");
    ensure!(json["findings"] == serde_json::json!([]), "{json}");
    let ran = run(adapter, SAXPY, &["a=2", "x=iota:310", "y=zeros:310"])?;
    ensure!(!ran.err.contains("note: "), "{}", ran.err);
    Ok(())
}

fn operands(adapter: usize) -> Result<()> {
    let args = ["x=zeros:4", "y=zeros:4"];
    run(adapter, DIVIDE, &args)?.good()?;
    run(adapter, DIVIDE, &[&args[..], &["--check"]].concat())?
        .refused(3, &["divides an integer by zero", "kernel.wgsl:6:"])?;
    run(adapter, DIVIDE, &["x=full:4:3", "y=zeros:4", "--check"])?.good()?;
    Ok(())
}

fn json(adapter: usize) -> Result<()> {
    let ran = run(adapter, SAXPY, &["a=2", "x=iota:300", "y=zeros:310", "--json"])?;
    ensure!(ran.code == Some(3), "{ran:?}");
    let json: Value = serde_json::from_str(&ran.out)?;
    ensure!(json["kernel"] == "saxpy" && json["buffers"] == serde_json::json!([]), "{json}");
    let [finding] = &json["findings"].as_array().context("no findings")?[..] else { anyhow::bail!("{json}") };
    ensure!(finding["line"] == 8 && finding["column"].is_u64() && finding["count"].is_u64(), "{finding}");
    ensure!(finding["file"].as_str().is_some_and(|file| file.ends_with("kernel.wgsl")), "{finding}");
    ensure!(
        finding["text"].as_str().is_some_and(|text| text.contains("index 300 is out of range")),
        "{finding}"
    );
    Ok(())
}

fn printed(adapter: usize) -> Result<()> {
    let text = "@group(0) @binding(0) var<storage, read_write> y: array<u32>;
        @compute @workgroup_size(1) fn k() { print(\"y is {}\", y[0]); y[0] = 5u; }";
    let args = ["y=zeros:1", "--groups=1"];
    let out = run(adapter, text, &args)?.good()?;
    ensure!(out.matches("y is 0").count() == 1 && out.ends_with("y: u32 [1]\n[5]\n"), "{out}");
    let ran = run(adapter, text, &[&args[..], &["--json"]].concat())?;
    ensure!(ran.err.matches("y is 0\n").count() == 1, "{ran:?}");
    same(&numbers(&ran.json()?, "y")?, &[5.0])
}

/// Runs a kernel of this folder with its cache.
fn cached(adapter: usize, folder: &Folder, args: &[&str]) -> Result<Ran> {
    let file = folder.path("kernel.wgsl");
    let file = file.to_str().context("a path that is not UTF-8")?;
    let mut command = command(["run", file].iter().chain(args));
    command.env("FENCEPOST_CACHE", folder.path("cache")).env("FENCEPOST_ADAPTER", adapter.to_string());
    ended(&mut command)
}

fn remembered(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    folder.write("kernel.wgsl", GATHER)?;
    let run = |args: &[&str]| cached(adapter, &folder, args);
    let bad = ["places=full:4:9", "x=iota:4", "y=zeros:4"];
    let found = ["index 9 is out of range: `x` has 4 elements"];
    for _ in 0..2 {
        run(&bad)?.refused(3, &found)?; // a run with mistakes is not remembered
    }
    run(&["places=full:4:3", "x=iota:4", "y=zeros:4"])?.good()?;
    run(&["places=full:4:3", "x=full:4:0.5", "y=full:4:1"])?.good()?;
    ensure!(
        fs::read_dir(folder.path("cache/checked"))?.count() == 1,
        "floats are not part of what is remembered"
    );
    run(&bad)?.refused(3, &found)?; // integers are
    run(&["places=full:4:3", "x=iota:3", "y=zeros:4"])?.refused(3, &["index 3 is out of range"])?;
    run(&[&bad[..], &["--check"]].concat())?.refused(3, &found)?;
    run(&[&bad[..], &["--check=never"]].concat())?.good().map(drop)
}

fn parts_of_the_key(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    folder.write("kernel.wgsl", SHIFTED)?;
    let run = |args: &[&str]| cached(adapter, &folder, &[args, &["y=zeros:1"]].concat());
    let first = ["--entry=first", "a=iota:4"];
    let second = ["--entry=second", "a=iota:4", "m=9"];
    let three = [&first[..], &["m=3"]].concat();
    run(&three)?.good()?;
    run(&second)?.good()?;
    let bad = [
        ([&first[..], &["m=9"]].concat(), "index 9 is out of range: `a` has 4 elements"),
        (vec!["--entry=first", "a=iota:3", "m=3"], "index 3 is out of range: `a` has 3 elements"),
        ([&second[..], &["--set=LAST=8"]].concat(), "index 8 is out of range: `a` has 4 elements"),
        ([&second[..], &["--grid=2"]].concat(), "index 4 is out of range: `a` has 4 elements"),
    ];
    for (args, found) in bad {
        run(&args)?.refused(3, &[found])?;
    }
    folder.write("kernel.wgsl", SHIFTED.replace("params.m + id.x", "params.m + 1u + id.x"))?;
    run(&three)?.refused(3, &["index 4 is out of range: `a` has 4 elements"])
}

fn variable() -> Result<()> {
    let folder = Folder::new()?;
    let file = folder.write("kernel.wgsl", SAXPY)?;
    let args = ["run", &file, "a=2", "x=iota:3", "y=zeros:4", "--check=never"];
    let ran = ended(command(args).env("FENCEPOST_ADAPTER", "cpu").env("FENCEPOST_CHECK", "1"))?;
    ensure!(ran.code == Some(3) && ran.out.starts_with("y: f32 [4]\n"), "{ran:?}");
    for part in ["index 3 is out of range", "kernel.wgsl:8:", "found 1 mistake in this run"] {
        ensure!(ran.err.contains(part), "no `{part}` in\n{}", ran.err);
    }
    Ok(())
}

fn variable_and_failure() -> Result<()> {
    let folder = Folder::new()?;
    let text = "@group(0) @binding(0) var<storage, read_write> y: array<u32>;
        @compute @workgroup_size(1) fn k() { y[arrayLength(&y)] = 1u; assert(y[0] == 1u); }";
    let file = folder.write("kernel.wgsl", text)?;
    let args = ["run", &file, "y=zeros:4", "--groups=1", "--check=never"];
    let ran = ended(command(args).env("FENCEPOST_ADAPTER", "cpu").env("FENCEPOST_CHECK", "1"))?;
    ran.refused(1, &["index 4 is out of range", "found 1 mistake in this run", "the assertion `y[0] == 1u`"])
}
