//! `fencepost run`: tests mistakes in the shader and in the arguments. Each gives code 1 and a reason.

use anyhow::{Result, ensure};

use crate::Each;
use crate::files::Folder;
use crate::program::{Ran, command, ended, fencepost, on};
use crate::shaders::{COUNT, MATRIX, SAXPY};

pub(crate) const EACH: [Each; 9] = [
    ("an_error_of_the_shader_has_a_line_a_column_and_a_caret", shader),
    ("an_error_in_a_used_file_names_that_file", used_file),
    ("an_unknown_entry_point_is_refused_with_the_known_ones", entries),
    ("missing_arguments_are_listed_with_their_types", missing),
    ("arguments_that_do_not_fit_are_refused", misfits),
    ("an_unknown_adapter_is_refused_with_the_known_ones", no_adapter),
    ("a_grid_over_the_limit_is_refused_with_the_limit", grid),
    ("structs_are_refused", structs),
    ("a_failed_assertion_names_the_shader_and_no_line_of_the_command", assertion),
];

fn run(adapter: usize, text: &str, args: &[&str]) -> Result<Ran> {
    let folder = Folder::new()?;
    let file = folder.write("kernel.wgsl", text)?;
    on(adapter, ["run", &file].iter().chain(args))
}

fn shader(adapter: usize) -> Result<()> {
    let text = SAXPY.replace("params.a * x", "params.a * xx");
    let (line, column) = place(&text, "xx");
    let ran = run(adapter, &text, &["a=1", "x=zeros:4", "y=zeros:4"])?;
    let lines: Vec<&str> = ran.err.lines().skip_while(|line| !line.contains("kernel.wgsl:")).collect();
    ensure!(lines.len() == 3, "{ran:?}");
    ensure!(
        lines[0].contains(&format!("kernel.wgsl:{line}:{column}: ")) && lines[0].contains("`xx`"),
        "{}",
        lines[0]
    );
    let source = lines[1].strip_prefix("  | ");
    let caret = lines[2].strip_prefix("  | ");
    let (Some(source), Some(caret)) = (source, caret) else { anyhow::bail!("{ran:?}") };
    ensure!(text.lines().nth(line - 1) == Some(source), "{source}");
    ensure!(caret.trim_start() == "^^" && source.find("xx") == Some(caret.len() - 2), "{source}\n{caret}");
    ran.refused(1, &[])?;

    let text = "@compute @workgroup_size(1) fn k() {\n\tlet y = 1u + 1.0f;\n}\n";
    run(adapter, text, &[])?
        .refused(1, &["kernel.wgsl:2:10: ", "\n  | \tlet y = 1u + 1.0f;\n  | \t        ^^^^^^^^^\n"])
}

/// Returns the line and the column of a word, from 1.
fn place(text: &str, word: &str) -> (usize, usize) {
    let found = text.lines().enumerate().find_map(|(line, source)| Some((line + 1, source.find(word)? + 1)));
    found.expect("the word is there")
}

fn used_file(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    folder.write("tools.wgsl", "fn one() -> u32 { return 1u; }\nfn two() -> u32 { return tow; }\n")?;
    let text = "//#use \"tools.wgsl\"\n@compute @workgroup_size(1) fn k() { _ = two(); }\n";
    let file = folder.write("kernel.wgsl", text)?;
    on(adapter, ["run", &file])?.refused(1, &["tools.wgsl:2:26: ", "`tow`"])?;
    let file = folder.write("kernel.wgsl", "//#use \"gone.wgsl\"\n")?;
    on(adapter, ["run", &file])?.refused(1, &["kernel.wgsl:1: ", "gone.wgsl"])?;
    on(adapter, ["run", &format!("{file}.gone")])?
        .refused(1, &["cannot read", "kernel.wgsl.gone", "`saxpy.wgsl`"])
}

fn entries(adapter: usize) -> Result<()> {
    run(adapter, SAXPY, &["--entry", "daxpy"])?.refused(1, &["`daxpy`", "`saxpy`"])?;
    run(adapter, COUNT, &["count=zeros:1"])?.refused(1, &["--entry", "count_them", "plane"])?;
    run(adapter, "fn f() {}", &[])?.refused(1, &["no compute entry point", "@compute"])
}

fn missing(adapter: usize) -> Result<()> {
    let ran = run(adapter, SAXPY, &["x=zeros:4"])?;
    let list = "its arguments are:\n  \
        a  parameter           f32\n  \
        x  buffer, read        array<f32>\n  \
        y  buffer, read_write  array<f32>\n";
    ran.refused(1, &["kernel `saxpy` needs `y`, `a`", list])
}

