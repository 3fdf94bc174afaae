//! D08: reductions, gathers and exchanges over several contexts.

use crate::common::partners::{Partner, counted, everywhere, partners};
use crate::common::thread;
use crate::common::{Calls, Case, ONE_THREAD, Subject, case, dump};
use fencepost::BacklogLimit;
use fencepost::prelude::*;
use std::sync::mpsc::channel;
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    vec![
        case("d08_a_reduction_combines_integers_of_all_contexts", integers),
        case("d08_a_reduction_combines_floats_as_the_host_does", floats),
        case("d08_a_sum_of_floats_is_in_the_order_of_the_queues", order_of_sum),
        case("d08_contexts_of_all_places_at_once_get_the_same_bits", all_places),
        case("d08_a_gather_has_the_parts_in_the_order_of_the_queues", gather),
        case("d08_an_exchange_copies_each_source_to_its_target", exchange),
        case("d08_a_reduction_comes_after_earlier_and_before_later_commands", ordered_reduction),
        case("d08_a_gather_comes_after_earlier_and_before_later_commands", ordered_gather),
        case("d08_an_exchange_comes_after_earlier_and_before_later_commands", ordered_exchange),
        case("d08_a_group_of_one_queue_keeps_its_elements", one_queue),
        case("d08_members_may_be_used_in_other_threads", other_threads).not_in_a_page(ONE_THREAD),
        case("d08_calls_of_two_threads_in_opposite_orders_end", opposite_orders).not_in_a_page(ONE_THREAD),
        case("d08_a_group_takes_one_queue_of_each_context", of_each_context).host_side(),
        case("d08_a_call_with_wrong_arrays_enqueues_nothing_on_any_queue", wrong_arrays),
        case("d08_an_array_of_another_context_is_refused_at_each_place", foreign_arrays).host_side(),
        case("d08_a_full_backlog_of_any_member_refuses_the_whole_call", full_backlog),
        case("d08_a_call_waits_for_room_in_the_backlog_of_each_member", room).not_in_a_page(ONE_THREAD),
        case("d08_a_call_with_a_failed_or_lost_member_enqueues_nothing_on_any_queue", failed_member),
        case("d08_under_checked_a_missing_wait_of_any_member_is_refused", hazard),
        case("d08_a_capture_refuses_the_calls_of_a_group", captured),
        case("d08_a_device_that_is_lost_later_fails_the_other_queues", lost_later),
        case("d08_everything_else_may_be_dropped_while_a_call_is_in_flight", dropped),
    ]
}

/// Number of elements of a small array.
const N: usize = 33;
/// Number of elements of an array that is copied in several pieces.
const LARGE: usize = 200_003;

/// Maximum number of commands in a backlog that a case fills.
const LIMIT: usize = 20;

const POLICIES: [Policy; 3] = [Policy::Ordered, Policy::Checked, Policy::Unchecked];

/// A queue of each of three contexts: of the subject's place, of the next one, and of a context without threads.
struct Members {
    names: String,
    contexts: Vec<Context>,
    queues: Vec<CommandQueue>,
    group: QueueGroup,
}

impl Members {
    fn new(s: &Subject, policy: Policy) -> Self {
        Self::of(partners(s, policy))
    }

    fn of(partners: Vec<Partner>) -> Self {
        let (names, contexts): (Vec<String>, Vec<Context>) = partners.into_iter().unzip();
        let queues: Vec<CommandQueue> = contexts.iter().map(|ctx| ctx.queue("member")).collect();
        let group = QueueGroup::new(&queues).unwrap();
        Self { names: names.join(", "), contexts, queues, group }
    }

    /// Limits the backlog of one member's context.
    fn limited(s: &Subject, at: usize) -> Self {
        let mut all = partners(s, Policy::Ordered);
        all[at] = ("limited".into(), s.limited(BacklogLimit::default().commands(LIMIT)));
        Self::of(all)
    }

    /// Makes an array of each list, on the queue of its member.
    fn arrays<T: Element>(&self, lists: &[Vec<T>]) -> Vec<DeviceArray<T>> {
        self.queues.iter().zip(lists).map(|(queue, list)| queue.array(list).unwrap()).collect()
    }

