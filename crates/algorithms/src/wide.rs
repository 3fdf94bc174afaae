//! Reductions of rows on llvmpipe, which load eight elements at a time.

use crate::grid::folded;
use crate::reducible::{Operation, Reducible};
use crate::shares::Shares;
use crate::tuning::loads_wide;
use crate::typed_kernel::{compiled, value};
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, DynArg, DynKernel, Grid, IntoArg, Result, Value, regrouped};

/// Holds the elements of a load.
type Group = [u64; 4];

/// Counts the elements of a load.
const WIDTH: usize = size_of::<Group>() / size_of::<u32>();
/// Is the number of invocations of a workgroup: llvmpipe executes as many with one instruction on many processors, and is
/// slower if a loop with long loads belongs to more of them.
const WORKGROUP: f64 = 8.0;

/// Is the kernel that combines rows of whole groups, with the rows.
pub(crate) struct Wide {
    kernel: DynKernel,
    x: DeviceArray<Group>,
    identity: Value,
    /// Is `true` if the kernel combines keys of numbers, as elements of `u32`.
    keys: bool,
}

impl Wide {
    /// Compiles the kernel. Returns `None` if the device does not gain by it, or if the rows or their shares are no whole
    /// groups.
    pub(crate) fn of<T: Reducible>(
        queue: &VerbQueue<'_>,
        operation: Operation,
        keys: bool,
        shares: Shares,
        x: &DeviceArray<T>,
    ) -> Result<Option<Self>> {
        let is_whole = shares.elements.is_multiple_of(WIDTH) && shares.share.is_multiple_of(WIDTH);
        if !is_whole || !loads_wide(queue) {
            return Ok(None);
        }
        let Some(x) = regrouped(x) else { return Ok(None) };
        let keys_of = if keys { operation.keys() } else { 0.0 };
        let overrides = [("OPERATION", operation.number()), ("KEYS", keys_of), ("WORKGROUP", WORKGROUP)];
        let (kernel, identity) = if keys {
            (compiled::<u32>(queue, "reduce_wide", &overrides)?, Value::new(operation.identity_of_keys()))
        } else {
            (compiled::<T>(queue, "reduce_wide", &overrides)?, Value::new(T::identity(operation)))
        };
        Ok(Some(Self { kernel, x, identity, keys }))
    }

    /// Enqueues the launch that combines each share of the rows into one element of `out`, or checks a launch without shares.
    #[track_caller]
    pub(crate) fn launch<T: Reducible>(
        &self,
        queue: &VerbQueue<'_>,
        rows: usize,
        shares: Shares,
        out: &mut DeviceArray<T>,
    ) -> Result<()> {
        let results = rows * shares.count;
        let [n, share] = [shares.elements, shares.share].map(|elements| (elements / WIDTH) as u32);
        let [in_row, count] = [shares.count, results].map(|count| count as u32);
        let mut bits = out.cast_bits::<u32>();
        let out = if self.keys { (&mut bits).into_arg() } else { out.into_arg() };
        let args = [
            value("n", n),
            value("share", share),
            value("in_row", in_row),
            value("shares", count),
            (Some("identity".into()), DynArg::Value(self.identity.clone())),
            (Some("x".into()), self.x.into_arg()),
            (Some("out".into()), out),
        ];
        if results == 0 {
            return queue.check_launch_dyn(&self.kernel, args);
        }
        queue.launch_dyn(&self.kernel, Grid::groups(folded(results)), args)
    }
}
