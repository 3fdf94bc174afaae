//! Reductions of rows, with loads of several elements at a time: on a processor, or where a table chooses it.

use crate::grid::folded;
use crate::reducible::{Operation, Reducible};
use crate::shares::Shares;
use crate::tuning::{SIZE, lanes};
use crate::typed_kernel::{compiled, value};
use crate::variants::{LANES, Tunable, chosen};
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, DynArg, DynKernel, Grid, IntoArg, Result, Value, regrouped};

/// Elements of one load.
pub(crate) type Group = [[f32; 4]; 4];
/// Number of elements of one load.
pub(crate) const WIDTH: usize = size_of::<Group>() / size_of::<u32>();

/// Kernel that combines rows of whole groups, and the rows.
pub(crate) struct Wide {
    kernel: DynKernel,
    x: DeviceArray<Group>,
    identity: Value,
    /// `true` if the kernel combines keys of numbers, as `u32` elements.
    keys: bool,
}

impl Wide {
    /// Compiles the kernel. Returns `None` if the device does not gain from it, if the rows or their shares are not
    /// whole groups, or if the array is padded or begins inside a group.
    pub(crate) fn of<T: Reducible>(
        queue: &VerbQueue<'_>,
        operation: Operation,
        keys: bool,
        shares: Shares,
        x: &DeviceArray<T>,
    ) -> Result<Option<Self>> {
        if !shares.elements.is_multiple_of(WIDTH) || !shares.share.is_multiple_of(WIDTH) {
            return Ok(None);
        }
        let Some(x) = regrouped(x) else { return Ok(None) };
        let workgroup = match chosen(queue, Tunable::ReduceVectors, shares.elements).get(LANES) {
            Some(width) => Some(f64::from(width)).filter(|&width| width > 0.0),
            None => lanes(queue),
        };
        let Some(workgroup) = workgroup else { return Ok(None) };
        let stem = "reduce_vectors";
        let keys_of = if keys { operation.keys() } else { 0.0 };
        let overrides = [("OPERATION", operation.number()), ("KEYS", keys_of), (SIZE, workgroup)];
        let (kernel, identity) = if keys {
            (compiled::<u32>(queue, stem, &overrides)?, Value::new(operation.identity_of_keys()))
        } else {
            (compiled::<T>(queue, stem, &overrides)?, Value::new(T::identity(operation)))
        };
        Ok(Some(Self { kernel, x, identity, keys }))
    }

    /// Enqueues the launch that combines each share of the rows into one element of `out`. A launch without shares is
    /// only checked.
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
            (Some("x".into()), (&self.x).into_arg()),
            (Some("out".into()), out),
        ];
        if results == 0 {
            return queue.check_launch_dyn(&self.kernel, args);
        }
        queue.launch_dyn(&self.kernel, Grid::groups(folded(results)), args)
    }
}
