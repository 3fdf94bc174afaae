//! The place of the smallest or the largest element of a whole array.

use crate::launches::launch;
use crate::passes::{self, NO_EXTREME, Passes, no_element, one_element};
use crate::reduce::Nan;
use crate::reducible::Reducible;
use crate::shares::Shares;
use crate::trusted;
use crate::tuning::tuned_as;
use crate::typed_kernel::type_number;
use crate::variants::{Tunable, chosen};
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, Kernel, Result};
use fencepost_derive::KernelArgs;

#[track_caller]
pub(crate) fn search<T: Reducible, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    largest: bool,
    nan: Nan,
    x: &DeviceArray<T, D>,
    out: &mut DeviceArray<u32, E>,
) -> Result<()> {
    let mut out = one_element(queue, "out", out)?;
    if x.is_empty() {
        return no_element(queue, x, NO_EXTREME);
    }
    let x = x.reshape([x.len()])?.cast_bits::<u32>();
    let variant = chosen(queue, Tunable::Reduce, x.len());
    let kernel = |gather: bool| {
        let overrides = [
            ("TYPE", type_number::<T>()),
            ("LARGEST", f64::from(largest)),
            ("KEEP_NAN", f64::from(nan == Nan::Propagate)),
            ("GATHER", f64::from(gather)),
        ];
        trusted::kernel_with::<ArgExtremeArgs>(queue, &tuned_as(queue, variant, &overrides))
    };
    let search = Places { elements: kernel(false)?, places: kernel(true)?, x: &x };
    passes::enqueue(queue, &search, x.len(), &mut out)
}

#[derive(KernelArgs)]
#[kernel(source = "arg_extreme.wgsl", crate = fencepost_kernels)]
struct ArgExtremeArgs<'a> {
    n: u32,
    share: u32,
    x: &'a DeviceArray<u32>,
    places: &'a DeviceArray<u32>,
    out: &'a mut DeviceArray<u32>,
}

struct Places<'a> {
    /// Kernel that searches all elements.
    elements: Kernel<ArgExtremeArgs<'static>>,
    /// Kernel that searches the elements at some places.
    places: Kernel<ArgExtremeArgs<'static>>,
    x: &'a DeviceArray<u32>,
}

impl Passes for Places<'_> {
    type Partial = u32;

    fn first(&self, queue: &VerbQueue<'_>, shares: Shares, out: &mut DeviceArray<u32>) -> Result<()> {
        let n = shares.elements as u32;
        let share = shares.share as u32;
        let x = self.x;
        let args = ArgExtremeArgs { n, share, x, places: x, out };
        launch(queue, &self.elements, shares.count, args)
    }

    fn last(
        &self,
        queue: &VerbQueue<'_>,
        shares: Shares,
        partials: &DeviceArray<u32>,
        out: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let n = shares.elements as u32;
        let share = shares.share as u32;
        let args = ArgExtremeArgs { n, share, x: self.x, places: partials, out };
        launch(queue, &self.places, shares.count, args)
    }
}
