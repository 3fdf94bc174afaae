use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::Result;
use fencepost::interface::{IntoArg as _, NamedArg};
use fencepost::prelude::*;
use fencepost::{AdapterChoice, ContextOptions};

use super::{
    case::{Case, Kernel, Program},
    contestant::{Contestant, Prepared},
    values::Values,
};

/// Function that enqueues the work of a launch, which reads the first arrays and writes the last one.
pub(crate) type Enqueue = Rc<dyn Fn(&CommandQueue, &[Array], &mut Array) -> Result<()>>;

/// A context of this library on an adapter.
pub(crate) struct Device {
    name: &'static str,
    ctx: Context,
    queue: CommandQueue,
}

/// Arrays of a row on a device.
struct DeviceRow<'c> {
    case: &'c Case,
    queue: &'c CommandQueue,
    enqueue: Enqueue,
    inputs: Vec<Array>,
    start: Array,
    out: Array,
    compiled_in: Duration,
}

/// An array on a device.
pub(crate) enum Array {
    F32(DeviceArray<f32>),
    U32(DeviceArray<u32>),
    Complex(DeviceArray<[f32; 2]>),
}

impl Device {
    pub(crate) fn open(name: &'static str, adapter: AdapterChoice) -> Result<Self> {
        let ctx = Context::with_options(ContextOptions::default().adapter(adapter)).wait()?;
        let queue = ctx.queue("main");
        Ok(Self { name, ctx, queue })
    }

    fn array(&self, values: &Values) -> Result<Array> {
        Ok(match values {
            Values::F32(values) => Array::F32(self.ctx.array(values)?),
            Values::U32(values) => Array::U32(self.ctx.array(values)?),
            Values::Complex(values) => Array::Complex(self.ctx.array(values)?),
        })
    }
}

impl Contestant for Device {
    fn name(&self) -> &str {
        self.name
    }

    fn about(&self) -> String {
        self.ctx.info().to_string()
    }

    fn is_device(&self) -> bool {
        true
    }

    fn prepare<'c>(&'c self, case: &'c Case) -> Result<Option<Box<dyn Prepared + 'c>>> {
        let begun = Instant::now();
        let enqueue = match &case.program {
            Program::Kernel(kernel) => launch(&self.ctx, kernel)?,
            Program::Verb(enqueue) => Rc::clone(enqueue),
            Program::Launches(prepare) => prepare(&self.ctx)?,
        };
        let compiled_in = begun.elapsed();
        let inputs = case.inputs.iter().map(|values| self.array(values)).collect::<Result<_>>()?;
        let start = self.array(&case.start)?;
        let out = self.array(&case.start)?;
        Ok(Some(Box::new(DeviceRow { case, queue: &self.queue, enqueue, inputs, start, out, compiled_in })))
    }
}

impl Prepared for DeviceRow<'_> {
    fn reset(&mut self) -> Result<()> {
        match (&self.start, &mut self.out) {
            (Array::F32(start), Array::F32(out)) => self.queue.copy(start, out)?,
            (Array::U32(start), Array::U32(out)) => self.queue.copy(start, out)?,
            (Array::Complex(start), Array::Complex(out)) => self.queue.copy(start, out)?,
            _ => unreachable!("bug: the arrays have the same elements"),
        }
        Ok(self.queue.finish().wait()?)
    }

    fn sample(&mut self) -> Result<()> {
        for _ in 0..self.case.launches {
            (self.enqueue)(self.queue, &self.inputs, &mut self.out)?;
            self.queue.finish().wait()?;
        }
        Ok(())
    }

    fn output(&mut self) -> Result<Values> {
        Ok(match &self.out {
            Array::F32(array) => Values::F32(self.queue.read(array).wait()?),
            Array::U32(array) => Values::U32(self.queue.read(array).wait()?),
            Array::Complex(array) => Values::Complex(self.queue.read(array).wait()?),
        })
    }

    fn compiled_in(&self) -> Option<Duration> {
        Some(self.compiled_in)
    }
}

/// Compiles a kernel, and returns its launch.
fn launch(ctx: &Context, kernel: &Kernel) -> Result<Enqueue> {
    let compiled = ctx.kernel_from_with(kernel.wgsl, kernel.entry, &kernel.overrides)?;
    let a = kernel.a;
    let grid = Grid::groups(kernel.groups);
    Ok(Rc::new(move |queue: &CommandQueue, inputs: &[Array], out: &mut Array| -> Result<()> {
        let mut list: Vec<NamedArg<'_>> = Vec::with_capacity(2 + inputs.len());
        list.extend(a.map(|a| (None, a.into_arg())));
        list.extend(inputs.iter().map(|input| match input {
            Array::F32(array) => (None, array.into_arg()),
            Array::U32(array) => (None, array.into_arg()),
            Array::Complex(array) => (None, array.into_arg()),
        }));
        list.push(match out {
            Array::F32(array) => (None, array.into_arg()),
            Array::U32(array) => (None, array.into_arg()),
            Array::Complex(array) => (None, array.into_arg()),
        });
        Ok(queue.launch_dyn(&compiled, grid, list)?)
    }))
}
