//! Bytes and their shapes.

mod any_array;
mod block;
mod cells;
mod device_array;
mod host_array;
mod map;
mod pool;
mod read_slot;
mod staging;

pub use any_array::AnyArray;
pub(crate) use block::{Allocate, Block, BlockId, Heap, HostUse, Memory, Order, overlap};
pub(crate) use cells::Cells;
pub(crate) use device_array::ArrayRef;
pub use device_array::DeviceArray;
pub use host_array::{Direction, Download, HostArray, Upload};
pub use map::{ReadMap, WriteMap};
pub(crate) use pool::Pool;
pub use pool::PoolStats;
pub(crate) use read_slot::{Place, ReadSlot, Readback};
pub(crate) use staging::Staged;
