//! Kernels from WGSL strings, and checked launches of them.

use fencepost_cpu::{
    Bound, Cells, CheckOptions, CheckedRun, CpuKernel, Finding, GridRun, Mistake, Program, Shadow,
};
use fencepost_kernels::{Interface, Module, ShaderSource};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A kernel with its interface.
pub(crate) struct Kernel {
    pub(crate) interface: Interface,
    kernel: CpuKernel,
}

impl Kernel {
    /// Prepares the first entry point of a source.
    pub(crate) fn new(source: &ShaderSource) -> Self {
        let module = Arc::new(Module::parse(source).unwrap_or_else(|error| panic!("{error}")));
        let entry = module.entries().next().expect("a test has an entry point").to_owned();
        let entry = module.entry(&entry, &[]).unwrap_or_else(|error| panic!("{error}"));
        let program = Program::new(&module, &entry).unwrap_or_else(|error| panic!("{error}"));
        let kernel = CpuKernel::new(Arc::new(program)).unwrap_or_else(|error| panic!("{error}"));
        Self { interface: entry.interface().clone(), kernel }
    }

    /// Prepares the kernel of a WGSL string.
    pub(crate) fn text(wgsl: impl Into<String>) -> Self {
        Self::new(&ShaderSource::text("k.wgsl", wgsl.into()))
    }
}

/// A launch with its buffers.
pub(crate) struct Launch {
    kernel: Kernel,
    pub(crate) groups: [u32; 3],
    pub(crate) params: Vec<u8>,
    /// Words of each buffer.
    pub(crate) buffers: Vec<Vec<u32>>,
    pub(crate) bound: Vec<Bound>,
    pub(crate) shadow: Shadow,
    pub(crate) options: CheckOptions,
}

impl Launch {
    /// Prepares a launch of one workgroup, whose buffers contain the numbers from 0 to 63. The host wrote all of them,
    /// except the buffers whose names begin with `new`. All names that begin with `same` are one buffer.
    pub(crate) fn new(kernel: Kernel) -> Self {
        let bindings = &kernel.interface.bindings;
        let buffers: Vec<Vec<u32>> = bindings.iter().map(|_| (0..64).collect()).collect();
        let mut shadow = Shadow::new();
        let mut bound = Vec::new();
        for (at, binding) in bindings.iter().enumerate() {
            let same = bindings.iter().position(|other| other.name.starts_with("same"));
            let key = if binding.name.starts_with("same") { same.unwrap_or(at) } else { at };
            bound.push(Bound { buffer: key as u64, offset: 0 });
            if !binding.name.starts_with("new") {
                shadow.write(key as u64, 0..256);
            }
        }
        let params = Vec::new();
        let options = CheckOptions::default();
        Self { kernel, groups: [1; 3], params, buffers, bound, shadow, options }
    }

    /// Prepares a launch whose buffers contain these words, written by the host.
    pub(crate) fn with(kernel: Kernel, params: &[u32], buffers: Vec<Vec<u32>>) -> Self {
        let mut launch = Self::new(kernel);
        for (at, words) in buffers.iter().enumerate() {
            launch.shadow.write(at as u64, 0..4 * words.len() as u64);
        }
        Self { params: bytemuck::cast_slice(params).to_vec(), buffers, ..launch }
    }

    /// Chooses the number of workgroups.
    pub(crate) fn groups(self, groups: u32) -> Self {
        Self { groups: [groups, 1, 1], ..self }
    }

    /// Checks a run with a seed. The launch's words and shadow are not changed.
    pub(crate) fn check(&self, seed: u64) -> Vec<Finding> {
        self.check_with(seed, &mut self.shadow.clone())
    }

    /// Checks a run with a seed and a shadow.
    pub(crate) fn check_with(&self, seed: u64, shadow: &mut Shadow) -> Vec<Finding> {
        let CheckedRun { findings, fault } = self.check_until(seed, shadow, &AtomicBool::new(false));
        assert_eq!(fault, None);
        findings
    }

    /// Checks a run with a seed and a shadow, until it is stopped.
    pub(crate) fn check_until(&self, seed: u64, shadow: &mut Shadow, stop: &AtomicBool) -> CheckedRun {
        let mut words: Vec<Vec<u128>> = self.buffers.iter().map(|buffer| aligned(buffer)).collect();
        let own = words
            .iter_mut()
            .zip(&self.buffers)
            .map(|(words, buffer)| Cells::new(&mut bytemuck::cast_slice_mut(words)[..4 * buffer.len()]));
        let own: Vec<Cells<'_>> = own.collect();
        let first = |bound: &Bound| self.bound.iter().position(|other| other == bound);
        let cells: Vec<Cells<'_>> = self.bound.iter().filter_map(first).map(|at| own[at]).collect();
        let range = 0..GridRun::all(self.groups);
        let params = &self.params[..];
        let run = GridRun { groups: self.groups, range, params, buffers: &cells, seed, stop };
        self.kernel.kernel.run_checked(&run, &self.bound, shadow, &self.options)
    }
}

/// Returns the texts of findings.
pub(crate) fn texts(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}

/// Returns the mistake of the only finding.
pub(crate) fn only(findings: &[Finding]) -> &Mistake {
    match findings {
        [finding] => &finding.mistake,
        _ => panic!("{findings:?}"),
    }
}

/// Copies words to memory that is aligned to 16 bytes.
fn aligned(words: &[u32]) -> Vec<u128> {
    let mut aligned = vec![0; words.len().div_ceil(4)];
    bytemuck::cast_slice_mut(&mut aligned)[..words.len()].copy_from_slice(words);
    aligned
}
