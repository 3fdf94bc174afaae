//! The command line.

use std::path::PathBuf;

use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use fencepost::AdapterChoice;
use fencepost::algorithms::Tunable;

use crate::run::{Argument, Extent, Saved, Setting};

/// Exit codes, at the end of each help text.
const CODES: &str =
    "Exit codes:\n  0  success\n  1  failure; standard error has the reason\n  2  wrong usage";

const INFO: &str = "Examples:\n  fencepost info\n  fencepost info --json | jq '.adapters[].limits'\n\n\
    FENCEPOST_ADAPTER chooses the adapter that `Context::new()` opens, by a part of its name and backend, by its number or \
    by its kind. Each adapter is opened briefly.\n\n\
    Exit codes:\n  0  success\n  1  no adapter can be opened, or FENCEPOST_ADAPTER matches none\n  2  wrong usage";

const DOCTOR: &str = "Examples:\n  fencepost doctor\n  fencepost doctor --json | jq .works\n  fencepost doctor --limit 120\n\n\
    Each adapter is tested in its own process. A step fails if it takes longer than the limit, or if the driver crashes in \
    it; the later steps on that adapter are left out.\n\n\
    Exit codes:\n  0  no check failed\n  1  a check failed, or the CPU is the only adapter\n  2  wrong usage";

const RUN: &str = "Arguments are NAME=VALUE, by the names that the shader has. For buffers VALUE is one of\n  \
    FILE.npy              an array that NumPy saved, of the shader's type\n  \
    FILE.npz[:ARRAY]      an array of an archive; without ARRAY, the only one, or the one called NAME\n  \
    FILE.csv[:COLUMN]     a table of numbers, or a column of it by its name or its number from 1\n  \
    raw:TYPE:FILE         the bytes of a file; TYPE is f16 f32 f64 i32 i64 u32 or u64\n  \
    iota:SHAPE            0, 1, 2, ...\n  \
    random:SHAPE[:SEED]   floats from 0 to 1, or any integers; the same for the same seed\n  \
    zeros:SHAPE\n  \
    full:SHAPE:NUMBER\n\
    SHAPE counts elements of the shader's array: 1000, or 64x64 in rows of 64. A vector is one element. For parameters VALUE \
    is a number, or a list such as 1,2,3 for a vector; a matrix is listed column by column.\n\n\
    saxpy.wgsl, add.wgsl and others are built-in shaders, which run if no file has that name; `fencepost shaders` lists \
    them.\n\n\
    Without --grid and --groups there is an invocation for each element of the longest buffer that the kernel writes. \
    Workgroups of several dimensions take the shape of that buffer, whose last axis is x. Without --print and --save every \
    buffer that the kernel writes is printed.\n\n\
    Before the first run with a shader, a grid, parameters, lengths of buffers and integers in them, the kernel runs on the \
    CPU, which finds indices past the end of an array, races, and barriers that only some invocations reach. If it finds \
    one, it prints the line, and the kernel does not run. Such a check ends after 10 seconds, and is left out if the buffers \
    have more than 256 MiB. With --check every run is checked for up to 10 minutes, and for integer operations without a \
    meaningful result too. Runs without mistakes are remembered in the folder of FENCEPOST_CACHE, by default the user's \
    cache folder; if the variable is empty, nothing is remembered.\n\n\
    Examples:\n  \
    fencepost run saxpy.wgsl a=2 x=iota:1000 y=zeros:1000\n  \
    fencepost run blur.wgsl image=photo.npy blurred=zeros:480x640 --save blurred=blurred.npy\n  \
    fencepost run blur.wgsl image=photos.npz:first blurred=zeros:480x640 --check\n  \
    fencepost run saxpy.wgsl a=2 x=prices.csv:close y=zeros:250\n  \
    fencepost run sum.wgsl x=random:1000000:7 total=zeros:1 --grid 1000000 --json\n  \
    fencepost run saxpy.wgsl a=2 x=iota:1000000 y=zeros:1000000 --time --repeat 20 --set WORKGROUP=256\n  \
    fencepost run two.wgsl --entry second x=raw:u32:x.bin --trace timeline.html\n\n\
    Exit codes:\n  0  the kernel ran\n  1  failure; standard error has the reason\n  2  wrong usage\n  \
    3  the check found mistakes of the kernel; standard error has their lines";