    /// Makes an array of each member, with a number that differs between the members.
    fn numbered(&self, n: usize) -> Vec<DeviceArray<u32>> {
        (1..).zip(&self.queues).map(|(number, queue)| queue.full([n], number).unwrap()).collect()
    }

    /// Makes an array of zeros for each member.
    fn zeros(&self, n: usize) -> Vec<DeviceArray<u32>> {
        self.queues.iter().map(|queue| queue.zeros([n]).unwrap()).collect()
    }

    /// Fills the array of each member with `base` and the number of the member.
    fn refill(&self, arrays: &[DeviceArray<u32>], base: u32) {
        for ((number, queue), array) in (1..).zip(&self.queues).zip(arrays) {
            queue.fill(&mut array.clone(), base + number).unwrap();
        }
    }

    /// Waits for all members. No read finds a full backlog then.
    fn finish(&self) {
        self.queues.iter().for_each(|queue| queue.finish().wait().unwrap());
    }

    /// Returns the elements of each array, read on the queue of its member.
    fn read<T: Element>(&self, arrays: &[DeviceArray<T>]) -> Vec<Vec<T>> {
        let reads: Vec<_> = self.queues.iter().zip(arrays).map(|(queue, array)| queue.read(array)).collect();
        reads.into_iter().map(|read| read.wait().unwrap()).collect()
    }

    /// Returns the number of commands that each queue of each context has enqueued so far.
    fn accounts(&self) -> Vec<Vec<String>> {
        self.contexts.iter().map(dump::account).collect()
    }
}

/// Reduces a list of each member, and compares all results with that of the host, bit by bit.
fn reduces<T: Reducible>(
    members: &Members,
    operation: Operation,
    lists: &[Vec<T>],
    combine: impl Fn(T, T) -> T,
) {
    let mut arrays = members.arrays(lists);
    members.group.all_reduce(&mut arrays, operation).unwrap();
    let of_place = |at: usize| lists[1..].iter().fold(lists[0][at], |x, list| combine(x, list[at]));
    let expected: Vec<T> = (0..lists[0].len()).map(of_place).collect();
    for found in members.read(&arrays) {
        let same = bytemuck::cast_slice::<T, u8>(&found) == bytemuck::cast_slice::<T, u8>(&expected);
        assert!(same, "{}: {operation:?} of {} elements", members.names, expected.len());
    }
}

fn integers(s: &Subject) {
    for policy in POLICIES {
        let members = Members::new(s, policy);
        for n in [0, 1, N, 256] {
            let lists = [5, u32::MAX - 9, 70].map(|start| counted(n, start));
            reduces(&members, Operation::Sum, &lists, u32::wrapping_add);
            reduces(&members, Operation::Product, &lists, u32::wrapping_mul);
            reduces(&members, Operation::Smallest, &lists, Ord::min);
            reduces(&members, Operation::LargestNumber, &lists, Ord::max);
            let signed = lists.map(|list| list.into_iter().map(u32::cast_signed).collect::<Vec<i32>>());
            reduces(&members, Operation::Sum, &signed, i32::wrapping_add);
            reduces(&members, Operation::SmallestNumber, &signed, Ord::min);
            reduces(&members, Operation::Largest, &signed, Ord::max);
        }
    }
    let members = Members::new(s, Policy::Ordered);
    reduces(&members, Operation::Sum, &[1, 2, 3].map(|start| counted(LARGE, start)), u32::wrapping_add);
}

/// Returns the function that combines two floats as a search for the smallest or the largest number does.
fn extreme(largest: bool, nans_win: bool) -> impl Fn(f32, f32) -> f32 {
    move |x, y| {
        let has_nan = x.is_nan() || y.is_nan();
        let first = if has_nan { x.is_nan() == nans_win } else { x.total_cmp(&y).is_ge() == largest };
        if first || x.to_bits() == y.to_bits() { x } else { y }
    }
}

/// Returns a list of random numbers for each of three members.
fn random_lists(seed: u64, number: impl Fn(&mut fastrand::Rng) -> f32) -> [Vec<f32>; 3] {
    let mut rng = fastrand::Rng::with_seed(seed);
    [0; 3].map(|_| (0..257).map(|_| number(&mut rng)).collect())
}

