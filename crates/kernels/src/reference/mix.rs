use super::{HostBuffer, WrappingNumber, get, invocations, len, set};

pub(super) fn mix(groups: [u32; 3], workgroup: [u32; 3], params: &[u8], buffers: &mut [HostBuffer<'_>]) {
    let [x, y] = buffers else { panic!("bug: mix has two buffers") };
    let a: u32 = get(params, 0);
    let b: u32 = get(params, 1);
    let x = x.bytes();
    let y = y.bytes_mut();
    let n = invocations(groups, workgroup).min(len::<u32>(x)).min(len::<u32>(y));
    for i in 0..n {
        set(y, i, get::<u32>(y, i).times(a).plus(get(x, i)).plus(b));
    }
}