const SHADERS: &str = "Examples:\n  fencepost shaders\n  fencepost shaders saxpy.wgsl > saxpy.wgsl\n  \
    fencepost shaders linear\n  fencepost shaders --json | jq -r '.shaders[].name'\n\n\
    Shaders run with `fencepost run NAME`, and programs name them in `#[kernel(source = \"NAME\")]`. A line `//#use NAME` \
    appends a snippet to a shader.\n\n";

const BENCH: &str = "Examples:\n  fencepost bench --quick\n  fencepost bench --adapter radeon\n  fencepost bench --quick --json\n\n\
    Numbers are medians, and every result is checked. Without --adapter and FENCEPOST_ADAPTER every adapter is measured. \
    Times vary if the machine does other work.\n\n";

const TUNE: &str = "Examples:\n  fencepost tune\n  fencepost tune sort transpose --adapter radeon\n  \
    fencepost tune --save radeon.tuning\n  fencepost tune --folder ~/.cache/my-program --limit 10\n  \
    fencepost tune --json | jq '.choices[]'\n\n\
    KERNELS are histogram, matmul, reduce, reduce_vectors, scan, sort, sort_small and transpose; without any, all are \
    measured. A program takes a saved table with `TuningChoice::Table`, and the table of a folder with `TuningChoice::OnFirstUse` and \
    the same `ContextOptions::kernel_folder`. A table is for one adapter and its driver. Times vary if the machine does \
    other work.\n\n";

/// GPU compute from a shell: adapters, checks, kernels and benchmarks.
#[derive(Parser)]
#[command(name = "fencepost", version, arg_required_else_help = true)]
#[command(after_help = format!(
    "Examples:\n  fencepost info\n  fencepost doctor\n  fencepost run saxpy.wgsl a=2 x=iota:1000 y=zeros:1000\n  \
     fencepost bench --quick\n  fencepost tune\n  fencepost shaders\n\n{CODES}"
))]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Prints the adapters of this machine: kind, driver, limits and features
    #[command(after_help = INFO)]
    Info(Info),
    /// Tests each adapter: opens it, launches, times, maps, waits and reads back
    #[command(after_help = DOCTOR)]
    Doctor(Doctor),
    /// Runs a kernel of a WGSL file
    #[command(after_help = RUN)]
    Run(Box<Run>),
    /// Measures launches, transfers and latency
    #[command(after_help = format!("{BENCH}{CODES}"))]
    Bench(Bench),
    /// Measures the variants of the verbs' kernels, and writes a table of the fastest ones
    #[command(after_help = format!("{TUNE}{CODES}"))]
    Tune(Tune),
    /// Lists the built-in shaders and snippets, or prints the text of one
    #[command(after_help = format!("{SHADERS}{CODES}"))]
    Shaders(Shaders),
    /// Prints the completions of a shell
    #[command(after_help = format!(
        "Examples:\n  fencepost completions bash > ~/.local/share/bash-completion/completions/fencepost\n  \
         fencepost completions fish > ~/.config/fish/completions/fencepost.fish\n\n{CODES}"
    ))]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Prints the manual page of the program or of a command
    #[command(after_help = format!(
        "Examples:\n  fencepost man > fencepost.1\n  fencepost man run > fencepost-run.1\n\n{CODES}"
    ))]
    Man {
        /// The command; without one, the page of the program is printed
        #[arg(value_parser = command)]
        command: Option<String>,
    },
}

#[derive(Args)]
pub(crate) struct Info {
    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Doctor {
    /// Print JSON instead of lines
    #[arg(long)]
    pub(crate) json: bool,
    /// Seconds that each step may take
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = seconds)]
    pub(crate) limit: f64,
}