fn floats(s: &Subject) {
    const SPECIAL: [f32; 9] =
        [0.0, -0.0, 1.5, -1.5, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, -f32::NAN, f32::MAX];
    let members = Members::new(s, Policy::Ordered);
    let plain = random_lists(8, |rng| (rng.f32() - 0.5) * 1000.0);
    let special = random_lists(9, |rng| SPECIAL[rng.usize(..SPECIAL.len())]);
    reduces(&members, Operation::Sum, &plain, |x, y| x + y);
    reduces(&members, Operation::Product, &plain, |x, y| x * y);
    for values in [&plain, &special] {
        reduces(&members, Operation::Smallest, values, extreme(false, true));
        reduces(&members, Operation::Largest, values, extreme(true, true));
        reduces(&members, Operation::SmallestNumber, values, extreme(false, false));
        reduces(&members, Operation::LargestNumber, values, extreme(true, false));
    }
}

/// The sum of these numbers depends on the order: a small number is lost if it is added to a large one.
const PARTS_OF_SUM: [f32; 3] = [1e8, -1e8, 1.25];

fn order_of_sum(s: &Subject) {
    for (parts, sum) in [(PARTS_OF_SUM, 1.25), ([1.25, 1e8, -1e8], 0.0)] {
        let members = Members::new(s, Policy::Ordered);
        let mut arrays = members.arrays(&parts.map(|part| vec![part; N]));
        members.group.all_reduce(&mut arrays, Operation::Sum).unwrap();
        assert_eq!(members.read(&arrays), vec![vec![sum; N]; 3], "{}", members.names);
    }
}

fn all_places(s: &Subject) {
    let members = Members::of(everywhere(s, Policy::Ordered));
    let count = members.queues.len();
    let mut rng = fastrand::Rng::with_seed(3);
    let lists: Vec<Vec<f32>> =
        (0..count).map(|_| (0..1001).map(|_| (rng.f32() - 0.5) * 100.0).collect()).collect();
    for _ in 0..2 {
        reduces(&members, Operation::Sum, &lists, |x, y| x + y);
    }
    let parts = members.numbered(3);
    let mut outs = members.zeros(3 * count);
    members.group.all_gather(&parts, &mut outs).unwrap();
    let expected: Vec<u32> = (1..=count as u32).flat_map(|number| [number; 3]).collect();
    assert_eq!(members.read(&outs), vec![expected; count], "{}", members.names);
}

fn gather(s: &Subject) {
    for policy in POLICIES {
        let members = Members::new(s, policy);
        for lens in [[0, 0, 0], [3, 0, 5], [LARGE, 13, 1]] {
            let starts = [7, 1000, 90_000];
            let lists: Vec<Vec<u32>> =
                lens.into_iter().zip(starts).map(|(len, start)| counted(len, start)).collect();
            let parts = members.arrays(&lists);
            let mut outs = members.zeros(lens.iter().sum());
            members.group.all_gather(&parts, &mut outs).unwrap();
            let all = lists.concat();
            assert!(members.read(&outs).iter().all(|out| *out == all), "{}: {lens:?}", members.names);
        }
        let lists = [counted(8, 0), counted(4, 100), counted(12, 200)];
        let parts: Vec<DeviceArray<u32, 2>> =
            members.arrays(&lists).iter().map(|part| part.reshape([part.len() / 4, 4]).unwrap()).collect();
        let mut outs: Vec<DeviceArray<u32, 2>> =
            members.queues.iter().map(|queue| queue.zeros([6, 4]).unwrap()).collect();
        members.group.all_gather(&parts, &mut outs).unwrap();
        for (queue, out) in members.queues.iter().zip(&outs) {
            assert_eq!(queue.read(out).wait().unwrap(), lists.concat(), "{}", members.names);
        }
    }
}

/// Copies the array of each member to the next one, and within one context.
fn exchange(s: &Subject) {
    for policy in POLICIES {
        let members = Members::new(s, policy);
        for n in [0, 1, N, LARGE] {
            let sources = members.numbered(n);
            let mut targets = members.zeros(n);
            let pairs = sources.iter().cycle().skip(2).zip(&mut targets);
            members.group.exchange(pairs).unwrap();
            let expected = [3, 1, 2].map(|number| vec![number; n]);
            assert!(members.read(&targets) == expected, "{}: {n}", members.names);
        }
        let x = members.queues[1].array(&counted(8, 0)).unwrap();
        let halves = [x.slice(0..4).unwrap(), x.slice(4..8).unwrap()];
        members.group.exchange([(&halves[0], &mut halves[1].clone())]).unwrap();
        let found = members.queues[1].read(&x).wait().unwrap();
        assert_eq!(found, [counted(4, 0), counted(4, 0)].concat(), "{}", members.names);
        let none: [(&DeviceArray<u32>, &mut DeviceArray<u32>); 0] = [];
        members.group.exchange(none).unwrap();
    }
}

