//! External buffers in native commands: their native handles, held while a batch is recorded, and the wgpu commands
//! that prepare them for a native encoder.
//!
//! wgpu tracks the state of each buffer, but does not see native commands. So wgpu and the native recorder agree on one
//! fixed state, in which each expects and leaves an external buffer. The wgpu commands before a native encoder put the
//! buffer into this state. They also order earlier writes of user code before the native commands, and wgpu refuses
//! them if user code has mapped or destroyed the buffer. Because they are in the same submission as the native
//! commands, wgpu keeps the buffer alive until those are complete.
#![allow(unsafe_code, reason = "buffers that wgpu owns")]

use crate::device::wgpu_device::WgpuDevice;
use crate::device::{Device as _, SubmitFailure};
use crate::driver::backend::Backend;
use crate::error::ErrorDetail;
use crate::memory::block::BlockId;
use crate::memory::external_buffers::{ExternalBuffer, transition_external};
use crate::record::hal::snatch_guard::SnatchGuard;
use crate::record::submitter::NamedExternal;
use rustc_hash::FxHashMap;
use std::io;
use std::num::NonZeroU64;
use std::ops::Deref;
use std::ptr::NonNull;

/// Native buffers of a batch's external blocks. While this value lives, wgpu destroys no buffer of the device. It must
/// be dropped before the submission, which takes the same lock.
///
/// wgpu takes its snatch lock exclusively to destroy a buffer, and a guard of a native handle holds the lock shared. A
/// thread may take the lock only once. So for a single buffer, the guard stays in `_guard`. For several, `_lock_thread`
/// holds the lock on another thread, while this thread takes and releases one guard after the other.
pub(crate) struct ExternalHandles<A: Backend> {
    buffers: FxHashMap<BlockId, NonNull<A::Buffer>>,
    _guard: Option<Box<dyn Deref<Target = A::Buffer>>>,
    _lock_thread: Option<SnatchGuard>,
}

