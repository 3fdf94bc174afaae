//! Printing of arrays, and reading an array into a `Vec`.

use crate::api::context::Context;
use crate::api::queue::region_transfer::ArrayPart;
use crate::api::queue::transfer::ArrayOps;
use crate::arrays::device_array::DeviceArray;
use crate::arrays::read::Reading;
use crate::error::{CommandKind, Result};
use crate::memory::region::Region;
use crate::runtime::event::same_context;
use crate::runtime::owner::Owner;
use crate::runtime::pending::late;
use crate::scheduler::ordering::Admission;
use crate::scheduler::queues::Priority;
use crate::scheduler::wait::Caller;
use crate::work::step::Span;
use fencepost_kernels::Element;
use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::panic::Location;

/// Largest number of elements that are all printed.
const WHOLE: usize = 1000;
/// Number of elements printed at either end of each axis of a larger array.
const EDGE: usize = 3;
/// Maximum number of characters of a line.
const LINE: usize = 75;

impl Context {
    /// Blocks until the elements are on the host, and returns them in C order, without padding. The elements include
    /// the writes of all commands enqueued so far on any queue; the call waits only for those writes. Under
    /// [`Policy::Unchecked`](crate::Policy::Unchecked), it waits for all commands enqueued so far.
    ///
    /// # Errors
    /// [`ErrorDetail::ForeignContext`](crate::ErrorDetail::ForeignContext) for an array of another context; the errors of
    /// [`CommandQueue::read`](crate::CommandQueue::read); the error of the last command that writes the elements, if it
    /// has failed, until the program [takes](crate::CommandQueue::take_error) that error.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut x = ctx.zeros::<u32, 1>([3])?;
    /// queue.fill(&mut x, 7)?;
    /// assert_eq!(ctx.to_vec(&x)?, [7, 7, 7]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn to_vec<T: Element, const D: usize>(&self, array: &DeviceArray<T, D>) -> Result<Vec<T>> {
        self.snapshot_of(array, &array.all())
    }

    #[track_caller]
    fn snapshot_of<T: Element, const D: usize>(
        &self,
        array: &DeviceArray<T, D>,
        part: &ArrayPart,
    ) -> Result<Vec<T>> {
        same_context(&self.owner, part.owner(), || format!("array `{}`", array.label()))?;
        let span = part.words().unwrap_or_else(|| part.span());
        read_now(&self.owner, "a look at an array", Location::caller(), span, |ops| ops.read_part(part))
    }

    /// Blocks as [`to_vec`](Self::to_vec) does, until the elements to print are on the host. The result prints them as
    /// NumPy does: if the array has more than 1000 elements, it prints only the first three and the last three along
    /// each axis. A precision in the format string applies to each number.
    ///
    /// # Errors
    /// The errors of [`to_vec`](Self::to_vec).
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.array(&[1.0_f32, 0.5, -3.0, 4.0])?.reshape([2, 2])?;
    /// assert_eq!(format!("{:.1}", ctx.display(&x)?), "[[ 1.0,  0.5],\n [-3.0,  4.0]]");
    /// let long = ctx.full::<u32, 1>([5000], 7)?;
    /// assert_eq!(ctx.display(&long)?.to_string(), "[7, 7, 7, ..., 7, 7, 7]");
    /// # drop(queue);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn display<T: Element + fmt::Debug, const D: usize>(
        &self,
        array: &DeviceArray<T, D>,
    ) -> Result<Snapshot<T>> {
        let shape = array.shape();
        let padded = array.padded_shape();
        let edge = if array.len() > WHOLE { EDGE } else { usize::MAX };
        let mut elements = BTreeMap::new();
        if edge == usize::MAX {
            let all = rows(&shape, &padded, edge).into_iter().flatten();
            elements.extend(all.zip(self.snapshot_of(array, &array.all())?));
        } else {
            let memory = DeviceArray::<T, 1>::new(array.array.clone(), [array.array.len]);
            for range in rows(&shape, &padded, edge) {
                let bounds = range.start.cast_signed()..range.end.cast_signed();
                elements.extend(
                    range.zip(self.snapshot_of(&memory, &memory.part(Region::new([bounds.into()]))?)?),
                );
            }
        }
        Ok(Snapshot { shape: shape.into(), padded: padded.into(), edge, elements })
    }
}

