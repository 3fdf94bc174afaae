//! Calls on the queues of several contexts: reductions, gathers and exchanges.
//!
//! Each copy is enqueued on the queue of its target, after waits for the queues of the other contexts. No call waits on
//! the host.

use crate::elementwise::flat;
use crate::inputs::Inputs;
use crate::map::map_in_place;
use crate::reduce::Nan;
use crate::reducible::{Operation, Reducible};
use crate::refusals::check;
use crate::verb_queue::{VerbQueue, subject};
use fencepost_core::group_checks::{check_copy, check_queue, is_own, share_a_context, share_bytes};
use fencepost_core::trusted_kernel::take_room;
use fencepost_core::{CommandQueue, DeviceArray, Element, Error, ErrorDetail, Event, Result, Scalar, args};
use std::borrow::Borrow;

/// Queues of several contexts, one of each, for calls on arrays of all of them. The adapters may differ.
///
/// Of the arrays of a call, the first belongs to the context of the first queue, the second to that of the second
/// queue, and so on. Each call comes after all commands that were enqueued before it on the queues of the group. Later
/// commands of a queue come after the use of the queue's own arrays. Other queues of the contexts are ordered by the
/// policy of their context. No call blocks, unless a backlog is full.
///
/// If a call is refused, it enqueues nothing on any queue. If a device fails later, the queues of the other contexts
/// fail with [`ErrorDetail::OtherContext`], and their arrays may have parts of the results.
///
/// A group belongs to one process. Programs on several machines exchange their arrays with a library such as MPI.
///
/// # Example
/// ```
/// use fencepost::prelude::*;
/// # let [(one, a), (two, b)] = [fencepost::doctest(), fencepost::doctest()];
/// let group = QueueGroup::new([&a, &b])?;
/// let mut sums = [one.array(&[1.0_f32, 2.0])?, two.array(&[10.0, 20.0])?];
/// group.all_reduce(&mut sums, Operation::Sum)?;
/// assert_eq!(a.read(&sums[0]).wait()?, [11.0, 22.0]);
/// assert_eq!(b.read(&sums[1]).wait()?, [11.0, 22.0]);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct QueueGroup {
    queues: Vec<CommandQueue>,
}

impl QueueGroup {
    /// Returns a group of queues, in their order.
    ///
    /// # Errors
    /// [`ErrorDetail::Value`] if there is no queue, or if two of them belong to one context. The same queue twice is
    /// such a pair.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let (one, a) = fencepost::doctest();
    /// assert!(QueueGroup::new([&a]).is_ok());
    /// let error = QueueGroup::new([&a, &one.queue("another")]).unwrap_err();
    /// assert_eq!(error.kind(), ErrorKind::InvalidInput);
    /// ```
    pub fn new<Q: Borrow<CommandQueue>>(queues: impl IntoIterator<Item = Q>) -> Result<Self> {
        let queues: Vec<CommandQueue> =
            queues.into_iter().map(|queue| Borrow::<CommandQueue>::borrow(&queue).clone()).collect();
        if queues.is_empty() {
            let object = "a group of queues: the number of queues".into();
            return Err(ErrorDetail::Value { object, found: "0".into(), needed: "1 or more" }.into());
        }
        for (at, queue) in queues.iter().enumerate() {
            if let Some(other) = queues[..at].iter().find(|other| share_a_context(other, queue)) {
                let [other, queue] = [other, queue].map(|queue| &queue.options().label);
                let object = format!(
                    "a group of queues: the number of queues of one context, here `{other}` and `{queue}`,"
                );
                return Err(ErrorDetail::Value { object, found: "2".into(), needed: "1" }.into());
            }
        }
        Ok(Self { queues })
    }

