//! `fencepost run`: tests the files that it writes, and files that it cannot read.

use std::fs;
#[cfg(unix)]
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::Each;
use crate::files::{Folder, f32_bytes, npy, npy_parts};
use crate::program::on;
use crate::shaders::{SAXPY, copy};

pub(crate) const EACH: [Each; 10] = [
    ("a_saved_buffer_is_a_numpy_file", saved),
    ("two_buffers_are_not_saved_to_one_file", saved_twice),
    ("a_trace_holds_every_launch", traces),
    ("a_file_that_is_cut_off_is_refused", cut),
    ("a_file_of_another_type_is_refused_with_both_types", other_type),
    ("a_file_of_another_shape_is_refused", other_shape),
    ("the_error_names_a_folder_that_does_not_exist", unwritable),
    ("a_shape_that_overflows_is_refused", overflow),
    ("a_header_with_many_open_brackets_is_refused", brackets),
    ("a_pipe_or_a_device_is_refused", endless),
];

fn saved(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    let file = folder.write("saxpy.wgsl", SAXPY)?;
    let y = folder.path("y.npy");
    let save = format!("y={}", y.display());
    let out = on(adapter, ["run", &file, "a=2", "x=iota:12", "y=full:3x4:1", "--save", &save])?.good()?;
    ensure!(out.contains("y.npy") && !out.contains("23.0"), "a saved buffer is not printed too: {out}");
    let (header, data) = npy_parts(&fs::read(&y)?)?;
    ensure!(header.contains("'<f4'") && header.contains("(3, 4") && header.contains("False"), "{header}");
    ensure!(data == f32_bytes((0..12).map(|i| (2 * i + 1) as f32)), "{data:?}");

    let [x, y] = ["both_x.npy", "both_y.npy"].map(|name| folder.path(name));
    let saves = [format!("--save=x={}", x.display()), format!("--save=y={}", y.display())];
    let args = ["run", &file, "a=2", "x=iota:2", "y=zeros:2"];
    on(adapter, args.into_iter().chain(saves.iter().map(String::as_str)))?.good()?;
    ensure!(npy_parts(&fs::read(&x)?)?.1 == f32_bytes([0.0, 1.0]), "x is another one");
    ensure!(npy_parts(&fs::read(&y)?)?.1 == f32_bytes([0.0, 2.0]), "y is another one");

    let file = folder.write("copy.wgsl", copy("vec3<i32>", ""))?;
    let y = folder.path("V.NPY");
    let save = format!("y={}", y.display());
    let x = folder.write("X.NPY", npy("<i4", "(1, 4)", false, &[7; 16]))?;
    on(adapter, ["run", &file, &format!("x={x}"), "y=zeros:1", "--save", &save])?.good()?;
    let (header, data) = npy_parts(&fs::read(&y)?)?;
    ensure!(header.contains("'<i4'") && header.contains("(1, 4"), "{header}");
    ensure!(data[..12] == [7; 12], "{data:?}");
    Ok(())
}

fn saved_twice(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    let file = folder.write("saxpy.wgsl", SAXPY)?;
    let both = folder.path("both.npy");
    let saves = ["x", "y"].map(|name| format!("--save={name}={}", both.display()));
    let args = ["run", &file, "a=2", "x=iota:2", "y=zeros:2"];
    on(adapter, args.into_iter().chain(saves.iter().map(String::as_str)))?
        .refused(1, &["`x` and `y` are both saved to", "both.npy", "a file of its own"])?;
    ensure!(!both.exists(), "it was written");
    Ok(())
}

fn traces(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    let file = folder.write("saxpy.wgsl", SAXPY)?;
    for name in ["trace.json", "trace.html"] {
        let trace = folder.path(name);
        let args = ["run", &file, "a=2", "x=iota:64", "y=zeros:64", "--time", "--repeat", "3", "--trace"];
        on(adapter, args.iter().map(std::ffi::OsStr::new).chain([trace.as_os_str()]))?.good()?;
        let text = fs::read_to_string(&trace)?;
        let launches = if name.ends_with("json") {
            let json: Value = serde_json::from_str(&text)?;
            let events = json["traceEvents"].as_array().context("no events")?;
            events.iter().filter(|event| event["cat"] == "launch" && event["name"] == "saxpy").count()
        } else {
            let (_, data) = text.split_once("id=\"data\">").context("no data")?;
            let json: Value = serde_json::from_str(data.split("</script>").next().unwrap_or_default())?;
            let rows = json["rows"].as_array().context("no rows")?;
            rows.iter().filter(|row| row[1] == "launch" && row[2] == "saxpy").count()
        };
        ensure!(launches == 3, "{launches} launches in {name}");
    }
    Ok(())
}

/// Fails unless the command refuses x from this file, with these parts in the reason.
fn refused(adapter: usize, file: &[u8], parts: &[&str]) -> Result<()> {
    let folder = Folder::new()?;
    let shader = folder.write("saxpy.wgsl", SAXPY)?;
    let x = folder.write("x.npy", file)?;
    let ran = on(adapter, ["run", &shader, "a=2", &format!("x={x}"), "y=zeros:4"])?;
    ran.refused(1, &["argument `x`", &x])?;
    on(adapter, ["run", &shader, "a=2", &format!("x={x}"), "y=zeros:4"])?.refused(1, parts)
}

fn cut(adapter: usize) -> Result<()> {
    let whole = npy("<f4", "(4,)", false, &f32_bytes([1.0; 4]));
    refused(adapter, &whole[..whole.len() - 3], &["13 bytes", "16", "damaged"])?;
    refused(adapter, &[&whole[..], &[0]].concat(), &["more than 16 bytes", "needs 16", "damaged"])?;
    refused(adapter, &whole[..40], &["cut off"])?;
    refused(adapter, &whole[..4], &["cut off"])?;
    refused(adapter, b"not an array", &["not a .npy file"])?;
    refused(adapter, &npy("<f4", "(4294967296, 4294967295)", false, &[]), &["damaged"])
}

