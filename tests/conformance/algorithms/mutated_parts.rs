//! A17: a mistake in the treatment of shares past the last element is detected.

use super::mutated::{Mistake, all_caught, mistake};
use crate::common::{Case, Subject, case};
use fencepost::ShaderSource;
use fencepost::prelude::*;
use fencepost_oracles::{self as host, Nan};

pub fn cases() -> Vec<Case> {
    vec![case("a17_each_mistake_with_shares_that_are_empty_is_caught", caught)]
}

pub(super) const MISTAKES: &[Mistake] = &[
    mistake("scan", "&& (first < end || g == 0u)", ""),
    mistake("scan", "(first < end || g == 0u)", "first < end"),
    mistake("scan", "(first < end || g == 0u)", "(first <= end || g == 0u)"),
    mistake(
        "scan",
        "if REVERSED == 1u && group.x == 0u",
        "if REVERSED == 1u && group.x == 0u && params.n > 0u",
    ),
    mistake("extreme", "KEEP_NAN == 1u && key == neutral()", "false"),
    mistake("extreme", "KEEP_NAN == 1u && key == neutral()", "key == neutral()"),
    mistake("extreme", "KEEP_NAN == 1u && key == neutral()", "KEEP_NAN == 1u && key == ~neutral()"),
    mistake("extreme", "select(0u, SIGN, LARGEST == 1u); }", "select(SIGN, 0u, LARGEST == 1u); }"),
];

/// Number of elements of a share.
const SHARE: usize = 70;
/// Number of shares.
const SHARES: usize = 4;

fn caught(s: &Subject) {
    all_caught(s, MISTAKES, |ctx, shader, text| {
        [0, 1, 69, 70, 71, 140, 150, 280].into_iter().all(|n| match shader {
            "scan" => [false, true].into_iter().all(|reversed| is_total(ctx, text, n, reversed)),
            _ => [Nan::Propagate, Nan::Ignore]
                .into_iter()
                .all(|nan| [false, true].into_iter().all(|largest| are_extremes(ctx, text, n, nan, largest))),
        })
    });
}

/// Returns `true` if a scan of the first `n` elements writes the total of only these.
fn is_total(ctx: &Context, text: &str, n: usize, reversed: bool) -> bool {
    let list: Vec<u32> = (1..=(SHARE * SHARES) as u32).collect();
    let others = |share| if reversed { n.min((share + 1) * SHARE)..n } else { 0..share * SHARE };
    let carries: Vec<u32> = (0..SHARES).map(|share| host::sum(&list[others(share)])).collect();
    let source = ShaderSource::text("scan.wgsl", text.to_owned()).with_type("T", u32::DTYPE).unwrap();
    let overrides = [("CARRIED", 1.0), ("WORKGROUP", 16.0), ("REVERSED", f64::from(reversed))];
    let kernel = ctx.kernel_from_with(&source, "scan", &overrides).unwrap();
    let queue = ctx.queue("q");
    let x = queue.array(&list).unwrap();
    let carries = queue.array(&carries).unwrap();
    let (mut out, mut total) =
        (queue.zeros::<u32, 1>([list.len()]).unwrap(), queue.zeros::<u32, 1>([1]).unwrap());
    let args = args![
        n = n as u32,
        share = SHARE as u32,
        identity = 0_u32,
        initial = 5_u32,
        x = &x,
        carries = &carries,
        out = &mut out,
        total = &mut total
    ];
    queue.launch_dyn(&kernel, Grid::groups([SHARES]), args).unwrap();
    let scan = Scan::inclusive(Operation::Sum).from(5);
    let mut expected = host::scan(&list[..n], if reversed { scan.reversed() } else { scan });
    let all = 5 + host::sum(&list[..n]);
    expected.resize(list.len(), 0);
    queue.read(&out).wait().unwrap() == expected && queue.read(&total).wait().unwrap() == [all]
}

/// Returns `true` if the smallest or the largest number of each share is right, and the result of an empty share
/// affects no other.
fn are_extremes(ctx: &Context, text: &str, n: usize, nan: Nan, largest: bool) -> bool {
    let list: Vec<f32> =
        (0..SHARE * SHARES).map(|i| if i == 75 { f32::NAN } else { i as f32 - 90.0 }).collect();
    let flag = |is: bool| f64::from(u8::from(is));
    let overrides =
        [("LARGEST", flag(largest)), ("KEEP_NAN", flag(nan == Nan::Propagate)), ("WORKGROUP", 16.0)];
    let kernel = ctx.kernel_from_with(text, "extreme", &overrides).unwrap();
    let queue = ctx.queue("q");
    let (x, mut out) = (queue.array(&list).unwrap(), queue.zeros::<u32, 1>([SHARES]).unwrap());
    let bits = x.cast_bits::<u32>();
    let args = args![n = n as u32, share = SHARE as u32, x = &bits, out = &mut out];
    queue.launch_dyn(&kernel, Grid::groups([SHARES]), args).unwrap();
    let infinite = if largest { f32::NEG_INFINITY } else { f32::INFINITY };
    let none = if nan == Nan::Propagate { infinite } else { f32::NAN };
    let of_host = if largest { host::max } else { host::min };
    queue.read(&out).wait().unwrap().into_iter().enumerate().all(|(share, found)| {
        let end = n.min((share + 1) * SHARE);
        let expected = of_host(&list[(share * SHARE).min(end)..end], nan).unwrap_or(none);
        let found = f32::from_bits(found);
        found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan()
    })
}
