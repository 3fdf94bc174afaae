//! Native commands in an encoder of wgpu.
#![allow(unsafe_code, reason = "commands that wgpu itself does not see")]

use wgpu::hal;

/// Records commands into a fresh encoder of wgpu's, and closes it if `check` finds no fault then; `None` if the device is
/// gone.
pub(crate) fn record<A: hal::Api, T, E>(
    device: &wgpu::Device,
    commands: impl FnOnce(&mut A::CommandEncoder) -> Result<T, E>,
    check: impl FnOnce() -> Result<(), E>,
) -> Option<Result<(wgpu::CommandBuffer, T), E>> {
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("batch") });
    // SAFETY: nothing is recorded into this encoder by wgpu's own calls, and every pass that is begun is ended.
    let outcome = unsafe { encoder.as_hal_mut::<A, _, _>(|raw| raw.map(commands)) }?;
    let checked = outcome.and_then(|outcome| check().map(|()| outcome));
    Some(checked.map(|outcome| (encoder.finish(), outcome)))
}

/// Whether wgpu still records for the device.
pub(crate) fn knows<A: hal::Api>(device: &wgpu::Device) -> bool {
    crate::driver::hal_encoder::record::<A, _, ()>(device, |_| Ok(()), || Ok(())).is_some()
}
