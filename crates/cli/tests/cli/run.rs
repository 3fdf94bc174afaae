//! `fencepost run`: tests every form of an argument against numbers computed here.

use anyhow::{Result, ensure};
use fencepost::{AdapterInfo, builtin_shader};

use crate::Each;
use crate::files::{Folder, f32_bytes, npy};
use crate::program::{command, ended, numbers, on, same};
use crate::shaders::{COUNT, LIST, MATRIX, SAXPY, copy};

pub(crate) const EACH: [Each; 11] = [
    ("every_form_of_an_argument_gives_its_numbers", forms),
    ("a_seed_gives_the_same_numbers_each_time", seeds),
    ("elements_are_of_the_type_that_the_shader_declares", types),
    ("types_that_the_adapter_lacks_are_refused", wide_types),
    ("a_struct_that_ends_in_an_array_is_passed_as_its_words", words),
    ("parameters_are_numbers_vectors_and_matrices", parameters),
    ("a_grid_counts_invocations_or_workgroups", grids),
    ("without_a_grid_the_written_buffer_is_covered", no_grid),
    ("an_override_constant_can_be_set", overrides),
    ("a_built_in_snippet_is_spliced_in", snippets),
    ("a_built_in_shader_runs_if_no_file_has_its_name", built_in),
];

/// Returns y after `y = a * x + y` of the command.
fn saxpy(adapter: usize, folder: &Folder, a: &str, x: &str, y: &str) -> Result<Vec<f64>> {
    let file = folder.write("saxpy.wgsl", SAXPY)?;
    let json =
        on(adapter, ["run", &file, &format!("a={a}"), &format!("x={x}"), &format!("y={y}"), "--json"])?
            .json()?;
    ensure!(json["adapter"] == fencepost::adapters()[adapter].to_string(), "{}", json["adapter"]);
    numbers(&json, "y")
}

fn forms(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    let halves = || (0..300).map(|i| i as f32 / 2.0);
    let expected: Vec<f64> = halves().map(|x| f64::from(3.0 * x + 0.25)).collect();
    let y = "full:300:0.25";
    let raw = folder.write("raw", f32_bytes(halves()))?;
    same(&saxpy(adapter, &folder, "3", &format!("raw:f32:{raw}"), y)?, &expected)?;
    let file = folder.write("x.npy", npy("<f4", "(300,)", false, &f32_bytes(halves())))?;
    same(&saxpy(adapter, &folder, "3", &file, y)?, &expected)?;
    let swapped: Vec<u8> = halves().flat_map(f32::to_be_bytes).collect();
    let file = folder.write("big.npy", npy(">f4", "(20, 15)", false, &swapped))?;
    same(&saxpy(adapter, &folder, "3", &file, y)?, &expected)?;
    let doubled: Vec<f64> = halves().map(|x| f64::from(2.0 * x + 0.25)).map(|y| y * 2.0 - 0.25).collect();
    same(&saxpy(adapter, &folder, "2", "iota:300", y)?, &doubled)?;
    same(&saxpy(adapter, &folder, "-1e0", "iota:3", "zeros:3")?, &[0.0, -1.0, -2.0])?;
    same(&saxpy(adapter, &folder, "1", "zeros:2x2", "full:2x2:-7.5")?, &[-7.5; 4])?;
    same(&saxpy(adapter, &folder, "1", "zeros:0", "zeros:0")?, &[])
}

fn seeds(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    let drawn = |form: &str| -> Result<Vec<f64>> {
        let numbers = saxpy(adapter, &folder, "1", form, "zeros:1000")?;
        Ok(numbers.into_iter().map(|x| f64::from(x as f32)).collect()) // the JSON parser rounds otherwise
    };
    let expected = |seed| -> Vec<f64> {
        let mut rng = fastrand::Rng::with_seed(seed);
        (0..1000).map(|_| f64::from(rng.f32())).collect()
    };
    same(&drawn("random:1000")?, &expected(0))?;
    same(&drawn("random:1000:17")?, &expected(17))?;
    same(&drawn("random:10x100:17")?, &expected(17))
}

fn types(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    let copied = |ty: &str, form: &str, zeros: &str| {
        let file = folder.write("copy.wgsl", copy(ty, ""))?;
        let json = on(adapter, ["run", &file, &format!("x={form}"), &format!("y=zeros:{zeros}"), "--json"])?
            .json()?;
        let shape: Vec<_> = json["buffers"][0]["shape"].as_array().into_iter().flatten().cloned().collect();
        Ok::<_, anyhow::Error>((numbers(&json, "y")?, json["buffers"][0]["type"].clone(), shape))
    };
    let (y, ty, shape) = copied("i32", "full:5:-3", "5")?;
    ensure!(y == [-3.0; 5] && ty == "i32" && shape == [5], "{y:?} {ty} {shape:?}");
    let (y, ty, shape) = copied("u32", "full:2:4294967295", "2")?;
    ensure!(y == [4294967295.0; 2] && ty == "u32" && shape == [2], "{y:?} {ty} {shape:?}");
    let (y, ty, shape) = copied("vec2<f32>", "iota:3", "3")?;
    ensure!(y == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0] && ty == "f32" && shape == [3, 2], "{y:?} {ty} {shape:?}");
    let (y, _, shape) = copied("vec4<u32>", "full:2x2:9", "2x2")?;
    ensure!(y == [9.0; 16] && shape == [2, 2, 4], "{y:?} {shape:?}");
    let (y, _, shape) = copied("mat2x2<f32>", "iota:2", "2")?;
    ensure!(y == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0] && shape == [2, 2, 2], "{y:?} {shape:?}");
    Ok(())
}

