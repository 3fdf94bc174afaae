use super::{HostBuffer, WrappingNumber, get, invocations, len, set};

pub(super) fn saxpy<T: WrappingNumber>(
    groups: [u32; 3],
    workgroup: [u32; 3],
    params: &[u8],
    buffers: &mut [HostBuffer<'_>],
) {
    let [x, y] = buffers else { panic!("bug: saxpy has two buffers") };
    let a: T = get(params, 0);
    let x = x.bytes();
    let y = y.bytes_mut();
    let n = invocations(groups, workgroup).min(len::<T>(x)).min(len::<T>(y));
    for i in 0..n {
        set(y, i, a.times(get(x, i)).plus(get(y, i)));
    }
}
