//! Algorithms on arrays, as verbs of command queues. The `fencepost` crate re-exports this one as
//! `fencepost::algorithms`, and its prelude has the names that a program needs.
//!
//! The verbs are the methods of one trait, [`Algorithms`]. An argument says what a verb works on: a whole array, the
//! elements along an axis, segments, or the first elements.
//!
//! A verb enqueues its launches and returns. It never waits; its scratch memory comes from the memory pool, and the
//! result stays on the device. If an argument is refused, nothing is enqueued. All verbs work in captures, even in the
//! bodies of conditions and loops, except those that return a value to the host. A graph owns the scratch memory of its
//! verbs; the tables below list that memory.
//!
//! Where runtime checks of indices and loops are proven redundant, the kernels of the verbs are compiled without them.
//! With `FENCEPOST_CHECKED=1` they keep all checks.
//!
//! A [`QueueGroup`] combines, gathers and exchanges arrays of several contexts.
//!
//! [`Tune`] measures the variants of the kernels on a context, whose verbs then take the fastest ones.
//!
//! # Example
//! ```
//! use fencepost::prelude::*;
//! # let (ctx, queue) = fencepost::doctest();
//! let x = ctx.array(&[3.0_f32, -1.0, 4.0, 2.0])?.reshape([2, 2])?;
//! let (mut total, mut of_rows) = (ctx.zeros([1])?, ctx.zeros([2, 1])?);
//! queue.sum(&x, &mut total)?;
//! queue.sum(x.axis(1), &mut of_rows)?;
//! assert_eq!(queue.read(&total).wait()?, [8.0]);
//! assert_eq!(queue.read(&of_rows).wait()?, [2.0, 6.0]);
//! # Ok::<(), fencepost::Error>(())
//! ```
#![doc = ""]
#![doc = include_str!("costs.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]
#![deny(unsafe_code)] // one file allows it

mod algorithms;
mod axis;
mod axis_search;
mod broadcast;
mod by_key;
mod channels;
mod convolution;
mod count;
mod counted;
mod distribution;
mod eigen;
mod elementwise;
mod exact;
mod exact_matmul;
mod expression;
mod factors;
mod fft;
mod fft_plan;
mod fft_shift;
mod fft_table;
mod filter;
mod flagger;
mod flagger_plane;
#[doc(hidden)] // for the tests
pub mod for_oracles;
mod grid;
mod group;
mod histogram;
mod inner_product;
mod inputs;
mod launches;
mod map;
mod map_kernel;
mod matmul;
mod matmul_kernel;
mod matrix_stack;
mod matrix_tasks;
mod measure;
mod monoid;
mod operator;
mod order;
mod ordered;
mod passes;
mod permutation;
mod products;
mod program;
mod quantile;
mod radix;
mod random;
mod ranks;
mod rearrange;
mod reduce;
mod reducible;
mod reductions;
mod refusals;
mod rolling;
mod rows;
mod scan;
mod search;
mod segment_heads;
mod segment_search;
mod segments;
mod select;
mod selection;
mod shares;
mod sort;
mod sorted;
mod sparse;
mod stages;
mod stft;
mod stopwatch;
mod strided;
mod sum_threshold;
mod systems;
mod top;
mod trusted;
mod tuning;
mod typed_kernel;
mod variants;
mod verb_queue;
mod weighted;
mod wgsl_type;
mod wide;
mod window;

pub use algorithms::Algorithms;
pub use channels::{ChannelElement, ConvolveChannels};
pub use convolution::{Convolve, ConvolveMode};
pub use distribution::{Choice, Distribution, Exponential, Normal, Uniform, Whole, Words};
pub use factors::Triangle;
pub use fencepost_core::{Candidates, Determinism, Matrices, Over, Parts, Prefix, Strides, Terms};
pub use fft_plan::{FftNorm, FftPlan, RealFftPlan};
pub use fft_shift::{fftfreq, rfftfreq};
pub use filter::{Boundary, Filter};
pub use flagger::SumThresholdFlagger;
pub use group::QueueGroup;
pub use histogram::Bins;
pub use inputs::Inputs;
pub use matmul::{Factor, Matmul};
pub use measure::{Tune, TuneOptions};
pub use monoid::{Associative, Combinable, Monoid};
pub use quantile::{QuantileMethod, Quantiles};
pub use random::Philox;
pub use rearrange::Outside;
pub use reducible::{Operation, Reducible};
pub use reductions::Floats;
pub use rolling::Rolling;
pub use scan::Scan;
pub use sort::Sort;
pub use sorted::Side;
pub use sparse::{Csr, MatmulSparse};
pub use stft::{StftPlan, Welch};
#[cfg(feature = "validation")]
#[doc(hidden)]
pub use stopwatch::{TimedRound, with_times};
pub use sum_threshold::SumThreshold;
pub use systems::Triangular;
#[cfg(feature = "validation")]
#[doc(hidden)]
pub use tuning::{Forced, with_forced};
pub use variants::Tunable;
#[cfg(feature = "validation")]
#[doc(hidden)]
pub use variants::variant_tables;
pub use window::Window;

/// Re-exports the names that programs with algorithms need.
pub mod prelude {
    pub use crate::{
        Algorithms, Bins, Boundary, Choice, ConvolveChannels, ConvolveMode, Csr, Determinism, Exponential,
        FftNorm, FftPlan, Filter, Inputs, Matmul, MatmulSparse, Matrices, Monoid, Normal, Operation, Outside,
        Philox, QuantileMethod, Quantiles, QueueGroup, RealFftPlan, Reducible, Rolling, Scan, Side, Sort,
        StftPlan, Strides, SumThreshold, SumThresholdFlagger, Triangle, Triangular, Tunable, Tune,
        TuneOptions, Uniform, Welch, Whole, Window, Words, fftfreq, rfftfreq,
    };
}
