//! Arrays whose bytes are elements of a larger or a smaller type, for `fencepost-algorithms`. Any version of the crate
//! may change or remove the functions.

use crate::arrays::device_array::{ArrayRef, DeviceArray};
use fencepost_kernels::Element;

/// Returns an array of the same bytes, as elements of another type. It shares the memory.
///
/// Returns `None` if the array is padded, if it ends inside an element of the type, or if it does not begin at a
/// multiple of the element's size.
pub fn regrouped<T: Element, U: Element>(array: &DeviceArray<T>) -> Option<DeviceArray<U>> {
    let (from, size) = (&array.array, U::DTYPE.size() as u64);
    if !array.frame().is_full() || !from.offset.is_multiple_of(size) || !from.bytes().is_multiple_of(size) {
        return None;
    }
    let len = (from.bytes() / size) as usize;
    Some(DeviceArray::new(ArrayRef { len, dtype: U::DTYPE, ..from.clone() }, [len]))
}

/// Returns an array of the same bytes, as words of 4 bytes. It shares the memory. Bytes after the last whole word are
/// left out.
///
/// The padding of a padded array is among the words.
pub fn words<T: Element>(array: &DeviceArray<T>) -> DeviceArray<u32> {
    let len = (array.array.bytes() / size_of::<u32>() as u64) as usize;
    DeviceArray::new(ArrayRef { len, dtype: u32::DTYPE, ..array.array.clone() }, [len])
}

#[cfg(all(test, cpu))]
mod tests {
    use super::*;

    #[test]
    fn an_array_of_whole_groups_that_begins_at_a_multiple_of_their_size_is_one_of_groups() {
        let (_ctx, queue) = crate::doctest();
        let x = queue.array(&(0..20_u32).collect::<Vec<_>>()).unwrap();
        let groups = |from: usize, to: usize| regrouped::<u32, [u32; 4]>(&x.slice(from..to).unwrap());
        let read = |from, to| groups(from, to).map(|groups| queue.read(&groups).wait().unwrap());
        assert_eq!(read(4, 12), Some(vec![[4, 5, 6, 7], [8, 9, 10, 11]]));
        assert_eq!(read(8, 8), Some(vec![]));
        assert_eq!(read(2, 10), None);
        assert_eq!(read(4, 11), None);
        let padded = queue.zeros_padded::<u32, 1>([4], [8]).unwrap();
        assert!(regrouped::<u32, [u32; 4]>(&padded).is_none());
    }

    #[test]
    fn an_array_of_vectors_is_one_of_words() {
        let (_ctx, queue) = crate::doctest();
        let x = queue.array(&[[1_i32, -1], [3, 4], [5, 6]]).unwrap().slice(1..3).unwrap();
        assert_eq!(queue.read(&words(&x)).wait().unwrap(), [3, 4, 5, 6]);
        assert_eq!(words(&queue.array(&[[1_u8; 3]; 3]).unwrap()).len(), 2);
    }
}