/// Holds back one member, makes a call, and then fills all arrays of the call again. Returns the elements of `results`
/// after the call.
fn around_a_held_member(
    members: &Members,
    held: usize,
    arrays: &[DeviceArray<u32>],
    results: &[DeviceArray<u32>],
    call: impl FnOnce() -> Result<()>,
) -> Vec<Vec<u32>> {
    let gate = members.queues[held].hold();
    members.refill(arrays, 10);
    call().unwrap();
    let reads: Vec<_> = members.queues.iter().zip(results).map(|(queue, array)| queue.read(array)).collect();
    members.refill(arrays, 90);
    assert!(!members.queues[held].marker().is_complete().unwrap(), "{}", members.names);
    gate.signal();
    let found = reads.into_iter().map(|read| read.wait().unwrap()).collect();
    let after = members.read(arrays);
    assert!(
        after.iter().zip(91..).all(|(array, number)| array.iter().all(|x| *x == number)),
        "{}",
        members.names
    );
    found
}

fn ordered_reduction(s: &Subject) {
    for policy in POLICIES {
        for held in 0..3 {
            let members = Members::new(s, policy);
            let mut arrays = members.numbered(N);
            let handles = arrays.clone();
            let call = || members.group.all_reduce(&mut arrays, Operation::Sum);
            let found = around_a_held_member(&members, held, &handles, &handles, call);
            assert_eq!(found, vec![vec![11 + 12 + 13; N]; 3], "{}, {policy:?}, {held}", members.names);
        }
    }
}

fn ordered_gather(s: &Subject) {
    for policy in POLICIES {
        for held in 0..3 {
            let members = Members::new(s, policy);
            let parts = members.numbered(N);
            let mut outs = members.zeros(3 * N);
            let handles = outs.clone();
            let call = || members.group.all_gather(&parts, &mut outs);
            let found = around_a_held_member(&members, held, &parts, &handles, call);
            let expected = [11, 12, 13].map(|number| vec![number; N]).concat();
            assert_eq!(found, vec![expected; 3], "{}, {policy:?}, {held}", members.names);
        }
    }
}

fn ordered_exchange(s: &Subject) {
    for policy in POLICIES {
        for held in 0..3 {
            let members = Members::new(s, policy);
            let sources = members.numbered(N);
            let mut targets = members.zeros(N);
            let handles = targets.clone();
            let call = || members.group.exchange(sources.iter().cycle().skip(1).zip(&mut targets));
            let found = around_a_held_member(&members, held, &sources, &handles, call);
            let expected = [12, 13, 11].map(|number| vec![number; N]);
            assert_eq!(found, expected, "{}, {policy:?}, {held}", members.names);
        }
    }
}

fn one_queue(s: &Subject) {
    let (ctx, queue) = s.with_queue("alone");
    let group = QueueGroup::new([&queue]).unwrap();
    let mut x = ctx.array(&counted(N, 4)).unwrap();
    let mut y = ctx.zeros([N]).unwrap();
    group.all_reduce([&mut x], Operation::Sum).unwrap();
    group.all_gather([&x], [&mut y]).unwrap();
    assert_eq!(queue.read(&y).wait().unwrap(), counted(N, 4));
}

