//! Names the kinds of operations.

use super::op::{How, Op};

macro_rules! kinds {
    ($($pattern:pat => $name:literal,)*) => {
        /// All kinds.
        pub const KINDS: &[&str] = &[$($name),*];

        impl Op {
            /// Returns the name of the operation's kind.
            pub fn kind(&self) -> &'static str {
                match self {
                    $($pattern => $name,)*
                }
            }
        }
    };
}

kinds! {
    Op::Queue { .. } => "queue",
    Op::Default { .. } => "default queue",
    Op::Fork { .. } => "fork",
    Op::DropQueue { .. } => "drop a queue",
    Op::MakeCurrent { .. } => "make current",
    Op::Within { .. } => "verb without a queue",
    Op::Array { .. } => "array",
    Op::Table { .. } => "table",
    Op::DropArray { .. } => "drop an array",
    Op::Fill { .. } => "fill",
    Op::Upload { .. } => "upload",
    Op::Copy { .. } => "copy",
    Op::CopyRegion { .. } => "copy a region",
    Op::UploadRegion { .. } => "upload a region",
    Op::ReadRegion { .. } => "read a region",
    Op::FillRows { .. } => "fill rows",
    Op::UploadRows { .. } => "upload rows",
    Op::CopyRows { .. } => "copy rows",
    Op::ReadRows { .. } => "read rows",
    Op::Encode { .. } => "encode",
    Op::Launch { how: How::Typed, .. } => "launch",
    Op::Launch { how: How::Dyn, .. } => "launch_dyn",
    Op::Launch { how: How::Indirect(_), .. } => "indirect launch",
    Op::Read { .. } => "read",
    Op::WaitRead { .. } => "wait for a read",
    Op::DropRead { .. } => "drop a read",
    Op::Pin { .. } => "pinned array to upload from",
    Op::WritePinned { .. } => "write a pinned array",
    Op::UploadPinned { .. } => "upload a pinned array",
    Op::PinBack { .. } => "pinned array to download to",
    Op::Download { .. } => "download",
    Op::ReadPinned { .. } => "read a pinned array",
    Op::Mark { .. } => "marker",
    Op::Record { .. } => "record",
    Op::WaitFor { .. } => "wait for events",
    Op::WaitForQueue { .. } => "wait for a queue",
    Op::WaitEvent { .. } => "wait of the host for an event",
    Op::UserEvent { .. } => "user event",
    Op::WaitForUser { .. } => "wait for a user event",
    Op::Signal { .. } => "signal",
    Op::Callback { .. } => "callback",
    Op::Flush { .. } => "flush",
    Op::Finish { .. } => "finish",
    Op::Synchronize { .. } => "synchronize",
    Op::MapRead { .. } => "map to read",
    Op::MapWrite { .. } => "map to write",
    Op::Unmap { .. } => "unmap",
    Op::Trim => "trim",
}
