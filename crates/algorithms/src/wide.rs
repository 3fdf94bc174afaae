//! Reductions of rows on the software drivers of Vulkan, which load several elements at a time.

use crate::grid::folded;
use crate::reducible::{Operation, Reducible};
use crate::shares::Shares;
use crate::tuning::{Load, SIZE, load};
use crate::typed_kernel::{compiled, value};
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, DynArg, DynKernel, Grid, IntoArg, Result, Value, regrouped};

/// Holds the eight elements of a long load.
type Long = [u64; 4];
/// Holds the 16 elements of a load of vectors.
type Vectors = [[f32; 4]; 4];

/// Is an array as groups, each of which is one load.
enum Groups {
    Long(DeviceArray<Long>),
    Vectors(DeviceArray<Vectors>),
}

impl Groups {
    /// Returns the groups of an array. Returns `None` if a load of the adapter has one element, if the array is padded, or if it
    /// begins or ends inside a group.
    fn of<T: Reducible>(queue: &VerbQueue<'_>, x: &DeviceArray<T>) -> Option<Self> {
        match load(queue) {
            Load::Element => None,
            Load::Long => regrouped(x).map(Self::Long),
            Load::Vectors => regrouped(x).map(Self::Vectors),
        }
    }

    /// Counts the elements of a group.
    fn width(&self) -> usize {
        let bytes = match self {
            Self::Long(_) => size_of::<Long>(),
            Self::Vectors(_) => size_of::<Vectors>(),
        };
        bytes / size_of::<u32>()
    }

    /// Returns the kernel, and the number of invocations of its workgroups: a processor executes as many with one instruction, and
    /// is slower if a loop with such loads belongs to more of them.
    fn kernel(&self) -> (&'static str, f64) {
        match self {
            Self::Long(_) => ("reduce_wide", 8.0),
            Self::Vectors(_) => ("reduce_vectors", 4.0),
        }
    }

    fn arg(&self) -> DynArg<'_> {
        match self {
            Self::Long(x) => x.into_arg(),
            Self::Vectors(x) => x.into_arg(),
        }
    }
}

/// Is the kernel that combines rows of whole groups, with the rows.
pub(crate) struct Wide {
    kernel: DynKernel,
    x: Groups,
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
        let Some(x) = Groups::of(queue, x) else { return Ok(None) };
        if !shares.elements.is_multiple_of(x.width()) || !shares.share.is_multiple_of(x.width()) {
            return Ok(None);
        }
        let (stem, workgroup) = x.kernel();
        let keys_of = if keys { operation.keys() } else { 0.0 };
        let overrides = [("OPERATION", operation.number()), ("KEYS", keys_of), (SIZE, workgroup)];
        let (kernel, identity) = if keys {
            (compiled::<u32>(queue, stem, &overrides)?, Value::new(operation.identity_of_keys()))
        } else {
            (compiled::<T>(queue, stem, &overrides)?, Value::new(T::identity(operation)))
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
        let [n, share] = [shares.elements, shares.share].map(|elements| (elements / self.x.width()) as u32);
        let [in_row, count] = [shares.count, results].map(|count| count as u32);
        let mut bits = out.cast_bits::<u32>();
        let out = if self.keys { (&mut bits).into_arg() } else { out.into_arg() };
        let args = [
            value("n", n),
            value("share", share),
            value("in_row", in_row),
            value("shares", count),
            (Some("identity".into()), DynArg::Value(self.identity.clone())),
            (Some("x".into()), self.x.arg()),
            (Some("out".into()), out),
        ];
        if results == 0 {
            return queue.check_launch_dyn(&self.kernel, args);
        }
        queue.launch_dyn(&self.kernel, Grid::groups(folded(results)), args)
    }
}