/// Each member lives in a thread of its own; this thread makes the calls.
fn other_threads(s: &Subject) {
    const ROUNDS: u32 = 4;
    let (ready, members) = channel::<(usize, CommandQueue, DeviceArray<u32>)>();
    thread::scope(|scope| {
        let mut answers = Vec::new();
        for (at, (name, ctx)) in partners(s, Policy::Ordered).into_iter().enumerate() {
            let (answer, called) = channel::<()>();
            let ready = ready.clone();
            answers.push(answer);
            scope.spawn(move || {
                let queue = ctx.queue("member");
                let mut x = queue.zeros([N]).unwrap();
                for round in 0..ROUNDS {
                    queue.fill(&mut x, 10 * round + at as u32).unwrap();
                    ready.send((at, queue.clone(), x.clone())).unwrap();
                    called.recv().unwrap();
                    assert_eq!(queue.read(&x).wait().unwrap(), [30 * round + 3; N], "{name}");
                }
            });
        }
        drop(ready);
        for _ in 0..ROUNDS {
            let mut round: Vec<_> = (0..answers.len()).map(|_| members.recv().unwrap()).collect();
            round.sort_by_key(|(at, ..)| *at);
            let group = QueueGroup::new(round.iter().map(|(_, queue, _)| queue)).unwrap();
            group.all_reduce(round.iter_mut().map(|(.., x)| x), Operation::Sum).unwrap();
            answers.iter().for_each(|answer| answer.send(()).unwrap());
        }
    });
}

/// Two threads use the same queues in groups of opposite orders, with arrays of their own.
fn opposite_orders(s: &Subject) {
    let members = Members::new(s, Policy::Ordered);
    let backwards = QueueGroup::new(members.queues.iter().rev()).unwrap();
    thread::scope(|scope| {
        for (group, is_reversed) in [(&members.group, false), (&backwards, true)] {
            let members = &members;
            scope.spawn(move || {
                for round in 0..5_u32 {
                    let mut arrays = members.zeros(N);
                    members.refill(&arrays, round);
                    if is_reversed {
                        group.all_reduce(arrays.iter_mut().rev(), Operation::Sum).unwrap();
                    } else {
                        group.all_reduce(&mut arrays, Operation::Sum).unwrap();
                    }
                    assert_eq!(members.read(&arrays), vec![vec![3 * round + 6; N]; 3], "{}", members.names);
                }
            });
        }
    });
}

fn of_each_context(s: &Subject) {
    let (ctx, [a, b]) = s.with_queues(["a", "b"]);
    let other = s.ctx().queue("other");
    let none: [&CommandQueue; 0] = [];
    let error = assert_refused!(QueueGroup::new(none), Value);
    assert!(error.to_string().contains("the number of queues is 0"), "{error}");
    let error = assert_refused!(QueueGroup::new([&a, &other, &a]), Value);
    assert!(error.to_string().contains("one context, here `a` and `a`, is 2"), "{error}");
    let error = assert_refused!(QueueGroup::new([&b, &a.clone()]), Value);
    assert!(error.to_string().contains("`b` and `a`"), "{error}");
    assert_refused!(QueueGroup::new([ctx.default_queue(), a.clone()]), Value);
    QueueGroup::new([&a, &other]).unwrap();
}

/// Makes a call that is refused, and checks that no queue of any member has a further command.
macro_rules! assert_nothing_enqueued {
    ($members:expr, $call:expr, $detail:ident) => {{
        let before = $members.accounts();
        let error = assert_refused!($call, $detail);
        assert_eq!($members.accounts(), before, "{}: {error}", $members.names);
        error
    }};
}

