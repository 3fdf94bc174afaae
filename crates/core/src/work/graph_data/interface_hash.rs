//! The hash of a kernel's interface, by which a load detects a kernel whose arguments have changed.

use crate::work::graph_data::byte_writer::ByteWriter;
use fencepost_kernels::{Access, Interface};
use siphasher::sip::SipHasher13;
use std::hash::Hasher;

/// Returns the hash of the entry point's name and of everything in its interface that places arguments. It is equal on all
/// machines.
pub(crate) fn interface_hash(entry: &str, interface: &Interface) -> u64 {
    let mut out = ByteWriter::default();
    out.text(entry);
    interface.workgroup.iter().for_each(|&size| {
        out.u32(size);
    });
    out.list(&interface.bindings, |out, binding| {
        let declared = match binding.declared {
            Access::Read => 0,
            Access::Write => 1,
            Access::ReadWrite => 2,
        };
        out.u32(binding.index).u32(declared).u32(binding.stride).u64(binding.min_size);
        out.u32(binding.runtime_sized.into()).text(&binding.name).text(&binding.element);
    });
    out.list(interface.params.as_slice(), |out, params| {
        out.u32(params.index).u32(params.size);
        out.list(&params.fields, |out, field| {
            out.text(&field.name).text(&field.text).u32(field.offset).u32(field.size);
        });
    });
    let mut hasher = SipHasher13::new();
    hasher.write(&out.bytes);
    hasher.finish()
}
