//! `fencepost run`: tests archives and tables as buffers.

use anyhow::{Result, ensure};

use crate::Each;
use crate::files::{Folder, f32_bytes, npy, npz};
use crate::program::{Ran, numbers, on, same};
use crate::shaders::{SAXPY, copy};

pub(crate) const EACH: [Each; 6] = [
    ("an_array_of_an_archive_is_the_named_one_the_only_one_or_the_one_of_the_buffer", archive),
    ("an_archive_that_python_compressed_is_read", compressed),
    ("an_archive_without_the_array_is_refused_with_the_arrays_in_it", other_arrays),
    ("a_table_and_a_column_of_it_are_read", table),
    ("a_table_with_a_mistake_is_refused_with_the_line_and_the_column", wrong_table),
    ("arrays_that_are_no_numbers_are_refused_with_a_remedy_that_works", no_numbers),
];

/// Archive with `x`, 0 to 149.5 in steps of a half, and `y`, 300 times 0.25 in two dimensions. Python's `zipfile` wrote
/// it with the options of `numpy.savez_compressed`.
const COMPRESSED: &[u8] = include_bytes!("data/compressed.npz");

/// Returns `x` and `y` of `y = x + y` with these buffers.
fn saxpy(adapter: usize, folder: &Folder, x: &str, y: &str) -> Result<Ran> {
    let file = folder.write("saxpy.wgsl", SAXPY)?;
    on(adapter, ["run", &file, "a=1", &format!("x={x}"), &format!("y={y}"), "--json"])
}

fn array(numbers: &[f32]) -> Vec<u8> {
    npy("<f4", &format!("({},)", numbers.len()), false, &f32_bytes(numbers.iter().copied()))
}

fn archive(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    for is_compressed in [false, true] {
        let arrays = [("x", array(&[1.0, 2.0])), ("y", array(&[10.0, 20.0])), ("z", array(&[100.0, 200.0]))];
        let several = folder.write("several.npz", npz(&arrays, is_compressed))?;
        let one = folder.write("one.npz", npz(&arrays[2..], is_compressed))?;
        let y = |x: &str, y: &str| numbers(&saxpy(adapter, &folder, x, y)?.json()?, "y");
        same(&y(&several, &several)?, &[11.0, 22.0])?;
        same(&y(&format!("{several}:z"), &several)?, &[110.0, 220.0])?;
        same(&y(&one, "zeros:2")?, &[100.0, 200.0])?;
    }
    Ok(())
}

fn compressed(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    let file = folder.write("both.npz", COMPRESSED)?;
    let json = saxpy(adapter, &folder, &file, &file)?.json()?;
    let expected: Vec<f64> = (0..300).map(|i| f64::from(i) / 2.0 + 0.25).collect();
    same(&numbers(&json, "y")?, &expected)?;
    ensure!(json["buffers"][0]["shape"] == serde_json::json!([20, 15]), "{json}");
    Ok(())
}

fn other_arrays(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    let refused = |file: &str, part: &str, parts: &[&str]| {
        let ran = saxpy(adapter, &folder, &format!("{file}{part}"), "zeros:2")?;
        ran.refused(1, &[&["argument `x`", file], parts].concat())
    };
    let arrays = [("a", array(&[1.0])), ("b", array(&[2.0]))];
    let file = folder.write("a.npz", npz(&arrays, false))?;
    refused(&file, "", &["2 arrays", "none is called `x`", "FILE.npz:ARRAY", "`a`, `b`"])?;
    refused(&file, ":c", &["no array `c`", "`a`, `b`"])?;
    let file = folder.write("doubles.npz", npz(&[("x", npy("<f8", "(2,)", false, &[0; 16]))], false))?;
    refused(&file, "", &["array `x` of ", "f64", ".astype(\"<f4\")"])?;
    let file = folder.write("none.npz", npz(&[], false))?;
    refused(&file, "", &["no arrays", "numpy.savez"])?;
    let whole = npz(&arrays, false);
    let file = folder.write("cut.npz", &whole[..whole.len() / 2])?;
    refused(&file, ":a", &["not a .npz file, or is cut off"])?;
    let mut damaged = npz(&[("x", array(&[1.0, 2.0]))], false);
    damaged[164] ^= 1; // a byte of an element
    let file = folder.write("damaged.npz", damaged)?;
    refused(&file, "", &["cannot read array `x` of "])
}