    /// *Enqueues* a reduction: each element of every array becomes the combination of the elements at its place in all
    /// arrays.
    ///
    /// The first device combines the arrays in the order of the queues: the sum of three is `(x + y) + z`. It sends the
    /// result to the others, so the bits are the same in all arrays, and in each run on the same first device.
    ///
    /// # Shape
    /// All arrays have one shape.
    ///
    /// # Cost
    /// The first context receives all other arrays, and sends as many. It needs scratch memory for two arrays.
    ///
    /// # Errors
    /// [`ErrorDetail::Value`] if there is not one array for each queue; [`ErrorDetail::ForeignContext`] for an array of
    /// another context than its queue; [`ErrorDetail::Shape`]; [`ErrorDetail::Padding`]; [`ErrorDetail::Aliased`] if
    /// two arrays overlap; [`ErrorDetail::BindingTooLarge`]; [`ErrorDetail::Captured`], because a capture does not take
    /// the call; the errors of [`CommandQueue::copy`] and of each queue.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let [(one, a), (two, b)] = [fencepost::doctest(), fencepost::doctest()];
    /// let (mut x, mut y) = (one.array(&[5_u32, 1])?, two.array(&[3, 8])?);
    /// QueueGroup::new([&a, &b])?.all_reduce([&mut x, &mut y], Operation::Largest)?;
    /// assert_eq!(b.read(&y).wait()?, [5, 8]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn all_reduce<'a, T: Reducible, const D: usize>(
        &self,
        arrays: impl IntoIterator<Item = &'a mut DeviceArray<T, D>>,
        operation: Operation,
    ) -> Result<()> {
        let queue = self.begin("all_reduce")?;
        let arrays: Vec<DeviceArray<T, D>> = arrays.into_iter().map(|array| array.clone()).collect();
        self.check_owners(&queue, "arrays", &arrays)?;
        for (at, array) in arrays.iter().enumerate() {
            if array.shape() != arrays[0].shape() {
                let remedy = "all arrays of the call have one shape";
                return Err(queue.wrong_shape(&indexed("arrays", at), array, arrays[0].shape(), remedy));
            }
        }
        let arrays = arrays.iter().map(flat).collect::<Result<Vec<_>>>()?;
        check_apart(&queue, &List { name: "arrays", arrays: &arrays }, None)?;
        for (own, array) in self.queues.iter().zip(&arrays) {
            check_copy(own, array, false)?;
            check_copy(own, array, true)?;
        }
        let mut total = queue.scratch::<T>(arrays[0].len())?;
        let mut next = queue.scratch::<T>(arrays[0].len())?;
        check(&queue, &[("arrays", &next.cast_bits())], &[("arrays", &total.cast_bits())])?;

        queue.wait_for(&self.markers()[1..])?;
        queue.copy(&arrays[0], &mut total)?;
        for array in &arrays[1..] {
            queue.copy(array, &mut next)?;
            combine(&queue, operation, &mut total, &next)?;
        }
        let combined = queue.marker();
        queue.copy(&total, &mut arrays[0].clone())?;
        for (other, array) in self.queues.iter().zip(&arrays).skip(1) {
            other.wait_for(&combined)?;
            other.copy(&total, &mut array.clone())?;
        }
        Ok(())
    }

    /// *Enqueues* a gather: each array of `outs` receives the elements of all parts, in the order of the queues.
    ///
    /// # Shape
    /// The parts may have different lengths, and each output has the length of all parts together. Elements are in C
    /// order, so parts that consist of rows form a larger array of rows.
    ///
    /// # Errors
    /// [`ErrorDetail::Value`] if there is not one part and one output for each queue; [`ErrorDetail::ForeignContext`]
    /// for an array of another context than its queue; [`ErrorDetail::Shape`]; [`ErrorDetail::Padding`];
    /// [`ErrorDetail::Aliased`] if an output overlaps another array of the call; [`ErrorDetail::Alignment`] if a part
    /// would begin or end inside a word of 4 bytes; [`ErrorDetail::Captured`], because a capture does not take the
    /// call; the errors of [`CommandQueue::copy`] and of each queue.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let [(one, a), (two, b)] = [fencepost::doctest(), fencepost::doctest()];
    /// let parts = [one.array(&[1_u32, 2, 3])?, two.array(&[4])?];
    /// let mut outs = [one.zeros::<u32, 1>([4])?, two.zeros([4])?];
    /// QueueGroup::new([&a, &b])?.all_gather(&parts, &mut outs)?;
    /// assert_eq!(a.read(&outs[0]).wait()?, [1, 2, 3, 4]);
    /// assert_eq!(b.read(&outs[1]).wait()?, [1, 2, 3, 4]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn all_gather<'a, 'b, T: Element, const D: usize, const E: usize>(
        &self,
        parts: impl IntoIterator<Item = &'a DeviceArray<T, D>>,
        outs: impl IntoIterator<Item = &'b mut DeviceArray<T, E>>,
    ) -> Result<()> {
        let queue = self.begin("all_gather")?;
        let parts = parts.into_iter().map(flat).collect::<Result<Vec<_>>>()?;
        let outs = outs.into_iter().map(|out| flat(out)).collect::<Result<Vec<_>>>()?;
        self.check_owners(&queue, "parts", &parts)?;
        self.check_owners(&queue, "outs", &outs)?;
        let mut end = 0_usize;
        let mut places = Vec::with_capacity(parts.len());
        for part in &parts {
            let start = end;
            end = end.saturating_add(part.len());
            places.push(start..end);
        }
        for (at, out) in outs.iter().enumerate() {
            if out.len() != end {
                let remedy = "an output has the elements of all parts";
                return Err(queue.wrong_shape(&indexed("outs", at), out, [end], remedy));
            }
        }
        let read = List { name: "parts", arrays: &parts };
        check_apart(&queue, &List { name: "outs", arrays: &outs }, Some(&read))?;
        for ((own, part), out) in self.queues.iter().zip(&parts).zip(&outs) {
            check_copy(own, part, false)?;
            for place in &places {
                check_copy(own, &out.slice(place.clone())?, true)?;
            }
        }

        self.meet()?;
        for (own, out) in self.queues.iter().zip(&outs) {
            for (part, place) in parts.iter().zip(&places) {
                own.copy(part, &mut out.slice(place.clone())?)?;
            }
        }
        self.meet()
    }

    /// *Enqueues* copies from sources to targets, each pair with one shape. A source and a target may belong to
    /// different contexts or to one, but both contexts are in the group.
    ///
    /// A step of a simulation whose arrays are in several contexts exchanges their edges this way.
    ///
    /// # Errors
    /// [`ErrorDetail::ForeignContext`] for an array of a context that has no queue in the group;
    /// [`ErrorDetail::Shape`]; [`ErrorDetail::Padding`]; [`ErrorDetail::Aliased`] if a target overlaps another target,
    /// or a source; [`ErrorDetail::Alignment`]; [`ErrorDetail::Captured`], because a capture does not take the call;
    /// the errors of [`CommandQueue::copy`] and of each queue.
    ///
    /// # Example
    /// ```
    /// use fencepost::prelude::*;
    /// # let [(one, a), (two, b)] = [fencepost::doctest(), fencepost::doctest()];
    /// // At the end of `x` and at the start of `y` is a place for a neighbour's element.
    /// let (x, y) = (one.array(&[1_u32, 2, 0])?, two.array(&[0_u32, 3, 4])?);
    /// let group = QueueGroup::new([&a, &b])?;
    /// group.exchange([
    ///     (&x.slice(1..2)?, &mut y.slice(0..1)?),
    ///     (&y.slice(1..2)?, &mut x.slice(2..3)?),
    /// ])?;
    /// assert_eq!(a.read(&x).wait()?, [1, 2, 3]);
    /// assert_eq!(b.read(&y).wait()?, [2, 3, 4]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn exchange<'a, T: Element, const D: usize>(
        &self,
        copies: impl IntoIterator<Item = (&'a DeviceArray<T, D>, &'a mut DeviceArray<T, D>)>,
    ) -> Result<()> {
        let queue = self.begin("exchange")?;
        let mut sources = Vec::new();
        let mut targets = Vec::new();
        for (at, (source, target)) in copies.into_iter().enumerate() {
            if target.shape() != source.shape() {
                let remedy = "the source and the target of a copy have one shape";
                return Err(queue.wrong_shape(&indexed("targets", at), target, source.shape(), remedy));
            }
            sources.push(flat(source)?);
            targets.push(flat(target)?);
        }
        let mut writers = Vec::with_capacity(targets.len());
        for (at, (source, target)) in sources.iter().zip(&targets).enumerate() {
            check_copy(self.owner_of(&queue, &indexed("sources", at), source)?, source, false)?;
            let writer = self.owner_of(&queue, &indexed("targets", at), target)?;
            check_copy(writer, target, true)?;
            writers.push(writer);
        }
        let read = List { name: "sources", arrays: &sources };
        check_apart(&queue, &List { name: "targets", arrays: &targets }, Some(&read))?;

        self.meet()?;
        for ((writer, source), target) in writers.into_iter().zip(&sources).zip(&mut targets) {
            writer.copy(source, target)?;
        }
        self.meet()
    }

    /// Waits for room in the backlog of each queue, and checks that each queue accepts commands. Returns the first
    /// queue, with room for the commands of the call on all of them.
    #[track_caller]
    fn begin(&self, call: &'static str) -> Result<VerbQueue<'_>> {
        for queue in &self.queues[1..] {
            drop(take_room(queue)?);
        }
        let first = VerbQueue::new(&self.queues[0], call)?;
        for queue in &self.queues {
            check_queue(queue, call)?;
        }
        Ok(first)
    }

    /// Checks that there is one array for each queue, and that it belongs to the queue's context.
    fn check_owners<T: Element, const D: usize>(
        &self,
        queue: &VerbQueue<'_>,
        argument: &str,
        arrays: &[DeviceArray<T, D>],
    ) -> Result<()> {
        if arrays.len() != self.queues.len() {
            let object = format!("{}, argument `{argument}`: the number of arrays", subject(queue.verb));
            let needed = "one for each queue of the group";
            return Err(ErrorDetail::Value { object, found: arrays.len().to_string(), needed }.into());
        }
        for (at, (own, array)) in self.queues.iter().zip(arrays).enumerate() {
            if !is_own(own, array) {
                return Err(foreign(queue, &indexed(argument, at), array));
            }
        }
        Ok(())
    }

    /// Returns the queue of an array's context.
    fn owner_of<T: Element>(
        &self,
        queue: &VerbQueue<'_>,
        argument: &str,
        array: &DeviceArray<T>,
    ) -> Result<&CommandQueue> {
        let owner = self.queues.iter().find(|own| is_own(own, array));
        owner.ok_or_else(|| foreign(queue, argument, array))
    }

    /// Returns an event of each queue, for everything enqueued so far on it.
    #[track_caller]
    fn markers(&self) -> Vec<Event> {
        let mut markers = Vec::with_capacity(self.queues.len());
        for queue in &self.queues {
            markers.push(queue.marker());
        }
        markers
    }

    /// Makes each queue wait for everything enqueued so far on the others.
    #[track_caller]
    fn meet(&self) -> Result<()> {
        let markers = self.markers();
        for (at, queue) in self.queues.iter().enumerate() {
            queue.wait_for(&markers[..at])?;
            queue.wait_for(&markers[at + 1..])?;
        }
        Ok(())
    }
}

