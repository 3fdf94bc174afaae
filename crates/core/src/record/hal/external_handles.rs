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

/// Holds the native buffers of a batch's external blocks. While this value lives, wgpu destroys no buffer of the
/// device. It must be dropped before a submission.
///
/// wgpu destroys a buffer under a lock, which the handle of a native buffer holds shared. One thread may take this lock
/// only once. If a batch has several external buffers, another thread holds the lock.
pub(crate) struct ExternalHandles<A: Backend> {
    buffers: FxHashMap<BlockId, NonNull<A::Buffer>>,
    _guard: Option<Box<dyn Deref<Target = A::Buffer>>>,
    _lock_thread: Option<SnatchGuard>,
}

impl<A: Backend> ExternalHandles<A> {
    /// Looks up the buffers of `named`. Returns `None` if there are none.
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

    fn one(&(at, block): &NamedExternal<'_>) -> Result<Self, Failure> {
        // SAFETY: the buffer is only used to record, and only wgpu destroys it.
        let guard = unsafe { block.wgpu_buffer().as_hal::<A>() };
        let guard = guard.ok_or_else(|| destroyed(at, &block.order().label))?;
        let buffers = [(block.id, NonNull::from(&*guard))].into_iter().collect();
        Ok(Self { buffers, _guard: Some(Box::new(guard)), _lock_thread: None })
    }

    /// Returns `None` if the other thread released the lock to let a waiting thread destroy a buffer. The caller
    /// repeats.
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

    /// Returns the native buffer of a block, if the block was named.
    pub(crate) fn get(&self, block: BlockId) -> Option<&A::Buffer> {
        // SAFETY: wgpu keeps a native buffer in one place until it destroys the buffer. `self` prevents that since
        // before the lookup.
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