fn wrong_arrays(s: &Subject) {
    let members = Members::new(s, Policy::Ordered);
    let Members { group, queues, .. } = &members;
    let arrays = members.numbered(N);
    let of = |at: usize| arrays[at].clone();
    let sum = |arrays: &mut [DeviceArray<u32>]| group.all_reduce(arrays, Operation::Sum);
    let error = assert_nothing_enqueued!(members, sum(&mut [of(0), of(1)]), Value);
    let said = error.to_string();
    assert!(said.contains("verb `all_reduce`, argument `arrays`: the number of arrays is 2"), "{said}");
    let small = queues[1].zeros::<u32, 1>([N - 1]).unwrap();
    let error = assert_nothing_enqueued!(members, sum(&mut [of(0), small.clone(), of(2)]), Shape);
    assert!(error.to_string().contains("argument `arrays[1]`"), "{error}");
    let error = assert_nothing_enqueued!(members, sum(&mut [of(1), of(0), of(2)]), ForeignContext);
    assert!(error.to_string().contains("argument `arrays[0]`"), "{error}");

    let mut outs = members.zeros(3 * N);
    let whole = outs[2].clone();
    outs[2] = queues[2].zeros([3 * N + 1]).unwrap();
    assert_nothing_enqueued!(members, group.all_gather(&arrays, &mut outs), Shape);
    outs[2] = whole.clone();
    let parts = [of(0), of(1), whole.slice(0..N).unwrap()];
    assert_nothing_enqueued!(members, group.all_gather(&parts, &mut outs), Aliased);
    let short = members.arrays(&[0; 3].map(|_| vec![1_u16; 3]));
    let mut long = members.arrays(&[0; 3].map(|_| vec![0_u16; 9]));
    assert_nothing_enqueued!(members, group.all_gather(&short, &mut long), Alignment);

    let elsewhere = s.ctx().zeros::<u32, 1>([N]).unwrap();
    assert_nothing_enqueued!(members, group.exchange([(&elsewhere, &mut of(0))]), ForeignContext);
    assert_nothing_enqueued!(members, group.exchange([(&of(0), &mut outs[1])]), Shape);
    let twice = [(&of(0), &mut of(1)), (&of(2), &mut of(1))];
    assert_nothing_enqueued!(members, group.exchange(twice), Aliased);
    let chain = [(&of(0), &mut of(1)), (&of(1), &mut of(2))];
    assert_nothing_enqueued!(members, group.exchange(chain), Aliased);
    let padded = queues[0].zeros::<u32, 1>(Shape::padded([N], [64])).unwrap();
    assert_nothing_enqueued!(members, group.exchange([(&padded, &mut of(1))]), Padding);

    for array in &arrays {
        let map = array.map_read().wait().unwrap();
        assert_nothing_enqueued!(members, sum(&mut arrays.clone()), Mapped);
        drop(map);
    }
    assert_eq!(members.read(&arrays), [1, 2, 3].map(|number| vec![number; N]), "{}", members.names);
}

/// The array comes from a context outside of the group, or from another member, whose array the call then has twice.
fn foreign_arrays(s: &Subject) {
    let members = Members::new(s, Policy::Ordered);
    let group = &members.group;
    let mut arrays = members.numbered(N);
    let targets = members.zeros(N);
    let outs = members.zeros(3 * N);
    let (outside, stranger) = s.with_queue("outside");
    let [far, far_out] = [N, 3 * N].map(|n| stranger.full::<u32, 1>([n], 50).unwrap());
    let before = dump::account(&outside);
    let with = |list: &[DeviceArray<u32>], at: usize, array: &DeviceArray<u32>| {
        let mut list = list.to_vec();
        list[at] = array.clone();
        list
    };
    let names = |error: &Error, list: &str, at: usize| {
        assert!(error.to_string().contains(&format!("argument `{list}[{at}]`")), "{error}");
    };
    for at in 0..3 {
        let other = (at + 1) % 3;
        for (array, out) in [(&far, &far_out), (&arrays[other], &outs[other])] {
            let mut wrong = with(&arrays, at, array);
            let error = assert_nothing_enqueued!(
                members,
                group.all_reduce(&mut wrong, Operation::Sum),
                ForeignContext
            );
            names(&error, "arrays", at);
            let error = assert_nothing_enqueued!(
                members,
                group.all_gather(&wrong, &mut outs.clone()),
                ForeignContext
            );
            names(&error, "parts", at);
            let mut wrong = with(&outs, at, out);
            let error =
                assert_nothing_enqueued!(members, group.all_gather(&arrays, &mut wrong), ForeignContext);
            names(&error, "outs", at);
        }
        // The first pair is right, and is not copied either.
        let pairs = [(&arrays[at], &mut targets[other].clone()), (&far, &mut targets[at].clone())];
        let error = assert_nothing_enqueued!(members, group.exchange(pairs), ForeignContext);
        names(&error, "sources", 1);
        let pairs = [(&arrays[at], &mut targets[other].clone()), (&arrays[other], &mut far.clone())];
        let error = assert_nothing_enqueued!(members, group.exchange(pairs), ForeignContext);
        names(&error, "targets", 1);
    }
    assert_eq!(dump::account(&outside), before, "{}", members.names);
    assert_eq!(members.read(&targets), vec![vec![0; N]; 3], "{}", members.names);
    assert_eq!(stranger.read(&far).wait().unwrap(), [50; N]);
    group.all_reduce(&mut arrays, Operation::Sum).unwrap();
    assert_eq!(members.read(&arrays), vec![vec![6; N]; 3], "{}", members.names);
}

