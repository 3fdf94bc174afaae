//! The memory that the host passes to compiled code.

use std::mem::offset_of;

/// A storage buffer.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Buffer {
    pub(super) start: *mut u8,
    /// Number of elements of the runtime array at the end of the buffer.
    pub(super) length: u32,
}

/// Inputs of the code of one workgroup, which reads the fields by their offsets.
#[repr(C)]
pub(super) struct Context {
    /// Byte that becomes 1 when the run must end early.
    pub(super) stop: *const u8,
    pub(super) params: *const u8,
    pub(super) buffers: *const Buffer,
    /// Memory of `var<workgroup>`.
    pub(super) workgroup: *mut u8,
    /// Memory of the invocations: values that live across a barrier, and the private variables.
    pub(super) invocations: *mut u8,
    pub(super) groups: [u32; 3],
    pub(super) group: [u32; 3],
}

pub(super) const STOP: i32 = offset_of!(Context, stop) as i32;
pub(super) const PARAMS: i32 = offset_of!(Context, params) as i32;
pub(super) const BUFFERS: i32 = offset_of!(Context, buffers) as i32;
pub(super) const WORKGROUP: i32 = offset_of!(Context, workgroup) as i32;
pub(super) const INVOCATIONS: i32 = offset_of!(Context, invocations) as i32;
pub(super) const GROUPS: i32 = offset_of!(Context, groups) as i32;
pub(super) const GROUP: i32 = offset_of!(Context, group) as i32;
pub(super) const BUFFER_SIZE: i32 = size_of::<Buffer>() as i32;
pub(super) const BUFFER_LENGTH: i32 = offset_of!(Buffer, length) as i32;
