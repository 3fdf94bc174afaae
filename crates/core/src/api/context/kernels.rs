//! The compilation of kernels by a context.

use crate::api::context::Context;
use crate::api::context::compile_job::Job;
use crate::api::context::kernel_later::KernelLate;
use crate::api::kernel::{DynKernel, EntryPoint, Kernel};
use crate::api::queue::CommandQueue;
#[cfg(cpu)]
use crate::error::Kind;
use crate::error::Result;
use crate::runtime::owner::Owner;
use crate::runtime::pending::Pending;
use crate::runtime::wait_mode::late;
use crate::work::compiled_kernel::KernelInner;
#[cfg(cpu)]
use fencepost_kernels::HostKernel;
use fencepost_kernels::{ArgField, KernelArgs, ShaderSource};
use std::marker::PhantomData;
use std::sync::Arc;

/// Returns the kernel for arguments with these fields, or an error if the fields do not fit the kernel.
fn typed<F: KernelArgs>(owner: &Owner, inner: Arc<KernelInner>, fields: &[ArgField]) -> Result<Kernel<F>> {
    let plan = Arc::new(fencepost_kernels::check(&inner.interface, fields)?);
    Ok(Kernel { inner, plan, next: None, owner: owner.clone(), args: PhantomData })
}

/// Returns the kernel of several entry points as [`typed`] does.
fn typed_each<F: KernelArgs>(
    owner: &Owner,
    inners: Vec<Arc<KernelInner>>,
    fields: &[ArgField],
) -> Result<Kernel<F>> {
    let interfaces: Vec<_> = inners.iter().map(|inner| &inner.interface).collect();
    let plans = fencepost_kernels::check_each(&interfaces, fields)?;
    let mut entries = inners.into_iter().zip(plans).map(|(inner, plan)| EntryPoint { inner, plan });
    let EntryPoint { inner, plan } = entries.next().expect("bug: a kernel without an entry point");
    Ok(Kernel {
        inner,
        plan: Arc::new(plan),
        next: Some(entries.collect()),
        owner: owner.clone(),
        args: PhantomData,
    })
}

/// Returns the compilation of the kernel of an argument struct.
pub(crate) fn job<A: KernelArgs>(overrides: &[(&str, f64)]) -> Result<Job> {
    Ok(Job::new(A::source()?, A::entry(), overrides).with_next(A::NEXT))
}

/// Compiles the kernel of an argument struct.
pub(crate) fn compiled<A: KernelArgs>(owner: &Owner, job: &Job) -> Result<Kernel<A::Family>> {
    if A::NEXT.is_empty() {
        return typed(owner, job.run(owner)?, &A::fields());
    }
    typed_each(owner, job.run_each(owner.engine(), owner.kernels())?, &A::fields())
}

/// Compiles an entry point of a text. Each launch checks its arguments.
pub(crate) fn dynamic(owner: &Owner, job: &Job) -> Result<DynKernel> {
    Ok(DynKernel { inner: job.run(owner)?, owner: owner.clone() })
}

impl Context {
    /// Compiles the kernel of an argument struct, and checks the shader and the struct against each other.
    ///
    /// The call takes as long as the driver needs to compile a shader. A context compiles a kernel once: calls with the
    /// same source, entry point and overrides return the same kernel. The context keeps every kernel that the program
    /// has a handle of. The context also keeps other kernels, the most recently requested ones, up to 256 in all.
    /// [`ContextOptions::kernel_folder`](crate::ContextOptions::kernel_folder) keeps the driver's results for the next
    /// run of the program.
    ///
    /// # Errors
    /// Returns [`Kind::Kernel`] if shader and arguments do not fit, [`Kind::Unsupported`] if the adapter lacks a
    /// feature that the shader needs, and [`Kind::Compile`] if the driver refuses the shader.
    pub fn kernel<A: KernelArgs>(&self) -> Result<Kernel<A::Family>> {
        self.kernel_with::<A>(&[])
    }

    /// Compiles a kernel as [`kernel`](Self::kernel) does, with values for `override` constants, by name.
    ///
    /// # Errors
    /// Returns the errors of [`kernel`](Self::kernel), and [`Kind::Kernel`] for a name that the shader does not have.
    pub fn kernel_with<A: KernelArgs>(&self, overrides: &[(&str, f64)]) -> Result<Kernel<A::Family>> {
        compiled::<A>(&self.owner, &job::<A>(overrides)?)
    }

