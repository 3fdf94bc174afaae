//! Prints lines as the b3sum tool does, or one JSON document.

use std::io::{self, Write};
use std::path::Path;

use fencepost::profile::Overlap;
use serde::Serialize;

/// Results of a run.
#[derive(Serialize)]
pub(crate) struct Report {
    adapter: String,
    files: Vec<FileReport>,
    bytes: u64,
    seconds: f64,
    gigabytes_per_second: f64,
    queues: Vec<QueueReport>,
    /// Seconds in which an upload and a launch ran at the same time.
    overlap_seconds: Option<f64>,
}

/// Result of a file.
#[derive(Serialize)]
pub(crate) struct FileReport {
    name: String,
    #[serde(flatten)]
    outcome: Outcome,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Outcome {
    Hashed(Hashed),
    Failed { error: String },
}

/// A file's hash.
#[derive(Serialize)]
pub(crate) struct Hashed {
    /// Hash in hexadecimal.
    pub(crate) hash: String,
    /// Length of the file in bytes.
    pub(crate) bytes: u64,
    /// Seconds from opening the file to its hash.
    pub(crate) seconds: f64,
    /// `true` if the CPU computed the same hash.
    pub(crate) verified: bool,
}

/// Busy time of a queue.
#[derive(Serialize)]
struct QueueReport {
    name: &'static str,
    /// Seconds in which at least one of its commands ran. `None` if nothing was measured.
    busy_seconds: Option<f64>,
}

impl Report {
    /// Begins the report of a run on the adapter of this name.
    pub(crate) fn new(adapter: String) -> Self {
        Self {
            adapter,
            files: Vec::new(),
            bytes: 0,
            seconds: 0.0,
            gigabytes_per_second: 0.0,
            queues: Vec::new(),
            overlap_seconds: None,
        }
    }

    /// Adds a file.
    pub(crate) fn push(&mut self, file: FileReport) {
        if let Outcome::Hashed(hashed) = &file.outcome {
            self.bytes += hashed.bytes;
            self.seconds += hashed.seconds;
            self.gigabytes_per_second = self.bytes as f64 / self.seconds / 1e9;
        }
        self.files.push(file);
    }

    /// Sets the busy times of the queues.
    pub(crate) fn set_queues(&mut self, overlap: &Overlap) {
        let measured = |seconds: f64| (overlap.compute > 0.0).then_some(seconds);
        let busy = |name| {
            let queues = overlap.queues.iter().filter(|queue| &*queue.label == name);
            measured(queues.map(|queue| queue.seconds).sum())
        };
        self.queues = ["copy", "compute"].map(|name| QueueReport { name, busy_seconds: busy(name) }).into();
        self.overlap_seconds = measured(overlap.both);
    }

    /// Returns `true` if every file was hashed.
    pub(crate) fn is_good(&self) -> bool {
        self.files.iter().all(|file| matches!(file.outcome, Outcome::Hashed(_)))
    }

    /// Writes the run as a JSON document.
    ///
    /// # Errors
    /// Fails if `out` cannot be written.
    pub(crate) fn write_json(&self, out: &mut impl Write) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut *out, self)?;
        writeln!(out)
    }

    /// Writes the adapter, the rate, and the busy time of each queue.
    ///
    /// # Errors
    /// Fails if `out` cannot be written.
    pub(crate) fn write_summary(&self, out: &mut impl Write) -> io::Result<()> {
        let hashed = self.files.iter().filter_map(FileReport::hashed);
        let (files, verified) =
            hashed.fold((0, 0), |(files, verified), one| (files + 1, verified + usize::from(one.verified)));
        let gigabytes = self.bytes as f64 / 1e9;
        writeln!(out, "adapter   {}", self.adapter)?;
        writeln!(out, "hashed    {files} of {} files, {gigabytes:.3} GB", self.files.len())?;
        writeln!(out, "verified  {verified} of {files} on the CPU")?;
        let check = if verified > 0 { ", the CPU's check included" } else { "" };
        writeln!(out, "rate      {:.2} GB/s in {:.2} s{check}", self.gigabytes_per_second, self.seconds)?;
        for queue in &self.queues {
            writeln!(out, "{:9} {}", queue.name, self.busy(queue.busy_seconds))?;
        }
        writeln!(out, "together  {}", self.busy(self.overlap_seconds))
    }

    fn busy(&self, seconds: Option<f64>) -> String {
        let Some(seconds) = seconds else { return "not measured".to_owned() };
        let share = 100.0 * seconds / self.seconds.max(f64::MIN_POSITIVE);
        format!("busy {share:.0} % of the time, {seconds:.2} s")
    }
}

