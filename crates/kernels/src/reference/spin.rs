use super::{HostBuffer, get, invocations, len, set};

pub(super) fn spin(groups: [u32; 3], workgroup: [u32; 3], params: &[u8], buffers: &mut [HostBuffer<'_>]) {
    let [out] = buffers else { panic!("bug: spin has one buffer") };
    let rounds: u32 = get(params, 0);
    let out = out.bytes_mut();
    for i in 0..invocations(groups, workgroup).min(len::<u32>(out)) {
        let start = get::<u32>(out, i).wrapping_add(i as u32);
        let state =
            (0..rounds).fold(start, |state, _| state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223));
        set(out, i, state);
    }
}
