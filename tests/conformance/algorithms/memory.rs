//! A01, Q16: verbs that find no scratch memory, or no room in the backlog.

use super::verb_table::as_complex;
use super::*;
use fencepost::BacklogLimit;

pub fn cases() -> Vec<Case> {
    let found = case("a01_a_verb_without_memory_enqueues_nothing", refused);
    vec![
        found.native_only("the case opens its own context, whose memory is limited").host_side(),
        case("q16_a_full_backlog_refuses_a_whole_verb", crowded),
        case("a01_arrays_without_elements_of_another_context_are_refused", foreign).host_side(),
        case("a01_a_failed_queue_refuses_arrays_without_elements", failed).host_side(),
        case("m08_the_scratch_memory_of_a_verb_names_the_line_of_the_program", named).host_side(),
    ]
}

/// Number of elements of the arrays: several shares.
const N: usize = 20_000;

struct Arrays {
    x: DeviceArray<u32>,
    offsets: DeviceArray<u32>,
    out: DeviceArray<u32>,
    other: DeviceArray<u32>,
    one: DeviceArray<u32>,
    three: DeviceArray<u32>,
    places: DeviceArray<u32>,
}

type Verb = fn(&CommandQueue, &mut Arrays) -> Result<()>;

const VERBS: &[(&str, Verb)] = &[
    ("sum", |queue, a| queue.sum(&a.x, &mut a.one)),
    ("argmin", |queue, a| queue.argmin(&a.x, &mut a.one)),
    ("scan", |queue, a| queue.scan(&a.x, &mut a.out, Scan::inclusive(Operation::Sum))),
    ("scan_in_place", |queue, a| queue.scan_in_place(&mut a.out, Scan::exclusive(Operation::Largest))),
    ("select", |queue, a| queue.select(&a.x, &a.x, &mut a.out, &mut a.one)),
    ("run_lengths", |queue, a| queue.run_lengths(&a.x, &mut a.out, &mut a.other, &mut a.one)),
    ("scan_by_key", |queue, a| queue.scan_by_key(&a.x, &a.x, &mut a.out, Scan::inclusive(Operation::Sum))),
    ("reduce_segments", |queue, a| queue.reduce(a.x.segments(&a.offsets), Operation::Sum, &mut a.three)),
    ("histogram", |queue, a| {
        let edges: Vec<u32> = (0..=N as u32).collect();
        queue.histogram(&a.x, Bins::edges(&edges), &mut a.out)
    }),
    ("sort", |queue, a| queue.sort(&a.x, &mut a.out, Sort::ascending())),
    ("sort_pairs_in_place", |queue, a| {
        queue.sort_pairs_in_place(&mut a.out, &mut a.other, Sort::descending())
    }),
    ("argsort", |queue, a| queue.argsort(&a.x, &mut a.out, Sort::ascending())),
    ("sort_segments", |queue, a| queue.sort(a.x.segments(&a.offsets), &mut a.out, Sort::ascending())),
    ("histogram_weighted", |queue, a| {
        let edges: Vec<u32> = (0..=N as u32).collect();
        queue.histogram_weighted(&a.x, &a.x, Bins::edges(&edges), &mut a.out)
    }),
    ("histogram_fixed", |queue, a| {
        queue.histogram_fixed(&a.x, &a.x.cast_bits(), 8, Bins::modulo(), &mut a.out.cast_bits())
    }),
    ("min_part", |queue, a| queue.min(a.x.first(&a.offsets.slice(0..1)?), &mut a.one)),
    ("scan_part", |queue, a| {
        let part = a.offsets.slice(0..1)?;
        queue.scan(a.x.first(&part), &mut a.out, Scan::inclusive(Operation::Sum))
    }),
    ("sort_part", |queue, a| queue.sort(a.x.first(&a.offsets.slice(0..1)?), &mut a.out, Sort::ascending())),
    ("top_k", |queue, a| {
        let mut places = a.places.clone();
        queue.top_k(&a.x, &mut a.three, &mut places)
    }),
    ("kth", |queue, a| queue.kth(&a.x, 7, &mut a.one)),
    ("top_k first", |queue, a| {
        let part = a.offsets.slice(0..1)?;
        let mut places = a.places.clone();
        queue.top_k(a.x.first(&part), &mut a.three, &mut places)
    }),
    ("histogram_weighted floats", |queue, a| {
        let weights = a.other.cast_bits::<f32>();
        queue.histogram_weighted(&a.x, &weights, Bins::modulo(), &mut a.three.cast_bits())
    }),
    ("mean first", |queue, a| {
        let part = a.offsets.slice(0..1)?;
        queue.mean(a.x.cast_bits().first(&part), &mut a.one.cast_bits())
    }),
    ("scan axis", |queue, a| {
        let columns = a.x.reshape([N / 10, 10])?;
        queue.scan(columns.axis(0), &mut a.out.reshape([N / 10, 10])?, Scan::inclusive(Operation::Sum))
    }),
    ("sort axis", |queue, a| {
        let columns = a.x.reshape([N / 10, 10])?;
        queue.sort(columns.axis(0), &mut a.out.reshape([N / 10, 10])?, Sort::ascending())
    }),
    ("argsort axis", |queue, a| {
        let columns = a.x.reshape([N / 10, 10])?;
        queue.argsort(columns.axis(0), &mut a.out.reshape([N / 10, 10])?, Sort::ascending())
    }),
    ("median axis", |queue, a| {
        let columns = a.x.reshape([N / 10, 10])?;
        queue.median(columns.axis(0), &mut a.out.slice(0..10)?.reshape([1, 10])?)
    }),
    ("inverse", |queue, a| {
        let x = a.x.slice(0..4096)?.cast_bits::<f32>().reshape([64, 64])?;
        let mut out = a.out.slice(0..4096)?.cast_bits::<f32>().reshape([64, 64])?;
        queue.inverse(&x, &mut out, &mut a.one)
    }),
    ("random_permutation", |queue, a| queue.random_permutation(&mut a.out, Philox::seed(1))),
    ("fft", |queue, a| {
        let x = as_complex(&a.x, N / 2)?;
        let plan = FftPlan::new(&queue.context(), [N / 2])?;
        queue.fft(&plan, &x, &mut as_complex(&a.out, N / 2)?)
    }),
    ("convolve", |queue, a| {
        let weights = a.x.slice(0..100)?.cast_bits();
        queue.convolve(&a.x.cast_bits(), &weights, ConvolveMode::Same, &mut a.out.cast_bits())
    }),
    // The sum of the products has several shares.
    ("matmul", |queue, a| queue.matmul(&a.x, &a.x, &mut a.one.reshape([])?, Matmul::default())),
    ("matmul_sparse", |queue, a| {
        let matrix = Csr::new([3, N], &a.offsets, &a.x, &a.x);
        queue.matmul_sparse(matrix, &a.other, &mut a.three, MatmulSparse::default())
    }),
    // Each sum has several shares.
    ("convolve_channels", |queue, a| {
        let images = a.x.reshape([1, N, 1, 1])?;
        let mut out = a.one.reshape([1, 1, 1, 1])?;
        queue.convolve_channels(&images, &images, &mut out, ConvolveChannels::default())
    }),
    ("convolve_separable", |queue, a| {
        // No tile has so many elements beside it.
        let weights = a.x.slice(0..200)?;
        let x = a.x.reshape([N / 100, 100])?;
        let mut out = a.out.reshape([N / 100, 100])?;
        queue.convolve_separable(&x, &weights, &weights, &mut out, Filter::default())
    }),
    ("flag_interference", |queue, a| {
        let samples = |list: &DeviceArray<u32>| list.slice(0..4000)?.reshape([100, 40]);
        let x = samples(&a.x)?.cast_bits::<f32>();
        // The last bin has fewer channels than the others.
        let options = SumThresholdFlagger::default().average_freq(3);
        queue.flag_interference(&x, &samples(&a.other)?, &mut samples(&a.out)?, options)
    }),
];

