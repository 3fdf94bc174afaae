use super::{HostBuffer, WrappingNumber, get, invocations, len, set};

pub(super) fn add<T: WrappingNumber>(
    groups: [u32; 3],
    workgroup: [u32; 3],
    _params: &[u8],
    buffers: &mut [HostBuffer<'_>],
) {
    let [x, y, z] = buffers else { panic!("bug: add has three buffers") };
    let x = x.bytes();
    let y = y.bytes();
    let z = z.bytes_mut();
    let n = len::<T>(x).min(len::<T>(y)).min(len::<T>(z));
    for i in 0..invocations(groups, workgroup).min(n) {
        set(z, i, get::<T>(x, i).plus(get(y, i)));
    }
}