/// Arrays of a call, with the name of the argument that lists them.
struct List<'a, T: Element> {
    name: &'static str,
    arrays: &'a [DeviceArray<T>],
}

/// Checks that no written array shares bytes with another array of the call.
fn check_apart<T: Element>(
    queue: &VerbQueue<'_>,
    written: &List<'_, T>,
    read: Option<&List<'_, T>>,
) -> Result<()> {
    for (at, target) in written.arrays.iter().enumerate() {
        let targets = List { name: written.name, arrays: &written.arrays[..at] };
        for List { name, arrays } in [Some(&targets), read].into_iter().flatten() {
            let Some(other) = arrays.iter().position(|other| share_bytes(target, other)) else { continue };
            let subject = subject(queue.verb);
            let first = indexed(name, other);
            let second = indexed(written.name, at);
            let array = target.label().into();
            return Err(ErrorDetail::Aliased { subject, node: String::new(), first, second, array }.into());
        }
    }
    Ok(())
}

/// Returns the error for an array of another context than its queue.
fn foreign<T: Element, const D: usize>(
    queue: &VerbQueue<'_>,
    argument: &str,
    array: &DeviceArray<T, D>,
) -> Error {
    let object = format!("array `{}`", array.label());
    ErrorDetail::ForeignContext { subject: subject(queue.verb), arg: argument.into(), object }.into()
}

