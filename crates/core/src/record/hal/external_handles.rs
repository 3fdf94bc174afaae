//! Buffers of the program's own, as wgpu-hal knows them, for the time of a recording.
#![allow(unsafe_code, reason = "buffers that wgpu owns")]

use crate::device::recorder::Failure;
use crate::driver::backend::Backend;
use crate::error::Kind;
use crate::memory::heap::BlockId;
use crate::record::external_blocks::{NamedExternal, buffer};
use crate::record::hal::snatch_guard::SnatchGuard;
use rustc_hash::FxHashMap;
use std::io;
use std::ops::Deref;
use std::ptr::NonNull;

/// The native buffers of a batch's foreign blocks. As long as it lives wgpu destroys no buffer of the device: to be
/// dropped before anything is submitted.
///
/// What holds wgpu off is the lock that it takes to destroy a buffer. One thread may take that only once: where there are
/// several buffers, another thread holds it.
pub(crate) struct ExternalHandles<A: Backend> {
    buffers: FxHashMap<BlockId, NonNull<A::Buffer>>,
    _guard: Option<Box<dyn Deref<Target = A::Buffer>>>,
    _keeper: Option<SnatchGuard>,
}

impl<A: Backend> ExternalHandles<A> {
    /// Nothing.
    pub(crate) fn none() -> Self {
        Self { buffers: FxHashMap::default(), _guard: None, _keeper: None }
    }

    /// The buffers of `named`.
    ///
    /// # Errors
    /// Those of the first step whose buffer was destroyed.
    pub(crate) fn of(named: &[NamedExternal<'_>]) -> Result<Self, Failure> {
        match named {
            [] => Ok(Self::none()),
            [only] => Self::one(only),
            [first, ..] => loop {
                if let Some(all) = Self::several(first, named)? {
                    return Ok(all);
                }
            },
        }
    }

    fn one(&(at, block): &NamedExternal<'_>) -> Result<Self, Failure> {
        // SAFETY: the buffer is used to record, and destroyed by wgpu alone.
        let guard = unsafe { buffer(block).as_hal::<A>() };
        let guard = guard.ok_or_else(|| gone(at, &block.order().label))?;
        let buffers = [(block.id, NonNull::from(&*guard))].into_iter().collect();
        Ok(Self { buffers, _guard: Some(Box::new(guard)), _keeper: None })
    }

    /// `None` if somebody who waits to destroy a buffer had to be let in first.
    fn several(first: &NamedExternal<'_>, named: &[NamedExternal<'_>]) -> Result<Option<Self>, Failure> {
        let held = buffer(first.1).clone();
        // SAFETY: nothing is done with the buffer; the guard stays on the thread that took it.
        let keeper = SnatchGuard::start(move || unsafe { held.as_hal::<A>() });
        let Some(keeper) = keeper.map_err(|error| no_thread(first, &error))? else {
            return Self::check(named).map(|()| None);
        };
        let mut buffers = FxHashMap::default();
        for &(at, block) in named {
            // SAFETY: the buffer is used to record, and destroyed by wgpu alone.
            let guard = unsafe { buffer(block).as_hal::<A>() };
            let guard = guard.ok_or_else(|| gone(at, &block.order().label))?;
            buffers.insert(block.id, NonNull::from(&*guard));
        }
        Ok(keeper.keep().then_some(Self { buffers, _guard: None, _keeper: Some(keeper) }))
    }

    /// Fails if one of the buffers was destroyed.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub(crate) fn check(named: &[NamedExternal<'_>]) -> Result<(), Failure> {
        for &(at, block) in named {
            // SAFETY: nothing is done with the buffer.
            if unsafe { buffer(block).as_hal::<A>() }.is_none() {
                return Err(gone(at, &block.order().label));
            }
        }
        Ok(())
    }

    /// The buffer of a block that was named.
    pub(crate) fn get(&self, block: BlockId) -> Option<&A::Buffer> {
        // SAFETY: wgpu keeps its native buffers in one place until they are destroyed, which is held off since before
        // this one was looked up.
        self.buffers.get(&block).map(|buffer| unsafe { buffer.as_ref() })
    }
}

fn no_thread(&(at, block): &NamedExternal<'_>, error: &io::Error) -> Failure {
    let object = format!("array `{}`", block.order().label);
    Failure { step: Some(at), error: Kind::Device { object, message: error.to_string() }.into(), lost: false }
}

fn gone(at: usize, label: &str) -> Failure {
    let (object, message) = (format!("array `{label}`"), "its buffer was destroyed".into());
    Failure { step: Some(at), error: Kind::Device { object, message }.into(), lost: false }
}
