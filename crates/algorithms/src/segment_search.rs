//! The places of the smallest or the largest elements of segments, and of first elements as a single segment.

use crate::launches::launch_dyn;
use crate::reduce::Nan;
use crate::reducible::Reducible;
use crate::segments::{Bounds, Lists};
use crate::shares::Shares;
use crate::stages::{Stage, Stages};
use crate::tuning::tuned;
use crate::typed_kernel::{compiled, type_number, value};
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, DynKernel, IntoArg, Result};

/// Result for a segment without a place.
const NONE: u32 = u32::MAX;

#[track_caller]
pub(crate) fn search<T: Reducible, const D: usize, const E: usize>(
    queue: &VerbQueue<'_>,
    largest: bool,
    nan: Nan,
    x: &DeviceArray<T, D>,
    bounds: Bounds<'_>,
    out: &DeviceArray<u32, E>,
) -> Result<()> {
    let lists = Lists::of(queue, x, bounds, out, &[])?;
    let x = lists.x.cast_bits();
    let offsets = lists.offsets.clone();
    let out = lists.out.clone();
    let overrides = [
        ("TYPE", type_number::<T>()),
        ("LARGEST", f64::from(largest)),
        ("KEEP_NAN", f64::from(nan == Nan::Propagate)),
    ];
    lists.enqueue(queue, &Places { offsets, x, out, overrides }, NONE)
}

/// A search in each segment.
struct Places {
    offsets: DeviceArray<u32>,
    x: DeviceArray<u32>,
    out: DeviceArray<u32>,
    overrides: [(&'static str, f64); 3],
}

impl Stages for Places {
    const WORDS: usize = 2;
    type Kernel = DynKernel;

    fn kernel(&self, queue: &VerbQueue<'_>, stage: Stage) -> Result<DynKernel> {
        let overrides = [&[("STAGE", stage.number())], &self.overrides[..]].concat();
        compiled::<u32>(queue, "arg_segments", &tuned(queue, &overrides))
    }

    #[track_caller]
    fn launch(
        &self,
        queue: &VerbQueue<'_>,
        kernel: &DynKernel,
        shares: Shares,
        partials: Option<&DeviceArray<u32>>,
        result: &mut DeviceArray<u32>,
    ) -> Result<()> {
        let [n, share, segments] = [shares.elements, shares.share, self.out.len()].map(|n| n as u32);
        // A stage without partial results does not read the array that is passed for them.
        let partials = partials.unwrap_or(&self.offsets);
        let mut out = self.out.clone();
        let args = vec![
            value("n", n),
            value("share", share),
            value("identity", NONE),
            value("segments", segments),
            (Some("offsets".into()), (&self.offsets).into_arg()),
            (Some("x".into()), (&self.x).into_arg()),
            (Some("partials".into()), partials.into_arg()),
            (Some("out".into()), (&mut out).into_arg()),
            (Some("states".into()), result.into_arg()),
        ];
        launch_dyn(queue, kernel, shares.count, args)
    }
}
