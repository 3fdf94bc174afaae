//! The launches of a stable radix sort.

use crate::counted::SizedKernel;
use crate::scan::CountSums;
use crate::shares::Shares;
use crate::tuning::{PER, by_adapter, limit, tuned, tuned_as};
use crate::variants::{Tunable, chosen};
use crate::verb_queue::VerbQueue;
use fencepost_core::{DeviceArray, Result};
use fencepost_derive::KernelArgs;
use std::ops::Range;

/// Number of bits of a digit.
const BITS: u32 = 4;
/// Number of values of a digit.
const DIGITS: usize = 1 << BITS;
/// Number of elements per invocation in a tile of `radix_scatter.wgsl`, on a processor and on a GPU. On a GPU, a tile
/// is in workgroup memory.
const OF_INVOCATION: [f64; 2] = [256.0, 16.0];
/// Maximum number of elements that one workgroup sorts in a single launch.
const MOST_IN_ONE: usize = 4096;

/// Returns `true` if one workgroup sorts `n` elements.
pub(crate) fn sorts_in_one(n: usize) -> bool {
    n <= limit(MOST_IN_ONE, 90)
}

/// The values that move with the keys.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Payload {
    /// No values.
    None,
    /// The values in the second column.
    Values,
    /// The place of each key before the sort.
    Places,
}

impl Payload {
    /// Returns the kernel's number for the values that move in a pass. After the first pass, places have become values.
    fn in_pass(self, pass: usize) -> u32 {
        match self {
            Self::None => 0,
            Self::Places if pass == 0 => 2,
            Self::Values | Self::Places => 1,
        }
    }
}

/// Order of a sort.
pub(crate) struct Order {
    /// Bits that are inverted in a key: if the element's sign bit is clear, and if it is set.
    pub(crate) flips: [u32; 2],
    /// Range of key bits to compare; not empty.
    pub(crate) bits: Range<u32>,
    pub(crate) payload: Payload,
}

impl Order {
    /// Returns the number of digits of the keys.
    fn digits(&self) -> usize {
        self.bits.len().div_ceil(BITS as usize)
    }

    /// Returns scratch memory for a sort of `n` elements. A sort by a single digit to another array needs none.
    #[track_caller]
    fn scratch(&self, queue: &VerbQueue<'_>, n: usize, in_place: bool) -> Result<Columns> {
        Columns::empty(queue, if self.digits() > 1 || in_place { n } else { 1 }, self.payload)
    }
}

/// Keys and values, as bits. Without values, `values` is an unused array of one element.
#[derive(Clone)]
pub(crate) struct Columns {
    keys: DeviceArray<u32>,
    values: DeviceArray<u32>,
}

impl Columns {
    /// Returns columns for `n` pairs, or for `n` keys.
    #[track_caller]
    fn empty(queue: &VerbQueue<'_>, n: usize, payload: Payload) -> Result<Self> {
        Self::of(queue, n, payload, Arrays::default())
    }

    /// Returns columns made of the caller's arrays, with scratch memory for absent ones.
    #[track_caller]
    fn of(queue: &VerbQueue<'_>, n: usize, payload: Payload, arrays: Arrays) -> Result<Self> {
        let values = if payload == Payload::None { 1 } else { n };
        Ok(Self { keys: or_empty(queue, arrays.keys, n)?, values: or_empty(queue, arrays.values, values)? })
    }
}

/// Returns the array, or a new one.
#[track_caller]
fn or_empty(queue: &VerbQueue<'_>, array: Option<DeviceArray<u32>>, n: usize) -> Result<DeviceArray<u32>> {
    match array {
        Some(array) => Ok(array),
        None => queue.scratch(n),
    }
}

/// The caller's arrays of keys and values.
#[derive(Clone, Default)]
pub(crate) struct Arrays {
    pub(crate) keys: Option<DeviceArray<u32>>,
    pub(crate) values: Option<DeviceArray<u32>>,
}

impl Arrays {
    /// Lists the arrays.
    pub(crate) fn list(&self) -> Vec<&DeviceArray<u32>> {
        self.keys.iter().chain(&self.values).collect()
    }
}

/// Enqueues the sort of the `n` elements of `input` to `out`, or of `out` itself if there is no input. The arrays must
/// already be checked.
#[track_caller]
pub(crate) fn enqueue(
    queue: &VerbQueue<'_>,
    order: &Order,
    n: usize,
    input: Option<Arrays>,
    out: Arrays,
) -> Result<()> {
    PreparedSort::new(queue, order, n, None, input, out)?.enqueue(queue)
}

