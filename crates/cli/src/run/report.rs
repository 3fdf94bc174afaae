//! The printed and saved results of a run.

use std::fmt::Write;

use anyhow::Result;
use fencepost::kernel_check::Finding;
use fencepost::{CommandQueue, Context};
use serde::Serialize;

use super::buffer::{Bound, Elements};
use super::check;
use super::signature::Signature;
use super::times::Times;
use crate::{cli, output};

/// Results of a run.
pub(super) struct Report {
    kernel: String,
    /// Times, or the reason why they are unknown; `None` if not requested.
    times: Option<Result<Times, String>>,
    /// Buffers to print.
    printed: Vec<(String, Box<dyn Elements>)>,
    /// A line for each file that was written.
    saved: Vec<String>,
    /// Mistakes of the kernel.
    pub(super) findings: Vec<Finding>,
}

#[derive(Serialize)]
struct Json<'a> {
    adapter: String,
    kernel: &'a str,
    time: Option<&'a Times>,
    /// Reason why requested times are unknown.
    time_error: Option<&'a str>,
    buffers: Vec<JsonBuffer<'a>>,
    findings: Vec<JsonFinding<'a>>,
}

#[derive(Serialize)]
struct JsonBuffer<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    type_name: &'static str,
    shape: &'a [usize],
    /// All numbers in C order; null for numbers that JSON does not have.
    values: Vec<serde_json::Value>,
}

#[derive(Serialize)]
struct JsonFinding<'a> {
    /// Description with the lines of the shader.
    text: String,
    file: Option<&'a str>,
    line: Option<usize>,
    column: Option<usize>,
    /// Number of occurrences.
    count: u64,
}

impl<'a> JsonFinding<'a> {
    fn of(finding: &'a Finding) -> Self {
        let place = finding.place();
        Self {
            text: check::text(finding),
            file: place.map(|place| place.label.as_str()),
            line: place.map(|place| place.line),
            column: place.map(|place| place.column),
            count: finding.count,
        }
    }
}

impl Report {
    /// Makes a report without results.
    pub(super) fn of_findings(signature: &Signature, findings: Vec<Finding>) -> Self {
        let kernel = signature.kernel.clone();
        Self { kernel, times: None, printed: Vec::new(), saved: Vec::new(), findings }
    }

    /// Reads the results, and saves the requested ones.
    pub(super) fn read(
        queue: &CommandQueue,
        signature: &Signature,
        buffers: &[Bound],
        options: &cli::Run,
        times: Option<Result<Times, String>>,
    ) -> Result<Self> {
        let all = options.print.is_empty() && options.save.is_empty();
        let mut report = Self { times, ..Self::of_findings(signature, Vec::new()) };
        for buffer in buffers {
            let prints = options.print.contains(&buffer.name) || (all && buffer.is_written);
            let files: Vec<_> = options.save.iter().filter(|saved| saved.name == buffer.name).collect();
            if !prints && files.is_empty() {
                continue;
            }
            let elements = buffer.read(queue)?;
            for saved in files {
                elements.save(&saved.file)?;
                report.saved.push(format!("{} is in {}", buffer.name, saved.file.display()));
            }
            if prints {
                report.printed.push((buffer.name.clone(), elements));
            }
        }
        queue.finish().wait()?;
        Ok(report)
    }

    /// Prints the results.
    pub(super) fn print(&self, ctx: &Context, options: &cli::Run) -> Result<()> {
        if options.json { output::json(&self.json(ctx)) } else { output::print(self.text().as_bytes()) }
    }

    fn text(&self) -> String {
        let mut text = String::new();
        for (name, elements) in &self.printed {
            // Writing to a String does not fail.
            let _ = writeln!(
                text,
                "{name}: {} {:?}\n{}",
                elements.type_name(),
                elements.shape(),
                elements.text()
            );
        }
        for line in &self.saved {
            let _ = writeln!(text, "{line}");
        }
        match &self.times {
            Some(Ok(times)) => text += &format!("time: {}\n", times.text()),
            Some(Err(reason)) => text += &format!("time: not measured: {reason}\n"),
            None => {}
        }
        text
    }

    fn json(&self, ctx: &Context) -> Json<'_> {
        Json {
            adapter: ctx.info().to_string(),
            kernel: &self.kernel,
            time: self.times.as_ref().and_then(|times| times.as_ref().ok()),
            time_error: self.times.as_ref().and_then(|times| times.as_ref().err()).map(String::as_str),
            buffers: self
                .printed
                .iter()
                .map(|(name, elements)| JsonBuffer {
                    name,
                    type_name: elements.type_name(),
                    shape: elements.shape(),
                    values: elements.json(),
                })
                .collect(),
            findings: self.findings.iter().map(JsonFinding::of).collect(),
        }
    }
}
