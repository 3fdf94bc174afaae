//! Tests the files that `FENCEPOST_DUMP` writes.
#![allow(missing_docs, reason = "the names of the tests say what they test")]

use fencepost_cpu::{CpuKernel, Program};
use fencepost_kernels::{Module, ShaderSource};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

const TEXT: &str = "@group(0) @binding(0) var<storage, read_write> x: array<f32>;
    @compute @workgroup_size(64) fn doubles(@builtin(global_invocation_id) id: vec3u) { x[id.x] *= 2.0; }
    @compute @workgroup_size(3) fn sums(@builtin(global_invocation_id) id: vec3u) { x[id.x] = subgroupAdd(x[id.x]); }";

/// Prepares the kernels, in the process that `prepare` starts.
#[test]
#[ignore = "another test starts it with a folder"]
fn kernels_are_prepared() {
    let module = Arc::new(Module::parse(&ShaderSource::text("dump.wgsl", TEXT)).unwrap());
    for entry in ["doubles", "sums"] {
        let entry = module.entry(entry, &[]).unwrap();
        CpuKernel::new(Arc::new(Program::new(&module, &entry).unwrap())).unwrap();
    }
}

/// Number of sums of [`shared_sums`].
const SUMS: usize = 48;

/// Returns a kernel with a chain of sums; each sum is used for the next one and for another value.
fn shared_sums() -> String {
    format!(
        "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(64) fn shared_sums(@builtin(global_invocation_id) id: vec3u) {{
            var a = x[id.x];
            var b = 7u * a;
            {}
            x[id.x] = a ^ b;
        }}",
        "a += b; b ^= a >> 3u;\n".repeat(SUMS)
    )
}

/// Prepares the kernel of [`shared_sums`], in the process that `prepare` starts.
#[test]
#[ignore = "another test starts it with a folder"]
fn a_kernel_with_shared_sums_is_prepared() {
    let module = Arc::new(Module::parse(&ShaderSource::text("shared_sums.wgsl", shared_sums())).unwrap());
    let entry = module.entry("shared_sums", &[]).unwrap();
    CpuKernel::new(Arc::new(Program::new(&module, &entry).unwrap())).unwrap();
}

/// Returns the path of a folder for one test. The folder does not exist.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("dump-{test}"));
    let _ = std::fs::remove_dir_all(&folder);
    folder
}

/// Prepares the kernels of a test in a separate process.
fn prepare(folder: &Path, test: &str) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--ignored", "--exact", test]).env("FENCEPOST_DUMP", folder);
    assert!(child.output().unwrap().status.success(), "the kernels are prepared with and without a folder");
}

#[test]
fn compiled_kernels_are_written_as_intermediate_code_and_assembly_and_others_as_instructions() {
    let folder = folder("code");
    prepare(&folder, "kernels_are_prepared");
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

/// Cranelift would compute a sum in a chain again for each of its uses, so the compiler hides the chain.
#[test]
fn each_sum_that_has_several_uses_is_computed_once() {
    let folder = folder("sums");
    prepare(&folder, "a_kernel_with_shared_sums_is_prepared");
    let files = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
    let assembly = files.filter(|file| file.extension().is_some_and(|extension| extension == "asm"));
    let code = assembly.map(|file| std::fs::read_to_string(file).unwrap()).collect::<String>();
    // Four sums in a vector are one instruction: `vpaddd` or `paddd` on x86, `add v0.4s` on ARM.
    let vectors_of_four = code
        .lines()
        .map(str::trim_start)
        .filter(|line| line.starts_with("vpaddd") || line.starts_with("paddd") || line.starts_with("add v"))
        .count();
    // The code contains the body of the kernel twice. If sums were computed again for each use, there would be 552.
    assert!((SUMS..3 * SUMS).contains(&vectors_of_four), "{vectors_of_four} vectors of sums\n{code}");
}

#[test]
fn a_folder_that_cannot_be_written_stops_no_kernel() {
    let folder = folder("file");
    std::fs::write(&folder, "a file").unwrap();
    prepare(&folder, "kernels_are_prepared");
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