/// Blocks until the elements of a read are on the host, and returns them. `read` enqueues the read on a temporary queue
/// named `label`, after the commands that write `span`. Under `Unchecked`, which does not record uses, the read comes
/// after all commands enqueued so far.
///
/// # Errors
/// Returns the error of the last command that wrote some of the bytes, if it has failed.
#[track_caller]
pub(crate) fn read_now<T: Element>(
    owner: &Owner,
    label: &str,
    at: &'static Location<'static>,
    span: Span,
    read: impl FnOnce(&ArrayOps<'_>) -> Result<Reading<T>>,
) -> Result<Vec<T>> {
    let engine = owner.engine();
    let slot = engine.helper(label, Priority::Normal)?;
    engine.wait_for_all(slot, at);
    let writers = engine.last_writers(span);
    let by = Admission { slot, what: CommandKind::Inspect, at };
    let reading = read(&ArrayOps { owner, by, captured: None }).and_then(|reading| {
        engine.flush(slot, Caller::Waits)?;
        Ok(reading)
    });
    engine.release_helper(slot);
    let elements = late(reading?).wait()?;
    engine.check_written(&writers)?;
    Ok(elements)
}

/// The elements to print of an array, as they were when [`Context::display`] was called. They print as NumPy arrays do.
#[derive(Clone)]
pub struct Snapshot<T> {
    shape: Vec<usize>,
    padded: Vec<usize>,
    /// Number of stored elements at either end of each axis.
    edge: usize,
    /// Elements by their index in the array's memory.
    elements: BTreeMap<usize, T>,
}

/// Returns the ranges of stored elements in the memory of an array: `edge` elements at either end of each axis.
fn rows(shape: &[usize], padded: &[usize], edge: usize) -> Vec<Range<usize>> {
    let Some((&len, inner)) = shape.split_first() else { return Vec::from([Range { start: 0, end: 1 }]) };
    if shape.contains(&0) {
        return Vec::new();
    }
    let ends = printed_indices(len, edge);
    if inner.is_empty() {
        return ends;
    }
    let stride: usize = padded[1..].iter().product();
    let inner = rows(inner, &padded[1..], edge);
    let at = |index: usize| inner.iter().map(move |row| index * stride + row.start..index * stride + row.end);
    ends.into_iter().flatten().flat_map(at).collect()
}

/// Returns the printed indices of an axis.
fn printed_indices(len: usize, edge: usize) -> Vec<Range<usize>> {
    if edge.checked_mul(2).is_none_or(|both| both >= len) {
        Vec::from([Range { start: 0, end: len }])
    } else {
        vec![0..edge, len - edge..len]
    }
}

impl<T: fmt::Debug> Snapshot<T> {
    /// Writes the part of the array that starts at index `at` of the memory and spans the axes `axis..`.
    fn write(&self, text: &mut String, axis: usize, at: usize, width: usize, each: &dyn Fn(&T) -> String) {
        let Some(&len) = self.shape.get(axis) else {
            *text += &format!("{:>width$}", each(&self.elements[&at]));
            return;
        };
        let last = axis + 1 == self.shape.len();
        let stride: usize = self.padded[axis + 1..].iter().product();
        text.push('[');
        let mut first = true;
        for (part, range) in printed_indices(len, self.edge).into_iter().enumerate() {
            if part > 0 {
                self.separate(text, axis, last, 3);
                *text += "...";
            }
            for index in range {
                if !std::mem::take(&mut first) {
                    self.separate(text, axis, last, width);
                }
                self.write(text, axis + 1, at + index * stride, width, each);
            }
        }
        text.push(']');
    }

    /// Writes the separator after an item of an axis: a comma and a space between numbers if the next number fits into
    /// the line, otherwise a comma and line breaks.
    fn separate(&self, text: &mut String, axis: usize, last: bool, width: usize) {
        let column = text.len() - text.rfind('\n').map_or(0, |at| at + 1);
        if last && column + 2 + width < LINE {
            *text += ", ";
            return;
        }
        let lines = if last { 1 } else { self.shape.len() - axis - 1 };
        text.push(',');
        text.extend(std::iter::repeat_n('\n', lines));
        text.extend(std::iter::repeat_n(' ', axis + 1));
    }
}

impl<T: fmt::Debug> fmt::Display for Snapshot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let each: &dyn Fn(&T) -> String = match f.precision() {
            Some(digits) => &move |element| format!("{element:.digits$?}"),
            None => &|element| format!("{element:?}"),
        };
        if self.shape.contains(&0) || self.elements.is_empty() {
            return f.write_str("[]");
        }
        let width = self.elements.values().map(|element| each(element).len()).max().unwrap_or(0);
        let mut text = String::new();
        self.write(&mut text, 0, 0, width, each);
        f.write_str(&text)
    }
}

