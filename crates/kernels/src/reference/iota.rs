use super::{HostBuffer, WrappingNumber, get, invocations, len, set};

pub(super) fn iota<T: WrappingNumber>(
    groups: [u32; 3],
    workgroup: [u32; 3],
    params: &[u8],
    buffers: &mut [HostBuffer<'_>],
) {
    let [out] = buffers else { panic!("bug: iota has one buffer") };
    let start: T = get(params, 0);
    let step: T = get(params, 1);
    let out = out.bytes_mut();
    for i in 0..invocations(groups, workgroup).min(len::<T>(out)) {
        set(out, i, start.plus(T::of_index(i).times(step)));
    }
}