fn table(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    let file = folder.write("t.csv", "# prices\ntime,open,\"close, net\"\n1,10,100\n2,20,200\n")?;
    let y = |x: &str| numbers(&saxpy(adapter, &folder, x, "zeros:2")?.json()?, "y");
    same(&y(&format!("{file}:open"))?, &[10.0, 20.0])?;
    same(&y(&format!("{file}:close, net"))?, &[100.0, 200.0])?;
    same(&y(&format!("{file}:1"))?, &[1.0, 2.0])?;
    let one = folder.write("ONE.CSV", "-1.5\n2e3\n")?;
    same(&y(&one)?, &[-1.5, 2000.0])?;
    let shader = folder.write("copy.wgsl", copy("vec2<u32>", ""))?;
    let pairs = folder.write("pairs.csv", "1,2\r\n3,4294967295\r\n")?;
    let json = on(adapter, ["run", &shader, &format!("x={pairs}"), "y=zeros:2", "--json"])?.json()?;
    same(&numbers(&json, "y")?, &[1.0, 2.0, 3.0, 4294967295.0])
}

fn wrong_table(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    let refused = |text: &[u8], part: &str, parts: &[&str]| {
        let file = folder.write("t.csv", text)?;
        let ran = saxpy(adapter, &folder, &format!("{file}{part}"), "zeros:2")?;
        ran.refused(1, &[&["argument `x`", &file], parts].concat())
    };
    refused(b"# t\na,b\n1,2\n3,four\n", "", &["line 4, column 2", "`four` is not a number of type f32"])?;
    refused(b"1,2\n3\n", "", &["line 2", "the number of fields is 1", "it is 2"])?;
    refused(b"NA\n2\n", "", &["line 1, column 1", "`NA` is not a number"])?;
    refused(b"1\n\n3\n", "", &["line 2", "the line is empty", "write the missing number"])?;
    refused(b"a,b\n1,2\n", ":c", &["no column `c`", "`a`, `b`"])?;
    refused(b"1,2\n", ":3", &["no column `3`", "1 to 2"])?;
    refused(b"", "", &["no row of numbers"])?;
    refused(b"1,\xff\n", "", &["not a table of numbers"])
}

fn no_numbers(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    let refused = |file: Vec<u8>, parts: &[&str]| {
        let x = folder.write("x.npy", file)?;
        saxpy(adapter, &folder, &x, "zeros:2")?.refused(1, &[&["argument `x`", &x], parts].concat())
    };
    let complex = ["complex numbers", "numpy.stack([a.real, a.imag], axis=-1).astype(\"<f4\")", "vec2<f32>"];
    refused(npy("<c8", "(2,)", false, &[0; 16]), &complex)?;
    refused(npy("<c16", "(2,)", false, &[0; 32]), &complex)?;
    refused(
        npy("|O", "(2,)", false, b"\x80\x04"),
        &["Python objects", "numpy.array(a.tolist()", "numpy.concatenate(a)"],
    )?;
    refused(npy("<f4", "(0,)", false, &[]), &["has no elements", "[0]", "zeros:0"])?;
    refused(Vec::new(), &["is empty, it has 0 bytes", "numpy.save"])?;
    // The remedy for complex numbers gives an array of pairs.
    let pairs = folder.write("pairs.npy", npy("<f4", "(2, 2)", false, &f32_bytes([1.0, 2.0, 3.0, 4.0])))?;
    let shader = folder.write("copy.wgsl", copy("vec2<f32>", ""))?;
    let json = on(adapter, ["run", &shader, &format!("x={pairs}"), "y=zeros:2", "--json"])?.json()?;
    same(&numbers(&json, "y")?, &[1.0, 2.0, 3.0, 4.0])
}
