//! Arrays: typed and shaped memory, its parts, maps and reads.

pub(crate) mod device_array;
pub(crate) mod host_array;
pub(crate) mod host_elements;
pub(crate) mod map;
pub(crate) mod matrices;
pub(crate) mod over;
pub(crate) mod plain_memory;
pub(crate) mod read;
pub(crate) mod storage;
pub(crate) mod strides;
pub(crate) mod upload_source;