/// The queue of one member waits for the program. Its backlog is full, or has room for a few commands.
fn full_backlog(s: &Subject) {
    for at in 0..3 {
        let members = Members::limited(s, at);
        let queue = &members.queues[at];
        let mut arrays = members.numbered(N);
        let mut targets = members.zeros(N);
        let mut outs = members.zeros(3 * N);
        let mut spare = queue.zeros::<u32, 1>([N]).unwrap();
        let mut refusals = 0;
        for fills in (LIMIT as u32 - 6..=LIMIT as u32).rev() {
            members.refill(&arrays, 10);
            queue.finish().wait().unwrap();
            let gate = queue.hold();
            let taken = (1..=fills).take_while(|fill| queue.fill(&mut spare, *fill).is_ok()).count();
            let before = members.accounts();
            let expected = match members.group.all_reduce(&mut arrays, Operation::Sum) {
                Ok(()) => [36; 3],
                Err(error) => {
                    assert!(matches!(error.detail(), ErrorDetail::Backlog { .. }), "{error}");
                    assert_eq!(members.accounts(), before, "{}: {fills}", members.names);
                    assert_nothing_enqueued!(members, members.group.all_gather(&arrays, &mut outs), Backlog);
                    let pairs = arrays.iter().zip(&mut targets);
                    assert_nothing_enqueued!(members, members.group.exchange(pairs), Backlog);
                    refusals += 1;
                    [11, 12, 13]
                }
            };
            gate.signal();
            members.finish();
            let found = members.read(&arrays);
            assert_eq!(found, expected.map(|number| vec![number; N]), "{}: {fills}", members.names);
            assert_eq!(queue.read(&spare).wait().unwrap(), [taken as u32; N], "{}", members.names);
        }
        assert!((1..7).contains(&refusals), "{}: {refusals} of 7 calls were refused", members.names);
        members.group.all_gather(&arrays, &mut outs).unwrap();
        members.finish();
        assert_eq!(members.read(&outs), vec![vec![36; 3 * N]; 3], "{}", members.names);
    }
}

/// The queue of one member waits for another context, and its backlog is full. The call returns once that context goes on.
fn room(s: &Subject) {
    for at in 0..3 {
        let members = Members::limited(s, at);
        let queue = &members.queues[at];
        let mut arrays = members.numbered(N);
        let mut spare = queue.zeros::<u32, 1>([N]).unwrap();
        queue.finish().wait().unwrap();
        let (elsewhere, there) = s.with_queue("there");
        let gate = there.hold();
        queue.wait_for(&there).unwrap();
        let mut fills = 0;
        while dump::pending(&members.contexts[at], "member") < LIMIT as u64 {
            fills += 1;
            queue.fill(&mut spare, fills).unwrap();
        }
        let group = &members.group;
        let summed = &mut arrays;
        let (tell, told) = channel();
        thread::scope(|scope| {
            scope.spawn(move || {
                group.all_reduce(summed, Operation::Sum).unwrap();
                tell.send(()).unwrap();
            });
            let is_early = told.recv_timeout(Duration::from_millis(100)).is_ok();
            gate.signal();
            assert!(!is_early, "{}: member {at} has no room", members.names);
            told.recv().unwrap();
        });
        members.finish();
        assert_eq!(members.read(&arrays), vec![vec![6; N]; 3], "{}", members.names);
        assert_eq!(queue.read(&spare).wait().unwrap(), [fills; N], "{}", members.names);
        drop(elsewhere);
    }
}

fn failed_member(s: &Subject) {
    for at in 0..3 {
        let members = Members::new(s, Policy::Ordered);
        let mut arrays = members.numbered(N);
        let gone = members.contexts[at].user_event("gone");
        members.queues[at].wait_for(&gone).unwrap();
        drop(gone);
        members.queues[at].finish().wait().unwrap_err();
        assert_nothing_enqueued!(members, members.group.all_reduce(&mut arrays, Operation::Sum), Abandoned);
        members.queues[at].take_error();
        members.group.all_reduce(&mut arrays, Operation::Sum).unwrap();
        assert_eq!(members.read(&arrays), vec![vec![6; N]; 3], "{}", members.names);
    }
    for at in 0..3 {
        let mut all = partners(s, Policy::Ordered);
        all[at] = ("lost".into(), s.losing(0));
        let members = Members::of(all);
        let arrays = members.numbered(N);
        members.queues[at].finish().wait().unwrap_err();
        let mut others = arrays.clone();
        assert_nothing_enqueued!(members, members.group.all_reduce(&mut others, Operation::Sum), DeviceLost);
        assert_nothing_enqueued!(members, members.group.all_gather(&arrays, &mut others), DeviceLost);
        assert_nothing_enqueued!(
            members,
            members.group.exchange([(&arrays[at], &mut others[0])]),
            DeviceLost
        );
        for other in (0..3).filter(|other| *other != at) {
            let found = members.queues[other].read(&arrays[other]).wait().unwrap();
            assert_eq!(found, [other as u32 + 1; N], "{}", members.names);
        }
    }
}

