//! A10: a mistake in the kernels of verbs by key is detected.

use super::mutated::{Mistake, all_caught, mistake};
use crate::common::{Case, Subject, case};
use fencepost::ShaderSource;
use fencepost::interface::NamedArg;
use fencepost::prelude::*;
use fencepost_oracles as host;

pub fn cases() -> Vec<Case> {
    vec![case("a10_each_mistake_in_the_kernels_of_verbs_by_key_is_caught", caught)]
}

pub(super) const MISTAKES: &[Mistake] = &[
    mistake("scan_by_key", "at == 0u || keys[at]", "keys[at]"),
    mistake("scan_by_key", "keys[at] != keys[at - 1u]", "x[at] != x[at - 1u]"),
    mistake("scan_by_key", "of_bits(x[at])", "x[at]"),
    mistake("scan_by_key", "select(0u, 1u, is_head(at))", "0u"),
    mistake("scan_by_key", "select(before.value, params.identity, is_head(at))", "before.value"),
    mistake("scan_by_key", "params.n - 1u - i", "params.n - 2u - i"),
    mistake("scan_by_key", "at + 1u >= params.n || keys[at]", "keys[at]"),
    mistake("scan_by_key", "at + 1u >= params.n", "at + 2u >= params.n"),
    mistake("scan_by_key", "keys[at] != keys[at + 1u]", "keys[at] != keys[at - 1u]"),
    mistake("scan_by_key", "if HEADS == 1u {", "if HEADS == 0u {"),
    mistake("scan_by_key", "let place = at + REVERSED", "let place = at + 1u - REVERSED"),
    mistake("scan_by_key", ">> (place % 32u)", ">> (place % 16u)"),
    mistake("scan_by_key", "keys[place / 32u]", "keys[place / 16u]"),
    mistake("scan_by_key", "if REVERSED == 1u { return at", "if REVERSED == 0u { return at"),
    mistake("scan_by_key", "if EXCLUSIVE == 1u {", "if EXCLUSIVE == 0u {"),
    mistake("scan_by_key", "operation(params.initial, value)", "value"),
    mistake("scan_by_key", "to_bits(operation(params.initial, value))", "operation(params.initial, value)"),
    mistake("scan_by_key", "run_stage(group.x, lane)", "run_stage(0u, lane)"),
    mistake("scan_by_key", "of_bits(x[at])", "of_bits(x[at + 1u])"),
    // A barrier and a bound of the snippets.
    mistake("scan_by_key", "    workgroupBarrier();\n    parts[lane] = total;", "    parts[lane] = total;"),
    mistake("scan_by_key", "min(end, start + PER)", "start + PER"),
    mistake("reduce_by_key", "if LENGTHS == 0u { value = of_bits(x[i]); }", "value = of_bits(x[i]);"),
    mistake("reduce_by_key", "of_bits(x[i])", "x[i]"),
    mistake("reduce_by_key", "i == 0u || keys[i] != keys[i - 1u]", "i > 0u && keys[i] != keys[i - 1u]"),
    mistake("reduce_by_key", "i + 1u < params.n &&", ""),
    mistake("reduce_by_key", "let place = after.heads - 1u", "let place = before.heads - 1u"),
    mistake("reduce_by_key", "kept[place] = keys[i];", ""),
    mistake("reduce_by_key", "out[place]", "out[place + 1u]"),
    mistake("reduce_by_key", "to_bits(after.value)", "after.value"),
    mistake("reduce_by_key", "to_bits(after.value)", "to_bits(before.value)"),
    mistake("reduce_by_key", "states[0] = all.heads;", ""),
    mistake("reduce_by_key", "run_stage(group.x, lane)", "run_stage(0u, lane)"),
    // The other mistakes are in the snippet that both kernels use.
    mistake("reduce_by_key", "S(params.identity, 0u)", "S(params.identity, 1u)"),
    mistake("reduce_by_key", "S(params.identity, 0u)", "S(T(1), 0u)"),
    mistake("reduce_by_key", "if b.heads > 0u { return S(b.value, a.heads + b.heads); }", ""),
    mistake("reduce_by_key", "S(b.value, a.heads + b.heads)", "S(b.value, b.heads)"),
    mistake(
        "reduce_by_key",
        "S(b.value, a.heads + b.heads)",
        "S(operation(a.value, b.value), a.heads + b.heads)",
    ),
    mistake("reduce_by_key", "S(operation(a.value, b.value), a.heads)", "S(b.value, a.heads)"),
    mistake("reduce_by_key", "S(operation(a.value, b.value), a.heads)", "S(operation(a.value, b.value), 0u)"),
    mistake("reduce_by_key", "partials[2u * g + 1u]", "0u"),
    mistake("reduce_by_key", "partials[2u * g])", "partials[2u * g + 1u])"),
    mistake("reduce_by_key", "states[2u * g] = bitcast<u32>(state.value);", ""),
    mistake("reduce_by_key", "states[2u * g + 1u] = state.heads;", ""),
    mistake("reduce_by_key", "    workgroupBarrier();\n    return parts[0];", "    return parts[0];"),
];