    /// Compiles an entry point of a WGSL text. Each launch checks its arguments.
    ///
    /// Besides the statements of WGSL, the text may have `print("x = {}", x);` and `assert(x > 0.0, "x = {}", x);`:
    /// [`set_print`](Self::set_print) says where the lines go, and a failed assertion is
    /// [`Kind::AssertionFailed`](crate::Kind::AssertionFailed) of the queue.
    ///
    /// # Errors
    /// Returns the errors of [`kernel_with`](Self::kernel_with), and [`Kind::Kernel`] with line and column for a text
    /// that is not WGSL.
    pub fn kernel_from(&self, wgsl: &str, entry: &str) -> Result<DynKernel> {
        self.kernel_from_with(wgsl, entry, &[])
    }

    /// Compiles a kernel as [`kernel_from`](Self::kernel_from) does, with values for `override` constants, by name.
    ///
    /// # Errors
    /// Returns the errors of [`kernel_from`](Self::kernel_from).
    pub fn kernel_from_with(&self, wgsl: &str, entry: &str, overrides: &[(&str, f64)]) -> Result<DynKernel> {
        self.kernel_from_source(&ShaderSource::text(entry, wgsl.to_owned()), entry, overrides)
    }

    /// Compiles a kernel as [`kernel_from_with`](Self::kernel_from_with) does, from a text with the files that it uses.
    ///
    /// # Errors
    /// Returns the errors of [`kernel_from`](Self::kernel_from).
    ///
    /// # Example
    /// ```
    /// use fencepost::{Grid, ShaderSource, args};
    /// # let (ctx, queue) = fencepost::doctest();
    /// # ctx.host_kernel("k", std::sync::Arc::new(|_: [u32; 3], _: [u32; 3], _: &[u8], out: &mut [fencepost::HostBuffer<'_>]| out[0].bytes_mut()[0] = 42))?;
    /// let text = "//#use \"tools.wgsl\"
    ///     @group(0) @binding(0) var<storage, read_write> x: array<u32>;
    ///     @compute @workgroup_size(1) fn k() { x[0] = twice(21u); }";
    /// let tools = "fn twice(x: u32) -> u32 { return 2u * x; }";
    /// let source = ShaderSource::text("k.wgsl", text).with_file("tools.wgsl", tools);
    /// let kernel = ctx.kernel_from_source(&source, "k", &[])?;
    /// let mut x = ctx.zeros::<u32, 1>([1])?;
    /// queue.launch_dyn(&kernel, Grid::groups([1]), args![x = &mut x])?;
    /// assert_eq!(queue.read(&x).wait()?, [42]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn kernel_from_source(
        &self,
        source: &ShaderSource,
        entry: &str,
        overrides: &[(&str, f64)],
    ) -> Result<DynKernel> {
        dynamic(&self.owner, &Job::new(source.clone(), entry, overrides))
    }

    /// Compiles a kernel as [`kernel`](Self::kernel) does, on a thread of the context. The call returns at once, and
    /// the tasks of an executor or a user interface continue during the compilation.
    ///
    /// A context without threads compiles at the first wait or poll. If the kernel is already compiled, the result is
    /// ready at once.
    ///
    /// # Errors
    /// The [`Pending`] returns the errors of [`kernel`](Self::kernel).
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// #[derive(KernelArgs)]
    /// #[kernel(source = "saxpy.wgsl")]
    /// struct Saxpy<'a> {
    ///     a: f32,
    ///     x: &'a DeviceArray<f32>,
    ///     y: &'a mut DeviceArray<f32>,
    /// }
    /// # let (ctx, queue) = fencepost::doctest();
    /// let later = ctx.kernel_later::<Saxpy>();
    /// let (x, mut y) = (ctx.array(&[1.0, 2.0])?, ctx.full([2], 1.0)?); // during the compilation
    /// let saxpy = later.wait()?;
    /// queue.launch(&saxpy, Grid::threads([2]), Saxpy { a: 10.0, x: &x, y: &mut y })?;
    /// assert_eq!(queue.read(&y).wait()?, [11.0, 21.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn kernel_later<A: KernelArgs>(&self) -> Pending<Kernel<A::Family>> {
        self.kernel_later_with::<A>(&[])
    }

    /// Compiles a kernel as [`kernel_later`](Self::kernel_later) does, with values for `override` constants, by name.
    ///
    /// # Errors
    /// The [`Pending`] returns the errors of [`kernel_with`](Self::kernel_with).
    pub fn kernel_later_with<A: KernelArgs>(&self, overrides: &[(&str, f64)]) -> Pending<Kernel<A::Family>> {
        // A thread compiles all entry points, and the second job finds them in the cache.
        match (job::<A>(overrides), job::<A>(overrides)) {
            (Ok(first), Ok(again)) => self.later(first, move |owner, _| compiled::<A>(owner, &again)),
            (Err(error), _) | (_, Err(error)) => Pending::ready(Err(error)),
        }
    }

    /// Compiles the kernel of [`kernel_from_source`](Self::kernel_from_source) on a thread, as
    /// [`kernel_later`](Self::kernel_later) does.
    ///
    /// # Errors
    /// The [`Pending`] returns the errors of [`kernel_from_source`](Self::kernel_from_source).
    pub fn kernel_from_source_later(
        &self,
        source: &ShaderSource,
        entry: &str,
        overrides: &[(&str, f64)],
    ) -> Pending<DynKernel> {
        let untyped = |owner: &Owner, inner| Ok(DynKernel { inner, owner: owner.clone() });
        self.later(Job::new(source.clone(), entry, overrides), untyped)
    }

    fn later<K: Unpin + 'static>(
        &self,
        job: Job,
        make: impl FnOnce(&Owner, Arc<KernelInner>) -> Result<K> + Send + 'static,
    ) -> Pending<K> {
        match self.owner.engine().check_device() {
            Ok(()) => late(KernelLate::new(&self.owner, job, Box::new(make))),
            Err(gone) => Pending::ready(Err(gone)),
        }
    }

    /// Gives the CPU a function that it runs in place of the text of the entry point `entry`. Existing kernels keep
    /// their code. If the function panics, the queue of the launch fails with [`Kind::LaunchFailed`]. A wait for the
    /// same context in the function is [`Kind::WaitInKernel`](crate::Kind::WaitInKernel); a wait for another context is
    /// allowed. If functions of several contexts block without a limit for each other's context, one of the waits is
    /// [`Kind::WaitInKernel`](crate::Kind::WaitInKernel). A cycle in which a function awaits a future, or in which a
    /// host callback waits too, is not detected and hangs.
    ///
    /// # Errors
    /// Returns [`Kind::Device`] if the context is on an adapter of wgpu.
    ///
    /// # Example
    /// ```
    /// use fencepost::{Grid, HostBuffer, args};
    /// use std::sync::Arc;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let seven = |_: [u32; 3], _: [u32; 3], _: &[u8], buffers: &mut [HostBuffer<'_>]| {
    ///     buffers[0].bytes_mut().fill(7);
    /// };
    /// ctx.host_kernel("sevens", Arc::new(seven))?;
    /// let text = "@group(0) @binding(1) var<storage, read_write> out: array<u32>;
    ///     @compute @workgroup_size(1) fn sevens() { out[0] = 0x07070707u; }";
    /// let kernel = ctx.kernel_from(text, "sevens")?;
    /// let mut out = ctx.zeros::<u32, 1>([1])?;
    /// queue.launch_dyn(&kernel, Grid::groups([1]), args![out = &mut out])?;
    /// assert_eq!(queue.read(&out).wait()?, [0x0707_0707]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[cfg(feature = "cpu")] // `cfg(cpu)`, in a form that the documentation shows
    pub fn host_kernel(&self, entry: &str, kernel: Arc<dyn HostKernel>) -> Result<()> {
        let Some(cpu) = self.owner.cpu() else {
            let (object, message) =
                (format!("host kernel `{entry}`"), "only the CPU runs host kernels".into());
            return Err(Kind::Device { object, message }.into());
        };
        self.owner.engine().check_process()?;
        cpu.host_kernel(entry, kernel);
        self.owner.kernels().clear(); // later calls make kernels with the new function
        Ok(())
    }
}