/// In the context of one member, another queue has written its array, and the queue of the member does not wait for it.
fn hazard(s: &Subject) {
    for at in 0..3 {
        let members = Members::new(s, Policy::Checked);
        let mut arrays = members.numbered(N);
        let other = members.contexts[at].queue("other");
        other.wait_for(&members.queues[at]).unwrap();
        other.fill(&mut arrays[at].clone(), 50).unwrap();
        let error =
            assert_nothing_enqueued!(members, members.group.all_reduce(&mut arrays, Operation::Sum), Hazard);
        assert!(error.to_string().contains("add `member.wait_for(&other)?`"), "{error}");
        members.queues[at].wait_for(&other).unwrap();
        members.group.all_reduce(&mut arrays, Operation::Sum).unwrap();
        let sum = 6 - (at as u32 + 1) + 50;
        assert_eq!(members.read(&arrays), vec![vec![sum; N]; 3], "{}", members.names);
    }
}

fn captured(s: &Subject) {
    let members = Members::new(s, Policy::Ordered);
    let arrays = members.numbered(N);
    for at in [0, 1] {
        let captured = members.queues[at].capture(|c| {
            let mut queues = members.queues.clone();
            queues[at] = (**c).clone();
            QueueGroup::new(&queues)?.all_reduce(&mut arrays.clone(), Operation::Sum)
        });
        let error = assert_refused!(captured.map(drop), Captured { call, .. } if *call == "all_reduce");
        assert!(error.to_string().contains("before or after the replay"), "{error}");
    }
    assert_eq!(members.read(&arrays), [1, 2, 3].map(|number| vec![number; N]), "{}", members.names);
}

/// The device is lost at a step of a fill, or of the call. The other queue fails with that loss, or has the sum.
fn lost_later(s: &Subject) {
    for lost_after in [0, 1, 2, 4] {
        for lost_is_first in [true, false] {
            let lost = s.losing(lost_after);
            let (ctx, queue) = s.with_queue("ours");
            let theirs = lost.queue("theirs");
            let ours = queue.full([LARGE], 1_u32).unwrap();
            let mut other = lost.zeros([LARGE]).unwrap();
            let filled = theirs.fill(&mut other, 2);
            let mut queues = [&queue, &theirs];
            let mut arrays = [ours.clone(), other];
            if lost_is_first {
                queues.reverse();
                arrays.reverse();
            }
            let group = QueueGroup::new(queues.iter().copied()).unwrap();
            let done = filled
                .and_then(|()| group.all_reduce(&mut arrays, Operation::Sum))
                .and_then(|()| queue.finish().wait());
            match done {
                Ok(()) => assert!(queue.read(&ours).wait().unwrap() == [3; LARGE]),
                Err(error) => assert_eq!(error.kind(), ErrorKind::DeviceLost, "{error}"),
            }
            // A call that fails after its first command leaves waits, which fail too.
            drop(queue.finish().wait());
            queue.take_error();
            let again = queue.full([N], 7_u32).unwrap();
            assert_eq!(queue.read(&again).wait().unwrap(), [7; N]);
            drop(ctx);
        }
    }
}

fn dropped(s: &Subject) {
    let members = Members::new(s, Policy::Ordered);
    let parts = members.numbered(LARGE);
    let mut outs = members.zeros(3 * LARGE);
    members.group.all_gather(&parts, &mut outs).unwrap();
    let reader = members.queues[0].clone();
    let out = outs[0].clone();
    drop((parts, outs, members));
    let found = reader.read(&out).wait().unwrap();
    assert!(found == [1, 2, 3].map(|number| vec![number; LARGE]).concat());
}