/// Returns the name of an array in a list of arrays.
fn indexed(argument: &str, at: usize) -> String {
    format!("{argument}[{at}]")
}

/// Enqueues the combination of the elements at the same places in `x` and `y`, and writes it to `x`.
#[track_caller]
fn combine<T: Reducible>(
    queue: &VerbQueue<'_>,
    operation: Operation,
    x: &mut DeviceArray<T>,
    y: &DeviceArray<T>,
) -> Result<()> {
    let is_float = T::DTYPE.scalar() == Some(Scalar::F32);
    if is_float && operation.needs_an_element() {
        let mut x = x.cast_bits::<u32>();
        let y = y.cast_bits::<u32>();
        return map_in_place(queue, &Inputs::from(args![x = &mut x, y = &y]), &float_extreme(operation));
    }
    let expression = match operation {
        Operation::Sum => "x + y",
        Operation::Product => "x * y",
        Operation::Smallest | Operation::SmallestNumber => "min(x, y)",
        Operation::Largest | Operation::LargestNumber => "max(x, y)",
    };
    map_in_place(queue, &Inputs::from(args![x = x, y = y]), expression)
}

/// Returns the expression for the smaller or the larger of two floats, given as bits. Like the reductions of an array,
/// it compares keys that order all numbers, so -0.0 is smaller than 0.0.
fn float_extreme(operation: Operation) -> String {
    let key = |bits: &str| format!("select({bits} ^ 0x80000000u, ~{bits}, {bits} >= 0x80000000u)");
    let order = if operation.is_largest() { ">=" } else { "<=" };
    let number = format!("select(y, x, {} {order} {})", key("x"), key("y"));
    let is_nan = |bits: &str| format!("({bits} & 0x7fffffffu) > 0x7f800000u");
    let [x_is_nan, y_is_nan] = ["x", "y"].map(is_nan);
    match operation.nan() {
        Nan::Propagate => format!("select(select({number}, y, {y_is_nan}), x, {x_is_nan})"),
        Nan::Ignore => format!("select(select({number}, x, {y_is_nan}), y, {x_is_nan})"),
    }
}
