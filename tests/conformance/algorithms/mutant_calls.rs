//! Calls of verbs that use each text of the built-in kernels in each of its forms.

mod algebra;
mod channels;
mod filters;
mod interference;
mod matrices;
mod quantiles;
mod sparse;
mod transforms;

use super::verb_table::{Arrays, FEW, table};
use fencepost::algorithms::prelude::*;
use fencepost::{CommandQueue, DeviceArray, Result};
use fencepost_oracles as host;
use std::sync::OnceLock;

/// Number of elements of the arrays: several shares, and a shorter one at the end.
pub(super) const N: usize = 336;
/// Number of rounds with other elements.
pub(super) const ROUNDS: u32 = 3;

type Run = Box<dyn Fn(&CommandQueue, &mut Arrays) -> Result<()> + Send + Sync>;

/// A call of a verb.
pub(super) struct Call {
    pub(super) name: String,
    run: Run,
}

impl Call {
    pub(super) fn call(&self, queue: &CommandQueue, arrays: &mut Arrays) -> Result<()> {
        (self.run)(queue, arrays)
    }
}

/// Uploads the elements of a round. Sums of the numbers are exact, so no result depends on an order of additions.
pub(super) fn begin(queue: &CommandQueue, arrays: &mut Arrays, round: u32) {
    arrays.begin(queue, round);
    let mut rng = fastrand::Rng::with_seed(u64::from(round) + 5);
    let [least_nan, last_nan] = [0x7F80_0001, u32::MAX].map(f32::from_bits);
    let special = [
        least_nan,
        last_nan,
        f32::MAX,
        f32::NAN,
        f32::INFINITY,
        f32::NEG_INFINITY,
        3e9,
        -3e9,
        5e9,
        -0.0,
        0.5,
        16_777_215.0,
        2_147_483_500.0,
    ];
    let numbers: Vec<f32> = (0..N)
        .map(|i| match i % 17 {
            // One round has no NaN in some shares, and one has a share of NaNs.
            0 if round == 1 && i > 100 => special[i / 17 % special.len()],
            _ if round == 2 && (80..160).contains(&i) => f32::NAN,
            _ => (rng.i32(-8..=8) as f32) / 4.0 * if i % 5 == 0 { -0.0 } else { 1.0 },
        })
        .collect();
    let offsets: [u32; FEW + 1] = match round {
        0 => [0, 21, 43, 64, 84, 106, 127, 147, 169, 190, 210, 232, 253, 273, 295, 316, 336],
        1 => [0, 0, 3, 3, 3, 50, 80, 82, 160, 160, 161, 240, 300, 335, 336, 336, 400],
        _ => [7, 8, 9, 40, 96, 97, 128, 140, 159, 161, 161, 161, 250, 251, 252, 253, 320],
    };
    // Runs of equal keys that are long, and short ones.
    let keys = |i: u32| if i < 290 { i / 275 } else { (i / 3) % 4 };
    queue.upload(&numbers, &mut arrays.numbers).unwrap();
    queue.upload(&offsets[..], &mut arrays.offsets).unwrap();
    queue.upload(&[[192_u32, 160, 0][round as usize]], &mut arrays.count).unwrap();
    if round == 2 {
        queue.upload(&(0..N as u32).map(keys).collect::<Vec<_>>(), &mut arrays.x).unwrap();
    }
}

const OPERATIONS: [Operation; 6] = [
    Operation::Sum,
    Operation::Product,
    Operation::Smallest,
    Operation::Largest,
    Operation::SmallestNumber,
    Operation::LargestNumber,
];
/// Bits of weights, made of a random word `x`: of all exponents, close to the smallest and the largest number, and
/// infinite.
const WEIGHTS: [&str; 5] =
    ["x", "x >> 8u", "x & 0x81ffffffu", "0x7e800000u | (x & 0x817fffffu)", "0x7f800000u | (x & 0x80000000u)"];
const EVERYWHERE: Determinism = Determinism::Everywhere;
/// Bits of terms, made of a random word `x`, as [`WEIGHTS`]: of one exponent, of exponents around the ends of a window of
/// exponents, powers of two, terms that grow, and many zeros.
const TERMS: [&str; 5] = [
    "(x & 0x807fffffu) | 0x3f800000u",
    "(x & 0x807fffffu) | ((100u + (x >> 9u) % 48u) << 23u)",
    "(x & 0x80000000u) | ((90u + (x >> 9u) % 60u) << 23u)",
    "(x & 0x807fffffu) | ((20u + i / 2u) << 23u)",
    "select(x & 0x80000000u, (x & 0x80ffffffu) | 0x3f000000u, x % 5u == 0u)",
];
/// Bits of factors, as [`TERMS`].
const FACTORS: &str =
    "(x & 0x80000000u) | (((x >> 3u) * 77u) & 0x007fffffu) | ((112u + (x >> 5u) % 25u) << 23u)";
