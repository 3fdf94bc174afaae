use super::blake3::{CHUNK_END, CHUNK_START, ROOT, START, compress};
use super::{HostBuffer, get, invocations, len, set};

pub(super) fn blake3_chunks(
    groups: [u32; 3],
    workgroup: [u32; 3],
    params: &[u8],
    buffers: &mut [HostBuffer<'_>],
) {
    let [input, values] = buffers else { panic!("bug: blake3_chunks has two buffers") };
    let input = input.bytes();
    let values = values.bytes_mut();
    let [bytes, low, high, root]: [u32; 4] = get(params, 0);
    let first = u64::from(low) + (u64::from(high) << 32);
    let message = &input[..input.len().min(bytes as usize)];
    let chunks = message.len().div_ceil(1024).max(1);
    for i in 0..chunks.min(invocations(groups, workgroup)).min(len::<[u32; 8]>(values)) {
        let chunk = &message[i * 1024..message.len().min(i * 1024 + 1024)];
        set(values, i, value_of(chunk, first.wrapping_add(i as u64), root * ROOT));
    }
}

// Returns the chaining value of at most 1024 bytes; `last` contains the flags of the last block.
fn value_of(chunk: &[u8], counter: u64, last: u32) -> [u32; 8] {
    let blocks = chunk.len().div_ceil(64).max(1);
    let mut value = START;
    for i in 0..blocks {
        let bytes = &chunk[i * 64..chunk.len().min(i * 64 + 64)];
        let mut flags = 0;
        if i == 0 {
            flags |= CHUNK_START;
        }
        if i + 1 == blocks {
            flags |= CHUNK_END | last;
        }
        value = compress(value, words(bytes), counter, bytes.len() as u32, flags);
    }
    value
}

// Returns the words of a block padded with zeros.
fn words(bytes: &[u8]) -> [u32; 16] {
    let mut block = [0; 64];
    block[..bytes.len()].copy_from_slice(bytes);
    std::array::from_fn(|i| u32::from_le_bytes([0, 1, 2, 3].map(|byte| block[4 * i + byte])))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    // Returns the values for `bytes` bytes of the common test input, in which byte `i` is `i % 251`.
    pub(in super::super) fn values(bytes: u32, counter: u64, root: u32) -> Vec<[u32; 8]> {
        let input: Vec<u8> = (0..bytes.next_multiple_of(64)).map(|i| (i % 251) as u8).collect();
        let mut values = vec![[0_u32; 8]; bytes.div_ceil(1024).max(1) as usize];
        let params = [bytes, counter as u32, (counter >> 32) as u32, root];
        let mut buffers =
            [HostBuffer::Read(&input), HostBuffer::Write(bytemuck::cast_slice_mut(&mut values))];
        blake3_chunks([1, 1, 1], [64, 1, 1], bytemuck::bytes_of(&params), &mut buffers);
        values
    }

    pub(in super::super) fn hex(value: [u32; 8]) -> String {
        value.iter().map(|word| format!("{:08x}", word.swap_bytes())).collect()
    }

    #[test]
    fn a_single_chunk_has_the_published_hash() {
        for (bytes, hash) in [
            (0, "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262"),
            (1, "2d3adedff11b61f14c886e35afa036736dcd87a74d27b5c1510225d0f592e213"),
            (64, "4eed7141ea4a5cd4b788606bd23f46e212af9cacebacdc7d1f4c6dc7f2511b98"),
            (65, "de1e5fa0be70df6d2be8fffd0e99ceaa8eb6e8c93a63f2d8d1c30ecb6b263dee"),
            (1023, "10108970eeda3eb932baac1428c7a2163b0e924c9a9e25b35bba72b28f70bd11"),
            (1024, "42214739f095a406f3fc83deb889744ac00df831c10daa55189b5d121c855af7"),
        ] {
            assert_eq!(hex(values(bytes, 0, 1)[0]), hash, "{bytes} bytes");
        }
    }

    // The values come from the hazardous-materials interface of the official implementation.
    #[test]
    fn the_counter_of_a_chunk_has_64_bits() {
        for (bytes, counter, value) in [
            (1024, 0, "5c9e654411e393d1f4bec710ccd5bc5669ab177d610a0eb691fcfee92fb4e8b1"),
            (1024, 1, "2726742c4fe49c461d4b570f9643cc7ac6c52251d457c9b3303c10cd9c6d258b"),
            (1000, (1 << 32) - 1, "0f36da61ff78da893c2ff2536c0a795b61252f625bde5898d236454249d30afb"),
            (1000, 1 << 32, "3143d6f75ffb3a4d3f3c511138c5853a182b11f4641674ab8fdf33d4697955bb"),
            (77, (1 << 40) + 5, "9b4acdffaf57f462c427d025deda6bb1adccbfbe8d22bb8f711c05b9622e7f8e"),
        ] {
            assert_eq!(hex(values(bytes, counter, 0)[0]), value, "chunk {counter}");
        }
    }

    #[test]
    fn the_counter_carries_within_a_piece() {
        let values = values(2524, (1 << 32) - 1, 0).into_iter().map(hex).collect::<Vec<_>>();
        assert_eq!(
            values,
            [
                "f591d6ad7d26e6ea7ca43fd710aba0759f70359dc28d96ba72e43cd8ac493ff2",
                "14e1bedc8915d8097e70ba04ae72d39e061ef23cd4efb7565075168c4e70cfaa",
                "83703bba00403658117c258c60d0a2f83b1ff83f15c467e689bf10256f46db0a",
            ]
        );
    }

    #[test]
    fn bytes_past_the_end_are_not_read() {
        let mut value = [0; 32];
        let mut buffers = [HostBuffer::Read(&[0xff; 64]), HostBuffer::Write(&mut value)];
        blake3_chunks([1, 1, 1], [64, 1, 1], bytemuck::bytes_of(&[0_u32, 0, 0, 1]), &mut buffers);
        assert_eq!(value[..4], [0xaf, 0x13, 0x49, 0xb9]);
    }
}