/// Number of invocations of a workgroup: fewer than usual, because the checks take time for each invocation.
const WORKGROUP: f64 = 8.0;
/// Number of elements of a share: not a multiple of the workgroup.
const SHARE: usize = 30;
/// Number of elements: more shares than invocations, and a shorter last share.
const ELEMENTS: usize = 10 * SHARE + 13;
/// Initial value of result arrays.
const BEFORE: u32 = 0x5A5A_5A5A;

fn caught(s: &Subject) {
    all_caught(s, MISTAKES, |ctx, shader, text| {
        // Runs of 70 elements (some contain a whole share), of one element, and of three.
        let key = |i: u32| match i {
            0..200 => i / 70,
            200..250 => i,
            _ => (i + 1) / 3,
        };
        let keys: Vec<u32> = (0..ELEMENTS as u32).map(key).collect();
        let word = |i: u32| i.wrapping_mul(0x9E37_79B1) & 0xBFFF_FFFF;
        let x: Vec<u32> = (1..=ELEMENTS as u32).map(word).collect();
        let verbs = if shader == "scan_by_key" {
            &[Verb::Inclusive, Verb::Exclusive, Verb::Reversed, Verb::Heads][..]
        } else {
            &[Verb::Reduce, Verb::Lengths]
        };
        verbs.iter().all(|&verb| {
            [SHARE, ELEMENTS].into_iter().all(|share| {
                let launches = Launches { ctx, text, shader, verb, share };
                launches.are_right(false, &keys, &x)
                    && (verb == Verb::Lengths || launches.are_right(true, &keys, &x))
            })
        })
    });
}

#[derive(Clone, Copy, PartialEq)]
enum Verb {
    Inclusive,
    Exclusive,
    /// A reversed inclusive scan.
    Reversed,
    /// An inclusive scan of runs that are marked by bits for their first elements instead of keys.
    Heads,
    Reduce,
    Lengths,
}

/// Common parts of the launches of a verb.
struct Launches<'a> {
    ctx: &'a Context,
    text: &'a str,
    shader: &'a str,
    verb: Verb,
    share: usize,
}

