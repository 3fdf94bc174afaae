//! A program that runs as a kernel of the host.

mod chosen;

use crate::check::{self, Bound, CheckOptions, CheckedRun, Shadow, Sites};
use crate::dump;
use crate::error::{Fault, Result};
use crate::interpret::{Interpreter, PausedRun};
#[cfg(all(feature = "compile", not(target_family = "wasm")))]
use crate::machine::Machine;
use crate::program::Program;
use crate::run::GridRun;
#[cfg(all(feature = "twins", not(target_family = "wasm")))]
use crate::twin::Twin;
use fencepost_kernels::{HostBuffer, HostKernel};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// A program that runs as machine code if the compiler translates it, and otherwise in the interpreter.
///
/// Some built-in kernels have native code in place of the machine code. Their sums of floats may be added in another order
/// than the text says, within the tolerance that the text states.
///
/// A subgroup consists of 4 invocations with consecutive numbers, its lanes. When lanes wait at several subgroup
/// operations, those at the first place in the program take part next. A lane that reads from an inactive lane gets its
/// own value.
pub struct CpuKernel {
    interpreter: Interpreter,
    /// Instructions as checks see them, listed at the first checked run.
    sites: OnceLock<Sites>,
    #[cfg(all(feature = "compile", not(target_family = "wasm")))]
    compiled: Option<Machine>,
    #[cfg(all(feature = "twins", not(target_family = "wasm")))]
    twin: Option<Twin>,
    /// Number of invocations that the machine code executes together.
    width: Option<u32>,
    /// Time per workgroup in the last measured run, in nanoseconds.
    workgroup_nanos: AtomicU64,
}

impl CpuKernel {
    /// Prepares a program.
    ///
    /// # Errors
    /// [`Error::Unsupported`](crate::Error::Unsupported), with the line.
    pub fn new(program: Arc<Program>) -> Result<Self> {
        #[cfg(all(feature = "compile", not(target_family = "wasm")))]
        let compiled = Machine::new(&program);
        let kernel = Self {
            #[cfg(all(feature = "compile", not(target_family = "wasm")))]
            width: compiled.as_ref().map(Machine::width),
            #[cfg(all(feature = "compile", not(target_family = "wasm")))]
            compiled,
            #[cfg(not(all(feature = "compile", not(target_family = "wasm"))))]
            width: None,
            #[cfg(all(feature = "twins", not(target_family = "wasm")))]
            twin: Twin::of(&program),
            interpreter: Interpreter::new(program)?,
            sites: OnceLock::new(),
            workgroup_nanos: AtomicU64::new(0),
        };
        if !kernel.is_compiled() {
            kernel.dump_instructions();
        }
        Ok(kernel)
    }

    /// Writes the instructions of the interpreter as text, if the environment names a folder.
    fn dump_instructions(&self) {
        if dump::is_wanted() {
            let name = dump::name(self.interpreter.program().name());
            dump::write(&format!("{name}.interpreted"), &self.interpreter.text());
        }
    }

    /// Returns `true` if the kernel runs as machine code. Even then, a run with a seed, or with a buffer that is
    /// smaller than its variable, is interpreted.
    pub fn is_compiled(&self) -> bool {
        self.width.is_some()
    }

    /// Returns how many invocations the machine code executes together, or `None` if the kernel is interpreted.
    pub fn width(&self) -> Option<u32> {
        self.width
    }

