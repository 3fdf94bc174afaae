use super::{HostBuffer, get, invocations, len, set};

pub(super) fn histogram(
    groups: [u32; 3],
    workgroup: [u32; 3],
    _params: &[u8],
    buffers: &mut [HostBuffer<'_>],
) {
    let [values, bins] = buffers else { panic!("bug: histogram has two buffers") };
    let values = values.bytes();
    let bins = bins.bytes_mut();
    if bins.is_empty() {
        return;
    }
    for i in 0..invocations(groups, workgroup).min(len::<u32>(values)) {
        let bin = get::<u32>(values, i) as usize % len::<u32>(bins);
        set(bins, bin, get::<u32>(bins, bin).wrapping_add(1));
    }
}