impl Arrays {
    /// Makes the arrays, or returns the error of the first array without memory.
    fn new(queue: &CommandQueue) -> fencepost::Result<Self> {
        let array = |len: usize| queue.full([len], 9_u32);
        let x = array(N)?;
        let out = array(N)?;
        let other = array(N)?;
        let offsets = array(4)?;
        let one = array(1)?;
        let three = array(3)?;
        let places = array(3)?;
        Ok(Self { x, offsets, out, other, one, three, places })
    }
}

fn refused(s: &Subject) {
    let mut refusals = vec![0; VERBS.len()];
    // The smallest memory size only fits the arrays; the largest also fits the scratch memory of each verb.
    let enough =
        (0..).map(|step| 240_000 + 256 * step).find(|&memory| used(s, memory, &mut refusals)).unwrap();
    for more in [512, 4096, 65_536, 150_000, 1_000_000] {
        assert!(used(s, enough + more, &mut refusals));
    }
    for ((name, _), refusals) in VERBS.iter().zip(refusals) {
        assert!(refusals > 0, "{name} found memory each time");
        assert!(refusals < 6, "{name} never found memory");
    }
}

/// Enqueues each verb in a context with a limited memory, and counts the refusals. Returns `false` if the arrays do not fit.
fn used(s: &Subject, memory: u64, refusals: &mut [u32]) -> bool {
    let ctx = Context::simulated(SimulatorOptions::default().memory(memory));
    s.watch(&ctx);
    let queue = ctx.queue("q");
    let Ok(mut arrays) = Arrays::new(&queue) else { return false };
    queue.finish().wait().unwrap();
    for ((name, verb), refusals) in VERBS.iter().zip(refusals) {
        let before = dump::enqueued(&ctx, "q");
        match verb(&queue, &mut arrays) {
            Ok(()) => queue.finish().wait().unwrap(),
            Err(error) => {
                assert!(matches!(error.detail(), ErrorDetail::OutOfMemory { .. }), "{name}: {error}");
                assert_eq!(dump::enqueued(&ctx, "q"), before, "{name} with {memory} bytes");
                *refusals += 1;
            }
        }
    }
    true
}

