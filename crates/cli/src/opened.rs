//! An adapter that is opened for a look at its device.

use fencepost::{AdapterChoice, Context, ContextOptions, Error};
use serde::Serialize;

/// What only an open device tells.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Device {
    pub(crate) recorder: String,
    pub(crate) vendor_id: u32,
    pub(crate) device_id: u32,
    /// Invocations of a workgroup in each dimension, at most.
    pub(crate) workgroup_size: [u32; 3],
    /// The smallest and the largest subgroup.
    pub(crate) subgroup_sizes: [u32; 2],
    /// Bytes of immediates; 0 where there are none.
    pub(crate) immediates: u32,
}

/// Opens an adapter.
///
/// # Errors
/// No adapter fits the choice, or the driver refuses.
pub(crate) fn open(adapter: AdapterChoice) -> Result<Context, Error> {
    Context::with_options(ContextOptions { adapter, ..ContextOptions::default() }).wait()
}

impl Device {
    pub(crate) fn of(ctx: &Context) -> Option<Self> {
        let (device, _) = ctx.wgpu()?;
        let (info, limits) = (device.adapter_info(), device.limits());
        Some(Self {
            recorder: recorder(&ctx.state_dump()).into(),
            vendor_id: info.vendor,
            device_id: info.device,
            workgroup_size: [
                limits.max_compute_workgroup_size_x,
                limits.max_compute_workgroup_size_y,
                limits.max_compute_workgroup_size_z,
            ],
            subgroup_sizes: [info.subgroup_min_size, info.subgroup_max_size],
            immediates: limits.max_immediate_size,
        })
    }
}

/// The recorder's name in the state dump of a context.
fn recorder(dump: &str) -> &str {
    let rest = dump.split_once(", recorder ").map_or("", |(_, rest)| rest);
    rest.split_whitespace().next().unwrap_or("unknown")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_recorder_is_the_word_that_the_dump_has() {
        let ctx = Context::on_cpu(fencepost::CpuOptions::default());
        assert_ne!(recorder(&ctx.state_dump()), "unknown");
        assert_eq!(recorder("x\npolicy Ordered, 0 commands, recorder hal\nlane 0"), "hal");
    }
}
