//! 16. Sorts the words of a file on the device, and counts equal ones. The host verifies both.
//!
//! Run `cargo run --release --example 16_words -- README.md --top 20`. `--json` prints all words with their counts.

#[path = "words/counted.rs"]
mod counted;
#[path = "common/trace.rs"]
mod trace;
#[path = "words/words.rs"]
mod words;

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use counted::Counted;
use fencepost::prelude::*;
use indicatif::{ProgressBar, ProgressStyle};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;
use words::Words;

/// Sorts and counts the words of a text file on the device.
#[derive(Parser)]
#[command(after_help = HELP)]
struct Options {
    /// The text, in UTF-8; without it, the text of this program
    file: Option<PathBuf>,
    /// The number of the most frequent words in the picture
    #[arg(long, default_value_t = 10)]
    top: usize,
    /// Print all words in their order, with their counts, as JSON
    #[arg(long)]
    json: bool,
    /// Write what every queue did, and when, to a `.html` timeline or a `.json` trace for Perfetto
    #[arg(long, value_name = "FILE", value_parser = trace::file)]
    trace: Option<PathBuf>,
}

const HELP: &str = "Examples:
  cargo run --release --example 16_words -- README.md
  cargo run --release --example 16_words -- README.md --json
  FENCEPOST_ADAPTER=cpu cargo run --release --example 16_words";

fn main() -> Result<()> {
    let Options { file, top, json, trace } = Options::parse();
    let text = match &file {
        Some(file) => {
            std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?
        }
        None => include_str!("16_words.rs").to_owned(),
    };
    let words = Words::of(&text);
    let ctx = Context::new().wait()?;
    if !json {
        println!("running on {}", ctx.info());
    }
    let trace = trace.map(|file| (ctx.profile(), file));

    let start = Instant::now();
    let bar = ProgressBar::new(words.columns() as u64);
    bar.set_style(ProgressStyle::with_template("sorting  {bar:40}  column {pos} of {len}  {elapsed}")?);
    let counted = Counted::of(&ctx.queue("words"), &words, top, || bar.inc(1))?;
    bar.finish_and_clear();
    let time = start.elapsed();
    verify(&words, &counted)?;
    if let Some((profiler, file)) = trace {
        profiler.finish().wait()?.write(file)?;
    }

    if json {
        let list =
            counted.words.iter().map(|&(word, count)| serde_json::json!({ "word": word, "count": count }));
        println!("{:#}", serde_json::Value::from_iter(list));
        return Ok(());
    }
    let most = counted.most_frequent.first().map_or(1, |&(_, count)| count);
    for &(word, count) in &counted.most_frequent {
        println!("{word:>20} {count:>7} {}", "#".repeat((40 * count).div_ceil(most) as usize));
    }
    println!(
        "verified on the CPU: {} words, of which {} differ, sorted and counted in {time:?}",
        words.list().len(),
        counted.words.len()
    );
    Ok(())
}

/// Compares the words and their counts with a tree on the host.
fn verify(words: &Words, counted: &Counted<'_>) -> Result<()> {
    let mut expected = BTreeMap::new();
    words.list().iter().for_each(|word| *expected.entry(word.as_str()).or_insert(0) += 1);
    ensure!(
        counted.words.iter().copied().eq(expected.iter().map(|(&word, &count)| (word, count))),
        "the words differ"
    );
    let mut counts: Vec<u32> = expected.values().copied().collect();
    counts.sort_by(|a, b| b.cmp(a));
    let found = counted.most_frequent.iter().map(|&(_, count)| count);
    ensure!(
        found.eq(counts.iter().copied().take(counted.most_frequent.len())),
        "the most frequent words differ"
    );
    let right = |(word, count): &(&str, u32)| expected.get(word) == Some(count);
    ensure!(counted.most_frequent.iter().all(right), "a count of the most frequent words is wrong");
    Ok(())
}
