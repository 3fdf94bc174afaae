//! Arrays: typed and shaped memory, its parts, its maps and reads.

pub(crate) mod allocation_tracker;
pub(crate) mod any_array;
pub(crate) mod device_array;
pub(crate) mod host_array;
pub(crate) mod host_elements;
pub(crate) mod map;
pub(crate) mod message_buffer;
pub(crate) mod output_read;
pub(crate) mod read;
pub(crate) mod regrouped;
pub(crate) mod storage;
pub(crate) mod upload_source;
