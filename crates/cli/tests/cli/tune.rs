//! `fencepost tune`.

use anyhow::{Context, Result, ensure};
use fencepost::TuningTable;

use crate::files::Folder;
use crate::program::{fencepost, on};
use crate::{Each, Once};

pub(crate) const ONCE: [Once; 1] = [("tune_refuses_unknown_kernels_and_limits", usage)];

pub(crate) const EACH: [Each; 2] = [
    ("tune_prints_and_saves_the_table_of_the_adapter", saved),
    ("tune_stores_the_table_in_a_folder", stored),
];

fn usage() -> Result<()> {
    fencepost(["tune", "nothing"])?.refused(2, &["'nothing'", "`sort`", "`transpose`"])?;
    fencepost(["tune", "--limit", "0"])?.refused(2, &["--limit"])?;
    fencepost(["tune", "sort", "--adapter", "nonsense"])?.refused(1, &["no adapter fits `nonsense`"])
}

fn saved(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    let path = folder.path("saved.tuning");
    let file = path.to_str().context("a path that is not UTF-8")?;
    // Busy machines need more than the two seconds of the default.
    let json = on(adapter, ["tune", "transpose", "--limit", "60", "--json", "--save", file])?.json()?;
    let table: TuningTable = std::fs::read_to_string(&path)?.parse()?;
    ensure!(json["adapter"] == table.adapter() && json["driver"] == table.driver(), "{json}");
    let choices = json["choices"].as_array().context("no choices")?;
    let names: Vec<_> =
        choices.iter().map(|choice| (choice["kernels"].as_str(), choice["elements"].as_str())).collect();
    let expected = [("transpose", "few"), ("transpose", "many")];
    ensure!(names == expected.map(|(kernels, size)| (Some(kernels), Some(size))), "{json}");
    ensure!(choices.iter().all(|choice| choice["seconds"].as_f64() > Some(0.0)), "{json}");
    ensure!(
        table.choices().len() == choices.len() && json["not_measured"] == serde_json::json!([]),
        "{json}"
    );
    Ok(())
}

fn stored(adapter: usize) -> Result<()> {
    let folder = Folder::new()?;
    let path = folder.path("made by need");
    let named = path.to_str().context("a path that is not UTF-8")?;
    let text = on(adapter, ["tune", "transpose", "--limit", "60", "--folder", named])?.good()?;
    ensure!(text.contains("\ntranspose  few"), "{text}");
    let files = std::fs::read_dir(&path)?.collect::<Result<Vec<_>, _>>()?;
    let is_table =
        |file: &&std::fs::DirEntry| file.path().extension().is_some_and(|ending| ending == "tuning");
    ensure!(files.iter().filter(is_table).count() == 1, "{files:?}");
    Ok(())
}