impl Launches<'_> {
    /// Compares the sums of integers, or the smallest numbers, with the host's.
    fn are_right(&self, numbers: bool, keys: &[u32], x: &[u32]) -> bool {
        let (found, expected) = if numbers {
            let least = 0xFF80_0000;
            let x: &[f32] = bytemuck::cast_slice(x);
            (
                self.found(numbers, [u32::MAX, least], keys, bytemuck::cast_slice(x)),
                self.expected(keys, x, Operation::Smallest, f32::INFINITY),
            )
        } else {
            (self.found(numbers, [0, 7], keys, x), self.expected(keys, x, Operation::Sum, 7))
        };
        found == expected
    }

    /// Returns the elements of `kept`, of `out`, and the number of runs.
    fn found(&self, numbers: bool, [identity, initial]: [u32; 2], keys: &[u32], x: &[u32]) -> [Vec<u32>; 3] {
        let queue = self.ctx.queue("q");
        let heads = if self.verb == Verb::Heads { heads(keys) } else { keys.to_vec() };
        let keys = queue.array(&heads).unwrap();
        let x = queue.array(x).unwrap();
        let words = |len: usize| queue.full([len], BEFORE).unwrap();
        let shares = ELEMENTS.div_ceil(self.share);
        let mut kept = words(ELEMENTS);
        let mut out = words(ELEMENTS);
        let mut count = words(1);
        let mut states = words(2 * shares);
        let mut launch = |stage: f64, partials: &DeviceArray<u32>, states: &mut DeviceArray<u32>| {
            let mut args: Vec<NamedArg<'_>> = args![
                n = ELEMENTS as u32,
                share = self.share as u32,
                identity = identity,
                keys = &keys,
                x = &x,
                partials = partials,
                out = &mut out,
                states = states
            ]
            .to_vec();
            match self.shader {
                "scan_by_key" => args.extend(args![initial = initial]),
                _ => args.extend(args![kept = &mut kept]),
            }
            queue.launch_dyn(&self.kernel(numbers, stage), Grid::groups([shares]), args).unwrap();
        };
        if shares == 1 {
            launch(2.0, &keys, &mut count);
        } else {
            launch(1.0, &keys, &mut states);
            launch(0.0, &states, &mut count);
        }
        [kept, out, count].map(|array| queue.read(&array).wait().unwrap())
    }

    fn kernel(&self, numbers: bool, stage: f64) -> fencepost::DynKernel {
        let source = ShaderSource::text(format!("{}.wgsl", self.shader), self.text.to_owned());
        let source = source.with_type("T", u32::DTYPE).unwrap();
        let is = |verb| f64::from(self.verb == verb);
        let own = match self.shader {
            "scan_by_key" => &[
                ("EXCLUSIVE", is(Verb::Exclusive)),
                ("REVERSED", is(Verb::Reversed)),
                ("HEADS", is(Verb::Heads)),
            ][..],
            _ => &[("LENGTHS", is(Verb::Lengths))],
        };
        let numbers = f64::from(numbers);
        let of_all =
            [("STAGE", stage), ("OPERATION", 2.0 * numbers), ("KEYS", numbers), ("WORKGROUP", WORKGROUP)];
        let overrides = [&of_all, own].concat();
        self.ctx.kernel_from_with(&source, self.shader, &overrides).unwrap()
    }

    fn expected<T: fencepost::algorithms::Reducible>(
        &self,
        keys: &[u32],
        x: &[T],
        operation: Operation,
        initial: T,
    ) -> [Vec<u32>; 3] {
        let words = |list: Vec<T>| bytemuck::cast_slice(&list).to_vec();
        let (mut kept, mut out, count) = match self.verb {
            Verb::Inclusive | Verb::Exclusive | Verb::Reversed | Verb::Heads => {
                let scan = match self.verb {
                    Verb::Exclusive => Scan::exclusive(operation),
                    Verb::Reversed => Scan::inclusive(operation).reversed(),
                    _ => Scan::inclusive(operation),
                };
                (Vec::new(), words(host::scan_by_key(keys, x, scan.from(initial))), BEFORE)
            }
            Verb::Reduce => {
                let (kept, reduced) = host::reduce_by_key(keys, x, operation);
                let count = kept.len() as u32;
                (kept, words(reduced), count)
            }
            Verb::Lengths => {
                let (kept, lengths) = host::run_lengths(keys);
                let count = kept.len() as u32;
                (kept, lengths.into_iter().map(|length| length as u32).collect(), count)
            }
        };
        kept.resize(ELEMENTS, BEFORE);
        out.resize(ELEMENTS, BEFORE);
        [kept, out, vec![count]]
    }
}

/// Sets a bit for each key that differs from the previous one, but not for the first key.
fn heads(keys: &[u32]) -> Vec<u32> {
    let mut words = vec![0; keys.len().div_ceil(32)];
    for at in (1..keys.len()).filter(|&at| keys[at] != keys[at - 1]) {
        words[at / 32] |= 1 << (at % 32);
    }
    words
}