impl CommandQueue {
    /// Compiles the kernel of an argument struct for the context of the queue, as [`Context::kernel`] does. Verbs of a
    /// library need only the queue.
    ///
    /// # Errors
    /// Returns the errors of [`Context::kernel`].
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// #[derive(KernelArgs)]
    /// #[kernel(source = "saxpy.wgsl")]
    /// struct Saxpy<'a> {
    ///     a: f32,
    ///     x: &'a DeviceArray<f32>,
    ///     y: &'a mut DeviceArray<f32>,
    /// }
    ///
    /// /// Enqueues y = a x + y.
    /// fn saxpy(queue: &CommandQueue, a: f32, x: &DeviceArray<f32>, y: &mut DeviceArray<f32>) -> fencepost::Result<()> {
    ///     queue.launch(&queue.kernel::<Saxpy>()?, Grid::threads([y.len()]), Saxpy { a, x, y })
    /// }
    /// # let (ctx, queue) = fencepost::doctest();
    /// let (x, mut y) = (ctx.array(&[1.0, 2.0])?, ctx.full([2], 1.0)?);
    /// saxpy(&queue, 10.0, &x, &mut y)?;
    /// assert_eq!(queue.read(&y).wait()?, [11.0, 21.0]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn kernel<A: KernelArgs>(&self) -> Result<Kernel<A::Family>> {
        self.kernel_with::<A>(&[])
    }

    /// Compiles a kernel as [`kernel`](Self::kernel) does, with values for `override` constants, by name.
    ///
    /// # Errors
    /// Returns the errors of [`Context::kernel_with`].
    pub fn kernel_with<A: KernelArgs>(&self, overrides: &[(&str, f64)]) -> Result<Kernel<A::Family>> {
        compiled::<A>(self.owner(), &job::<A>(overrides)?)
    }

    /// Compiles an entry point of a text for the context of the queue, as [`Context::kernel_from_source`] does.
    ///
    /// # Errors
    /// Returns the errors of [`Context::kernel_from_source`].
    ///
    /// # Example
    /// ```
    /// use fencepost::{Element, Grid, ShaderSource, args};
    /// # let (ctx, queue) = fencepost::doctest();
    /// let source = ShaderSource::builtin("saxpy.wgsl")?.with_type("T", u32::DTYPE)?;
    /// let saxpy = queue.kernel_from_source(&source, "saxpy", &[])?;
    /// let (x, mut y) = (queue.array(&[1_u32, 2])?, ctx.full([2], 1_u32)?);
    /// queue.launch_dyn(&saxpy, Grid::threads([2]), args![a = 10_u32, x = &x, y = &mut y])?;
    /// assert_eq!(queue.read(&y).wait()?, [11, 21]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn kernel_from_source(
        &self,
        source: &ShaderSource,
        entry: &str,
        overrides: &[(&str, f64)],
    ) -> Result<DynKernel> {
        dynamic(self.owner(), &Job::new(source.clone(), entry, overrides))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::context::compile_job::compile;
    use crate::record::cpu::cpu_recorder::CpuOptions;
    use std::sync::mpsc;
    use std::task::Poll;
    use std::time::Duration;

    const TEXT: &str = "override W = 1u;
        @group(0) @binding(0) var<storage, read_write> x: array<u32>;
        @compute @workgroup_size(W) fn k() { x[0] = W; }";

    fn source() -> ShaderSource {
        ShaderSource::text("k.wgsl", TEXT)
    }

    fn context(threads: bool) -> Context {
        let ctx = Context::on_cpu(CpuOptions { threads, ..CpuOptions::default() });
        let nothing = |_: [u32; 3], _: [u32; 3], _: &[u8], _: &mut [fencepost_kernels::HostBuffer<'_>]| ();
        ctx.host_kernel("k", Arc::new(nothing)).expect("it is the CPU recorder");
        ctx
    }

    fn poll<K: Unpin>(pending: &mut Pending<K>) -> Poll<Result<K>> {
        use std::future::Future;
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        std::pin::Pin::new(pending).poll(&mut cx)
    }

    #[test]
    fn every_call_for_a_compiled_kernel_returns_the_same_kernel() {
        for threads in [false, true] {
            let ctx = context(threads);
            let wide = [("W", 2.0)];
            let [one, two] = [&[][..], &wide].map(|overrides| {
                let later = ctx.kernel_from_source_later(&source(), "k", overrides);
                later.wait().expect("it compiles").inner
            });
            assert!(!Arc::ptr_eq(&one, &two), "the overrides differ");
            for (overrides, first) in [(&[][..], one), (&wide, two)] {
                let again = ctx.kernel_from_source(&source(), "k", overrides).expect("it compiles").inner;
                assert!(Arc::ptr_eq(&first, &again));
                let Poll::Ready(again) = poll(&mut ctx.kernel_from_source_later(&source(), "k", overrides))
                else {
                    panic!("a kernel that is there is ready")
                };
                assert!(Arc::ptr_eq(&first, &again.expect("it compiles").inner));
            }
        }
    }

    #[test]
    fn a_later_kernel_is_pending_during_its_compilation_and_wakes_its_task() {
        let ctx = context(true);
        let job = || Job::new(source(), "k", &[]);
        let (compiles, begun) = mpsc::channel();
        let (go_on, held) = mpsc::channel::<()>();
        std::thread::scope(|scope| {
            let owner = &ctx.owner;
            scope.spawn(move || {
                let slow = || {
                    compiles.send(()).expect("the test waits");
                    held.recv().expect("the test goes on");
                    compile(owner.engine(), &source(), ("k", &[]), None, false, false)
                };
                owner.kernels().get(job().key(), slow).map(drop).expect("it compiles");
            });
            begun.recv().expect("the compiler runs");
            let mut later = ctx.kernel_from_source_later(&source(), "k", &[]);
            assert!(poll(&mut later).is_pending());
            assert!(later.wait_timeout(Duration::from_millis(1)).expect("nothing failed").is_none());
            let awaited = scope.spawn(move || pollster::block_on(later));
            let mut given_up = ctx.kernel_from_source_later(&source(), "k", &[]);
            assert!(poll(&mut given_up).is_pending());
            drop(given_up);
            go_on.send(()).expect("the compiler waits");
            assert!(awaited.join().expect("no panic").is_ok());
        });
    }

    #[test]
    fn the_pending_returns_the_error_of_a_failed_compilation() {
        for threads in [false, true] {
            let ctx = context(threads);
            let bad = ctx.kernel_from_source_later(&ShaderSource::text("k.wgsl", "fn"), "k", &[]);
            let now = ctx.kernel_from_source(&ShaderSource::text("k.wgsl", "fn"), "k", &[]);
            let [later, now] = [bad.wait(), now].map(|result| result.map(drop).unwrap_err().to_string());
            assert_eq!(later, now);
        }
    }

    /// A waker that waits for a kernel in its own `wake`.
    struct Waits {
        ctx: Context,
        number: u32,
        done: mpsc::Sender<u32>,
    }

    fn another(number: u32) -> ShaderSource {
        ShaderSource::text(format!("{number}.wgsl"), format!("{TEXT} // {number}"))
    }

    impl std::task::Wake for Waits {
        fn wake(self: Arc<Self>) {
            let later = self.ctx.kernel_from_source_later(&another(1000 + self.number), "k", &[]);
            later.wait().expect("it compiles");
            self.done.send(self.number).expect("the test waits");
        }
    }

    #[test]
    fn wakers_that_wait_for_kernels_need_no_free_compiler_thread() {
        use std::future::Future;
        let ctx = context(true);
        let (done, all_done) = mpsc::channel();
        let mut asked = Vec::new();
        for number in 0..12 {
            let waker = Arc::new(Waits { ctx: ctx.clone(), number, done: done.clone() }).into();
            let mut later = ctx.kernel_from_source_later(&another(number), "k", &[]);
            if std::pin::Pin::new(&mut later).poll(&mut std::task::Context::from_waker(&waker)).is_pending() {
                asked.push((number, later));
            }
        }
        let mut woken: Vec<_> = asked.iter().map(|_| all_done.recv().expect("a waker is done")).collect();
        woken.sort_unstable();
        assert_eq!(woken, asked.iter().map(|(number, _)| *number).collect::<Vec<_>>());
    }

    #[test]
    fn a_context_ends_while_a_kernel_is_still_being_compiled() {
        let ctx = context(true);
        let watch = ctx.watch();
        let later = ctx.kernel_from_source_later(&source(), "k", &[]);
        drop(ctx);
        drop(later);
        assert!(!watch.lives());
    }
}