    /// Records how long some workgroups took, for [`expected_time`](Self::expected_time).
    pub fn note_time(&self, workgroups: u64, time: Duration) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX) / workgroups.max(1);
        self.workgroup_nanos.store(nanos, Ordering::Relaxed);
    }

    /// Returns the expected time of some workgroups, from the last measured run; zero if there was none.
    pub fn expected_time(&self, workgroups: u64) -> Duration {
        Duration::from_nanos(self.workgroup_nanos.load(Ordering::Relaxed).saturating_mul(workgroups))
    }

    /// Runs a range of workgroups on the calling thread.
    ///
    /// # Errors
    /// Returns the fault that ended the run early. Writes before the fault stay.
    pub fn run_groups(&self, run: &GridRun<'_>) -> std::result::Result<(), Fault> {
        #[cfg(all(feature = "twins", not(target_family = "wasm")))]
        if let Some(twin) = &self.twin {
            let first = twin.run(run)?;
            if first == run.range.end {
                return Ok(());
            }
            return self.run_text(&GridRun { range: first..run.range.end, ..run.clone() });
        }
        self.run_text(run)
    }

    /// Runs a range of workgroups as the text of the program says.
    fn run_text(&self, run: &GridRun<'_>) -> std::result::Result<(), Fault> {
        #[cfg(all(feature = "compile", not(target_family = "wasm")))]
        if let Some(compiled) = self.compiled.as_ref().filter(|compiled| compiled.takes(run)) {
            return compiled.run(run);
        }
        self.interpreter.run(run)
    }

    /// Begins a run in slices, which [`resume`](Self::resume) executes.
    ///
    /// # Example
    /// ```
    /// use fencepost_cpu::{Cells, CpuKernel, GridRun, Program};
    /// use fencepost_kernels::{Module, ShaderSource};
    /// use std::sync::{Arc, atomic::AtomicBool};
    ///
    /// let text = "
    ///     @group(0) @binding(0) var<storage, read_write> out: array<u32>;
    ///     @compute @workgroup_size(1) fn k() { for (var i = 0u; i < 1000u; i++) { out[0] += i; } }";
    /// let module = Arc::new(Module::parse(&ShaderSource::text("k.wgsl", text))?);
    /// let entry = module.entry("k", &[])?;
    /// let kernel = CpuKernel::new(Arc::new(Program::new(&module, &entry)?))?;
    ///
    /// let mut words = [0_u128; 1];
    /// let buffers = [Cells::new(bytemuck::bytes_of_mut(&mut words))];
    /// let (groups, range, stop) = ([1; 3], 0..1, AtomicBool::new(false));
    /// let run = GridRun { groups, range, params: &[], buffers: &buffers, seed: 0, stop: &stop };
    /// let mut paused = kernel.begin(&run);
    /// let mut slices = 1;
    /// while !kernel.resume(&run, &mut paused, 100)? {
    ///     slices += 1; // the thread may do other work here
    /// }
    /// assert!(slices >= 10);
    /// assert_eq!(words, [499_500]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn begin(&self, run: &GridRun<'_>) -> PausedRun {
        self.interpreter.begin(run)
    }

    /// Continues a run on the calling thread for at most `steps` steps: each iteration of a loop is a step, and so is
    /// each call, and each invocation that begins or continues. The interpreter executes the slice, even if the kernel
    /// is compiled. Returns `true` if the run is over.
    ///
    /// `run` must be that of [`begin`](Self::begin), with the same buffers.
    ///
    /// # Errors
    /// Returns the fault that ended the run early. Writes before the fault stay.
    pub fn resume(
        &self,
        run: &GridRun<'_>,
        paused: &mut PausedRun,
        steps: u64,
    ) -> std::result::Result<bool, Fault> {
        self.interpreter.resume(run, paused, steps)
    }

    /// Runs a whole grid on copies of the buffers, and copies the results back. `seed` and `stop` are the fields of
    /// [`GridRun`].
    ///
    /// # Errors
    /// Returns the fault that ended the run early. The buffers keep their earlier bytes then.
    pub fn run_on_copies(
        &self,
        groups: [u32; 3],
        params: &[u8],
        buffers: &mut [HostBuffer<'_>],
        seed: u64,
        stop: &AtomicBool,
    ) -> std::result::Result<(), Fault> {
        GridRun::on_copies(groups, params, buffers, seed, stop, |run| self.run_groups(run))
    }

    /// Runs the workgroups of a run on the calling thread, and returns the mistakes that it finds.
    ///
    /// `bound` names the buffer of each binding in `shadow`. The shadow knows which bytes were written before this
    /// launch, and records which bytes it writes.
    ///
    /// Two accesses to one byte are a race if no barrier orders them, at least one writes, and at least one is not
    /// atomic. `workgroupBarrier` orders accesses to workgroup variables, `storageBarrier` orders accesses to buffers,
    /// and nothing orders two workgroups. Each pair of lines that races in this run is found, with any seed. Another
    /// input may show other races.
    ///
    /// A fault ends the run early; the mistakes before it are returned too. A barrier that some invocations miss ends
    /// the run, and is a finding.
    ///
    /// # Panics
    /// Panics unless `bound` has one range for each buffer.
    ///
    /// # Example
    /// ```
    /// use fencepost_cpu::{Bound, Cells, CheckOptions, CpuKernel, GridRun, Mistake, Program, Shadow};
    /// use fencepost_kernels::{Module, ShaderSource};
    /// use std::sync::{Arc, atomic::AtomicBool};
    ///
    /// let text = "
    ///     @group(0) @binding(0) var<storage, read_write> out: array<u32>;
    ///     @compute @workgroup_size(4) fn k(@builtin(local_invocation_index) i: u32) { out[i / 2u] = i; }";
    /// let module = Arc::new(Module::parse(&ShaderSource::text("k.wgsl", text))?);
    /// let entry = module.entry("k", &[])?;
    /// let kernel = CpuKernel::new(Arc::new(Program::new(&module, &entry)?))?;
    ///
    /// let mut words = [0_u128; 1];
    /// let buffers = [Cells::new(bytemuck::bytes_of_mut(&mut words))];
    /// let (groups, range, stop) = ([1; 3], 0..1, AtomicBool::new(false));
    /// let run = GridRun { groups, range, params: &[], buffers: &buffers, seed: 0, stop: &stop };
    /// let bound = [Bound { buffer: 7, offset: 0 }];
    /// let run = kernel.run_checked(&run, &bound, &mut Shadow::new(), &CheckOptions::default());
    ///
    /// assert_eq!((run.findings.len(), run.fault), (1, None));
    /// let Mistake::RaceInWorkgroup(race) = &run.findings[0].mistake else { panic!("{}", run.findings[0]) };
    /// assert_eq!(race.element.path, "out[0]");
    /// assert_eq!(race.other.step.invocation.global, [1, 0, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn run_checked(
        &self,
        run: &GridRun<'_>,
        bound: &[Bound],
        shadow: &mut Shadow,
        options: &CheckOptions,
    ) -> CheckedRun {
        let sites = self.sites.get_or_init(|| Sites::new(self.interpreter.program(), &self.interpreter));
        check::run((&self.interpreter, sites), run, bound, shadow, options)
    }
}

impl HostKernel for CpuKernel {
    /// # Panics
    /// Panics if the run ends early.
    fn run(&self, groups: [u32; 3], _: [u32; 3], params: &[u8], buffers: &mut [HostBuffer<'_>]) {
        if let Err(fault) = self.run_on_copies(groups, params, buffers, 0, &AtomicBool::new(false)) {
            panic!("{fault}");
        }
    }
}
