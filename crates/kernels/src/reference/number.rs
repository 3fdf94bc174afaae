//! Arithmetic and element access on plain bytes.

/// A 32-bit number with the device's arithmetic: integers wrap.
pub(super) trait WrappingNumber: bytemuck::Pod {
    fn plus(self, other: Self) -> Self;
    fn times(self, other: Self) -> Self;
    fn of_index(i: usize) -> Self;
}

impl WrappingNumber for f32 {
    fn plus(self, other: Self) -> Self {
        self + other
    }
    fn times(self, other: Self) -> Self {
        self * other
    }
    fn of_index(i: usize) -> Self {
        i as f32
    }
}

macro_rules! wrapping {
    ($($host:ty),*) => {$(
        impl WrappingNumber for $host {
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
            fn of_index(i: usize) -> Self {
                i as Self
            }
        }
    )*};
}

wrapping!(i32, u32);

// Returns element `i` of an array of `T`; the bytes need no alignment.
pub(super) fn get<T: bytemuck::Pod>(bytes: &[u8], i: usize) -> T {
    bytemuck::pod_read_unaligned(&bytes[i * size_of::<T>()..][..size_of::<T>()])
}

pub(super) fn set<T: bytemuck::Pod>(bytes: &mut [u8], i: usize, value: T) {
    bytes[i * size_of::<T>()..][..size_of::<T>()].copy_from_slice(bytemuck::bytes_of(&value));
}

pub(super) fn len<T>(bytes: &[u8]) -> usize {
    bytes.len() / size_of::<T>()
}

// Returns the number of invocations that `linear_id` can number, from the workgroups along each axis and the
// invocations of a workgroup along x.
pub(super) fn invocations(groups: [u32; 3], workgroup: [u32; 3]) -> usize {
    groups.map(|count| count as usize).iter().product::<usize>() * workgroup[0] as usize
}
