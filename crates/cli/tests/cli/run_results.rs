//! `fencepost run`: tests the printed results, and the times.

use anyhow::{Context, Result, ensure};

use crate::Each;
use crate::files::Folder;
use crate::program::{Ran, fencepost, numbers, on, same};
use crate::shaders::{COUNT, SAXPY};

pub(crate) const EACH: [Each; 6] = [
    ("only_written_buffers_are_printed", written),
    ("a_buffer_that_is_named_is_printed", named),
    ("a_time_is_printed_or_the_reason_why_there_is_none", time),
    ("repeated_launches_have_the_same_input", repeat),
    ("json_has_the_times_in_order", json),
    ("the_adapter_option_takes_precedence_over_the_variable", adapter_named),
];

fn saxpy(adapter: usize, more: &[&str]) -> Result<Ran> {
    let folder = Folder::new()?;
    let file = folder.write("saxpy.wgsl", SAXPY)?;
    on(adapter, ["run", &file, "a=2", "x=iota:2000", "y=full:2000:1"].iter().chain(more))
}

fn written(adapter: usize) -> Result<()> {
    let out = saxpy(adapter, &[])?.good()?;
    ensure!(out == "y: f32 [2000]\n[   1.0    3.0    5.0 ... 3995.0 3997.0 3999.0]\n", "{out}");
    Ok(())
}

fn named(adapter: usize) -> Result<()> {
    let out = saxpy(adapter, &["--print", "x"])?.good()?;
    ensure!(out == "x: f32 [2000]\n[   0.0    1.0    2.0 ... 1997.0 1998.0 1999.0]\n", "{out}");
    Ok(())
}

fn is_timed(adapter: usize) -> bool {
    fencepost::adapters()[adapter].abilities.contains(&"timestamps")
}

fn time(adapter: usize) -> Result<()> {
    let out = saxpy(adapter, &["--time"])?.good()?;
    let line = out.lines().last().and_then(|line| line.strip_prefix("time: ")).context("no time")?;
    if is_timed(adapter) {
        let us: f64 = line.strip_suffix(" us").context("no unit")?.parse()?;
        ensure!(us >= 0.0, "{line}");
    } else {
        ensure!(line.starts_with("not measured: "), "{line}");
    }
    Ok(())
}

fn repeat(adapter: usize) -> Result<()> {
    let out = saxpy(adapter, &["--time", "--repeat", "4"])?.good()?;
    ensure!(out.starts_with("y: f32 [2000]\n[   1.0    3.0    5.0 ... 3995.0 3997.0 3999.0]\n"), "{out}");
    ensure!(out.contains("(4 launches)") == is_timed(adapter), "{out}");
    Ok(())
}

fn json(adapter: usize) -> Result<()> {
    let json = saxpy(adapter, &["--time", "--repeat", "5", "--json"])?.json()?;
    same(&numbers(&json, "y")?, &(0..2000).map(|i| f64::from(2 * i + 1)).collect::<Vec<_>>())?;
    let time = &json["time"];
    if is_timed(adapter) {
        ensure!(time["launches"] == 5 && json["time_error"].is_null(), "{time}");
        let [min, median, max] = ["min", "median", "max"].map(|name| time[name].as_f64());
        ensure!(min.is_some() && min <= median && median <= max, "{time}");
    } else {
        ensure!(time.is_null() && json["time_error"].is_string(), "{json}");
    }
    Ok(())
}

fn adapter_named(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    let file = folder.write("count.wgsl", COUNT)?;
    let number = adapter.to_string();
    let other = (adapter + 1) % fencepost::adapters().len();
    let args = ["run", &file, "--entry", "count_them", "count=zeros:1", "--json", "--adapter", &number];
    for json in [on(other, args)?.json()?, fencepost(args)?.json()?] {
        ensure!(json["adapter"] == fencepost::adapters()[adapter].to_string(), "{json}");
    }
    Ok(())
}
