//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::environment::{Request, Wanted};
use crate::shell::flag;
use crate::storm;
use crate::web::Browser;

/// Set-up and checks of the Fencepost workspace.
///
/// Needs Rust and a C compiler; installs other missing tools, and prints each command it runs.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
#[command(
    after_help = "Examples:\n  cargo xtask demo\n  cargo xtask test\n  cargo xtask test --all-adapters -- p08"
)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Hashes files and simulates waves on the default adapter, checks both on the CPU, and shows the waves
    #[command(
        after_help = "Examples:\n  cargo xtask demo\n  cargo xtask demo --quick\n  cargo xtask demo large.iso photos.tar\n  \
        cargo xtask demo --headless > demo.log\n  FENCEPOST_ADAPTER=cpu cargo xtask demo\n\n\
        Needs no driver: on a machine without one, the CPU is the adapter.\n\
        The picture and a timeline of a part of the work are stored in target/demo. A terminal that shows pictures (kitty,\n\
        Ghostty, iTerm2, WezTerm) shows the waves too. Exits with 1 if a hash, a cell or a pixel is wrong. The speeds are\n\
        those of a quick build, with little optimisation of the library."
    )]
    Demo {
        /// Simulate few steps, and hash few bytes of the toolchain; given files are hashed whole
        #[arg(long)]
        quick: bool,
        /// Show no picture in the terminal
        #[arg(long)]
        headless: bool,
        /// Files to hash; without files, the largest ones of the Rust toolchain
        files: Vec<PathBuf>,
    },
    /// Runs everything a change must pass and prints a table
    #[command(after_help = "Examples:\n  cargo xtask test\n  cargo xtask test --all-adapters -- q04\n  \
        cargo xtask test --full\n\n\
        Steps: fmt, lint, readme, guide, adapters, build, tests, doc tests, clippy, count, deny.\n\
        All steps run, also after failures; the last line is `N passed, N failed`. The step count is skipped if it has\n\
        passed with the same inputs, and deny if cargo-deny is missing and may not be built. With --full also:\n\
        doc, targets --web, package, model, fuzz, functions, languages, versions, features, demo, page, window,\n\
        msrv, outside, mlp, mpi, windows, arm, web. The last three run if their tools or browsers are there.\n\
        With CI set: every adapter the system can get. With --full also as with --install-tools, with the tools of windows\n\
        and arm and with Chromium, and `cargo package` refuses uncommitted changes.")]
    Test {
        #[command(flatten)]
        adapters: Adapters,
        /// Build cargo-deny into target/tools if it is missing (about a minute)
        #[arg(long)]
        install_tools: bool,
        /// Run every case on every adapter in every mode, the loom models, the oldest versions and the oldest Rust, each
        /// feature alone, a program in a window, a program outside, and the tests under Wine, on ARM and in a browser: meant
        /// for a run overnight
        #[arg(long)]
        full: bool,
        /// Arguments for the test programs, for instance a part of a test's name; then only the default mode runs
        #[arg(last = true)]
        filter: Vec<String>,
    },
    /// Checks the rules that rustc and clippy do not know: rooms, names, words, sentences, `unsafe`, lengths
    #[command(
        after_help = "Examples:\n  cargo xtask lint\n  cargo xtask lint 2>&1 | grep crates/core/src/memory\n\n\
        rooms: an import of the core crate goes down the list of docs/floors.txt; an export is an import too\n\
        names: one name stands for one type or constant at the top of the files of a crate\n\
        words: comments, strings, pages and names of functions have no word that crates/xtask/src/lint/words.txt lists;\n\
        no sentence and no doc of a type, field or constant begins with another word of the list\n\n\
        It also checks the places of `unsafe` and of logging, the lengths of files, and that each verb has its tests.\n\
        Each finding is one line, for instance:\n  \
        crates/core/src/memory/block.rs:3: room `api` lies above room `memory`, and an import goes down"
    )]
    Lint,
    /// Prints the public names of the library: the types of each module, and the methods of each type
    #[command(
        after_help = "Examples:\n  cargo xtask api\n  cargo xtask api | grep CommandQueue\n  cargo xtask api --write\n\n\
        `cargo xtask lint` fails if docs/api.md differs from the sources."
    )]
    Api {
        /// Write docs/api.md
        #[arg(long)]
        write: bool,
    },
    /// Runs the loom models of the crates sync and core
    #[command(after_help = "Examples:\n  cargo xtask model\n  LOOM_MAX_PREEMPTIONS=3 cargo xtask model wait")]
    Model {
        /// Words, one of which a model's name must contain; without words, all models run
        filter: Vec<String>,
    },
    /// Runs the tests that prove the rules, on every adapter with every recorder, and prints a table of the rules
    #[command(after_help = "Examples:\n  cargo xtask semantics --all-adapters\n  \
        cargo xtask semantics --mode default --mode wgpu --no-model q04\n  \
        cargo xtask semantics --browser chromium --browser firefox q04\n  \
        cargo xtask semantics --json > semantics.jsonl\n\n\
        The rules are those of docs/semantics.md; one without a test is an error. Modes: default, wgpu, hal, direct,\n\
        discrete; in a browser the mode is the place in the page: webgpu, page, simulator. Exits with 1 if a test failed.")]
    Semantics {
        #[command(flatten)]
        adapters: Adapters,
        /// Print a line of JSON for each test, adapter and mode instead of the table
        #[arg(long)]
        json: bool,
        /// Run this mode only; may be given several times
        #[arg(long)]
        mode: Vec<String>,
        /// Also run the conformance cases in a page of this browser; may be given several times
        #[arg(long, value_enum)]
        browser: Vec<Browser>,
        /// Leave out the loom models, which prove R03
        #[arg(long)]
        no_model: bool,
        /// A part of a test's name, for instance the number of a rule in small letters
        filter: Option<String>,
    },
    /// Runs the random programs of many seeds in the simulator: no wrong byte, no hang, no panic
    #[command(after_help = "Examples:\n  cargo xtask seeds\n  cargo xtask seeds --from 5000 --count 200")]
    Seeds {
        /// Number of seeds
        #[arg(long, default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
        count: u64,
        /// First seed
        #[arg(long, default_value_t = 0)]
        from: u64,
    },
    /// Runs the coverage-guided fuzzer of graph files: no panic, no hang, no large allocation
    #[command(after_help = "Examples:\n  cargo xtask fuzz\n  cargo xtask fuzz 600\n\n\
        Builds libFuzzer and the library below target/fuzz with the installed Rust; installs g++ if there is no C++ compiler.\n\
        The inputs are kept in target/fuzz/corpus, so a later run goes on. An input that fails is stored in target/fuzz/found:\n\
        copy it to tests/data/fuzz, where the tests load it.")]
    Fuzz {
        /// Seconds to run
        #[arg(default_value_t = 60)]
        seconds: u64,
    },
    /// Runs random WGSL programs on several engines: the same results on each
    #[command(
        after_help = "Examples:\n  cargo xtask fuzz-wgsl\n  cargo xtask fuzz-wgsl --minutes 10 --seed 50000\n  \
        cargo xtask fuzz-wgsl --adapter llvmpipe --adapter swiftshader --count 200\n  \
        cargo xtask fuzz-wgsl --seed 17 --print\n\n\
        A seed gives the same program each time. The smallest program on which engines differ is stored below\n\
        target/wgsl-fuzz. Exits with 1 if engines differ. See `cargo xtask fuzz-wgsl -- --help` for all arguments."
    )]
    FuzzWgsl {
        /// Arguments for the fuzzer: --count, --seed, --adapter, --minutes and others
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Runs each operator and function of WGSL with each type on each adapter, against the CPU device
    #[command(after_help = "Examples:\n  cargo xtask functions\n  cargo xtask functions --write\n  \
        cargo xtask functions -- --adapter lavapipe --function sin --refused\n\n\
        A child process runs the calls of an adapter, and starts again after a crash. Exits with 1 if a result is wrong.")]
    Functions {
        /// Write the table into docs/functions.md
        #[arg(long)]
        write: bool,
        /// Arguments for the program: --adapter, --function, --refused
        #[arg(last = true)]
        args: Vec<String>,
    },
    /// Puts seeded faults into a copy of the library, and prints the test that detects each
    #[command(
        after_help = "Examples:\n  cargo xtask mutants\n  cargo xtask mutants --list\n  cargo xtask mutants pool\n  \
        cargo xtask mutants --json > mutants.jsonl\n\n\
        The faults are those of tests/faults.json. The copy is below target/mutants, and all faults are built into it at\n\
        once; FENCEPOST_FAULT=<name> chooses one when a test program of the copy starts. It runs, up to the first failure,\n\
        the conformance tests of the broken rule, the unit tests of core and sync, the random programs and the conformance\n\
        suite, in the simulator and the CPU device. Exits with 1 if a fault does not build, or survives without an\n\
        explanation in the list."
    )]
    Mutants {
        /// Print a line of JSON for each fault instead of the table
        #[arg(long)]
        json: bool,
        /// Print the faults, and build and run nothing
        #[arg(long, conflicts_with = "json")]
        list: bool,
        /// Seconds after which a test program counts as hanging; with a fault the limit is eight times its run time
        /// without one, but not more than this
        #[arg(long, default_value_t = 300)]
        limit: u64,
        /// Words, one of which a fault's name must contain; without words, all faults are tried
        filter: Vec<String>,
    },
    /// Runs the double buffer for minutes: every block must be right, and memory must not grow
    #[command(
        after_help = "Examples:\n  cargo xtask soak\n  cargo xtask soak --minutes 1 --adapter swiftshader --seed 7 --json\n\n\
        See `cargo xtask soak -- --help` for all arguments."
    )]
    Soak {
        /// Arguments for the soak
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Runs random programs by several threads for minutes: no wrong byte, no hang, no panic, no leak
    #[command(
        after_help = "Examples:\n  cargo xtask storm --minutes 5\n  cargo xtask storm --adapters cpu,swiftshader --mode default --threads 8\n  \
        cargo xtask storm --adapters lavapipe --mode hal --seed 17\n  cargo xtask storm --minutes 60 --json > storm.jsonl\n\n\
        Adapters: cpu, and the machine's adapters by their names in the tests' names. Modes: default, wgpu, hal, direct, discrete.\n\
        A seed gives the same programs each time; the system decides how the threads interleave. The first seed that fails ends\n\
        the run, with the line that runs it again. Exits with 1 if a seed failed."
    )]
    Storm(Storm),
    /// Runs everything that this machine can run, and writes one file with the results into docs/proofs
    #[command(
        after_help = "Examples:\n  cargo xtask prove\n  cargo xtask prove --mode default --no-bench\n  cargo xtask prove --json\n\n\
        For owners of a graphics card, a Mac, a Windows machine or a phone. Installs nothing. Builds the tests; runs `fencepost\n\
        doctor`, the rules, random programs, refusals, a storm, the algorithms and the examples on every adapter and on the\n\
        CPU, and a quick round of the benchmarks. The file is named after the date, the system and the adapter; it has the\n\
        counts, the failures with their messages, the drivers and the benchmarks, and no path and no name of a user.\n\
        docs/proofs/README.md says how to send it. Modes: default, wgpu, hal, direct, discrete, checked; all of them without\n\
        --mode. Exits with 1 if something failed."
    )]
    Prove {
        /// Run this mode only; may be given several times
        #[arg(long)]
        mode: Vec<String>,
        /// Write the results as JSON too, beside the page
        #[arg(long)]
        json: bool,
        /// Leave out the benchmarks, whose build takes some minutes
        #[arg(long)]
        no_bench: bool,
    },
    /// Builds the tests for Windows, and runs them under Wine on Vulkan, GL and the CPU
    #[command(after_help = "Examples:\n  cargo xtask windows\n  cargo xtask windows --mode hal\n\n\
        Needs Linux on x86-64. MinGW and Wine come from Debian's packages, which are unpacked below target/tools if they are\n\
        not installed, and so does Rust if rustup cannot add the target; only the X server Xvfb and lavapipe are installed.\n\
        Wine has its own folder, target/wine. Vulkan and GL are those of this system. DX12 runs one kernel as a smoke test:\n\
        Wine's version computes wrong numbers.")]
    Windows {
        /// Run this mode in place of the default one; may be given several times
        #[arg(long)]
        mode: Vec<String>,
        /// Fail instead of fetching or installing anything
        #[arg(long)]
        no_install: bool,
    },
    /// Builds the tests of core, cpu, kernels and sync for 64-bit ARM, and runs them in an emulator
    #[command(after_help = "Examples:\n  cargo xtask arm\n  cargo xtask arm --conformance\n\n\
        Needs Linux on x86-64. The compiler and the emulator, qemu, come from Debian's packages, which are unpacked below\n\
        target/tools if they are not installed, and so does Rust if rustup cannot add the target. The tests of machine code\n\
        run twice, the second time on a processor without atomic instructions. The emulator keeps the order of memory\n\
        accesses of this processor, so it shows no error of a weaker order.")]
    Arm {
        /// Run the conformance tests too, on the CPU device and the simulator; takes much longer
        #[arg(long)]
        conformance: bool,
        /// Fail instead of fetching anything
        #[arg(long)]
        no_install: bool,
    },
    /// Type-checks the library for the web, macOS and Windows; for all three without a flag
    #[command(
        after_help = "Examples:\n  cargo xtask targets --web\n  cargo xtask targets --metal --dx12\n\n\
        Uses the target of the installed toolchain, else adds it with rustup."
    )]
    Targets {
        /// wasm32-unknown-unknown
        #[arg(long)]
        web: bool,
        /// aarch64-apple-darwin
        #[arg(long)]
        metal: bool,
        /// x86_64-pc-windows-msvc
        #[arg(long)]
        dx12: bool,
        /// Fail instead of adding or fetching anything
        #[arg(long)]
        no_install: bool,
    },
    /// Builds the book of docs/ below target/book, to be read in a browser
    #[command(after_help = "Examples:\n  cargo xtask book --open\n  cargo xtask book --serve\n\n\
        Builds mdBook into target/tools if it is missing (some minutes). `cargo xtask test` needs none of it:\n\
        there the examples of the book are compiled and run, and its links are followed.")]
    Book {
        /// Serve it on localhost, and build it again when a page changes
        #[arg(long)]
        serve: bool,
        /// Open it in a browser
        #[arg(long)]
        open: bool,
        /// Fail instead of building mdBook
        #[arg(long)]
        no_install: bool,
    },
    /// Builds the page that runs the library in a browser, and prints its size
    #[command(
        after_help = "Examples:\n  cargo xtask page\n  cargo xtask page --serve\n  cargo xtask page --screenshots\n\n\
        The page is that of examples/web. Its four files are in target/page, for any web server. Builds the program\n\
        wasm-bindgen into target/tools if it is missing (some minutes). Exits with 1 if the page has more than 3 MB,\n\
        compressed with gzip. With --screenshots, Chromium shows the page on a light screen, on a dark screen and without\n\
        WebGPU, and the pictures are in target/page-pictures; an error that the page shows is an error of the command."
    )]
    Page {
        /// Serve it on localhost, and print the address
        #[arg(long)]
        serve: bool,
        /// Take pictures of it in Chromium, which is installed if it is missing
        #[arg(long)]
        screenshots: bool,
    },
    /// Runs the conformance cases and the random programs in a page of a browser
    #[command(after_help = "Examples:\n  cargo xtask web\n  cargo xtask web --browser firefox -- q04\n\n\
        Chromium uses its own SwiftShader, Firefox lavapipe. A missing browser is installed from the packages of the system,\n\
        and the program wasm-bindgen is built into target/tools (some minutes). A case that is not possible in a page, for\n\
        instance because it starts a thread, counts with its reason. After a failure or a freeze the run goes on with the\n\
        next case. After the conformance cases come the random programs of 200 seeds, each a case of its own, and a minute\n\
        of work in which memory must stay flat. One case ends the browser's GPU process. The results are in\n\
        target/results/web, a line of JSON for each case and place, which is written when the case ends; of Chromium there\n\
        is a picture of the last page too. Exits with 1 if a case fails, writes to the console of the page, or freezes the\n\
        page.")]
    Web {
        /// Browser that runs the cases
        #[arg(long, value_enum, default_value_t = Browser::Chromium)]
        browser: Browser,
        /// Time limit of each case in seconds, instead of its own
        #[arg(long)]
        limit: Option<u64>,
        /// Install nothing: without the browser, nothing runs
        #[arg(long)]
        no_install: bool,
        /// Part of the names of the cases to run
        #[arg(last = true)]
        filter: Option<String>,
    },
    /// Checks that the README and the pages of docs/guide are in the library's documentation, with links of rustdoc
    #[command(after_help = "Example:\n  cargo xtask guide --write\n\n\
        A package has files of its own folder only: crates/fencepost/guide has copies of the pages, and\n\
        crates/fencepost/src/front.md is the README with the lines for Cargo.toml in place of the section for a checkout.")]
    Guide {
        /// Write the copies
        #[arg(long)]
        write: bool,
    },
    /// Runs the benchmarks
    #[command(after_help = "Examples:\n  cargo xtask bench\n  cargo xtask bench --json\n  \
        cargo xtask bench --cpu\n  cargo xtask bench --cpu --rows matmul\n  \
        cargo xtask bench --algorithms --rows sort\n\n\
        With --cpu: kernels on the CPU device, on the software drivers, on PoCL, and in plain Rust.\n\
        With --algorithms: the verbs of the algorithms on the devices of this machine, and in plain Rust.\n\
        The other arguments go to the program: see `cargo xtask bench -- --help` and `cargo xtask bench -- --cpu --help`.")]
    Bench {
        /// Arguments for the benchmark program
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Counts the instructions that a launch costs its caller, on wgpu's noop back end
    #[command(
        after_help = "Examples:\n  cargo xtask count\n  cargo xtask count --check\n  cargo xtask count --write\n\n\
        Installs valgrind through the system's package manager if there is none.\n\
        The counts are kept in benches/instructions.json."
    )]
    Count {
        /// Print the counts as JSON instead of a table
        #[arg(long)]
        json: bool,
        /// Fail if a count is more than 5 % over the stored one
        #[arg(long)]
        check: bool,
        /// Store the counts
        #[arg(long, conflicts_with = "check")]
        write: bool,
        /// Fail instead of installing valgrind
        #[arg(long)]
        no_install: bool,
    },
    /// Type-checks everything with the oldest versions of other crates that the manifests allow
    #[command(after_help = "Example:\n  cargo xtask versions\n\n\
        The versions are chosen in a copy of the sources below target/versions. If one is too old, the manifest at the root\n\
        has to name a newer one.")]
    Versions,
    /// Compiles the texts of the algorithms with Tint, the compiler of Dawn and Chrome
    #[command(
        after_help = "Example:\n  cargo xtask tint\n\nNeeds Node.js with npm, which fetches Dawn (130 MB) below target/tools. The tests of the \n\
        algorithms run on the CPU and write the text of each kernel that they compile to target/tint. Exits with 1 if Tint\n\
        refuses a text."
    )]
    Tint {
        /// Fetch nothing: fail if Dawn is not there
        #[arg(long)]
        no_install: bool,
    },
    /// Translates the texts of the algorithms to SPIR-V, MSL, HLSL and GLSL
    #[command(
        after_help = "Example:\n  cargo xtask languages\n\nThe tests of the algorithms run on the CPU and write the text of each kernel that they compile to\n\
        target/languages. Exits with 1 if naga cannot translate a text for a driver that has what the kernel needs. No\n\
        driver compiles the translations."
    )]
    Languages,
    /// Trains the network of `examples/mlp` on handwritten digits, and compares it with plain Rust
    #[command(after_help = "Example:\n  cargo xtask mlp\n\n\
        Builds examples/mlp below target/mlp, and runs it on the CPU device and on lavapipe. Exits with 1 if the\n\
        network recognises fewer than 95 % of the test images, or differs from that of the host.")]
    Mlp {
        /// Install nothing: without lavapipe only the CPU device is used
        #[arg(long)]
        no_install: bool,
    },
    /// Builds `examples/heat_mpi`, and runs it on 1, 2 and 4 ranks of MPI: the same bits each time
    #[command(after_help = "Example:\n  cargo xtask mpi\n\n\
        Uses the Open MPI of the system if `mpicc` and `mpirun` are in PATH; bindgen then needs a libclang too. Otherwise, apt\n\
        downloads both, and they are unpacked below target/tools/openmpi, without root. The ranks run on the CPU device, and\n\
        two of them on lavapipe. The first build takes some minutes. Exits with 1 if the results differ.")]
    Mpi {
        /// Fetch and install nothing: fail without an Open MPI
        #[arg(long)]
        no_install: bool,
    },
    /// Type-checks the published crates, with all features, with the oldest Rust that the manifests promise
    #[command(
        after_help = "Example:\n  cargo xtask msrv\n\nThe version is `rust-version` in Cargo.toml; rustup installs it if it is not there."
    )]
    Msrv {
        /// Install nothing: without the toolchain nothing is checked
        #[arg(long)]
        no_install: bool,
    },
    /// Packages the published crates, and type-checks the packages beside each other
    #[command(after_help = "Example:\n  cargo xtask package\n\n\
        The check uses the builds of `cargo clippy` in the target folder, and generates no code.")]
    Package,
    /// Builds and runs a program that takes the library from its packages, together with the newest versions of other
    /// crates
    #[command(after_help = "Example:\n  cargo xtask outside\n\n\
        The packages that would be published are unpacked below target/outside, and the program uses them in place of those\n\
        of the registry; it has types of fastrand, half, image, log, ndarray, num-complex, serde and egui-wgpu, each of its newest\n\
        version. It runs on every adapter, and `cargo tree --duplicates` must name no second wgpu. It takes some minutes.")]
    Outside,
    /// Compiles the libraries with each of their features alone, and with none
    #[command(
        after_help = "Example:\n  cargo xtask features\n\nIt needs cargo-hack, which it builds below target/tools if it is not in PATH."
    )]
    Features {
        /// Install nothing: without cargo-hack nothing is checked
        #[arg(long)]
        no_install: bool,
    },
    /// Draws waves in a window on a display without a screen, and compares a picture with plain Rust
    #[command(after_help = "Examples:\n  cargo xtask window\n  cargo xtask window --wayland\n\n\
        Builds examples/window below target/window, starts a server (Xvfb, or weston), and runs the tests of the program on\n\
        lavapipe: 600 frames without an error, and each pixel of the last one. Then it prints the frame rates with Fencepost\n\
        and with wgpu alone, and their ratio. On Linux; on Debian it installs what is missing.")]
    Window {
        /// Use Wayland instead of X11
        #[arg(long)]
        wayland: bool,
        /// Install nothing: without the server nothing is tested
        #[arg(long)]
        no_install: bool,
    },
    /// Prints the variables of a test run as `export` lines
    #[command(
        after_help = "Example:\n  eval \"$(cargo xtask env --all-adapters)\" && cargo test -p fencepost"
    )]
    Env {
        #[command(flatten)]
        adapters: Adapters,
    },
    /// Prints the drivers that a run would find on this machine
    #[command(after_help = "Example:\n  cargo xtask doctor")]
    Doctor,
}

