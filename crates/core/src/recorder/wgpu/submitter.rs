//! From command buffers to a submission that a lane's fence follows.

use super::fence::LaneFence;
use super::passes::CommandBuffers;
use super::portable::ReadBuffer;
use crate::error::{Error, Kind};
use crate::lane::{BindGroups, Device as _, Doing, WgpuDevice, scoped};
use crate::recorder::{Failure, LaneValue};
use fencepost_sync::Value;
use std::sync::Arc;

/// Submits for one lane of a wgpu device.
#[derive(Clone)]
pub(in crate::recorder) struct Submitter {
    device: Arc<WgpuDevice>,
    /// The fences of all lanes; `lane` is the own one.
    fences: Vec<LaneFence>,
    lane: usize,
}

impl Submitter {
    pub(in crate::recorder) fn new(device: Arc<WgpuDevice>, fence: LaneFence) -> Self {
        Self { device, fences: vec![fence], lane: 0 }
    }

    pub(in crate::recorder) fn device(&self) -> &Arc<WgpuDevice> {
        &self.device
    }

    pub(in crate::recorder) fn fence(&self) -> &LaneFence {
        &self.fences[self.lane]
    }

    /// Submits what `record` gives, and returns what that needs until it is complete; a portable fence also follows
    /// the maps of its `reads`.
    pub(in crate::recorder) fn submit<K>(
        &self,
        waits: &[LaneValue],
        signal: Value,
        record: impl FnOnce() -> Result<(CommandBuffers, K), Failure>,
        reads: impl FnOnce(&K) -> &[ReadBuffer],
    ) -> Result<K, Failure> {
        if self.device.lost().is_raised() {
            return Err(self.failure(None, false));
        }
        let _inside = self.device.gate().enter();
        let (outcome, error) = scoped(self.device.raw(), || self.go(waits, signal, record));
        if error.is_some() {
            self.device.with_groups(BindGroups::clear); // one that could not be made may be among them
        }
        let kept = match outcome {
            Err(_) if self.device.lost().is_raised() => return Err(self.failure(None, false)),
            outcome => outcome?,
        };
        if error.is_some() || self.device.lost().is_raised() {
            let taken_back = self.unstage(waits, signal);
            if taken_back || self.device.lost().is_raised() {
                return Err(self.failure(error.as_ref(), false));
            }
            log::error!("wgpu complained about a submission that went through: {error:?}");
        }
        if self.fence().swallowed(self.device.queue(), signal) {
            return Err(self.failure(None, true));
        }
        self.fence().arm(self.device.queue(), signal, reads(&kept));
        Ok(kept)
    }

    fn go<K>(
        &self,
        waits: &[LaneValue],
        signal: Value,
        record: impl FnOnce() -> Result<(CommandBuffers, K), Failure>,
    ) -> Result<K, Failure> {
        let (commands, kept) = record()?;
        if !self.stage(waits, signal) {
            return Err(self.failure(None, true));
        }
        self.device.queue().submit(commands);
        Ok(kept)
    }

    /// Stages what the submission waits for and signals; `false` if the device is gone.
    fn stage(&self, waits: &[LaneValue], signal: Value) -> bool {
        let queue = self.device.queue();
        waits.iter().all(|wait| self.fences[wait.lane].stage_wait(queue, wait.value))
            && self.fences[self.lane].stage_signal(queue, signal)
    }

    /// Takes all that back; `false` if the submission went through.
    fn unstage(&self, waits: &[LaneValue], signal: Value) -> bool {
        let queue = self.device.queue();
        waits.iter().for_each(|wait| self.fences[wait.lane].unstage_wait(queue));
        self.fences[self.lane].unstage_signal(queue, signal)
    }

    /// What went wrong, as the scheduler wants to know it.
    pub(in crate::recorder) fn failure(&self, error: Option<&wgpu::Error>, gone: bool) -> Failure {
        let lost = self.device.lost();
        if gone {
            lost.raise("wgpu no longer knows the device");
        }
        let error: Error = match (lost.check(), error) {
            (Err(lost), _) => {
                Kind::DeviceLost { device: self.device.caps().adapter.clone(), reason: lost.reason }.into()
            }
            (Ok(()), Some(error)) => Doing { object: "a submission", bytes: 0 }.failed(error),
            (Ok(()), None) => {
                Kind::Device { object: "a submission".into(), message: "no reason given".into() }.into()
            }
        };
        Failure { step: None, error, lost: lost.is_raised() }
    }
}
