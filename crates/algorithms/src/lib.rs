//! Algorithms on arrays as verbs of command queues. The `fencepost` crate re-exports this one as `fencepost::algorithms`.
//!
//! A verb *enqueues* its launches and returns. It never waits, its scratch memory comes from the pool of the queue, and the
//! result stays on the device. If an argument is refused, nothing is enqueued. Each verb works in a capture too. In the body of
//! a condition or a loop of a graph, a verb that takes scratch memory is refused: its documentation names the memory.
//!
//! A device compiles the kernels of the verbs without runtime checks of indices and loops, where they are proven not to need
//! them. `FENCEPOST_CHECKED=1` compiles them with all checks.
//!
//! # Example
//! ```
//! use fencepost::algorithms::Reduce;
//! # let (ctx, queue) = fencepost::doctest();
//! let x = ctx.array(&[3.0_f32, -1.0, 4.0])?;
//! let mut total = ctx.zeros([1])?;
//! queue.sum(&x, &mut total)?;
//! assert_eq!(queue.read(&total).wait()?, [6.0]);
//! # Ok::<(), fencepost::Error>(())
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)] // one file allows it

mod axis;
mod axis_kinds;
mod axis_search;
mod by_key;
mod count;
mod counted;
mod distribution;
mod elementwise;
mod expression;
mod fold;
mod grid;
mod histogram;
pub mod host;
mod inner_product;
mod launches;
mod map;
mod monoid;
mod operator;
mod order;
mod ordered;
mod part;
mod part_order;
mod part_select;
mod part_verbs;
mod passes;
mod permutation;
mod program;
mod radix;
mod random;
mod ranks;
mod rearrange;
mod reduce;
mod reduce_axis;
mod reducible;
mod refusals;
mod scan;
mod scan_segments;
mod search;
mod segment_heads;
mod segment_kinds;
mod segment_search;
mod segments;
mod select;
mod shares;
mod sort;
mod sort_segments;
mod sorted;
mod stages;
mod strided;
mod top;
mod trusted;
mod tuning;
mod typed_kernel;
mod verb_queue;
mod warm_up;
mod weighted;
mod wide;

pub use axis::Axis;
pub use axis_kinds::AlongAxis;
pub use axis_search::SearchAxis;
pub use by_key::ByKey;
pub use count::Count;
pub use distribution::{Choice, Distribution, Exponential, Normal, Uniform, Whole, Words};
pub use elementwise::Elementwise;
pub use fold::Fold;
pub use histogram::{Bins, Histogram};
pub use inner_product::InnerProduct;
pub use map::Map;
pub use monoid::{Associative, Combinable, Monoid};
pub use part::Part;
pub use part_order::PartOrder;
pub use part_select::PartSelect;
pub use part_verbs::PartVerbs;
pub use random::{Philox, RandomNumbers};
pub use rearrange::{Integer, Outside, Rearrange};
pub use reduce::{Nan, Reduce};
pub use reduce_axis::ReduceAxis;
pub use reducible::{Operation, Reducible};
pub use scan::{PrefixScan, Scan};
pub use scan_segments::ScanSegments;
pub use search::Search;
pub use segment_kinds::InSegments;
pub use segment_search::SearchSegments;
pub use segments::ReduceSegments;
pub use select::Select;
pub use sort::{RadixSort, Sort};
pub use sort_segments::SortSegments;
pub use sorted::{Side, Sorted};
pub use strided::{StridedCopy, Strides};
pub use top::Top;
pub use warm_up::WarmUp;
pub use weighted::WeightedHistogram;

/// Re-exports the traits with the verbs.
pub mod prelude {
    pub use crate::{
        AlongAxis, Axis, Bins, ByKey, Choice, Count, Elementwise, Exponential, Fold, Histogram, InSegments,
        InnerProduct, Map, Monoid, Nan, Normal, Operation, Outside, Part, PartOrder, PartSelect, PartVerbs,
        Philox, PrefixScan, RadixSort, RandomNumbers, Rearrange, Reduce, ReduceAxis, ReduceSegments, Scan,
        ScanSegments, Search, SearchAxis, SearchSegments, Select, Side, Sort, SortSegments, Sorted,
        StridedCopy, Strides, Top, Uniform, WarmUp, WeightedHistogram, Whole, Words,
    };
}
