//! Prepares and runs each entry point of a shader.

use super::reasons;
use fencepost_cpu::{Bound, Cells, CheckOptions, CheckedRun, CpuKernel, Fault, GridRun, Program, Shadow};
use fencepost_kernels::{Module, ShaderSource};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

/// Time limit of a run, because a shader may loop forever on zeros.
const LIMIT: Duration = Duration::from_millis(500);

/// Size of each buffer in units of 16 bytes.
const SIZE: usize = 4096;

/// An entry point and its outcome, or the text of a panic.
pub(crate) struct Attempt {
    pub(crate) entry: String,
    pub(crate) outcome: Result<String, String>,
}

/// Attempts each compute entry point of a shader. An invalid shader is one attempt.
pub(crate) fn attempt(name: &str, text: &str) -> Vec<Attempt> {
    attempt_source(name, &ShaderSource::text(name, text.to_owned()))
}

/// Attempts each compute entry point of a source.
pub(crate) fn attempt_source(name: &str, source: &ShaderSource) -> Vec<Attempt> {
    let parsed = without_panic(|| Module::parse(source));
    let module = match parsed {
        Ok(Ok(module)) => Arc::new(module),
        Ok(Err(error)) => {
            return vec![Attempt { entry: name.into(), outcome: Ok(format!("refused: {error}")) }];
        }
        Err(panic) => return vec![Attempt { entry: name.into(), outcome: Err(panic) }],
    };
    let entries: Vec<String> = module.entries().map(str::to_owned).collect();
    let of_entry = |entry: String| {
        let outcome = without_panic(|| match run(&module, &entry) {
            Ok(outcome) => outcome,
            Err(error) => format!("refused: {error}"),
        });
        Attempt { entry, outcome }
    };
    entries.into_iter().map(of_entry).collect()
}

fn without_panic<T>(run: impl FnOnce() -> T) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(run)).map_err(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default()
    })
}

/// Runs an entry point in each way, and compares the results. Overrides without a default are 1.
fn run(module: &Arc<Module>, entry: &str) -> Result<String, Box<dyn std::error::Error>> {
    let known = module.overrides();
    let missing: Vec<(&str, f64)> = known
        .iter()
        .filter(|known| known.default.is_none())
        .map(|known| (known.name.as_str(), 1.0))
        .collect();
    let entry = module.entry(entry, &missing)?;
    let interface = entry.interface();
    reasons::take();
    let kernel = CpuKernel::new(Arc::new(Program::new(module, &entry)?))?;
    let form = match kernel.width() {
        Some(width) => format!("compiled, {width} at a time"),
        None => format!("interpreted: {}", reasons::take().join("; ")),
    };
    let params = vec![0_u8; interface.params.as_ref().map_or(0, |params| params.size as usize)];
    let zeros = vec![vec![0_u128; SIZE]; interface.bindings.len()];
    let mut faults = Vec::new();
    let mut results = Vec::new();
    for way in [Way::InOrder, Way::Shuffled, Way::Checked] {
        let mut words = zeros.clone();
        faults.extend(limited(|stop| way.run(&kernel, &params, &mut words, stop)).err());
        results.push(words);
    }
    let mut notes: Vec<String> = faults.iter().map(Fault::to_string).collect();
    if notes.is_empty() && results.iter().any(|result| *result != results[0]) {
        notes.push("the results of the runs differ".into());
    }
    Ok(if notes.is_empty() { form } else { format!("{form}; {}", notes.join("; ")) })
}

/// A way to run a kernel. Checks interpret a kernel that the other ways may run as machine code.
#[derive(Clone, Copy)]
enum Way {
    InOrder,
    Shuffled,
    Checked,
}

impl Way {
    /// Runs two workgroups.
    fn run(
        self,
        kernel: &CpuKernel,
        params: &[u8],
        words: &mut [Vec<u128>],
        stop: &AtomicBool,
    ) -> Result<(), Fault> {
        let buffers: Vec<Cells<'_>> =
            words.iter_mut().map(|words| Cells::new(bytemuck::cast_slice_mut(words))).collect();
        let seed = if matches!(self, Self::Shuffled) { 2 } else { 0 };
        let run = GridRun { groups: [2, 1, 1], range: 0..2, params, buffers: &buffers, seed, stop };
        if !matches!(self, Self::Checked) {
            return kernel.run_groups(&run);
        }
        let bound: Vec<Bound> = (0..buffers.len() as u64).map(|buffer| Bound { buffer, offset: 0 }).collect();
        let CheckedRun { fault, .. } =
            kernel.run_checked(&run, &bound, &mut Shadow::new(), &CheckOptions::default());
        fault.map_or(Ok(()), Err)
    }
}

/// Calls a function with a flag that becomes `true` after the limit.
fn limited(run: impl FnOnce(&AtomicBool) -> Result<(), Fault>) -> Result<(), Fault> {
    let (stop, (ended, wait)) = (AtomicBool::new(false), mpsc::channel::<()>());
    std::thread::scope(|scope| {
        let stop = &stop;
        scope.spawn(move || {
            let _ = wait.recv_timeout(LIMIT);
            stop.store(true, Ordering::Relaxed);
        });
        let result = run(stop);
        drop(ended);
        result
    })
}
