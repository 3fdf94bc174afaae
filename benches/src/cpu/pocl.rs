#![allow(unsafe_code, reason = "this file calls OpenCL")]
// One SAFETY argument holds for every launch. The kernels come from this crate: with the arrays and the workgroups of
// their row, they access only elements of these arrays. A row owns its arrays, and each launch waits until it is done.

use std::ptr;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, anyhow, ensure};
use opencl3::{
    command_queue::CommandQueue,
    context::Context,
    device::{CL_DEVICE_TYPE_CPU, Device},
    kernel::Kernel,
    memory::{Buffer, CL_MEM_COPY_HOST_PTR, CL_MEM_READ_WRITE, ClMem as _},
    platform::{Platform, get_platforms},
    program,
    types::CL_BLOCKING,
};

use super::{
    case::{Case, Program},
    contestant::{Contestant, Prepared},
    values::Values,
};

pub(crate) const NAME: &str = "pocl";

/// PoCL, which compiles kernels in OpenCL C for the CPU.
pub(crate) struct Pocl {
    context: Context,
    queue: CommandQueue,
    /// Name of the device, version of the platform and number of threads.
    about: String,
}

/// A kernel with its arrays, ready to run.
struct PoclRow<'c> {
    case: &'c Case,
    queue: &'c CommandQueue,
    kernel: Kernel,
    /// Arrays that the kernel reads; its arguments refer to them.
    _inputs: Vec<Buffer<u32>>,
    out: Buffer<u32>,
    items: [usize; 3],
    workgroup: [usize; 3],
    compiled_in: Duration,
}

/// Setter of a kernel's arguments, one after the other.
struct Arguments<'k> {
    kernel: &'k Kernel,
    set: u32,
}

impl Pocl {
    /// Opens PoCL, or returns an error that says how to install it.
    pub(crate) fn open() -> Result<Self> {
        let remedy = "on Debian, `apt-get install pocl-opencl-icd ocl-icd-libopencl1` installs PoCL";
        Self::open_platform("Portable Computing Language").context(remedy)
    }

    /// Opens the CPU of the first platform whose name contains `part`.
    ///
    /// # Errors
    /// Fails if this machine has no such platform, or if the platform has no CPU.
    fn open_platform(part: &str) -> Result<Self> {
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

    /// Makes an array with these elements, and passes it to the kernel, followed by the number of its elements.
    fn array(&self, arguments: &mut Arguments<'_>, words: &[u32]) -> Result<Buffer<u32>> {
        let flags = CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR;
        let from = words.as_ptr().cast_mut().cast();
        // SAFETY: OpenCL reads `words.len()` words during the call, and changes none of them.
        let array = unsafe { Buffer::create(&self.context, flags, words.len(), from) }?;
        arguments.set(&array.get())?;
        arguments.set(&u32::try_from(words.len())?)?;
        Ok(array)
    }
}

impl Contestant for Pocl {
    fn name(&self) -> &str {
        NAME
    }

    fn about(&self) -> String {
        self.about.clone()
    }

    fn is_device(&self) -> bool {
        false
    }

    /// Compiles the kernel and sets its arguments: `a`, then the arrays.
    ///
    /// # Errors
    /// The source is wrong, or the kernel has other arguments, or does not declare the size of its workgroup.
    fn prepare<'c>(&'c self, case: &'c Case) -> Result<Option<Box<dyn Prepared + 'c>>> {
        let Program::Kernel(wanted) = &case.program else { return Ok(None) };
        let Some(source) = wanted.opencl else { return Ok(None) };
        let constants: Vec<String> =
            wanted.overrides.iter().map(|(name, value)| format!("-D {name}={value}")).collect();
        let begun = Instant::now();
        let built =
            program::Program::create_and_build_from_source(&self.context, source, &constants.join(" "));
        let built = built.map_err(|log| anyhow!("cannot compile `{}`: {log}", wanted.entry))?;
        let kernel = Kernel::create(&built, wanted.entry)?;
        let compiled_in = begun.elapsed();
        let declared = kernel.get_compile_work_group_size(self.context.default_device())?;
        let workgroup: [usize; 3] = declared.try_into().map_err(|size| anyhow!("a workgroup of {size:?}"))?;
        ensure!(!workgroup.contains(&0), "the kernel declares no `reqd_work_group_size`");
        let items = std::array::from_fn(|axis| wanted.groups[axis] as usize * workgroup[axis]);
        let mut arguments = Arguments { kernel: &kernel, set: 0 };
        if let Some(a) = wanted.a {
            arguments.set(&a)?;
        }
        let inputs = case.inputs.iter().map(|values| self.array(&mut arguments, values.bits()));
        let _inputs = inputs.collect::<Result<_>>()?;
        let out = self.array(&mut arguments, case.start.bits())?;
        let set = arguments.set;
        let all = kernel.num_args()?;
        ensure!(set == all, "the kernel has {all} arguments, of which {set} are set");
        let queue = &self.queue;
        Ok(Some(Box::new(PoclRow { case, queue, kernel, _inputs, out, items, workgroup, compiled_in })))
    }
}

impl Arguments<'_> {
    /// Sets the next argument: a number, or the handle of an array that the row owns.
    fn set<T>(&mut self, value: &T) -> Result<()> {
        // SAFETY: OpenCL copies the value during the call, and refuses an index or a size that the kernel does not have.
        unsafe { self.kernel.set_arg(self.set, value) }?;
        self.set += 1;
        Ok(())
    }
}

impl Prepared for PoclRow<'_> {
    fn reset(&mut self) -> Result<()> {
        let words = self.case.start.bits();
        // SAFETY: the call returns after the copy, and OpenCL refuses more words than the array has.
        unsafe { self.queue.enqueue_write_buffer(&mut self.out, CL_BLOCKING, 0, words, &[]) }?;
        Ok(())
    }

    fn sample(&mut self) -> Result<()> {
        let kernel = self.kernel.get();
        let items = self.items.as_ptr();
        let workgroup = self.workgroup.as_ptr();
        for _ in 0..self.case.launches {
            // SAFETY: see the head of the file. Both sizes have three axes.
            unsafe { self.queue.enqueue_nd_range_kernel(kernel, 3, ptr::null(), items, workgroup, &[]) }?;
            self.queue.finish()?;
        }
        Ok(())
    }

    fn output(&mut self) -> Result<Values> {
        let mut out = self.case.start.clone();
        // SAFETY: the call returns after the copy, and OpenCL refuses more words than the array has.
        unsafe { self.queue.enqueue_read_buffer(&self.out, CL_BLOCKING, 0, out.bits_mut(), &[]) }?;
        Ok(out)
    }

    fn compiled_in(&self) -> Option<Duration> {
        Some(self.compiled_in)
    }
}
