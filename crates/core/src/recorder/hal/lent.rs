//! Buffers of the program's own, as wgpu-hal knows them, for the time of a recording.
#![allow(unsafe_code, reason = "buffers that wgpu owns")]

use crate::error::Kind;
use crate::lane::Backend;
use crate::memory::BlockId;
use crate::recorder::Failure;
use crate::recorder::foreign::{Named, buffer};
use rustc_hash::FxHashMap;
use std::ops::Deref;
use std::ptr::NonNull;

/// The native buffers of a batch's foreign blocks. As long as it lives wgpu destroys no buffer of the device: to be
/// dropped before anything is submitted.
pub(super) struct Lent<A: Backend> {
    buffers: FxHashMap<BlockId, NonNull<A::Buffer>>,
    /// wgpu's lock, which one thread may take only once.
    _guard: Option<Box<dyn Deref<Target = A::Buffer>>>,
}

impl<A: Backend> Lent<A> {
    /// Nothing.
    pub(super) fn none() -> Self {
        Self { buffers: FxHashMap::default(), _guard: None }
    }

    /// The buffers of `named`.
    ///
    /// # Errors
    /// Those of the first step whose buffer was destroyed.
    pub(super) fn of(named: &[Named<'_>]) -> Result<Self, Failure> {
        if named.len() > 1 {
            Self::check(named)?; // whoever waits to destroy one of them does so here, and not between two below
        }
        let mut lent = Self::none();
        for &(at, block) in named {
            lent._guard = None;
            // SAFETY: the buffer is used to record, and destroyed by wgpu alone.
            let Some(guard) = (unsafe { buffer(block).as_hal::<A>() }) else {
                return Err(gone(at, &block.order().label));
            };
            lent.buffers.insert(block.id, NonNull::from(&*guard));
            lent._guard = Some(Box::new(guard));
        }
        Ok(lent)
    }

    /// Fails if one of the buffers was destroyed.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub(super) fn check(named: &[Named<'_>]) -> Result<(), Failure> {
        for &(at, block) in named {
            // SAFETY: nothing is done with the buffer.
            if unsafe { buffer(block).as_hal::<A>() }.is_none() {
                return Err(gone(at, &block.order().label));
            }
        }
        Ok(())
    }

    /// The buffer of a block that was named.
    pub(super) fn get(&self, block: BlockId) -> Option<&A::Buffer> {
        // SAFETY: wgpu keeps its native buffers in one place until they are destroyed, which the guard holds off. One
        // that the program destroys between its turn in `of` and the last one's is what the documentation of `array_on`
        // forbids.
        self.buffers.get(&block).map(|buffer| unsafe { buffer.as_ref() })
    }
}

fn gone(at: usize, label: &str) -> Failure {
    let (object, message) = (format!("array `{label}`"), "its buffer was destroyed".into());
    Failure { step: Some(at), error: Kind::Device { object, message }.into(), lost: false }
}