/// Bits of terms whose sums, means and norms are between two floats.
const MIDDLES: [&str; 4] = [
    "select(0x4b800000u, 0x3f800000u + i / 2u % 3u - 1u, i % 2u == 1u) + i / 2u % 2u",
    "i / 2u % 7u * (1u - i % 2u)",
    "select(select(0x45800000u, 0x3f800000u, i % 4u == 3u), 0x4b800000u, i % 4u == 0u)",
    "select(select(0x45800000u, 0x3f800000u + i / 4u % 3u - 1u, i % 4u == 3u), 0x4b800000u, i % 4u == 0u)",
];
/// Composition of two functions `x -> m x + c` modulo 2^16, the first one first: it does not commute.
const COMPOSE: &str = "((a * b) & 0xffffu) | (((b & 0xffffu) * (a >> 16u) + (b >> 16u)) << 16u)";

fn compose() -> Monoid<'static, u32> {
    Monoid::new(COMPOSE, 1)
}

/// Calls of some verbs. A mutant of a text is tried with the calls of one group.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Group {
    /// All calls of the table, and others for the forms of the kernels that the table has not.
    Table,
    Ranks,
    Matrices,
    Transforms,
    Algebra,
    Sparse,
    Filters,
    Interference,
    Exact,
}

impl Group {
    pub(super) const COUNT: usize = 9;
}

/// Returns the calls of a group.
pub(super) fn calls(group: Group) -> &'static [Call] {
    static CALLS: [OnceLock<Vec<Call>>; Group::COUNT] = [const { OnceLock::new() }; Group::COUNT];
    CALLS[group as usize].get_or_init(|| {
        let mut all = Calls(Vec::new());
        match group {
            Group::Table => {
                for verb in table().into_iter().filter(|verb| !verb.returns) {
                    all.add(verb.id, move |q, a| verb.call(q, a));
                }
                OPERATIONS.into_iter().for_each(|operation| all.of_operation(operation));
                all.of_monoids();
                all.elementwise();
                all.ordered();
                all.moves();
            }
            Group::Ranks => {
                all.quantiles();
                all.windows();
            }
            Group::Matrices => {
                all.matrices();
                all.matrices_of_bytes();
            }
            Group::Transforms => {
                all.transforms();
                all.signals();
            }
            Group::Algebra => all.linear_algebra(),
            Group::Sparse => all.sparse(),
            Group::Filters => {
                all.filters();
                all.channels();
            }
            Group::Interference => all.interference(),
            Group::Exact => all.exact(),
        }
        all.0
    })
}

pub(super) struct Calls(Vec<Call>);

impl Calls {
    pub(super) fn add(
        &mut self,
        name: impl Into<String>,
        run: impl Fn(&CommandQueue, &mut Arrays) -> Result<()> + Send + Sync + 'static,
    ) {
        self.0.push(Call { name: name.into(), run: Box::new(run) });
    }

    fn of_operation(&mut self, o: Operation) {
        let is_product = o == Operation::Product;
        self.add(format!("reduce i32 {o:?}"), move |q, a| {
            q.reduce(&a.y.cast_bits::<i32>(), o, &mut a.one.cast_bits())
        });
        self.add(format!("reduce u32 {o:?}"), move |q, a| q.reduce(&a.y.slice(0..331)?, o, &mut a.one));
        self.add(format!("reduce first {o:?}"), move |q, a| q.reduce(a.y.first(&a.count), o, &mut a.one));
        self.add(format!("segments {o:?}"), move |q, a| q.reduce(a.y.segments(&a.offsets), o, &mut a.few));
        // The invocations do not divide the elements, and a segment begins with a share and ends after it.
        self.add(format!("segments of shares {o:?}"), move |q, a| {
            let offsets = q.array(&[10_u32, 80, 250, 330])?;
            q.reduce(a.y.slice(0..333)?.segments(&offsets), o, &mut a.few.slice(0..3)?)
        });
        self.add(format!("scan u32 {o:?}"), move |q, a| q.scan(&a.y, &mut a.out, Scan::exclusive(o).from(7)));
        self.add(format!("rows u32 {o:?}"), move |q, a| {
            q.reduce(
                a.y.slice(0..333)?.reshape([3, 111])?.axis(1),
                o,
                &mut a.few.slice(0..3)?.reshape([3, 1])?,
            )
        });
        self.add(format!("columns u32 {o:?}"), move |q, a| {
            q.reduce(
                a.y.slice(0..333)?.reshape([111, 3])?.axis(0),
                o,
                &mut a.few.slice(0..3)?.reshape([1, 3])?,
            )
        });
        if is_product {
            return;
        }
        self.add(format!("reduce f32 {o:?}"), move |q, a| q.reduce(&a.numbers, o, &mut a.float()));
        self.add(format!("reduce first f32 {o:?}"), move |q, a| {
            q.reduce(a.numbers.first(&a.count), o, &mut a.float())
        });
        self.add(format!("segments f32 {o:?}"), move |q, a| {
            q.reduce(a.numbers.segments(&a.offsets), o, &mut a.few.cast_bits())
        });
        self.add(format!("rows f32 {o:?}"), move |q, a| {
            q.reduce(
                a.numbers.reshape([3, N / 3])?.axis(1),
                o,
                &mut a.few.slice(0..3)?.cast_bits().reshape([3, 1])?,
            )
        });
        self.add(format!("columns f32 {o:?}"), move |q, a| {
            q.reduce(
                a.numbers.reshape([N / 3, 3])?.axis(0),
                o,
                &mut a.few.slice(0..3)?.cast_bits().reshape([1, 3])?,
            )
        });
        self.add(format!("scan f32 {o:?}"), move |q, a| {
            let scan = Scan::inclusive(o).from(0.5).reversed();
            q.scan_and_total(&a.numbers, &mut a.floats(), &mut a.float(), scan)
        });
        self.add(format!("scan first f32 {o:?}"), move |q, a| {
            q.scan_and_total(a.numbers.first(&a.count), &mut a.floats(), &mut a.float(), Scan::exclusive(o))
        });
        self.add(format!("scan_in_place f32 {o:?}"), move |q, a| {
            q.copy(&a.numbers, &mut a.floats())?;
            q.scan_in_place(&mut a.floats(), Scan::exclusive(o).reversed())
        });
        self.add(format!("scan_by_key f32 {o:?}"), move |q, a| {
            q.scan_by_key(&a.x, &a.numbers, &mut a.floats(), Scan::inclusive(o).from(1.0).reversed())
        });
        self.add(format!("scan segments f32 {o:?}"), move |q, a| {
            q.scan(a.numbers.segments(&a.offsets), &mut a.floats(), Scan::exclusive(o))
        });
        self.add(format!("reduce_by_key f32 {o:?}"), move |q, a| {
            q.reduce_by_key(&a.x, &a.numbers, o, &mut a.out, &mut a.other.cast_bits(), &mut a.one)
        });
    }

