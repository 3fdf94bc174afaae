//! The prepared kernels of the process. Contexts share the code of equal kernels.

use crate::work::kernel_launch::PipelineDescriptor;
use fencepost_cpu::{CpuKernel, Error, Program};
use fencepost_sync::PerProcess;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, Weak};

/// A device's way of running kernels.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum KernelEngine {
    /// Machine code, where the compiler supports the kernel.
    Code,
    /// The interpreter, so that nothing is compiled.
    Interpreter,
}

/// Key of a kernel's code.
#[derive(PartialEq, Eq, Hash)]
struct CodeKey {
    engine: KernelEngine,
    /// Name of the source file, because messages name it.
    label: String,
    text: String,
    entry: String,
    /// Overrides sorted by name, with the bits of each value.
    overrides: Vec<(String, u64)>,
}

/// Kernels by their code.
type PreparedKernels = Mutex<HashMap<CodeKey, Weak<CpuKernel>>>;

/// Kernels that are in use by some context.
static PREPARED: LazyLock<PerProcess<PreparedKernels>> =
    LazyLock::new(|| PerProcess::new(Mutex::default(), Mutex::default));

impl CodeKey {
    fn new(recipe: &PipelineDescriptor<'_>, engine: KernelEngine) -> Self {
        let mut overrides: Vec<_> =
            recipe.overrides.iter().map(|&(name, value)| (name.to_owned(), value.to_bits())).collect();
        overrides.sort_unstable();
        let places = recipe.module.places();
        let (label, ..) = places.place(0);
        let label = label.to_owned();
        let text = recipe.module.text().to_owned();
        Self { engine, label, text, entry: recipe.interface().entry.clone(), overrides }
    }
}

/// Returns the code of a kernel for an engine. Prepares it if no context has it. A compiled kernel also serves where
/// the interpreter is wanted.
///
/// # Errors
/// Returns the reason why the CPU does not run the kernel.
pub(super) fn prepared(
    recipe: &PipelineDescriptor<'_>,
    engine: KernelEngine,
) -> Result<Arc<CpuKernel>, Error> {
    let mut key = CodeKey::new(recipe, KernelEngine::Code);
    let known = |key: &CodeKey| kernels().get(key).and_then(Weak::upgrade);
    if let Some(known) = known(&key) {
        return Ok(known);
    }
    key.engine = engine;
    if let Some(known) = known(&key) {
        return Ok(known);
    }
    // Without the lock, so that other kernels can be prepared. If two contexts prepare a kernel, both get the first
    // code.
    let program = Arc::new(Program::new(recipe.module, recipe.entry)?);
    let made = Arc::new(match engine {
        KernelEngine::Code => CpuKernel::new(program)?,
        KernelEngine::Interpreter => CpuKernel::interpreted(program)?,
    });
    let mut kernels = kernels();
    if let Some(known) = kernels.get(&key).and_then(Weak::upgrade) {
        return Ok(known);
    }
    kernels.retain(|_, kernel| kernel.strong_count() > 0);
    kernels.insert(key, Arc::downgrade(&made));
    Ok(made)
}