/// A checked sort with compiled kernels and allocated memory.
pub(crate) enum PreparedSort<'a> {
    /// A sort of no elements.
    Nothing,
    Small(Small<'a>),
    Passes {
        passes: Box<Passes<'a>>,
        input: Option<Columns>,
        out: Columns,
    },
}

impl<'a> PreparedSort<'a> {
    /// Prepares a sort of arrays of `n` elements, or of their first elements, but enqueues nothing. The arrays must
    /// already be checked.
    #[track_caller]
    pub(crate) fn new(
        queue: &VerbQueue<'_>,
        order: &'a Order,
        n: usize,
        count: Option<&DeviceArray<u32>>,
        input: Option<Arrays>,
        out: Arrays,
    ) -> Result<Self> {
        if n == 0 {
            return Ok(Self::Nothing);
        }
        let scratch = order.scratch(queue, n, input.is_none())?;
        let input = match input {
            Some(input) => Some(Columns::of(queue, 1, Payload::None, input)?),
            None => None,
        };
        let out = Columns::of(queue, n, order.payload, out)?;
        if !sorts_in_one(n) {
            return Ok(Self::Passes {
                passes: Box::new(Passes::new(queue, order, n, count, scratch)?),
                input,
                out,
            });
        }
        let in_place = input.is_none();
        let input = match input {
            Some(input) => input,
            None => Columns::empty(queue, 1, Payload::None)?,
        };
        let overrides = tuned_as(queue, chosen(queue, Tunable::SortSmall, n), &[]);
        let kernel = SizedKernel::compiled(queue, &overrides, count)?;
        Ok(Self::Small(Small { kernel, order, in_place, input, out, scratch }))
    }

    /// Enqueues the launches.
    #[track_caller]
    pub(crate) fn enqueue(self, queue: &VerbQueue<'_>) -> Result<()> {
        match self {
            Self::Nothing => Ok(()),
            Self::Small(small) => small.enqueue(queue),
            Self::Passes { passes, input, out } => passes.enqueue(queue, input, out),
        }
    }
}

#[derive(KernelArgs)]
#[kernel(source = "sort_small.wgsl", crate = fencepost_kernels)]
struct SortSmallArgs<'a> {
    n: u32,
    low: u32,
    high: u32,
    flip_clear: u32,
    flip_set: u32,
    payload: u32,
    passes: u32,
    in_place: u32,
    keys: &'a DeviceArray<u32>,
    values: &'a DeviceArray<u32>,
    out_keys: &'a mut DeviceArray<u32>,
    out_values: &'a mut DeviceArray<u32>,
    scratch_keys: &'a mut DeviceArray<u32>,
    scratch_values: &'a mut DeviceArray<u32>,
}

/// A sort of few elements by one workgroup.
pub(crate) struct Small<'a> {
    kernel: SizedKernel<SortSmallArgs<'static>>,
    order: &'a Order,
    in_place: bool,
    input: Columns,
    out: Columns,
    scratch: Columns,
}

impl Small<'_> {
    #[track_caller]
    fn enqueue(self, queue: &VerbQueue<'_>) -> Result<()> {
        let Self { kernel, order, in_place, input, mut out, mut scratch } = self;
        // A sort in place must end where it began, so it takes an even number of passes.
        let passes = order.digits() + usize::from(in_place && order.digits() % 2 == 1);
        let [flip_clear, flip_set] = order.flips;
        let args = SortSmallArgs {
            n: out.keys.len() as u32,
            low: order.bits.start,
            high: order.bits.end,
            flip_clear,
            flip_set,
            payload: order.payload.in_pass(0),
            passes: passes as u32,
            in_place: u32::from(in_place),
            keys: &input.keys,
            values: &input.values,
            out_keys: &mut out.keys,
            out_values: &mut out.values,
            scratch_keys: &mut scratch.keys,
            scratch_values: &mut scratch.values,
        };
        kernel.launch(queue, 1, args)
    }
}

#[derive(KernelArgs)]
#[kernel(source = "radix_count.wgsl", crate = fencepost_kernels)]
struct CountArgs<'a> {
    n: u32,
    share: u32,
    groups: u32,
    bit: u32,
    mask: u32,
    flip_clear: u32,
    flip_set: u32,
    keys: &'a DeviceArray<u32>,
    counts: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "radix_scatter.wgsl", crate = fencepost_kernels)]