impl<T: fmt::Debug> fmt::Debug for Snapshot<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use crate::api::context::Context;
    use crate::arrays::device_array::DeviceArray;
    use crate::record::cpu::cpu_recorder::SimulatorOptions;

    fn counted(ctx: &Context, len: u32) -> DeviceArray<u32> {
        ctx.array(&(0..len).collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn arrays_print_as_numpy_prints_them() {
        let ctx = Context::simulated(SimulatorOptions::default());
        let print = |shape| ctx.display(&counted(&ctx, 12).reshape::<3>(shape).unwrap()).unwrap().to_string();
        assert_eq!(print([1, 2, 6]), "[[[ 0,  1,  2,  3,  4,  5],\n  [ 6,  7,  8,  9, 10, 11]]]");
        assert_eq!(print([2, 1, 6]), "[[[ 0,  1,  2,  3,  4,  5]],\n\n [[ 6,  7,  8,  9, 10, 11]]]");
        let number = counted(&ctx, 1).reshape([]).unwrap();
        assert_eq!(ctx.display(&number).unwrap().to_string(), "0");
        assert_eq!(ctx.display(&ctx.zeros::<f32, 2>([3, 0]).unwrap()).unwrap().to_string(), "[]");
        let lines = ctx.display(&counted(&ctx, 1000)).unwrap().to_string();
        assert!(lines.lines().all(|line| line.len() <= super::LINE) && lines.contains(" 999]"), "{lines}");
    }

    #[test]
    fn only_the_ends_of_each_axis_of_a_large_array_are_read_and_printed() {
        let ctx = Context::simulated(SimulatorOptions::default());
        let table = counted(&ctx, 100_000).reshape([1000, 100]).unwrap();
        let shown = ctx.display(&table).unwrap();
        assert_eq!(shown.elements.len(), 36);
        let text = "[[    0,     1,     2, ...,    97,    98,    99],\n \
                    [  100,   101,   102, ...,   197,   198,   199],\n \
                    [  200,   201,   202, ...,   297,   298,   299],\n \
                    ...,\n \
                    [99700, 99701, 99702, ..., 99797, 99798, 99799],\n \
                    [99800, 99801, 99802, ..., 99897, 99898, 99899],\n \
                    [99900, 99901, 99902, ..., 99997, 99998, 99999]]";
        assert_eq!(shown.to_string(), text);
    }

    #[test]
    fn padding_is_neither_read_nor_printed() {
        let ctx = Context::simulated(SimulatorOptions::default());
        let mut table = ctx.zeros::<u32, 2>(crate::Shape::padded([2, 3], [4, 8])).unwrap();
        let queue = ctx.queue("q");
        queue.upload(&[0, 1, 2, 3, 4, 5], &mut table).unwrap();
        assert_eq!(ctx.to_vec(&table).unwrap(), [0, 1, 2, 3, 4, 5]);
        assert_eq!(ctx.display(&table).unwrap().to_string(), "[[0, 1, 2],\n [3, 4, 5]]");
        assert_eq!(ctx.to_vec(&ctx.zeros::<u32, 1>([0]).unwrap()).unwrap(), [0; 0]);
    }
}
