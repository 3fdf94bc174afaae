use std::time::{Duration, Instant};

use anyhow::Result;
use fencepost::prelude::*;
use fencepost::{ContextOptions, DynKernel, IntoArg as _, NamedArg};

use super::{
    case::Case,
    contestant::{Contestant, Prepared},
    values::Values,
};

/// Is a context of this library on a software adapter.
pub(crate) struct Device {
    name: &'static str,
    ctx: Context,
    queue: CommandQueue,
}

/// Holds the arrays of a row on a device.
struct DeviceRow<'c> {
    case: &'c Case,
    queue: &'c CommandQueue,
    kernel: DynKernel,
    inputs: Vec<Array>,
    start: Array,
    out: Array,
    compiled_in: Duration,
}

enum Array {
    F32(DeviceArray<f32>),
    U32(DeviceArray<u32>),
}

impl Device {
    pub(crate) fn open(name: &'static str, adapter: &str) -> Result<Self> {
        let Ok(adapter) = adapter.parse();
        let ctx = Context::with_options(ContextOptions { adapter, ..ContextOptions::default() }).wait()?;
        let queue = ctx.queue("main");
        Ok(Self { name, ctx, queue })
    }

    fn array(&self, values: &Values) -> Result<Array> {
        Ok(match values {
            Values::F32(values) => Array::F32(self.ctx.array(values)?),
            Values::U32(values) => Array::U32(self.ctx.array(values)?),
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

    fn prepare<'c>(&'c self, case: &'c Case) -> Result<Box<dyn Prepared + 'c>> {
        let begun = Instant::now();
        let kernel = self.ctx.kernel_from_with(case.wgsl, case.entry, &case.overrides)?;
        let compiled_in = begun.elapsed();
        let inputs = case.inputs.iter().map(|values| self.array(values)).collect::<Result<_>>()?;
        let (start, out) = (self.array(&case.start)?, self.array(&case.start)?);
        Ok(Box::new(DeviceRow { case, queue: &self.queue, kernel, inputs, start, out, compiled_in }))
    }
}

impl Prepared for DeviceRow<'_> {
    fn reset(&mut self) -> Result<()> {
        match (&self.start, &mut self.out) {
            (Array::F32(start), Array::F32(out)) => self.queue.copy(start, out)?,
            (Array::U32(start), Array::U32(out)) => self.queue.copy(start, out)?,
            _ => unreachable!("bug: the arrays have the same elements"),
        }
        Ok(self.queue.finish().wait()?)
    }

    fn sample(&mut self) -> Result<()> {
        for _ in 0..self.case.launches {
            let mut list: Vec<NamedArg<'_>> = Vec::with_capacity(2 + self.inputs.len());
            list.extend(self.case.a.map(|a| (None, a.into_arg())));
            list.extend(self.inputs.iter().map(|input| match input {
                Array::F32(array) => (None, array.into_arg()),
                Array::U32(array) => (None, array.into_arg()),
            }));
            list.push(match &mut self.out {
                Array::F32(array) => (None, array.into_arg()),
                Array::U32(array) => (None, array.into_arg()),
            });
            self.queue.launch_dyn(&self.kernel, Grid::groups(self.case.groups), list)?;
            self.queue.finish().wait()?;
        }
        Ok(())
    }

    fn output(&mut self) -> Result<Values> {
        Ok(match &self.out {
            Array::F32(array) => Values::F32(self.queue.read(array).wait()?),
            Array::U32(array) => Values::U32(self.queue.read(array).wait()?),
        })
    }

    fn compiled_in(&self) -> Duration {
        self.compiled_in
    }
}