struct ScatterArgs<'a> {
    n: u32,
    share: u32,
    groups: u32,
    bit: u32,
    mask: u32,
    flip_clear: u32,
    flip_set: u32,
    payload: u32,
    keys: &'a DeviceArray<u32>,
    values: &'a DeviceArray<u32>,
    starts: &'a DeviceArray<u32>,
    out_keys: &'a mut DeviceArray<u32>,
    out_values: &'a mut DeviceArray<u32>,
}

/// A sort digit by digit, with three launches for each digit.
pub(crate) struct Passes<'a> {
    order: &'a Order,
    shares: Shares,
    count: SizedKernel<CountArgs<'static>>,
    sums: CountSums,
    scatter: SizedKernel<ScatterArgs<'static>>,
    counts: DeviceArray<u32>,
    scratch: Columns,
}

impl<'a> Passes<'a> {
    #[track_caller]
    fn new(
        queue: &VerbQueue<'_>,
        order: &'a Order,
        n: usize,
        count: Option<&DeviceArray<u32>>,
        scratch: Columns,
    ) -> Result<Self> {
        let shares = Shares::several(n);
        let [on_processor, on_card] = OF_INVOCATION;
        let per = [(PER, by_adapter(queue, on_processor, on_card))];
        let overrides = tuned_as(queue, chosen(queue, Tunable::Sort, n), &per);
        Ok(Self {
            order,
            shares,
            count: SizedKernel::compiled(queue, &tuned(queue, &[]), count)?,
            sums: CountSums::new(queue, DIGITS * shares.count)?,
            scatter: SizedKernel::compiled(queue, &overrides, count)?,
            counts: queue.scratch(DIGITS * shares.count)?,
            scratch,
        })
    }

    /// Enqueues all launches. The passes alternate between `out` and the scratch memory, so that the last one writes to
    /// `out`.
    #[track_caller]
    fn enqueue(mut self, queue: &VerbQueue<'_>, input: Option<Columns>, out: Columns) -> Result<()> {
        let digits = self.order.digits();
        let mut from = match input {
            Some(input) => input,
            None if digits.is_multiple_of(2) => out.clone(),
            None => self.copied(queue, &out)?,
        };
        for digit in 0..digits {
            let mut to = if (digits - digit) % 2 == 1 { out.clone() } else { self.scratch.clone() };
            self.pass(queue, digit, &from, &mut to)?;
            from = to;
        }
        Ok(())
    }

    /// Enqueues a copy of the elements to the scratch memory.
    #[track_caller]
    fn copied(&self, queue: &VerbQueue<'_>, out: &Columns) -> Result<Columns> {
        let mut scratch = self.scratch.clone();
        queue.copy(&out.keys, &mut scratch.keys)?;
        if scratch.values.len() > 1 {
            queue.copy(&out.values, &mut scratch.values)?;
        }
        Ok(scratch)
    }

    /// Enqueues the launches for one digit.
    #[track_caller]
    fn pass(&mut self, queue: &VerbQueue<'_>, digit: usize, from: &Columns, to: &mut Columns) -> Result<()> {
        let (bit, mask) = self.digit(digit);
        let [n, share, groups] = self.params();
        let keys = &from.keys;
        let counts = &mut self.counts;
        let [flip_clear, flip_set] = self.order.flips;
        let args = CountArgs { n, share, groups, bit, mask, flip_clear, flip_set, keys, counts };
        self.count.launch(queue, self.shares.count, args)?;
        self.sums.launch(queue, &self.counts)?;
        self.move_elements(queue, digit, from, to)
    }

    /// Enqueues the launch that moves the elements.
    #[track_caller]
    fn move_elements(
        &self,
        queue: &VerbQueue<'_>,
        digit: usize,
        from: &Columns,
        to: &mut Columns,
    ) -> Result<()> {
        let (bit, mask) = self.digit(digit);
        let [n, share, groups] = self.params();
        let [flip_clear, flip_set] = self.order.flips;
        let args = ScatterArgs {
            n,
            share,
            groups,
            bit,
            mask,
            flip_clear,
            flip_set,
            payload: self.order.payload.in_pass(digit),
            keys: &from.keys,
            values: &from.values,
            starts: &self.counts,
            out_keys: &mut to.keys,
            out_values: &mut to.values,
        };
        self.scatter.launch(queue, self.shares.count, args)
    }

    fn params(&self) -> [u32; 3] {
        [self.shares.elements, self.shares.share, self.shares.count].map(|n| n as u32)
    }

    /// Returns the first bit of a digit, and the bits that the digit has.
    fn digit(&self, digit: usize) -> (u32, u32) {
        let bit = self.order.bits.start + digit as u32 * BITS;
        (bit, (1 << BITS.min(self.order.bits.end - bit)) - 1)
    }
}
