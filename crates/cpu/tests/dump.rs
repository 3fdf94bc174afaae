//! `FENCEPOST_DUMP` names a folder for the code of kernels as text.
#![allow(missing_docs, reason = "the names of the tests say what they test")]

use fencepost_cpu::{CpuKernel, Program};
use fencepost_kernels::{Module, ShaderSource};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

const TEXT: &str = "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
    @compute @workgroup_size(64) fn doubles(@builtin(global_invocation_id) id: vec3u) { x[id.x] *= 2.0; }
    @compute @workgroup_size(3) fn sums(@builtin(global_invocation_id) id: vec3u) { x[id.x] = subgroupAdd(x[id.x]); }";

/// Prepares the kernels, in the process that [`dumped`] starts.
#[test]
#[ignore = "another test starts it with a folder"]
fn kernels_are_prepared() {
    let module = Arc::new(Module::parse(&ShaderSource::text("dump.wgsl", TEXT)).unwrap());
    for entry in ["doubles", "sums"] {
        let interface = module.interface(entry, &[]).unwrap();
        CpuKernel::new(Arc::new(Program::new(&module, &interface, &[]).unwrap())).unwrap();
    }
}

/// Returns the path of a folder for one test, which does not exist.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("dump-{test}"));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

/// Prepares the kernels in a process of their own.
fn prepare(folder: &Path) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--ignored", "--exact", "kernels_are_prepared"]).env("FENCEPOST_DUMP", folder);
    assert!(child.output().unwrap().status.success(), "the kernels are prepared with and without a folder");
}

#[test]
fn compiled_kernels_are_written_as_intermediate_code_and_assembly_and_others_as_instructions() {
    let folder = folder("code");
    prepare(&folder);
    let mut files: Vec<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|file| file.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    assert_eq!(files, ["1-doubles.16.asm", "1-doubles.16.clif", "2-sums.interpreted"]);
    let text = |file: &str| std::fs::read_to_string(folder.join(file)).unwrap();
    assert!(text("1-doubles.16.clif").contains("fmul"), "the intermediate code multiplies");
    assert!(text("1-doubles.16.asm").contains("ret"), "the machine code returns");
    let interpreted = text("2-sums.interpreted");
    assert!(interpreted.contains("// dump.wgsl:3:"), "an instruction names its place: {interpreted}");
}

#[test]
fn a_folder_that_cannot_be_written_stops_no_kernel() {
    let folder = folder("file");
    std::fs::write(&folder, "a file").unwrap();
    prepare(&folder);
    assert_eq!(std::fs::read_to_string(&folder).unwrap(), "a file");
}

#[test]
#[cfg(target_os = "linux")]
fn the_map_of_perf_names_the_functions_of_machine_code() {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--ignored", "--exact", "kernels_are_prepared"]).env("FENCEPOST_PERF", "1");
    let mut child = child.stdout(Stdio::null()).spawn().unwrap();
    let path = format!("/tmp/perf-{}.map", child.id());
    assert!(child.wait().unwrap().success());
    let map = std::fs::read_to_string(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    let [line] = map.lines().collect::<Vec<_>>()[..] else { panic!("one function is compiled: {map}") };
    let [start, bytes, name] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
    assert!(
        [start, bytes].iter().all(|number| u64::from_str_radix(number, 16).is_ok_and(|number| number > 0))
    );
    assert_eq!(name, "fencepost::doubles.16.0");
}