    fn of_monoids(&mut self) {
        self.add("reduce", |q, a| q.reduce(&a.y, compose(), &mut a.one));
        self.add("reduce 333", |q, a| q.reduce(&a.y.slice(0..333)?, compose(), &mut a.one));
        self.add("reduce first", |q, a| q.reduce(a.y.first(&a.count), compose(), &mut a.one));
        self.add("reduce rows", |q, a| {
            q.reduce(a.y.reshape([3, N / 3])?.axis(1), compose(), &mut a.few.slice(0..3)?.reshape([3, 1])?)
        });
        self.add("reduce columns", |q, a| {
            q.reduce(
                a.y.slice(0..330)?.reshape([2, 55, 3])?.axis(1),
                compose(),
                &mut a.few.slice(0..6)?.reshape([2, 1, 3])?,
            )
        });
        self.add("reduce segments", |q, a| q.reduce(a.y.segments(&a.offsets), compose(), &mut a.few));
        self.add("scan", |q, a| q.scan(&a.y, &mut a.out, Scan::inclusive(compose()).from(9 << 16 | 3)));
        self.add("scan reversed", |q, a| {
            q.scan(&a.y, &mut a.out, Scan::exclusive(compose()).from(5 << 16 | 7).reversed())
        });
        self.add("scan in place", |q, a| {
            q.copy(&a.y, &mut a.out)?;
            q.scan_in_place(&mut a.out, Scan::inclusive(compose()).from(9 << 16 | 3).reversed())
        });
        self.add("scan_by_key", |q, a| {
            q.scan_by_key(&a.x, &a.y, &mut a.out, Scan::exclusive(compose()).from(9 << 16 | 3))
        });
        self.add("scan segments", |q, a| {
            q.scan(
                a.y.segments(&a.offsets),
                &mut a.out,
                Scan::inclusive(compose()).from(9 << 16 | 3).reversed(),
            )
        });
        self.add("reduce_by_key", |q, a| {
            q.reduce_by_key(&a.x, &a.y, compose(), &mut a.out, &mut a.other, &mut a.one)
        });
    }