#[derive(Args)]
pub(crate) struct Storm {
    /// Minutes to run
    #[arg(long, default_value_t = 10.0, value_parser = minutes)]
    minutes: f64,
    /// Places, with commas between them; without, the simulator and every adapter that the system can get
    #[arg(long, value_delimiter = ',')]
    adapters: Vec<String>,
    /// Run this mode only; may be given several times
    #[arg(long)]
    mode: Vec<String>,
    /// Threads of each program; without, each seed draws two to five
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=64))]
    threads: Option<u64>,
    /// Run the programs of this seed only, again and again
    #[arg(long, conflicts_with = "from")]
    seed: Option<u64>,
    /// First seed
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Print a line of JSON for each process, and one for all
    #[arg(long)]
    json: bool,
    /// Fail instead of installing a driver or fetching a tool
    #[arg(long)]
    no_install: bool,
}

impl Storm {
    pub(crate) fn options(self) -> storm::Options {
        let Storm { minutes, adapters, mode, threads, seed, from, json, no_install } = self;
        storm::Options { minutes, adapters, modes: mode, threads, seed, from, json, may_install: !no_install }
    }
}

fn minutes(text: &str) -> Result<f64, String> {
    let minutes: f64 = text.parse().map_err(|error: std::num::ParseFloatError| error.to_string())?;
    if (0.0..=1e6).contains(&minutes) { Ok(minutes) } else { Err("it must be from 0 to 1000000".into()) }
}

#[derive(Args)]
pub(crate) struct Adapters {
    /// Use every adapter: the system's, SwiftShader and GL, under the validation layer
    #[arg(long)]
    all_adapters: bool,
    /// Install no driver and fetch no tool: without a driver, the tests run on the CPU
    #[arg(long)]
    no_install: bool,
}

impl Adapters {
    /// Returns what has to be set up; CI requests every adapter that its system can get, `all` requests every adapter.
    pub(crate) fn request(&self, all: bool) -> Request {
        let wanted = match () {
            () if self.all_adapters || all => Wanted::All,
            () if flag("CI") => Wanted::AllThereAre,
            () => Wanted::FirstPerBackend,
        };
        Request { wanted, may_install: !self.no_install }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_demo_takes_its_options_beside_files() {
        let cli = Cli::parse_from(["cargo xtask", "demo", "a", "--quick", "b"]);
        let Command::Demo { quick, headless, files } = cli.command else { panic!("another command") };
        assert!(quick && !headless);
        assert_eq!(files, ["a", "b"].map(PathBuf::from));
    }
}
