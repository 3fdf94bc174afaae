#![allow(unsafe_code, reason = "this file calls OpenCL")]
// One SAFETY argument holds for every launch. The kernels come from this crate: with the arrays and the workgroups of
// their row, they access only elements of these arrays. A launch owns its arrays, and each run waits until it is done.

use std::ptr;

use anyhow::{Context as _, Result, anyhow, ensure};
use opencl3::{
    command_queue::CommandQueue,
    context::Context,
    device::{CL_DEVICE_TYPE_CPU, Device},
    kernel::Kernel,
    memory::{Buffer, CL_MEM_COPY_HOST_PTR, CL_MEM_READ_WRITE, ClMem as _},
    platform::{Platform, get_platforms},
    program::Program,
    types::CL_BLOCKING,
};

/// The CPU as a device of an OpenCL platform, with a queue.
pub(crate) struct OpenCl {
    context: Context,
    queue: CommandQueue,
    about: String,
}

/// A kernel with its arrays, ready to run.
pub(crate) struct Launch<'o> {
    queue: &'o CommandQueue,
    kernel: Kernel,
    /// Arrays that the kernel reads; its arguments refer to them.
    _inputs: Vec<Buffer<u32>>,
    out: Buffer<u32>,
    items: [usize; 3],
    workgroup: [usize; 3],
}

/// Setter of a kernel's arguments, one after the other.
struct Arguments<'k> {
    kernel: &'k Kernel,
    set: u32,
}

impl OpenCl {
    /// Opens the CPU of the first platform whose name contains `part`.
    ///
    /// # Errors
    /// Fails if this machine has no such platform, or if the platform has no CPU.
    pub(crate) fn open(part: &str) -> Result<Self> {
        let named = |platform: &Platform| platform.name().is_ok_and(|name| name.contains(part));
        let platforms = get_platforms().context("OpenCL lists no platforms")?;
        let platform = platforms.into_iter().find(named);
        let platform = platform.with_context(|| format!("no OpenCL platform has `{part}` in its name"))?;
        let devices = platform.get_devices(CL_DEVICE_TYPE_CPU)?;
        let device = Device::new(*devices.first().context("the OpenCL platform lists no CPU")?);
        let context = Context::from_device(&device)?;
        let queue = CommandQueue::create_default_with_properties(&context, 0, 0)?;
        let name = device.name()?;
        let version = platform.version()?;
        let threads = device.max_compute_units()?;
        let about = format!("{} ({}), {threads} threads", name.trim(), version.trim());
        Ok(Self { context, queue, about })
    }

    /// Returns the name of the device, the version of the platform and the number of threads.
    pub(crate) fn about(&self) -> &str {
        &self.about
    }

    /// Compiles a kernel.
    ///
    /// # Errors
    /// The source is wrong; the error has the compiler's log.
    pub(crate) fn compile(&self, source: &str, name: &str, options: &str) -> Result<Kernel> {
        let built = Program::create_and_build_from_source(&self.context, source, options);
        let program = built.map_err(|log| anyhow!("cannot compile `{name}`: {log}"))?;
        Ok(Kernel::create(&program, name)?)
    }

    /// Prepares launches of a kernel with these workgroups. The arguments are `a`, then the arrays: each is followed by
    /// the number of its elements.
    ///
    /// # Errors
    /// Fails if the kernel has other arguments, or does not declare the size of its workgroup.
    pub(crate) fn prepare(
        &self,
        kernel: Kernel,
        groups: [u32; 3],
        a: Option<f32>,
        (inputs, out): (&[&[u32]], &[u32]),
    ) -> Result<Launch<'_>> {
        let declared = kernel.get_compile_work_group_size(self.context.default_device())?;
        let workgroup: [usize; 3] = declared.try_into().map_err(|size| anyhow!("a workgroup of {size:?}"))?;
        ensure!(!workgroup.contains(&0), "the kernel declares no `reqd_work_group_size`");
        let items = std::array::from_fn(|axis| groups[axis] as usize * workgroup[axis]);
        let mut arguments = Arguments { kernel: &kernel, set: 0 };
        if let Some(a) = a {
            arguments.set(&a)?;
        }
        let array = |arguments: &mut Arguments<'_>, words: &[u32]| {
            let array = self.array(words)?;
            arguments.set(&array.get())?;
            arguments.set(&u32::try_from(words.len())?)?;
            anyhow::Ok(array)
        };
        let inputs = inputs.iter().map(|words| array(&mut arguments, words)).collect::<Result<Vec<_>>>()?;
        let out = array(&mut arguments, out)?;
        let set = arguments.set;
        let all = kernel.num_args()?;
        ensure!(set == all, "the kernel has {all} arguments, of which {set} are set");
        Ok(Launch { queue: &self.queue, kernel, _inputs: inputs, out, items, workgroup })
    }

    /// Makes an array with these elements.
    fn array(&self, words: &[u32]) -> Result<Buffer<u32>> {
        let flags = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
        let from = words.as_ptr().cast_mut().cast();
        // SAFETY: OpenCL reads `words.len()` words during the call, and changes none of them.
        Ok(unsafe { Buffer::create(&self.context, flags, words.len(), from) }?)
    }
}

impl Arguments<'_> {
    /// Sets the next argument: a number, or the handle of an array that the launch owns.
    fn set<T>(&mut self, value: &T) -> Result<()> {
        // SAFETY: OpenCL copies the value during the call, and refuses an index or a size that the kernel does not have.
        unsafe { self.kernel.set_arg(self.set, value) }?;
        self.set += 1;
        Ok(())
    }
}

impl Launch<'_> {
    /// Launches the kernel, and waits until it is done.
    pub(crate) fn run(&self) -> Result<()> {
        let kernel = self.kernel.get();
        let items = self.items.as_ptr();
        let workgroup = self.workgroup.as_ptr();
        // SAFETY: see the head of the file. Both sizes have three axes.
        unsafe { self.queue.enqueue_nd_range_kernel(kernel, 3, ptr::null(), items, workgroup, &[]) }?;
        Ok(self.queue.finish()?)
    }

    /// Replaces the elements of the written array.
    pub(crate) fn write(&mut self, words: &[u32]) -> Result<()> {
        // SAFETY: the call returns after the copy, and OpenCL refuses more words than the array has.
        unsafe { self.queue.enqueue_write_buffer(&mut self.out, CL_BLOCKING, 0, words, &[]) }?;
        Ok(())
    }

    /// Copies the elements of the written array.
    pub(crate) fn read(&self, words: &mut [u32]) -> Result<()> {
        // SAFETY: the call returns after the copy, and OpenCL refuses more words than the array has.
        unsafe { self.queue.enqueue_read_buffer(&self.out, CL_BLOCKING, 0, words, &[]) }?;
        Ok(())
    }
}