/// Fills the backlog of a queue that waits for the program to each fill level up to its limit, and calls a verb there.
fn crowded(s: &Subject) {
    let ctx = s.limited(BacklogLimit::default().commands(20));
    let queue = ctx.queue("q");
    let mut arrays = Arrays::new(&queue).unwrap();
    let mut spare = queue.full([1], 0_u32).unwrap();
    for (name, verb) in VERBS {
        let mut refusals = 0;
        for fills in 14..=20 {
            queue.finish().wait().unwrap();
            let gate = ctx.user_event("gate");
            queue.wait_for(&gate.event()).unwrap();
            let _ = (0..fills).try_for_each(|_| queue.fill(&mut spare, 1));
            let before = dump::enqueued(&ctx, "q");
            if let Err(error) = verb(&queue, &mut arrays) {
                assert_eq!(error.kind(), ErrorKind::WouldBlock, "{name}: {error}");
                assert_eq!(dump::enqueued(&ctx, "q"), before, "{name} after {fills} fills");
                refusals += 1;
            }
            gate.signal();
        }
        assert!((1..7).contains(&refusals), "{name}: {refusals} of 7 calls were refused");
    }
    queue.finish().wait().unwrap();
}

fn named(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut arrays = Arrays::new(&queue).unwrap();
    for (name, verb) in VERBS {
        let tracker = ctx.pool().track();
        verb(&queue, &mut arrays).unwrap();
        let sites = tracker.finish().sites;
        assert!(!sites.is_empty(), "{name} takes scratch memory");
        let foreign = sites.iter().find(|site| !site.location.file().ends_with("memory.rs"));
        assert!(foreign.is_none(), "{name}: {foreign:?}");
    }
}

/// A verb with an empty array, three other arrays, and an array of one element.
type EmptyVerb =
    fn(&CommandQueue, &DeviceArray<u32>, &mut [DeviceArray<u32>; 3], &mut DeviceArray<u32>) -> Result<()>;

