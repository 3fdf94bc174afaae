//! `cargo xtask arm`: runs the tests of the crates below the devices on 64-bit ARM, in an emulator.

use std::path::Path;

use anyhow::Result;

use crate::debs::{Found, Packaged};
use crate::environment::Vars;
use crate::foreign::Foreign;
use crate::shell::line;
use crate::steps::Done;
use crate::suite::{self, MODES, Program};
use crate::tally::Tally;
use crate::workspace::Workspace;

const TRIPLE: &str = "aarch64-unknown-linux-gnu";
static COMPILER: Packaged = Packaged {
    names: &["aarch64-linux-gnu-gcc"],
    packages: &[
        "gcc-aarch64-linux-gnu",
        "binutils-aarch64-linux-gnu",
        "libc6-dev-arm64-cross",
        "libc6-arm64-cross",
        "libgcc-s1-arm64-cross",
        "linux-libc-dev-arm64-cross",
    ],
    file: "usr/bin/aarch64-linux-gnu-gcc",
};
static EMULATOR: Packaged = Packaged {
    names: &["qemu-aarch64-static", "qemu-aarch64"],
    packages: &["qemu-user-static"],
    file: "usr/bin/qemu-aarch64-static",
};
/// Folder of the C library for ARM in its package.
const C_LIBRARY: &str = "usr/aarch64-linux-gnu";
/// File that exists if the system itself starts programs for ARM, in an emulator.
const REGISTERED: &str = "/proc/sys/fs/binfmt_misc/qemu-aarch64";

/// Crates whose tests run.
const CRATES: [&str; 8] =
    ["-p", "fencepost-core", "-p", "fencepost-cpu", "-p", "fencepost-kernels", "-p", "fencepost-sync"];
/// The crate with the conformance tests.
const FACADE: &str = "fencepost";
/// The crate whose machine code depends on the processor.
const MACHINE_CODE: &str = "fencepost-cpu";
/// A processor without the atomic instructions of ARMv8.1: an atomic operation is a loop there.
const WITHOUT_ATOMICS: &str = "cortex-a53";

/// Tests that start their own program. The system cannot start it, because only the emulator runs it.
const SELF_STARTING: [&str; 7] = [
    "a_folder_that_cannot_be_written_stops_no_kernel",
    "compiled_kernels_are_written_as_intermediate_code_and_assembly_and_others_as_instructions",
    "each_sum_that_has_several_uses_is_computed_once",
    "processes_that_write_one_file_at_once_read_whole_files_only",
    "r01_a_wrong_adapter_variable_is_an_error_that_names_it_and_its_value",
    "the_map_of_perf_names_the_functions_of_machine_code",
    "the_text_of_a_compiled_kernel_is_in_the_folder",
];

/// Arguments of the command `arm`.
pub(crate) struct Options {
    /// `true` if the conformance tests run too, on the CPU device and the simulator.
    pub(crate) conformance: bool,
    /// `true` if missing packages may be fetched and unpacked below `target`.
    pub(crate) may_fetch: bool,
}

/// Builds the tests for ARM, and runs them in an emulator: on a processor with every extension, and those of machine
/// code also on an old one. Skipped if a tool is missing and may not be fetched.
///
/// # Errors
/// A tool cannot be fetched, a test does not build, or a test fails.
pub(crate) fn arm(workspace: &Workspace, options: &Options) -> Result<Done> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Ok(Done::Skipped("the emulator is used on Linux on x86-64".to_owned()));
    }
    let Some(compiler) = COMPILER.find(workspace, options.may_fetch)? else {
        return Ok(Done::Skipped(COMPILER.missing()));
    };
    let Some(emulator) = EMULATOR.find(workspace, options.may_fetch)? else {
        return Ok(Done::Skipped(EMULATOR.missing()));
    };
    let root = compiler.root.clone().unwrap_or_else(|| Path::new("/").to_owned());
    let sysroot = compiler.root.iter().map(|root| format!("--sysroot={}", root.display())).collect();
    let Some(foreign) = Foreign::find(workspace, TRIPLE, (compiler, sysroot), options.may_fetch)? else {
        return Ok(Done::Skipped(format!("no standard library for {TRIPLE}: `rustup target add {TRIPLE}`")));
    };
    let programs = emulated(build(&foreign, options.conformance)?, &emulator, &root.join(C_LIBRARY))?;
    let skipped: &[&str] = if Path::new(REGISTERED).exists() { &[] } else { &SELF_STARTING };
    Tally::run(workspace, "arm", &programs, (&vars(workspace), &[&MODES[0]], skipped))?.print()?;
    if skipped.is_empty() {
        return Ok(Done::Yes);
    }
    Ok(Done::Partly(format!("{} tests that start their own program", skipped.len())))
}

fn build(foreign: &Foreign, conformance: bool) -> Result<Vec<Program>> {
    let cargo = foreign.cargo()?;
    let mut programs = suite::built(cargo("test").args(CRATES).arg("--no-run"))?;
    if conformance {
        let test = cargo("test").args(["-p", FACADE, "--test", "conformance", "--no-run"]);
        programs.extend(suite::built(test)?);
    }
    Ok(programs)
}

/// Returns the programs as the emulator runs them, named after their packages. Programs of machine code run twice.
fn emulated(programs: Vec<Program>, emulator: &Found, c_library: &Path) -> Result<Vec<Program>> {
    let emulator = line(&emulator.program).vars(&emulator.vars()?).var("QEMU_LD_PREFIX", c_library);
    let old = emulator.clone().var("QEMU_CPU", WITHOUT_ATOMICS);
    let mut all = Vec::new();
    for program in programs {
        let package = program.package().to_owned();
        if package == FACADE {
            all.push(program.under(&emulator)); // the runner knows its tests by their names
            continue;
        }
        let own = program.name.trim_start_matches(package.as_str()).trim_start();
        let name = format!("{package} {own}");
        if package == MACHINE_CODE {
            let again = program.clone().called(format!("{name} on {WITHOUT_ATOMICS}"));
            all.push(again.under(&old));
        }
        all.push(program.called(name).under(&emulator));
    }
    Ok(all)
}

fn vars(workspace: &Workspace) -> Vars {
    let root = workspace.root().to_string_lossy().into_owned();
    vec![
        ("FENCEPOST_TEST_ADAPTERS".to_owned(), "cpu".to_owned()),
        ("INSTA_WORKSPACE_ROOT".to_owned(), root), // finds snapshots without a call of cargo
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_test_that_starts_itself_exists() {
        let sources = [
            include_str!("../../core/src/api/context/diagnostics.rs"),
            include_str!("../../core/src/device/kernel_folder.rs"),
            include_str!("../../cpu/tests/dump.rs"),
            include_str!("../../../tests/conformance/robustness/devices.rs"),
        ];
        for test in SELF_STARTING {
            let names = [format!("fn {test}("), format!("\"{test}\"")];
            assert!(
                sources.iter().any(|source| names.iter().any(|name| source.contains(name.as_str()))),
                "{test}"
            );
        }
    }
}