    fn elementwise(&mut self) {
        self.add("iota f32", |q, a| q.iota(&mut a.floats(), 0.5, 2.0));
        self.add("axpy f32", |q, a| {
            q.copy(&a.numbers, &mut a.floats())?;
            q.axpy(3.0, &a.sorted.cast_bits(), &mut a.floats())
        });
        self.add("cast u32 f32", |q, a| q.cast(&a.y, &mut a.floats()));
        self.add("cast i32 f32", |q, a| q.cast(&a.y.cast_bits::<i32>(), &mut a.floats()));
        self.add("cast small f32", |q, a| q.cast(&a.x, &mut a.floats()));
        self.add("cast f32 u32", |q, a| q.cast(&a.numbers, &mut a.out));
        self.add("cast bits i32", |q, a| q.cast(&a.y.cast_bits::<f32>(), &mut a.out.cast_bits::<i32>()));
        self.add("cast bits u32", |q, a| q.cast(&a.y.cast_bits::<f32>(), &mut a.out));
        self.add("cast f32 f32", |q, a| q.cast(&a.numbers, &mut a.floats()));
        self.add("cast i32 u32", |q, a| q.cast(&a.y.cast_bits::<i32>(), &mut a.out));
        self.add("cast large numbers", |q, a| {
            let numbers = [8_388_610.0_f32, -8_388_610.0, 16_777_216.0, -2_147_483_648.0, 3_000_000_000.0];
            let x = q.array(&numbers)?;
            q.cast(&x, &mut a.out.slice(0..5)?)?;
            q.cast(&x, &mut a.other.cast_bits::<i32>().slice(0..5)?)
        });
        // Words at the borders of rounding.
        self.add("cast borders f32", |q, a| {
            let ends = [0x7F, 0x80, 0x81, 0x180, 0x17F, 0x181, 0xFF, 0x100];
            let words = [0x8000_0000_u32, 0xFFFF_FE00, 0x4000_0000].map(|first| ends.map(|end| first | end));
            let words = q.array(words.as_flattened())?;
            q.cast(&words, &mut a.floats().slice(0..24)?)?;
            q.cast(&words.cast_bits::<i32>(), &mut a.other.cast_bits::<f32>().slice(0..24)?)
        });
        self.add("cast u32 i32", |q, a| q.cast(&a.y, &mut a.out.cast_bits::<i32>()));
        self.add("clamp f32", |q, a| q.clamp(&a.numbers, -0.75, 0.5, &mut a.floats()));
        self.add("clamp zero", |q, a| q.clamp(&a.numbers, 0.0, f32::NAN, &mut a.floats()));
        self.add("clamp i32", |q, a| {
            q.clamp(&a.y.cast_bits::<i32>(), -5_000_000, 1 << 30, &mut a.out.cast_bits())
        });
        let choices = || Philox::seed(1 << 40 | 3).stream(7 << 33 | 2).position(5);
        let mut words = [0_u32; 9];
        host::fill_random(&mut words, choices(), Words).unwrap();
        // One of the words is the first one that is not chosen.
        for probability in [0.0, f64::from(words[8]) / 2_f64.powi(32), 0.3, 1.0] {
            self.add("random choices", move |q, a| {
                q.fill_random(&mut a.out, choices(), Choice { probability })
            });
        }
        let generator = || Philox::seed(9 << 35 | 2).stream(3).position((1 << 34) - 70);
        self.add("random words", move |q, a| q.fill_random(&mut a.out, generator(), Words));
        self.add("random floats", move |q, a| {
            q.fill_random(&mut a.floats(), generator(), Uniform { low: -1.0, high: 3.0 })
        });
        self.add("random numbers", move |q, a| {
            q.fill_random(&mut a.out, generator(), Whole { low: 5_u32, high: 4_000_000_000 })
        });
        self.add("random exponential", move |q, a| {
            q.fill_random(&mut a.floats(), generator(), Exponential { rate: 2.0 })
        });
        self.add("random normal", move |q, a| {
            q.fill_random(&mut a.floats(), generator(), Normal { mean: 0.0, deviation: 1.0 })
        });
    }

