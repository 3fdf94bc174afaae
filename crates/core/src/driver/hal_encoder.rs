//! Native commands in a wgpu command encoder.
#![allow(unsafe_code, reason = "commands that wgpu itself does not see")]

use wgpu::hal;

/// Records native commands into a new wgpu encoder, and finishes the encoder if `check` returns no error afterwards.
/// Returns `None` if the device is lost.
pub(crate) fn record<A: hal::Api, T, E>(
    device: &wgpu::Device,
    commands: impl FnOnce(&mut A::CommandEncoder) -> Result<T, E>,
    check: impl FnOnce() -> Result<(), E>,
) -> Option<Result<(wgpu::CommandBuffer, T), E>> {
    let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("batch") });
    // SAFETY: wgpu's own calls record nothing into this encoder, and `commands` ends every pass that it begins.
    let outcome = unsafe { encoder.as_hal_mut::<A, _, _>(|raw| raw.map(commands)) }?;
    let checked = outcome.and_then(|outcome| check().map(|()| outcome));
    Some(checked.map(|outcome| (encoder.finish(), outcome)))
}

/// Returns `true` if wgpu still records commands for the device.
pub(crate) fn still_records<A: hal::Api>(device: &wgpu::Device) -> bool {
    crate::driver::hal_encoder::record::<A, _, ()>(device, |_| Ok(()), || Ok(())).is_some()
}