fn kernels() -> MutexGuard<'static, HashMap<CodeKey, Weak<CpuKernel>>> {
    PREPARED.get().lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::context::Context;
    use crate::api::context::kernels::Job;
    use crate::api::kernel::DynKernel;
    use crate::api::options::ContextOptions;
    use crate::device::checks::CheckOptions;
    use crate::record::cpu::cpu_recorder::SimulatorOptions;
    use crate::work::kernel_launch::Pipeline;
    use crate::work::step::HostCode;
    use fencepost_kernels::ShaderSource;

    fn context() -> Context {
        Context::on_threads(&ContextOptions::default(), true).expect("a thread")
    }

    fn code(kernel: &DynKernel) -> &Arc<CpuKernel> {
        let Pipeline::Host(HostCode::Program(code)) = &kernel.inner.pipeline else { panic!("it has a text") };
        code
    }

    #[test]
    fn contexts_share_the_code_of_a_kernel_with_equal_texts_and_overrides() {
        let text = "override FACTOR: u32 = 2;
            @group(0) @binding(0) var<storage, read_write> shared_words: array<u32>;
            @compute @workgroup_size(4) fn scales(@builtin(local_invocation_index) i: u32) { shared_words[i] *= FACTOR; }
            @compute @workgroup_size(4) fn clears(@builtin(local_invocation_index) i: u32) { shared_words[i] = 0u; }";
        let source = |label: &'static str| ShaderSource::text(label, text);
        let [one, two, recorder] = [context(), context(), Context::simulated(SimulatorOptions::default())];
        let kernel = |ctx: &Context, label, entry, overrides: &[(&str, f64)]| {
            ctx.kernel_from_with(source(label), entry, overrides).expect("it compiles")
        };
        let first = kernel(&one, "a.wgsl", "scales", &[]);
        for ctx in [&two, &recorder] {
            assert!(Arc::ptr_eq(code(&first), code(&kernel(ctx, "a.wgsl", "scales", &[]))));
        }
        let others = [
            kernel(&two, "b.wgsl", "scales", &[]),
            kernel(&two, "a.wgsl", "clears", &[]),
            kernel(&two, "a.wgsl", "scales", &[("FACTOR", 3.0)]),
        ];
        for other in &others {
            assert!(!Arc::ptr_eq(code(&first), code(other)));
        }
    }

    #[test]
    fn a_refusal_names_its_kernel_once() {
        let text = "var<private> huge: array<u32, 100000000>;
            @group(0) @binding(0) var<storage, read_write> refused_words: array<u32>;
            @compute @workgroup_size(1) fn refused() { refused_words[0] = huge[refused_words[1]]; }
            override N: u32 = 0;
            @compute @workgroup_size(1) fn divides() { refused_words[0] = refused_words[1] / N; }";
        for ctx in [context(), Context::simulated(SimulatorOptions::default())] {
            for (entry, problem) in [("refused", "the variables of"), ("divides", "the divisor is 0")] {
                let error =
                    ctx.kernel_from(text, entry).map(|_| ()).expect_err("the CPU refuses it").to_string();
                assert!(error.contains(problem), "{error}");
                assert_eq!(error.matches(&format!("kernel `{entry}`")).count(), 1, "{error}");
            }
        }
    }

    #[test]
    fn contexts_that_interpret_kernels_compile_none() {
        let entries = ["adds", "waits"];
        let text = "@group(0) @binding(0) var<storage, read_write> engine_words: array<u32>;
            @compute @workgroup_size(4) fn adds(@builtin(local_invocation_index) i: u32) { engine_words[i] += i; }
            @compute @workgroup_size(4) fn waits() { engine_words[0] = 1u; workgroupBarrier(); }";
        let compiled = |ctx: &Context| {
            let kernels = entries.map(|entry| ctx.kernel_from(text, entry).expect("it is prepared"));
            kernels.iter().filter(|kernel| code(kernel).is_compiled()).count()
        };
        let checked = ContextOptions { check: Some(CheckOptions::default()), ..ContextOptions::default() };
        let checked = Context::on_threads(&checked, true).expect("a thread");
        let recorder = Context::simulated(SimulatorOptions::default());
        assert_eq!((compiled(&checked), compiled(&recorder)), (0, 0));
        assert_eq!(compiled(&context()), entries.len(), "the other contexts compile them");
    }

    #[test]
    fn a_thread_compiles_a_later_kernel_while_the_program_does_not_wait() {
        let text = "@group(0) @binding(0) var<storage, read_write> later_words: array<u32>;
            @compute @workgroup_size(4) fn comes() { later_words[0] = 1u; }";
        let ctx = context();
        let other = context();
        let source = ShaderSource::text("later.wgsl", text);
        let key = Job::new(source.clone(), "comes", &[]).key();
        let later = ctx.kernel_from_later(&source, "comes", &[]);
        let begun = std::time::Instant::now();
        while ctx.owner.kernels().find(&key).is_none() {
            assert!(begun.elapsed().as_secs() < 60, "no thread compiles the kernel");
            std::thread::yield_now();
        }
        let at_once = other.kernel_from_with(&source, "comes", &[]).expect("it compiles");
        assert!(Arc::ptr_eq(code(&later.wait().expect("it compiles")), code(&at_once)));
    }

    #[test]
    fn the_code_of_a_kernel_ends_with_the_last_context_that_has_it() {
        let text = "@group(0) @binding(0) var<storage, read_write> ended_words: array<u32>;
            @compute @workgroup_size(1) fn ends() { ended_words[0] = 1u; }";
        let ctx = context();
        let held = Arc::downgrade(code(&ctx.kernel_from(text, "ends").expect("it compiles")));
        assert!(held.upgrade().is_some(), "the context keeps it");
        drop(ctx);
        assert!(held.upgrade().is_none());
    }
}