    #[expect(clippy::too_many_lines, reason = "it is a list of calls")]
    fn ordered(&mut self) {
        // One workgroup does not sort so many elements. Without small shares, a share has many tiles.
        self.add("sort 4200", |q, a| {
            let numbers: Vec<u32> = (0..4200_u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
            let mut sorted = q.zeros::<u32, 1>([4200])?;
            q.sort(&q.array(&numbers)?, &mut sorted, Sort::ascending().bits(28..32))?;
            q.copy(&sorted.slice(0..N)?, &mut a.out)?;
            q.copy(&sorted.slice(4200 - N..4200)?, &mut a.other)
        });
        // The rank equals the number of keys, so no key has it.
        for k in [160, 192] {
            self.add("kth after the first", move |q, a| q.kth(a.y.first(&a.count), k, &mut a.one));
        }
        for sort in [Sort::ascending(), Sort::descending(), Sort::descending().bits(3..30)] {
            self.add("sort f32", move |q, a| q.sort(&a.numbers, &mut a.floats(), sort));
            self.add("sort_pairs", move |q, a| {
                q.sort_pairs(&a.y.cast_bits::<i32>(), &a.x, &mut a.out.cast_bits(), &mut a.other, sort)
            });
            self.add("argsort", move |q, a| q.argsort(&a.numbers, &mut a.out, sort));
        }
        self.add("sort_pairs_in_place", |q, a| {
            q.copy(&a.x, &mut a.out)?;
            q.copy(&a.y, &mut a.other)?;
            q.sort_pairs_in_place(&mut a.out, &mut a.other, Sort::ascending().bits(0..6))
        });
        self.add("sort_in_place", |q, a| {
            q.copy(&a.numbers, &mut a.floats())?;
            q.sort_in_place(&mut a.floats(), Sort::ascending().bits(0..31))
        });
        // The invocations divide the elements with a remainder of 1.
        self.add("sort 321", |q, a| {
            q.sort(&a.y.slice(0..321)?, &mut a.out.slice(0..321)?, Sort::ascending())
        });
        self.add("kth odd f32", |q, a| q.kth(&a.y.cast_bits::<f32>(), 250, &mut a.float()));
        for k in [0, 1, 100, N - 1] {
            self.add("kth f32", move |q, a| q.kth(&a.numbers, k, &mut a.float()));
            self.add("kth u32", move |q, a| q.kth(&a.x, k, &mut a.one));
            self.add("kth i32", move |q, a| q.kth(&a.y.cast_bits::<i32>(), k, &mut a.one.cast_bits()));
        }
        self.add("argsort segments f32", |q, a| {
            q.argsort(a.numbers.segments(&a.offsets), &mut a.out, Sort::descending())
        });
        self.add("top_k segments f32", |q, a| {
            let mut values = a.out.slice(0..7 * FEW)?.cast_bits().reshape([FEW, 7])?;
            let mut places = a.other.slice(0..7 * FEW)?.reshape([FEW, 7])?;
            q.top_k(a.numbers.segments(&a.offsets), &mut values, &mut places)
        });
        self.add("top_k columns", |q, a| {
            let x = a.y.slice(0..330)?.reshape([2, 55, 3])?;
            let shape = [2, 4, 3];
            let mut places = a.other.slice(0..24)?.reshape(shape)?;
            q.top_k(x.axis(1), &mut a.out.slice(0..24)?.reshape(shape)?, &mut places)
        });
        self.add("top_k f32", |q, a| q.top_k(&a.numbers, &mut a.few.cast_bits(), &mut a.few_others));
        self.add("top_k equal", |q, a| q.top_k(&a.x, &mut a.out.slice(0..150)?, &mut a.other.slice(0..150)?));
        self.add("top_k all", |q, a| q.top_k(&a.y, &mut a.out, &mut a.other));
        for side in [Side::Left, Side::Right] {
            self.add("searchsorted", move |q, a| q.searchsorted(&a.sorted, &a.sorted, side, &mut a.out));
            self.add("searchsorted i32", move |q, a| {
                q.searchsorted(&a.sorted.cast_bits::<i32>(), &a.y.cast_bits(), side, &mut a.out)
            });
        }
        self.add("merge parts", |q, a| {
            q.sort_in_place(&mut a.x.clone(), Sort::ascending())?;
            q.merge(&a.sorted.slice(0..131)?, &a.x.slice(0..70)?, &mut a.both.slice(0..201)?)
        });
        self.add("merge f32", |q, a| {
            q.sort(&a.numbers, &mut a.floats(), Sort::ascending())?;
            q.sort(&a.y.cast_bits::<f32>(), &mut a.other.cast_bits(), Sort::ascending())?;
            q.merge(&a.floats(), &a.other.cast_bits(), &mut a.both.cast_bits())
        });
        self.add("argmin i32", |q, a| q.argmin(&a.y.cast_bits::<i32>(), &mut a.one));
        self.add("argmax equal", |q, a| q.argmax(&a.x, &mut a.one));
        // The first of equal zeros wins, whichever sign it has.
        for sign in [1.0_f32, -1.0] {
            let zeros = move |i: usize| sign * [1.0, 1.0, 1.0, 0.0, -0.0][if i < 3 { i } else { 3 + i % 2 }];
            let array = move |q: &CommandQueue| q.array(&(0..N).map(zeros).collect::<Vec<f32>>());
            self.add("places of zeros", move |q, a| {
                let x = array(q)?;
                q.argmin(&x, &mut a.one)?;
                q.argmax(&x, &mut a.both.slice(0..1)?)?;
                q.argmin(x.reshape([3, N / 3])?.axis(1), &mut a.few.slice(0..3)?.reshape([3, 1])?)?;
                q.argmax(x.reshape([N / 3, 3])?.axis(0), &mut a.few_others.slice(0..3)?.reshape([1, 3])?)?;
                q.argmin(x.segments(&a.offsets), &mut a.out.slice(0..FEW)?)?;
                q.argmax(x.segments(&a.offsets), &mut a.other.slice(0..FEW)?)
            });
        }
        // Two words next to each other are the least ones, and two others at the ends are the greatest ones.
        let words = |i: usize| match i {
            50 => 11,
            200 => 10,
            _ => 1000 + i as u32 * 2,
        };
        self.add("places of words", move |q, a| {
            let x = q.array(&(0..N).map(words).collect::<Vec<u32>>())?;
            q.argmin(&x, &mut a.one)?;
            q.argmax(&x, &mut a.both.slice(0..1)?)?;
            q.argmax(x.reshape([3, N / 3])?.axis(1), &mut a.few.slice(0..3)?.reshape([3, 1])?)?;
            q.argmax(x.reshape([N / 3, 3])?.axis(0), &mut a.few_others.slice(0..3)?.reshape([1, 3])?)?;
            q.argmax(x.segments(&a.offsets), &mut a.out.slice(0..FEW)?)
        });
        for largest in [false, true] {
            self.add("places in rows u32", move |q, a| {
                let x = a.y.reshape([3, N / 3])?;
                let mut out = a.few.slice(0..3)?.reshape([3, 1])?;
                if largest { q.argmax(x.axis(1), &mut out) } else { q.argmin(x.axis(1), &mut out) }
            });
            self.add("places in columns u32", move |q, a| {
                let x = a.y.slice(0..330)?.reshape([2, 55, 3])?;
                let mut out = a.few.slice(0..6)?.reshape([2, 1, 3])?;
                if largest { q.argmax(x.axis(1), &mut out) } else { q.argmin(x.axis(1), &mut out) }
            });
        }
        // The workgroups are not as many as the rows of a folded grid have.
        self.add("places in 7 rows", |q, a| {
            q.argmax(a.y.reshape([7, N / 7])?.axis(1), &mut a.few.slice(0..7)?.reshape([7, 1])?)
        });
        self.add("sums of 7 rows", |q, a| {
            q.sum(a.y.reshape([7, N / 7])?.axis(1), &mut a.few.slice(0..7)?.reshape([7, 1])?)?;
            let x = a.y.slice(0..329)?.reshape([7, 47])?;
            q.sum(x.axis(1), &mut a.few_others.slice(0..7)?.reshape([7, 1])?)?;
            q.reduce(x.axis(1), compose(), &mut a.out.slice(0..7)?.reshape([7, 1])?)
        });
        self.add("argmin rows", |q, a| {
            q.argmin(a.numbers.reshape([3, N / 3])?.axis(1), &mut a.few.slice(0..3)?.reshape([3, 1])?)
        });
        self.add("argmax rows skip_nan", |q, a| {
            q.argmax(
                a.numbers.reshape([3, N / 3])?.axis(1).skip_nan(),
                &mut a.few.slice(0..3)?.reshape([3, 1])?,
            )
        });
        self.add("argmax columns", |q, a| {
            q.argmax(
                a.x.slice(0..330)?.reshape([2, 55, 3])?.axis(1),
                &mut a.few.slice(0..6)?.reshape([2, 1, 3])?,
            )
        });
        self.add("argmin columns skip_nan", |q, a| {
            q.argmin(
                a.numbers.slice(0..330)?.reshape([2, 55, 3])?.axis(1).skip_nan(),
                &mut a.few.slice(0..6)?.reshape([2, 1, 3])?,
            )
        });
        self.add("argmax segments i32", |q, a| {
            q.argmax(a.y.cast_bits::<i32>().segments(&a.offsets), &mut a.few)
        });
    }

    #[expect(clippy::too_many_lines, reason = "it is a list of calls")]
    fn moves(&mut self) {
        self.add("dot rows", |q, a| {
            let [x, y] = [&a.x, &a.y].map(|list| list.reshape([3, N / 3]));
            q.dot(x?.axis(1), &y?, &mut a.few.slice(0..3)?.reshape([3, 1])?)
        });
        self.add("norm rows", |q, a| {
            q.norm(
                a.numbers.reshape([3, N / 3])?.axis(1),
                &mut a.few.slice(0..3)?.cast_bits().reshape([3, 1])?,
            )
        });
        self.add("mean rows", |q, a| {
            q.mean(
                a.numbers.reshape([3, N / 3])?.axis(1),
                &mut a.few.slice(0..3)?.cast_bits().reshape([3, 1])?,
            )
        });
        self.add("norm columns", |q, a| {
            q.norm(
                a.numbers.slice(0..330)?.reshape([2, 55, 3])?.axis(1),
                &mut a.few.slice(0..6)?.cast_bits().reshape([2, 1, 3])?,
            )
        });
        self.add("any columns", |q, a| {
            q.any(
                a.x.slice(0..330)?.reshape([2, 55, 3])?.axis(1),
                &mut a.few.slice(0..6)?.reshape([2, 1, 3])?,
            )
        });
        self.add("all f32", |q, a| q.all(&a.numbers, &mut a.one));
        self.add("any zeros", |q, a| {
            q.fill(&mut a.out, 1 << 31)?;
            q.any(&a.floats(), &mut a.one)
        });
        self.add("any of negative zeros", |q, a| {
            q.fill(&mut a.out, 1 << 31)?;
            let x = a.floats();
            q.any(x.reshape([3, N / 3])?.axis(1), &mut a.few.slice(0..3)?.reshape([3, 1])?)?;
            q.any(x.reshape([N / 3, 3])?.axis(0), &mut a.few_others.slice(0..3)?.reshape([1, 3])?)?;
            q.any(x.segments(&a.offsets), &mut a.other.slice(0..FEW)?)
        });
        self.add("nonzero f32", |q, a| q.nonzero(&a.numbers, &mut a.out, &mut a.one));
        self.add("unique keys", |q, a| q.unique(&a.x, &mut a.out, &mut a.one));
        self.add("partition keys", |q, a| q.partition(&a.y, &a.x, &mut a.out, &mut a.one));
        for outside in [Outside::Zero, Outside::Last] {
            self.add("gather", move |q, a| q.gather(&a.y, &a.sorted, outside, &mut a.out));
            self.add("gather few", move |q, a| q.gather(&a.y.slice(0..3)?, &a.x, outside, &mut a.out));
        }
        self.add("scatter", |q, a| {
            q.iota(&mut a.other, N as u32 + 2, u32::MAX)?;
            q.scatter(&a.y, &a.other, &mut a.out)
        });
        self.add("scatter_add few", |q, a| q.scatter_add(&a.y, &a.x, &mut a.few.slice(0..2)?));
        self.add("permute six", |q, a| {
            q.permute(
                &a.y.reshape([2, 3, 2, 7, 2, 2])?,
                [5, 3, 1, 4, 2, 0],
                &mut a.out.reshape([2, 7, 3, 2, 2, 2])?,
            )
        });
        self.add("permute batches", |q, a| {
            q.permute(&a.y.reshape([2, 24, 7])?, [0, 2, 1], &mut a.out.reshape([2, 7, 24])?)
        });
        self.add("transpose wide", |q, a| q.transpose(&a.y.reshape([4, 84])?, &mut a.out.reshape([84, 4])?));
        self.add("transpose of four tiles", |q, a| {
            q.transpose(&a.y.slice(0..323)?.reshape([17, 19])?, &mut a.out.slice(0..323)?.reshape([19, 17])?)
        });
        self.add("transpose of 7 tiles", |q, a| {
            q.transpose(&a.y.reshape([N / 3, 3])?, &mut a.out.reshape([3, N / 3])?)
        });
        self.add("copy_strided six", |q, a| {
            let from = Strides { first: 3, strides: [160, 50, 20, 7, 3, 1] };
            let to = Strides { first: 335, strides: [-84, -28, -14, -4, -2, -1] };
            q.copy_strided([2, 3, 2, 3, 2, 2], &a.y, from, &mut a.out, to)
        });
        let edges: &[f32] = &[-1.5, -1.0, -0.0, 0.0, 0.0, 0.25, 1.0, 1.75];
        self.add("histogram edges", move |q, a| {
            q.histogram(&a.numbers, Bins::edges(edges), &mut a.few.slice(0..7)?)
        });
        self.add("histogram_weighted edges", move |q, a| {
            q.histogram_weighted(&a.numbers, &a.y, Bins::edges(edges), &mut a.few.slice(0..7)?)
        });
        self.add("histogram modulo", |q, a| q.histogram(&a.y, Bins::modulo(), &mut a.few));
        self.add("histogram modulo 13", |q, a| q.histogram(&a.y, Bins::modulo(), &mut a.few.slice(0..13)?));
        self.add("histogram many", |q, a| q.histogram(&a.sorted, Bins::modulo(), &mut a.out.slice(0..300)?));
        self.add("histogram i32", |q, a| {
            q.histogram(
                &a.y.cast_bits::<i32>(),
                Bins::edges(&[-2_000_000_000, -5, 0, 7, 1 << 30]),
                &mut a.few.slice(0..4)?,
            )
        });
        self.add("histogram_weighted many", |q, a| {
            q.histogram_weighted(&a.sorted, &a.y, Bins::modulo(), &mut a.out.slice(0..300)?)
        });
        // Of 200 bins, a workgroup has one counter for each.
        for bins in [32, 200, 300] {
            self.add("histogram of 32, 200 and 300 bins", move |q, a| {
                q.histogram(&a.numbers, Bins::even(-1.0..1.0), &mut a.out.slice(0..bins)?)?;
                q.histogram_weighted(&a.numbers, &a.y, Bins::even(-1.0..1.0), &mut a.other.slice(0..bins)?)
            });
        }
        // Sums of 2^24, 1 and nothing or the smallest number, and of 2^36, 2^12 and 2^11. The last weight alone
        // rounds the sum up.
        for [large, half, small] in [
            [0x4B80_0000_u32, 0x3F80_0000, 0],
            [0x4B80_0000, 0x3F80_0000, 1],
            [0x5180_0000, 0x4580_0000, 0x4500_0000],
        ] {
            self.add("histogram_weighted floats between two numbers", move |q, a| {
                let bins = N as u32 / 3;
                let weight =
                    format!("select(select({small}u, {half}u, i < {}u), {large}u, i < {bins}u)", 2 * bins);
                q.map(&a.y, &weight, &mut a.other)?;
                let mut places = a.both.slice(0..N)?;
                q.map(&a.y, &format!("i % {bins}u"), &mut places)?;
                let weights = a.other.cast_bits::<f32>();
                let mut sums = a.out.slice(0..N / 3)?.cast_bits();
                q.histogram_weighted(&places, &weights, Bins::modulo(), &mut sums)
            });
        }
        for bits in WEIGHTS {
            self.add("histogram_weighted floats", move |q, a| {
                q.map(&a.y, bits, &mut a.other)?;
                let weights = a.other.cast_bits::<f32>();
                let mut many = a.out.cast_bits();
                let mut few = a.few.slice(0..7)?.cast_bits();
                q.histogram_weighted(&a.sorted, &weights, Bins::modulo(), &mut many)?;
                q.histogram_weighted(&a.numbers, &weights, Bins::edges(edges), &mut few)
            });
        }
        for bins in [13, 200, 256] {
            self.add("histogram_weighted floats of 13, 200 and 256 bins", move |q, a| {
                q.map(&a.y, WEIGHTS[1], &mut a.other)?;
                let weights = a.other.cast_bits::<f32>();
                let mut sums = a.out.slice(0..bins)?.cast_bits();
                q.histogram_weighted(&a.sorted, &weights, Bins::modulo(), &mut sums)
            });
        }
        for bits in [0, 20, 31] {
            self.add("histogram_fixed", move |q, a| {
                q.histogram_fixed(&a.y, &a.numbers, bits, Bins::modulo(), &mut a.few.cast_bits())
            });
        }
    }

    /// Adds sums that are the same everywhere.
    fn exact(&mut self) {
        for bits in TERMS.into_iter().chain([WEIGHTS[0], WEIGHTS[2], WEIGHTS[4]]) {
            self.add(format!("sums everywhere of {bits}"), move |q, a| {
                q.map(&a.y, bits, &mut a.other)?;
                let x = a.other.cast_bits::<f32>();
                let few = |list: &DeviceArray<u32>| list.slice(0..3).map(|few| few.cast_bits::<f32>());
                q.sum(x.determinism(EVERYWHERE), &mut a.float())?;
                let rows = x.reshape([3, N / 3])?;
                q.mean(rows.axis(1).determinism(EVERYWHERE), &mut few(&a.few)?.reshape([3, 1])?)?;
                let columns = x.reshape([N / 3, 3])?;
                q.mean(columns.axis(0).determinism(EVERYWHERE), &mut few(&a.few_others)?.reshape([1, 3])?)?;
                let mut of_segments = a.out.slice(0..FEW)?.cast_bits();
                q.mean(x.segments(&a.offsets).determinism(EVERYWHERE), &mut of_segments)
            });
            self.add(format!("rows everywhere of {bits}"), move |q, a| {
                q.map(&a.y, bits, &mut a.other)?;
                let x = a.other.cast_bits::<f32>();
                let sixteen = x.reshape([3, N / 3])?;
                q.sum(
                    sixteen.axis(1).determinism(EVERYWHERE),
                    &mut a.few.slice(0..3)?.cast_bits().reshape([3, 1])?,
                )?;
                let ragged = x.slice(0..333)?.reshape([3, 111])?;
                q.sum(
                    ragged.axis(1).determinism(EVERYWHERE),
                    &mut a.few_others.slice(0..3)?.cast_bits().reshape([3, 1])?,
                )?;
                // One row that is no whole number of groups, and of which an invocation takes many elements.
                q.sum(x.slice(0..335)?.determinism(EVERYWHERE), &mut a.out.slice(0..1)?.cast_bits())?;
                q.sum(x.first(&a.count).determinism(EVERYWHERE), &mut a.float())
            });
            self.add(format!("products everywhere of {bits}"), move |q, a| {
                q.map(&a.y, bits, &mut a.other)?;
                q.map(&a.y, FACTORS, &mut a.out)?;
                let x = a.other.cast_bits::<f32>();
                let y = a.out.cast_bits::<f32>();
                q.dot(x.determinism(EVERYWHERE), &y, &mut a.float())?;
                let ragged = |list: &DeviceArray<f32>| list.slice(0..333)?.reshape([3, 111]);
                q.dot(
                    ragged(&x)?.axis(1).determinism(EVERYWHERE),
                    &ragged(&y)?,
                    &mut a.few.slice(0..3)?.cast_bits().reshape([3, 1])?,
                )?;
                let columns = |list: &DeviceArray<f32>| list.slice(0..330)?.reshape([2, 55, 3]);
                q.dot(
                    columns(&x)?.axis(1).determinism(EVERYWHERE),
                    &columns(&y)?,
                    &mut a.few_others.slice(0..6)?.cast_bits().reshape([2, 1, 3])?,
                )?;
                let mut of_segments = a.both.slice(0..FEW)?.cast_bits();
                q.dot(x.segments(&a.offsets).determinism(EVERYWHERE), &y, &mut of_segments)
            });
            self.add(format!("norms everywhere of {bits}"), move |q, a| {
                q.map(&a.y, bits, &mut a.other)?;
                let x = a.other.cast_bits::<f32>();
                q.norm(x.determinism(EVERYWHERE), &mut a.float())?;
                let mut of_rows = a.both.slice(0..N / 2)?.cast_bits().reshape([N / 2, 1])?;
                q.norm(x.reshape([N / 2, 2])?.axis(1).determinism(EVERYWHERE), &mut of_rows)?;
                q.norm(x.segments(&a.offsets).determinism(EVERYWHERE), &mut a.few.cast_bits())
            });
            self.add(format!("scatter_add floats of {bits}"), move |q, a| {
                q.map(&a.y, bits, &mut a.other)?;
                let x = a.other.cast_bits::<f32>();
                q.scatter_add(&x, &a.x, &mut a.few.slice(0..2)?.cast_bits())?;
                q.scatter_add(&x, &a.sorted, &mut a.out.slice(0..300)?.cast_bits())
            });
        }
        self.matrices_everywhere();
        // Sums and means of two, and norms of four, beside and on the middle between two floats.
        for terms in MIDDLES {
            self.add(format!("results everywhere between two numbers: {terms}"), move |q, a| {
                q.map(&a.y, terms, &mut a.other)?;
                let x = a.other.cast_bits::<f32>();
                let pairs = x.reshape([N / 2, 2])?;
                let fours = x.reshape([N / 4, 4])?;
                let part =
                    |at: usize, len: usize| a.both.slice(at..at + len)?.cast_bits::<f32>().reshape([len, 1]);
                q.sum(pairs.axis(1).determinism(EVERYWHERE), &mut part(0, N / 2)?)?;
                q.mean(pairs.axis(1).determinism(EVERYWHERE), &mut part(192, N / 2)?)?;
                q.norm(fours.axis(1).determinism(EVERYWHERE), &mut part(384, N / 4)?)
            });
        }
    }
}