const WITHOUT_ELEMENTS: &[(&str, EmptyVerb)] = &[
    ("sum", |queue, x, _, one| queue.sum(x, one)),
    ("count_nonzero", |queue, x, _, one| queue.count_nonzero(x, one)),
    ("dot", |queue, x, [a, ..], one| queue.dot(&*a, x, one)),
    ("select", |queue, x, [a, b, _], one| queue.select(x, a, b, one)),
    ("unique", |queue, x, [a, ..], one| queue.unique(x, a, one)),
    ("run_lengths", |queue, x, [a, b, _], one| queue.run_lengths(x, a, b, one)),
    ("reduce_by_key", |queue, x, [a, b, c], one| queue.reduce_by_key(x, a, Operation::Sum, b, c, one)),
    ("scan", |queue, x, [a, ..], _| queue.scan(x, a, Scan::inclusive(Operation::Sum))),
    ("scan_in_place", |queue, x, _, _| {
        queue.scan_in_place(&mut x.clone(), Scan::exclusive(Operation::Sum).reversed())
    }),
    ("scan_with_total", |queue, x, [a, ..], one| {
        queue.scan_and_total(x, a, one, Scan::exclusive(Operation::Sum))
    }),
    ("scan_part", |queue, x, [a, ..], one| queue.scan(x.first(one), a, Scan::inclusive(Operation::Sum))),
    ("permute", |queue, x, [a, ..], _| queue.permute(&x.reshape([0, 3])?, [1, 0], &mut a.reshape([3, 0])?)),
    ("transpose", |queue, x, [a, ..], _| queue.transpose(&x.reshape([0, 1])?, &mut a.reshape([1, 0])?)),
    ("scan_by_key", |queue, x, [a, b, _], _| queue.scan_by_key(x, a, b, Scan::inclusive(Operation::Sum))),
    ("gather", |queue, x, _, one| queue.gather(x, &queue.full([1], 0_u32)?, Outside::Last, one)),
    ("sort", |queue, x, [a, ..], _| queue.sort(x, a, Sort::ascending())),
    ("gather_part", |queue, x, [a, ..], one| queue.gather(x, x.first(one), Outside::Last, a)),
    ("top_k_part", |queue, x, [a, b, _], one| queue.top_k(x.first(one), a, b)),
    ("reduce_by_key_part", |queue, x, [a, b, c], one| {
        let count = queue.full([1], 0_u32)?;
        queue.reduce_by_key(x.first(&count), a, Operation::Sum, b, c, one)
    }),
    ("histogram", |queue, x, _, one| queue.histogram(x, Bins::modulo(), one)),
    ("histogram_weighted", |queue, x, [a, ..], one| queue.histogram_weighted(x, a, Bins::modulo(), one)),
    ("min_part", |queue, x, _, one| queue.min(x.first(&queue.full([1], 0_u32)?), one)),
    ("fftshift", |queue, x, [a, ..], _| queue.fftshift(x, a)),
    ("convolve", |queue, x, [a, ..], one| {
        let x = x.cast_bits::<f32>();
        queue.convolve(&x, &one.cast_bits(), ConvolveMode::Same, &mut a.cast_bits())
    }),
    ("matmul_sparse", |queue, x, [a, b, c], one| {
        queue.matmul_sparse(Csr::new([0, 0], one, a, b), x, c, MatmulSparse::default())
    }),
    ("convolve_2d", |queue, x, [a, ..], one| {
        let mut out = a.reshape([3, 0])?;
        queue.convolve_2d(&x.reshape([3, 0])?, &one.reshape([1, 1])?, &mut out, Filter::default())
    }),
    ("convolve_channels", |queue, x, [a, ..], one| {
        let mut out = a.reshape([0, 1, 2, 3])?;
        let weights = one.reshape([1, 1, 1, 1])?;
        queue.convolve_channels(&x.reshape([0, 1, 2, 3])?, &weights, &mut out, ConvolveChannels::default())
    }),
    ("correlate_separable", |queue, x, [a, ..], one| {
        let mut out = a.reshape([0, 3])?;
        queue.correlate_separable(&x.reshape([0, 3])?, one, one, &mut out, Filter::default())
    }),
    ("flag_interference", |queue, x, [a, b, _], _| {
        let known = a.reshape([0, 3])?;
        let x = x.cast_bits::<f32>().reshape([0, 3])?;
        queue.flag_interference(&x, &known, &mut b.reshape([0, 3])?, SumThresholdFlagger::default())
    }),
];

fn foreign(s: &Subject) {
    let ctx = s.ctx();
    let other = s.ctx();
    let queue = ctx.queue("q");
    let x = other.queue("other").zeros::<u32, 1>([0]).unwrap();
    let own = || queue.zeros::<u32, 1>([0]).unwrap();
    let mut others = [own(), own(), own()];
    let mut one = queue.full([1], 7_u32).unwrap();
    for (name, verb) in WITHOUT_ELEMENTS {
        let error = verb(&queue, &x, &mut others, &mut one).expect_err(name);
        assert!(matches!(error.detail(), ErrorDetail::ForeignContext { .. }), "{name}: {error}");
        verb(&queue, &own(), &mut others, &mut one).unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

fn failed(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let failed = ctx.queue("failed");
    let empty = || queue.zeros::<u32, 1>([0]).unwrap();
    let x = empty();
    let mut others = [empty(), empty(), empty()];
    let mut one = queue.full([1], 7_u32).unwrap();
    failed.wait_for(&ctx.user_event("abandoned").event()).unwrap();
    failed.finish().wait().unwrap_err();
    for (name, verb) in WITHOUT_ELEMENTS {
        let error = verb(&failed, &x, &mut others, &mut one).expect_err(name);
        assert!(matches!(error.detail(), ErrorDetail::Abandoned { .. }), "{name}: {error}");
    }
    failed.take_error().unwrap();
    assert_eq!(queue.read(&one).wait().unwrap(), [7]);
}