fn misfits(adapter: usize) -> Result<()> {
    let refused = |args: &[&str], parts: &[&str]| run(adapter, SAXPY, args)?.refused(1, parts);
    let all = ["a=1", "x=zeros:4", "y=zeros:4"];
    let with = |more: &'static str| [&all[..], &[more]].concat();
    refused(&with("z=1"), &["no argument `z`", "buffer, read_write"])?;
    refused(&with("a=2"), &["`a` is given twice"])?;
    refused(&with("--print=z"), &["no buffer `z`"])?;
    refused(&with("--print=a"), &["no buffer `a`"])?;
    refused(&with("--save=z=z.npy"), &["no buffer `z`"])?;
    refused(&with("--set=NOTHING=1"), &["no override `NOTHING`"])?;
    refused(&["a=zeros:4", "x=zeros:4", "y=zeros:4"], &["`a` is a parameter", "`f32`"])?;
    refused(&["a=1,2", "x=zeros:4", "y=zeros:4"], &["`a`", "1 number: 2 are given"])?;
    refused(
        &["a=1e400", "x=zeros:4", "y=zeros:4"],
        &["`a`", "`1e400` is beyond the largest number of type f32"],
    )?;
    let info = &fencepost::adapters()[adapter];
    let limit = info.max_array.min(info.max_binding).to_string();
    for much in ["x=zeros:30000000000", "x=random:200000x200000", "x=iota:9223372036854775807"] {
        refused(&["a=1", much, "y=zeros:4"], &["`x`", "the limit of adapter", &info.name, &limit])?;
    }
    refused(&["a=1", "x=4", "y=zeros:4"], &["`x`", "`array<f32>`", "zeros:SHAPE"])?;
    refused(&["a=1", "x=full:4:much", "y=zeros:4"], &["`x`", "`much`", "f32"])?;
    let matrix = ["m=1,0,0,0,1,0,0,0,1", "v=1,2", "k=1", "w=1,1", "x=zeros:1", "y=zeros:1"];
    run(adapter, MATRIX, &matrix)?.refused(1, &["`v`", "`vec3<f32>`", "3 numbers: 2 are given"])?;
    let single = ["m=1,0,0,0,1,0,0,0,1", "v=1", "k=1", "w=1,1", "x=zeros:1", "y=zeros:1"];
    run(adapter, MATRIX, &single)?.refused(1, &["`v`", "3 numbers: 1 is given"])?;
    let negative = ["m=1,0,0,0,1,0,0,0,1", "v=1,2,3", "k=-1", "w=1,1", "x=zeros:1", "y=zeros:1"];
    run(adapter, MATRIX, &negative)?.refused(1, &["`k`", "`-1`", "u32"])
}

fn no_adapter(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    let file = folder.write("saxpy.wgsl", SAXPY)?;
    let args = ["run", &file, "a=1", "x=zeros:4", "y=zeros:4"];
    let known = &fencepost::adapters()[adapter].name;
    ended(command(args).env("FENCEPOST_ADAPTER", "nonsense"))?
        .refused(1, &["no adapter fits `nonsense`", known])?;
    fencepost(args.into_iter().chain(["--adapter", "other"]))?.refused(1, &["no adapter fits `other`", known])
}

fn grid(adapter: usize) -> Result<()> {
    let limit = fencepost::adapters()[adapter].max_groups.to_string();
    let args = ["--entry", "count_them", "count=zeros:1", "--groups", "4000000000"];
    run(adapter, COUNT, &args)?.refused(1, &["4000000000", &limit])
}

fn structs(adapter: usize) -> Result<()> {
    let text = "struct S { a: f32, b: u32 }
        @group(0) @binding(0) var<storage, read_write> y: array<S>;
        @compute @workgroup_size(1) fn k() { y[0].a = 1.0; }";
    run(adapter, text, &["y=zeros:3"])?.refused(1, &["`y`", "`array<S>`", "structs"])
}

fn assertion(adapter: usize) -> Result<()> {
    let text = "@group(0) @binding(0) var<storage, read_write> y: array<u32>;
        @compute @workgroup_size(1) fn k() { assert(y[0] == 1u, \"y is {}\", y[0]); }";
    for more in [&["y=zeros:1", "--groups=1"][..], &["y=zeros:1", "--groups=1", "--time"]] {
        let ran = run(adapter, text, more)?;
        ensure!(!ran.err.contains(".rs:") && !ran.err.contains("launched"), "{}", ran.err);
        ran.refused(1, &["kernel `k`: the assertion `y[0] == 1u` at ", "kernel.wgsl:2:46 failed", "y is 0"])?;
    }
    Ok(())
}