impl FileReport {
    /// Reports a file that was hashed, or the error.
    pub(crate) fn new(path: &Path, outcome: anyhow::Result<Hashed>) -> Self {
        let outcome = match outcome {
            Ok(hashed) => Outcome::Hashed(hashed),
            Err(error) => Outcome::Failed { error: format!("{error:#}") },
        };
        Self { name: path.to_string_lossy().into_owned(), outcome }
    }

    /// Writes the file's hash to `out`, or the error to `errors`.
    ///
    /// # Errors
    /// Fails if they cannot be written.
    pub(crate) fn write_line(&self, out: &mut impl Write, errors: &mut impl Write) -> io::Result<()> {
        match &self.outcome {
            Outcome::Hashed(hashed) => {
                let (mark, name) = escape(&self.name);
                writeln!(out, "{mark}{}  {name}", hashed.hash)
            }
            Outcome::Failed { error } => writeln!(errors, "b3sum: {}: {error}", self.name),
        }
    }

    fn hashed(&self) -> Option<&Hashed> {
        match &self.outcome {
            Outcome::Hashed(hashed) => Some(hashed),
            Outcome::Failed { .. } => None,
        }
    }
}

// Escapes a name to one line. A backslash before the whole line marks an escaped name.
fn escape(name: &str) -> (&'static str, String) {
    let name = if cfg!(windows) { name.replace('\\', "/") } else { name.to_owned() };
    if !name.contains(['\\', '\n', '\r']) {
        return ("", name);
    }
    ("\\", name.replace('\\', "\\\\").replace('\n', "\\n").replace('\r', "\\r"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hashed(name: &str) -> FileReport {
        let hashed = Hashed { hash: "00ff".into(), bytes: 3_000_000_000, seconds: 1.5, verified: true };
        FileReport::new(Path::new(name), Ok(hashed))
    }

    fn failed(name: &str) -> FileReport {
        FileReport::new(Path::new(name), Err(anyhow::anyhow!("too bad").context("after 7 bytes")))
    }

    fn lines(file: &FileReport) -> (String, String) {
        let mut out = Vec::new();
        let mut errors = Vec::new();
        file.write_line(&mut out, &mut errors).unwrap();
        (String::from_utf8(out).unwrap(), String::from_utf8(errors).unwrap())
    }

    #[test]
    fn a_hash_goes_to_the_output_and_an_error_to_the_errors() {
        assert_eq!(lines(&hashed("a b")), ("00ff  a b\n".into(), String::new()));
        assert_eq!(lines(&failed("a")), (String::new(), "b3sum: a: after 7 bytes: too bad\n".into()));
    }

    #[cfg(unix)]
    #[test]
    fn a_name_stays_on_one_line() {
        assert_eq!(lines(&hashed("a\nb")).0, "\\00ff  a\\nb\n");
        assert_eq!(lines(&hashed("a\\\rb")).0, "\\00ff  a\\\\\\rb\n");
    }

    #[test]
    fn json_has_every_file_and_the_rate_of_those_that_were_hashed() {
        let mut report = Report::new("a GPU".into());
        report.push(hashed("a"));
        report.push(failed("b"));
        report.queues = vec![QueueReport { name: "copy", busy_seconds: Some(0.5) }];
        let mut out = Vec::new();
        report.write_json(&mut out).unwrap();
        let json: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(json["adapter"], "a GPU");
        assert_eq!(json["files"][0]["hash"], "00ff");
        assert_eq!(json["files"][0]["verified"], true);
        assert_eq!(json["files"][1]["error"], "after 7 bytes: too bad");
        assert_eq!(json["gigabytes_per_second"], 2.0);
        assert_eq!(json["queues"][0]["busy_seconds"], 0.5);
    }

    #[test]
    fn a_run_with_one_failed_file_fails() {
        let mut report = Report::new(String::new());
        report.push(hashed("a"));
        assert!(report.is_good());
        report.push(failed("b"));
        assert!(!report.is_good());
    }

    #[test]
    fn the_summary_has_the_busy_time_of_each_queue() {
        let mut report = Report::new("a GPU".into());
        report.push(hashed("a"));
        report.queues = vec![QueueReport { name: "copy", busy_seconds: Some(0.75) }];
        let mut out = Vec::new();
        report.write_summary(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(text.contains("copy      busy 50 % of the time, 0.75 s\n"), "{text}");
        assert!(text.contains("together  not measured"), "{text}");
        assert!(text.contains("rate      2.00 GB/s in 1.50 s, the CPU's check included\n"), "{text}");
    }
}
