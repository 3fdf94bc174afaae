//! The native buffers of external blocks, held while a batch is recorded.
#![allow(unsafe_code, reason = "buffers that wgpu owns")]

use crate::device::recorder::Failure;
use crate::driver::backend::Backend;
use crate::error::Kind;
use crate::memory::heap::BlockId;
use crate::record::external_blocks::NamedExternal;
use crate::record::hal::snatch_guard::SnatchGuard;
use rustc_hash::FxHashMap;
use std::io;
use std::ops::Deref;
use std::ptr::NonNull;

/// Native buffers of a batch's external blocks. While this value lives, wgpu destroys no buffer of the device. The
/// recorder drops this value before the submission, which takes the same lock.
///
/// wgpu takes its snatch lock exclusively to destroy a buffer, and the handle of a native buffer holds this lock
/// shared. One thread may take this lock only once. So the handle of a single buffer stays in `_guard`. For several
/// buffers `_lock_thread` holds the lock on another thread, while this thread takes and releases one handle after the
/// other.
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
    pub(crate) fn of(named: &[NamedExternal<'_>]) -> Result<Option<Self>, Failure> {
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
    fn one(&(at, block): &NamedExternal<'_>) -> Result<Self, Failure> {
        // SAFETY: the buffer is only used to record, and only wgpu destroys it.
        let guard = unsafe { block.wgpu_buffer().as_hal::<A>() };
        let guard = guard.ok_or_else(|| destroyed(at, &block.order().label))?;
        let buffers = [(block.id, NonNull::from(&*guard))].into_iter().collect();
        Ok(Self { buffers, _guard: Some(Box::new(guard)), _lock_thread: None })
    }

    /// Finds the buffers while another thread holds the lock. Returns `None` if that thread released the lock early, to
    /// let a waiting thread destroy a buffer. The caller then calls again.
    fn several(first: &NamedExternal<'_>, named: &[NamedExternal<'_>]) -> Result<Option<Self>, Failure> {
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

    /// Checks that no buffer of `named` was destroyed.
    ///
    /// # Errors
    /// Returns the error of [`of`](Self::of).
    pub(crate) fn check(named: &[NamedExternal<'_>]) -> Result<(), Failure> {
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

fn no_thread(&(at, block): &NamedExternal<'_>, error: &io::Error) -> Failure {
    let object = format!("array `{}`", block.order().label);
    Failure { step: Some(at), error: Kind::Device { object, message: error.to_string() }.into(), lost: false }
}

fn destroyed(at: usize, label: &str) -> Failure {
    let (object, message) = (format!("array `{label}`"), "its buffer was destroyed".into());
    Failure { step: Some(at), error: Kind::Device { object, message }.into(), lost: false }
}
