use super::blake3::{PARENT, ROOT, START, compress};
use super::{HostBuffer, get, invocations, len, set};

pub(super) fn blake3_parents(
    groups: [u32; 3],
    workgroup: [u32; 3],
    params: &[u8],
    buffers: &mut [HostBuffer<'_>],
) {
    let [children, parents] = buffers else { panic!("bug: blake3_parents has two buffers") };
    let children = children.bytes();
    let parents = parents.bytes_mut();
    let [count, root]: [u32; 2] = get(params, 0);
    let count = len::<[u32; 8]>(children).min(count as usize);
    let all = count.div_ceil(2);
    for i in 0..all.min(invocations(groups, workgroup)).min(len::<[u32; 8]>(parents)) {
        let parent = if 2 * i + 1 == count {
            get(children, 2 * i)
        } else {
            compress(START, get(children, i), 0, 64, PARENT | (root * ROOT))
        };
        set::<[u32; 8]>(parents, i, parent);
    }
}

#[cfg(test)]
mod tests {
    use super::super::blake3_chunks::tests::{hex, values};
    use super::*;

    fn level(children: &[[u32; 8]], root: u32) -> Vec<[u32; 8]> {
        let mut parents = vec![[0_u32; 8]; children.len().div_ceil(2)];
        let mut buffers = [
            HostBuffer::Read(bytemuck::cast_slice(children)),
            HostBuffer::Write(bytemuck::cast_slice_mut(&mut parents)),
        ];
        let params = [children.len() as u32, root];
        blake3_parents([1, 1, 1], [64, 1, 1], bytemuck::bytes_of(&params), &mut buffers);
        parents
    }

    #[test]
    fn the_tree_gives_the_published_hash() {
        for (bytes, hash) in [
            (1025, "d00278ae47eb27b34faecf67b4fe263f82d5412916c1ffd97c8cb7fb814b8444"),
            (2048, "e776b6028c7cd22a4d0ba182a8bf62205d2ef576467e838ed6f2529b85fba24a"),
            (2049, "5f4d72f40d7a5f82b15ca2b2e44b1de3c2ef86c426c95c1af0b6879522563030"),
            (3073, "7124b49501012f81cc7f11ca069ec9226cecb8a2c850cfe644e327d22d3e1cd3"),
            (5000, "ee78d92070de3df1c57c37002abf0a6b1a6589acdeef4d8ffac7cf3d9e8f2836"),
            (8193, "bab6c09cb8ce8cf459261398d2e7aef35700bf488116ceb94a36d0f5f1b7bc3b"),
        ] {
            let mut values = values(bytes, 0, 0);
            while values.len() > 1 {
                let root = u32::from(values.len() == 2);
                values = level(&values, root);
            }
            assert_eq!(hex(values[0]), hash, "{bytes} bytes");
        }
    }

    #[test]
    fn a_child_without_a_sibling_is_copied_to_the_next_level() {
        let children = [[1; 8], [2; 8], [3; 8]];
        assert_eq!(level(&children, 0)[1], [3; 8]);
    }
}
