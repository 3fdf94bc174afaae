use super::{HostBuffer, get, invocations, len, set};

// One function works for every 4-byte type, because it only copies bits.
pub(super) fn fill(groups: [u32; 3], workgroup: [u32; 3], params: &[u8], buffers: &mut [HostBuffer<'_>]) {
    let [out] = buffers else { panic!("bug: fill has one buffer") };
    let value: u32 = get(params, 0);
    let out = out.bytes_mut();
    for i in 0..invocations(groups, workgroup).min(len::<u32>(out)) {
        set(out, i, value);
    }
}