fn other_type(adapter: usize) -> Result<()> {
    let file = |descr: &str, size: usize| npy(descr, "(4,)", false, &vec![0; 4 * size]);
    refused(adapter, &file("<f8", 8), &["f64", "<f8", "`array<f32>`", "astype"])?;
    refused(adapter, &file("<i4", 4), &["i32", "`array<f32>`"])?;
    refused(adapter, &file("|b1", 1), &["b1", "`array<f32>`"])?;
    let folder = Folder::new()?;
    let shader = folder.write("saxpy.wgsl", SAXPY)?;
    let raw = folder.write("raw", [0; 7])?;
    let args = |x: String| on(adapter, ["run", &shader, "a=2", &x, "y=zeros:4"]);
    args(format!("x=raw:u32:{raw}"))?.refused(1, &["argument `x`", "u32", "`array<f32>`"])?;
    args(format!("x=raw:f32:{raw}"))?.refused(1, &["7 bytes", "the 4 bytes of an element"])?;
    let empty = folder.write("empty", b"")?;
    args(format!("x=raw:f32:{empty}"))?
        .refused(1, &["argument `x`", "is empty, it has 0 bytes", "zeros:0"])?;
    args(format!("x=raw:f32:{raw}.gone"))?.refused(1, &["cannot read", ".gone"])
}

fn other_shape(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    let shader = folder.write("copy.wgsl", copy("vec4<f32>", ""))?;
    let x = folder.write("x.npy", npy("<f4", "(4, 3)", false, &[0; 48]))?;
    let ran = on(adapter, ["run", &shader, &format!("x={x}"), "y=zeros:4"])?;
    ran.refused(1, &["argument `x`", "[4, 3]", "[4]"])?;
    refused(adapter, &npy("<f4", "(2, 2)", true, &[0; 16]), &["Fortran", "ascontiguousarray"])?;
    let fixed = copy("f32", "").replace("array<f32>", "array<f32, 16>").replace("arrayLength(&y)", "16");
    let shader = folder.write("fixed.wgsl", fixed)?;
    on(adapter, ["run", &shader, "x=zeros:10", "y=zeros:16"])?.refused(1, &["`x`", "40 bytes", "64"])
}

fn unwritable(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    let shader = folder.write("saxpy.wgsl", SAXPY)?;
    let nowhere = folder.path("nowhere");
    let args = ["run", &shader, "a=2", "x=iota:4", "y=zeros:4"];
    let save = format!("y={}/y.npy", nowhere.display());
    on(adapter, args.into_iter().chain(["--save", &save]))?.refused(1, &["cannot write", "nowhere"])?;
    let trace = format!("{}/t.html", nowhere.display());
    on(adapter, args.into_iter().chain(["--trace", &trace]))?.refused(1, &["nowhere"])
}

fn overflow(adapter: usize) -> Result<()> {
    for shape in ["(4294967296, 4294967296)", "(0, 99999999999, 99999999999)", "(0x100000000, 4294967296)"] {
        refused(adapter, &npy("<f4", shape, false, &[]), &["2^64", "numpy.save"])?;
    }
    Ok(())
}

/// Tests headers for which the parser would take longer than the time limit of the tests.
fn brackets(adapter: usize) -> Result<()> {
    for bracket in ["[", "{"] {
        let header = format!("{{'descr': {}\n", bracket.repeat(60));
        let length = (header.len() as u16).to_le_bytes();
        let file = [b"\x93NUMPY\x01\x00", &length[..], header.as_bytes(), &[0; 16]].concat();
        refused(adapter, &file, &["a header unlike NumPy's", "numpy.save"])?;
    }
    Ok(())
}

/// Tests pipes without a writer, on which a read would block.
#[cfg(unix)]
fn endless(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    let shader = folder.write("saxpy.wgsl", SAXPY)?;
    for name in ["pipe.wgsl", "pipe.npy"] {
        ensure!(Command::new("mkfifo").arg(folder.path(name)).status()?.success(), "no pipe");
    }
    let user = folder.write("user.wgsl", "//#use \"pipe.wgsl\"\n")?;
    let [wgsl, npy] = ["pipe.wgsl", "pipe.npy"].map(|name| folder.path(name).display().to_string());
    on(adapter, ["run", &wgsl])?.refused(1, &["cannot read", &wgsl, "a pipe or a device", "plain file"])?;
    on(adapter, ["run", "/dev/zero"])?.refused(1, &["cannot read `/dev/zero`", "plain file"])?;
    on(adapter, ["run", &user])?.refused(1, &["user.wgsl:1: ", "pipe.wgsl", "plain file"])?;
    for x in [format!("x={npy}"), format!("x=raw:f32:{npy}"), "x=raw:f32:/dev/zero".into()] {
        on(adapter, ["run", &shader, "a=2", &x, "y=zeros:4"])?
            .refused(1, &["`x`", "cannot read", "plain file"])?;
    }
    let long = folder.write("long.wgsl", " ".repeat((16 << 20) + 1))?;
    on(adapter, ["run", &long])?.refused(1, &["cannot read", &long, "16 MiB"])
}

#[cfg(not(unix))]
fn endless(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    let long = folder.write("long.wgsl", " ".repeat((16 << 20) + 1))?;
    on(adapter, ["run", &long])?.refused(1, &["cannot read", "long.wgsl", "16 MiB"])
}