impl<A: Backend> ExternalHandles<A> {
    /// Finds the native buffers of `named`. Returns `None` if `named` is empty.
    ///
    /// # Errors
    /// Returns `Device` for the first step whose buffer was destroyed.
    pub(crate) fn of(named: &[NamedExternal<'_>]) -> Result<Option<Self>, SubmitFailure> {
        match named {
            [] => Ok(None),
            [only] => Self::one(only).map(Some),
            [first, ..] => loop {
                if let Some(all) = Self::several(first, named)? {
                    return Ok(Some(all));
                }
            },
        }
    }

    /// Finds the buffer of the only external block.
    fn one(&(at, block): &NamedExternal<'_>) -> Result<Self, SubmitFailure> {
        // SAFETY: the buffer is only used to record, and only wgpu destroys it.
        let guard = unsafe { block.wgpu_buffer().as_hal::<A>() };
        let guard = guard.ok_or_else(|| destroyed(at, &block.order().label))?;
        let buffers = [(block.id, NonNull::from(&*guard))].into_iter().collect();
        Ok(Self { buffers, _guard: Some(Box::new(guard)), _lock_thread: None })
    }

    /// Finds the buffers while another thread holds the lock. Returns `None` if that thread released the lock early, to
    /// let a waiting thread destroy a buffer. Then the caller must try again.
    fn several(
        first: &NamedExternal<'_>,
        named: &[NamedExternal<'_>],
    ) -> Result<Option<Self>, SubmitFailure> {
        let held = first.1.wgpu_buffer().clone();
        // SAFETY: the buffer is not used, and the guard stays on the thread that took it.
        let guard = SnatchGuard::start(move || unsafe { held.as_hal::<A>() });
        let Some(guard) = guard.map_err(|error| no_thread(first, &error))? else {
            return Self::check(named).map(|()| None);
        };
        let mut buffers = FxHashMap::default();
        for &(at, block) in named {
            // SAFETY: the buffer is only used to record, and only wgpu destroys it.
            let guard = unsafe { block.wgpu_buffer().as_hal::<A>() };
            let guard = guard.ok_or_else(|| destroyed(at, &block.order().label))?;
            buffers.insert(block.id, NonNull::from(&*guard));
        }
        Ok(guard.keep().then_some(Self { buffers, _guard: None, _lock_thread: Some(guard) }))
    }

    /// Checks that no buffer in `named` has been destroyed.
    ///
    /// # Errors
    /// Returns the error of [`of`](Self::of).
    pub(crate) fn check(named: &[NamedExternal<'_>]) -> Result<(), SubmitFailure> {
        for &(at, block) in named {
            // SAFETY: the buffer is not used.
            if unsafe { block.wgpu_buffer().as_hal::<A>() }.is_none() {
                return Err(destroyed(at, &block.order().label));
            }
        }
        Ok(())
    }

    /// Returns the native buffer of a block, if [`of`](Self::of) found it.
    pub(crate) fn get(&self, block: BlockId) -> Option<&A::Buffer> {
        // SAFETY: wgpu keeps a native buffer in one place until it destroys the buffer. `self` has prevented that since
        // before `of` found the buffer.
        self.buffers.get(&block).map(|buffer| unsafe { buffer.as_ref() })
    }
}

fn no_thread(&(at, block): &NamedExternal<'_>, error: &io::Error) -> SubmitFailure {
    let object = format!("array `{}`", block.order().label);
    SubmitFailure {
        step: Some(at),
        error: ErrorDetail::Device { object, message: error.to_string() }.into(),
        lost: false,
    }
}

fn destroyed(at: usize, label: &str) -> SubmitFailure {
    let object = format!("array `{label}`");
    let message = "its buffer was destroyed".into();
    SubmitFailure { step: Some(at), error: ErrorDetail::Device { object, message }.into(), lost: false }
}

/// A kernel that is dispatched without workgroups, and so writes nothing. But wgpu counts the bound bytes as written,
/// and first zeroes those that were never written.
const SETTLE: &str = "
@group(0) @binding(0) var<storage, read_write> words: array<u32>;
@compute @workgroup_size(1) fn settle() { words[0] = 0u; }
";

/// The wgpu commands that prepare external buffers, and their kernel for buffers that wgpu has not zeroed yet.
#[derive(Default)]
pub(crate) struct ExternalStates {
    kernel: Option<wgpu::ComputePipeline>,
}

impl ExternalStates {
    /// Records the commands for the external blocks of a batch. Returns `None` if there are no such blocks.
    pub(crate) fn commands(
        &mut self,
        device: &WgpuDevice,
        named: &[NamedExternal<'_>],
    ) -> Option<wgpu::CommandBuffer> {
        if named.is_empty() {
            return None;
        }
        let mut encoder = device.encoder("external buffers");
        let unsettled =
            |named: &&NamedExternal<'_>| named.1.external_buffer().is_some_and(ExternalBuffer::is_unsettled);
        let (new, known): (Vec<_>, Vec<_>) = named.iter().partition(unsettled);
        for (_, block) in new {
            self.settle(device, &mut encoder, block.wgpu_buffer());
        }
        transition_external(&mut encoder, known.into_iter().map(|(_, block)| block.wgpu_buffer()));
        Some(encoder.finish())
    }

    /// Marks the blocks as zeroed by wgpu, because the commands for that were submitted.
    pub(crate) fn done(named: &[NamedExternal<'_>]) {
        for (_, block) in named {
            if let Some(external) = block.external_buffer() {
                external.settle();
            }
        }
    }

    /// Makes wgpu zero the bytes that it counts as unwritten, once for each buffer. Otherwise wgpu would zero them
    /// later, after native commands have written them. The dispatch also puts the buffer into the fixed state.
    fn settle(&mut self, device: &WgpuDevice, encoder: &mut wgpu::CommandEncoder, buffer: &wgpu::Buffer) {
        let kernel = self.kernel.get_or_insert_with(|| compile(device.raw()));
        let desc = wgpu::ComputePassDescriptor { label: Some("external buffers"), timestamp_writes: None };
        let mut pass = encoder.begin_compute_pass(&desc);
        pass.set_pipeline(kernel);
        let caps = device.caps();
        let end = buffer.size() / 4 * 4;
        let most = caps.max_binding / caps.binding_alignment * caps.binding_alignment;
        for offset in (0..end).step_by(most as usize) {
            let size = NonZeroU64::new(most.min(end - offset));
            let words = wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset, size });
            let group = device.raw().create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some("external buffers"),
                layout: &kernel.get_bind_group_layout(0),
                entries: &[wgpu::BindGroupEntry { binding: 0, resource: words }],
            });
            pass.set_bind_group(0, &group, &[]);
            pass.dispatch_workgroups(0, 0, 0);
        }
    }
}

fn compile(device: &wgpu::Device) -> wgpu::ComputePipeline {
    let source = wgpu::ShaderSource::Wgsl(SETTLE.into());
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor { label: Some("settle"), source });
    device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some("settle"),
        layout: None,
        module: &module,
        entry_point: Some("settle"),
        compilation_options: Default::default(),
        cache: None,
    })
}
