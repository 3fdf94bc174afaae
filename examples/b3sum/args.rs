//! Parses the command line.

use std::path::{Path, PathBuf};

use clap::Parser;

use super::trace;
use super::tree::CHUNK;

/// Prints the BLAKE3 hash of files of any size, computed on the GPU.
#[derive(Parser)]
#[command(name = "b3sum", after_help = HELP)]
pub(crate) struct Args {
    /// Files to hash; `-`, or no file at all, is standard input
    files: Vec<PathBuf>,

    /// Hash again with the blake3 crate, on the CPU, and compare
    #[arg(long)]
    pub(crate) verify: bool,

    /// Print one JSON document instead of lines
    #[arg(long)]
    pub(crate) json: bool,

    /// Print the adapter, the rate, and how busy each queue was, to standard error
    #[arg(long)]
    stats: bool,

    /// Write what every queue did, and when, to a `.html` timeline or a `.json` trace for Perfetto
    #[arg(long, value_name = "FILE", value_parser = trace::file)]
    pub(crate) trace: Option<PathBuf>,

    /// KiB that go to the GPU at once: a power of two up to 65536
    #[arg(long, value_name = "KIB", default_value = "16384", value_parser = parse_piece)]
    piece: usize,
}

const HELP: &str = "Examples:
  b3sum large.iso
  b3sum --verify --stats *.tar.gz
  tar c photos | b3sum --json
  b3sum --trace run.html large.iso      a page that shows both queues at work";

impl Args {
    /// Returns the files in order; standard input is `-`.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        let none_given = self.files.is_empty().then_some(Path::new("-"));
        none_given.into_iter().chain(self.files.iter().map(PathBuf::as_path))
    }

    /// Returns `true` if the program prints a summary of the run.
    pub(crate) fn summary(&self) -> bool {
        self.stats || self.verify
    }

    /// Returns `true` if the program needs a profile of the queues.
    pub(crate) fn profiles(&self) -> bool {
        self.summary() || self.json || self.trace.is_some()
    }

    /// Returns the number of chunks in a piece.
    pub(crate) fn piece_chunks(&self) -> usize {
        self.piece * 1024 / CHUNK
    }
}

fn parse_piece(text: &str) -> Result<usize, String> {
    let kib = text.parse::<usize>().map_err(|error| error.to_string())?;
    if kib.is_power_of_two() && kib <= 65536 {
        Ok(kib)
    } else {
        Err("it must be a power of two from 1 to 65536".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<Args, clap::Error> {
        Args::try_parse_from(std::iter::once(&"b3sum").chain(args))
    }

    #[test]
    fn no_file_means_standard_input() {
        let args = parse(&["--verify"]).unwrap();
        assert_eq!(args.files().collect::<Vec<_>>(), [Path::new("-")]);
        assert!(args.verify);
        assert_eq!(args.piece_chunks(), 16384);
    }

    #[test]
    fn files_keep_their_order() {
        let args = parse(&["b", "-", "a"]).unwrap();
        assert_eq!(args.files().collect::<Vec<_>>(), ["b", "-", "a"].map(Path::new));
    }

    #[test]
    fn a_trace_file_of_an_unknown_format_is_rejected_before_the_work() {
        assert!(parse(&["--trace", "out.txt"]).is_err());
        assert!(parse(&["--trace", "out.html"]).unwrap().trace.is_some());
    }

    #[test]
    fn a_piece_that_is_not_a_whole_subtree_is_rejected() {
        for bad in ["0", "3", "131072", "x", "-1"] {
            assert!(parse(&["--piece", bad]).is_err(), "{bad}");
        }
        assert_eq!(parse(&["--piece", "4"]).unwrap().piece_chunks(), 4);
    }
}