fn wide_types(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    let AdapterInfo { abilities, .. } = fencepost::adapters().swap_remove(adapter);
    for (ty, first, ability) in
        [("f16", "enable f16;", "f16"), ("f64", "", "f64"), ("i64", "", "int64"), ("u64", "", "int64")]
    {
        let file = folder.write("copy.wgsl", copy(ty, first))?;
        let ran = on(adapter, ["run", &file, "x=full:100:3", "y=zeros:100", "--json"])?;
        if abilities.contains(&ability) {
            let json = ran.json()?;
            same(&numbers(&json, "y")?, &[3.0; 100])?;
            ensure!(json["buffers"][0]["type"] == ty, "{json}");
        } else {
            ran.refused(1, &["kernel `copy` needs"])?;
        }
    }
    Ok(())
}

fn words(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    let file = folder.write("list.wgsl", LIST)?;
    let json = on(adapter, ["run", &file, "list=zeros:5", "--groups", "1", "--json"])?.json()?;
    ensure!(json["buffers"][0]["type"] == "u32", "{json}");
    same(&numbers(&json, "list")?, &[4.0, 0.0, f64::from(1.0_f32.to_bits()), 0.0, 0.0])
}

fn parameters(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    let file = folder.write("matrix.wgsl", MATRIX)?;
    let args = ["m=1,0,0,0,2,0,1,0,3", "v=0.5,0.25,0", "k=7", "w=1,-2", "x=iota:12", "y=zeros:12", "--json"];
    let json = on(adapter, ["run", &file].iter().chain(&args))?.json()?;
    let row = |i: usize| {
        let x = [4 * i, 4 * i + 1, 4 * i + 2].map(|n| n as f64); // the fourth number is the gap of a vec3
        [x[0] + x[2] + 0.5, 2.0 * x[1] + 0.25, 3.0 * x[2], 5.0]
    };
    same(&numbers(&json, "y")?, &(0..12).flat_map(row).collect::<Vec<_>>())
}

/// Returns the counts of the invocations.
fn counted(adapter: usize, folder: &Folder, entry: &str, count: &str, more: &[&str]) -> Result<Vec<f64>> {
    let file = folder.write("count.wgsl", COUNT)?;
    let count = format!("count=zeros:{count}");
    let args = ["run", &file, &count, "--entry", entry, "--json"];
    numbers(&on(adapter, args.iter().chain(more))?.json()?, "count")
}

fn grids(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    let count = |more: &[&str]| counted(adapter, &folder, "count_them", "1", more);
    same(&count(&["--grid", "65"])?, &[128.0])?;
    same(&count(&["--grid", "65x3"])?, &[384.0])?;
    same(&count(&["--groups", "3"])?, &[192.0])?;
    same(&count(&["--groups", "2x3x1"])?, &[384.0])?;
    same(&count(&["--grid", "0"])?, &[0.0])
}

fn no_grid(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    let mut line = vec![0.0; 200];
    line[0] = 256.0; // whole workgroups of 64
    same(&counted(adapter, &folder, "count_them", "200", &[])?, &line)?;
    same(&counted(adapter, &folder, "count_them", "10x20", &[])?, &line)?;
    let plane: Vec<f64> = (0..30).map(|i| f64::from(1 + i % 6)).collect();
    same(&counted(adapter, &folder, "plane", "5x6", &[])?, &plane)?;
    let file = folder.write("count.wgsl", COUNT)?;
    on(adapter, ["run", &file, "count=zeros:30", "--entry", "plane"])?
        .refused(1, &["`count`", "[30]", "--grid"])
}

fn overrides(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    let count = |more: &[&str]| counted(adapter, &folder, "count_them", "1", more);
    same(&count(&["--groups", "3", "--set", "W=8"])?, &[24.0])?;
    same(&count(&["--set", "W=32"])?, &[32.0])
}

fn snippets(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    let file = folder.write("saxpy.wgsl", builtin_shader("saxpy.wgsl").expect("it is built in"))?;
    let json = on(adapter, ["run", &file, "a=2", "x=iota:100", "y=full:100:1", "--json"])?.json()?;
    same(&numbers(&json, "y")?, &(0..100).map(|i| f64::from(2 * i + 1)).collect::<Vec<_>>())
}

fn built_in(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    let args = ["run", "saxpy.wgsl", "a=2", "x=iota:4", "y=zeros:4", "--json"];
    let run =
        || ended(command(args).current_dir(folder.path("")).env("FENCEPOST_ADAPTER", adapter.to_string()));
    let ran = run()?;
    ensure!(
        ran.err.contains("there is no file `saxpy.wgsl`: the built-in shader of that name runs"),
        "{ran:?}"
    );
    same(&numbers(&ran.json()?, "y")?, &[0.0, 2.0, 4.0, 6.0])?;
    folder.write("saxpy.wgsl", SAXPY.replace("params.a *", "params.a * 10.0 *"))?;
    let ran = run()?;
    ensure!(!ran.err.contains("built-in"), "{ran:?}");
    same(&numbers(&ran.json()?, "y")?, &[0.0, 20.0, 40.0, 60.0])
}