#[derive(Args)]
pub(crate) struct Run {
    /// The shader; lines `//#use "other.wgsl"` in it name further files. If the file does not exist, a built-in shader
    /// of that name runs
    #[arg(value_name = "FILE.wgsl")]
    pub(crate) file: PathBuf,
    /// The arguments of the kernel
    #[arg(value_name = "NAME=VALUE")]
    pub(crate) arguments: Vec<Argument>,
    /// The entry point; without, the only one, or the one with the name of the file
    #[arg(long, value_name = "NAME")]
    pub(crate) entry: Option<String>,
    /// Invocations, rounded up to whole workgroups: 1024, 64x64 or 16x16x16
    #[arg(long, value_name = "SIZE", conflicts_with = "groups")]
    pub(crate) grid: Option<Extent>,
    /// Workgroups: 16, 16x16 or 16x16x1
    #[arg(long, value_name = "SIZE")]
    pub(crate) groups: Option<Extent>,
    /// Set an override constant of the shader; may be given several times
    #[arg(long, value_name = "NAME=NUMBER")]
    pub(crate) set: Vec<Setting>,
    /// Print this buffer; may be given several times
    #[arg(long, value_name = "NAME")]
    pub(crate) print: Vec<String>,
    /// Write this buffer to a .npy file; may be given several times
    #[arg(long, value_name = "NAME=FILE.npy")]
    pub(crate) save: Vec<Saved>,
    /// Check the kernel on the CPU before it runs. --check alone means always
    #[arg(long, value_name = "WHEN", num_args = 0..=1, require_equals = true)]
    #[arg(default_value = "first", default_missing_value = "always")]
    pub(crate) check: When,
    /// Print the time of the launch on the device
    #[arg(long)]
    pub(crate) time: bool,
    /// Launch this many times, each time with the same input, and print the shortest, the median and the longest time
    #[arg(long, value_name = "COUNT", requires = "time", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) repeat: u32,
    /// Write all work with its times to a `.html` timeline or a `.json` trace for Perfetto
    #[arg(long, value_name = "FILE", value_parser = trace)]
    pub(crate) trace: Option<PathBuf>,
    /// The adapter: a part of its name and backend, its number or its kind; without, FENCEPOST_ADAPTER or the default
    /// that `fencepost info` names
    #[arg(long, value_name = "NAME")]
    pub(crate) adapter: Option<AdapterChoice>,
    /// Print JSON with all elements of the buffers, and with the findings of the check. Kernels then print to standard
    /// error
    #[arg(long)]
    pub(crate) json: bool,
}

/// Runs that are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum When {
    /// The first run with this shader, grid, parameters, lengths and integers
    First,
    /// Every run
    Always,
    /// No run
    Never,
}

#[derive(Args)]
pub(crate) struct Shaders {
    /// The shader or the snippet to print
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Print JSON instead of text
    #[arg(long)]
    pub(crate) json: bool,
    /// Print the list as the page docs/shaders.md
    #[arg(long, conflicts_with_all = ["name", "json"])]
    pub(crate) markdown: bool,
}

#[derive(Args)]
pub(crate) struct Bench {
    /// Measure less: seconds instead of minutes on software adapters
    #[arg(long)]
    pub(crate) quick: bool,
    /// The adapter: a part of its name and backend, its number or its kind
    #[arg(long, value_name = "NAME")]
    pub(crate) adapter: Option<AdapterChoice>,
    /// Print JSON instead of tables
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args)]
pub(crate) struct Tune {
    /// The kernels whose variants are measured; without, all
    #[arg(value_name = "KERNELS", value_parser = tunable)]
    pub(crate) kernels: Vec<Tunable>,
    /// The adapter: a part of its name and backend, its number or its kind; without, FENCEPOST_ADAPTER or the default
    /// that `fencepost info` names
    #[arg(long, value_name = "NAME")]
    pub(crate) adapter: Option<AdapterChoice>,
    /// Seconds for each choice: that of some kernels for few or for many elements
    #[arg(long, value_name = "SECONDS", default_value_t = 2.0, value_parser = seconds)]
    pub(crate) limit: f64,
    /// Write the table to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,
    /// Store the table, and compiled kernels, in this folder of a program
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

fn tunable(text: &str) -> Result<Tunable, String> {
    let known = Tunable::ALL.iter().copied().find(|kernels| kernels.name() == text);
    let names = || Tunable::ALL.iter().map(|kernels| format!("`{kernels}`")).collect::<Vec<_>>().join(", ");
    known.ok_or_else(|| format!("no kernels of this name have variants; there are {}", names()))
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 86_400.0 => Ok(seconds),
        _ => Err("it must be a number above 0, and at most 86400".into()),
    }
}

fn command(text: &str) -> Result<String, String> {
    let mut program = Cli::command();
    program.build();
    if program.find_subcommand(text).is_some() {
        return Ok(text.into());
    }
    let known: Vec<_> = program.get_subcommands().map(|known| format!("`{}`", known.get_name())).collect();
    Err(format!("there is no command `{text}`; there are {}", known.join(", ")))
}

fn trace(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("html" | "json") => Ok(path),
        _ => Err("it must end in .html, for a timeline, or in .json, for a trace".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
