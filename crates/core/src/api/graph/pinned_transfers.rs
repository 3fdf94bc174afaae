//! Transfers of pinned arrays in a capture on a device without pinned memory, where such an array is ordinary memory.
//! Each replay copies the bytes of an upload when it is enqueued, and reads the bytes of a download as an output.

use crate::api::graph::graph_output::GraphOutput;
use crate::api::graph::tape::{CapturedQueue, unique};
use crate::arrays::host_array::{PlainMemory, SharedElements};
use crate::error::Result;
use crate::error::site::CommandKind;
use crate::memory::staged_bytes::ReplaySource;
use crate::work::span::Span;
use fencepost_kernels::Element;
use fencepost_sync::prim::lock;
use std::panic::Location;
use std::sync::Arc;

/// A function that returns the bytes that an upload takes from the elements of a pinned array.
type Bytes<T> = Box<dyn Fn(&[T]) -> Vec<u8> + Send + Sync>;

/// A pinned array that each replay uploads. It keeps the elements of the array alive.
pub(crate) struct PlainSource<T> {
    pub(crate) label: Arc<str>,
    pub(crate) elements: SharedElements<T>,
    /// Size of the upload in bytes.
    pub(crate) size: u64,
    /// Function that returns the bytes of the upload.
    pub(crate) bytes: Bytes<T>,
}

impl<T: Element> ReplaySource for PlainSource<T> {
    fn label(&self) -> &str {
        &self.label
    }

    fn size(&self) -> u64 {
        self.size
    }

    fn copy_to(&self, to: &mut [u8]) {
        let elements = lock(&self.elements).clone();
        let bytes = (self.bytes)(&elements);
        to[..bytes.len()].copy_from_slice(&bytes);
    }
}

impl CapturedQueue {
    /// Adds a download of `len` elements at the end of the queue.
    pub(crate) fn download<T: Element>(
        &self,
        at: &'static Location<'static>,
        (src, len): (Span, usize),
        (memory, label): (&Arc<PlainMemory<T>>, &Arc<str>),
    ) -> Result<()> {
        self.tape.writes.add(memory.into());
        let replayed = Arc::downgrade(&lock(memory).replayed);
        let output = GraphOutput {
            token: unique(),
            name: label.clone(),
            bytes: src.size,
            element: T::DTYPE.to_string().into(),
            element_size: T::DTYPE.size() as u32,
            len: len as u64,
            download: Some(replayed),
        };
        self.push_read(("download", CommandKind::Download, at), src, None, output)
    }
}
