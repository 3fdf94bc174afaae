//! G06: conditions and loops that are decided on the device.

use crate::common::counted::Counted;
use crate::common::kernels::Mix;
use crate::common::{Calls, Case, NO_UNWINDING, Subject, assert_error, assert_says, case};
use crate::graphs::temporaries::has_returned;
use fencepost::graph::Loop;
use fencepost::prelude::*;
use fencepost::{Bound, Capture, Download, ErrorDetail, HostArray, Replay, Result, Upload};

pub fn cases() -> Vec<Case> {
    vec![
        case("g06_a_body_executes_if_its_condition_is_not_zero", conditional),
        case("g06_one_half_of_an_if_else_executes_also_if_it_changes_the_condition", two_halves),
        case("g06_a_loop_executes_while_its_condition_is_not_zero", countdown),
        case("g06_a_do_while_executes_once_at_least", do_while),
        case("g06_a_repeat_executes_as_often_as_its_count_says", repeat),
        case("g06_a_loop_says_if_its_bound_ended_it", bounds),
        case("g06_a_condition_inside_a_loop_is_read_in_each_iteration", condition_in_loop),
        case("g06_loops_nest_and_count_all_their_iterations", nested),
        case("g06_every_kind_of_transfer_executes_only_with_its_body", transfers),
        case("g06_a_condition_may_be_a_slice", slice_condition),
        case("g06_an_indirect_launch_in_a_body_keeps_its_own_counts", indirect),
        case("g06_a_gate_decides_for_many_dispatches", many_dispatches),
        case("g06_a_replay_with_a_body_follows_the_policy", policy),
        case("g06_forks_inside_a_body_are_joined_inside_it", forks),
        case("g06_a_graph_with_a_loop_may_be_a_part_of_a_body", child),
        case("g06_a_graph_with_copies_within_an_array_may_be_a_part_of_a_body", copies_of_child),
        case("g06_two_loops_on_forked_queues_do_not_share_words", forked_loops),
        case("g06_conditions_and_loops_work_outside_of_a_capture", outside),
        case("g06_a_replay_with_a_loop_is_one_submission", one_submission),
        case("g06_a_body_refuses_what_it_cannot_contain", refused),
        case("g06_the_queue_around_a_body_takes_no_commands", outer_queue).not_in_a_page(NO_UNWINDING),
        case("g06_a_condition_has_one_element_of_the_same_context", wrong_condition),
        case("g06_a_loop_of_too_many_dispatches_is_an_error", too_long),
        case("g06_the_table_of_a_graph_returns_to_the_pool", memory_returns),
    ]
}

const N: usize = 256;

/// A queue, and the arrays with which a body decrements a condition.
pub(super) struct Setup {
    pub(super) ctx: Context,
    pub(super) queue: CommandQueue,
    pub(super) nothing: DeviceArray<u32>,
}

impl Setup {
    pub(super) fn new(subject: &Subject) -> Self {
        Self::on(subject.ctx())
    }

    pub(super) fn on(ctx: Context) -> Self {
        let queue = ctx.queue("main");
        let nothing = ctx.zeros::<u32, 1>([N]).unwrap();
        Self { ctx, queue, nothing }
    }

    pub(super) fn word(&self, value: u32) -> DeviceArray<u32> {
        self.queue.full([1], value).unwrap()
    }

    pub(super) fn words<const K: usize>(&self, values: [u32; K]) -> [DeviceArray<u32>; K] {
        values.map(|value| self.word(value))
    }

    /// Fills an array, which a body may use too.
    pub(super) fn set<T: Element>(&self, array: &DeviceArray<T>, value: T) {
        self.queue.fill(&mut array.clone(), value).unwrap();
    }

    /// Adds 1 to each element.
    pub(super) fn raise(&self, queue: &CommandQueue, array: &DeviceArray<u32>) -> Result<()> {
        self.add(queue, array, 1)
    }

    pub(super) fn lower(&self, queue: &CommandQueue, array: &DeviceArray<u32>) -> Result<()> {
        self.add(queue, array, u32::MAX)
    }

    pub(super) fn add(&self, queue: &CommandQueue, array: &DeviceArray<u32>, b: u32) -> Result<()> {
        queue.mix(1, b, &self.nothing.slice(0..array.len())?, &mut array.clone())
    }

    /// Lowers `left`, and raises each element of `count`.
    pub(super) fn step(
        &self,
        queue: &CommandQueue,
        left: &DeviceArray<u32>,
        count: &DeviceArray<u32>,
    ) -> Result<()> {
        self.lower(queue, left)?;
        self.raise(queue, count)
    }

    pub(super) fn read(&self, array: &DeviceArray<u32>) -> Vec<u32> {
        self.queue.read(array).wait().unwrap()
    }
}

/// Returns the iterations of a loop in a replay.
pub(super) fn iterations_of(run: &Replay, of: &Loop) -> u32 {
    run.iterations(of).unwrap().wait().unwrap()
}

/// Returns the iterations of a loop in a replay, and `true` if its bound ended it.
pub(super) fn ended(run: &Replay, of: &Loop) -> (u32, bool) {
    (iterations_of(run, of), run.reached_bound(of).unwrap().wait().unwrap())
}

fn conditional(subject: &Subject) {
    let setup = Setup::new(subject);
    let [flag, count] = setup.words([1, 0]);
    let (graph, ()) = setup.queue.graph_of(|c| c.if_(&flag, |body| setup.raise(body, &count)));
    let mut expected = 0;
    for value in [1, 0, 7, 0, 0, u32::MAX, 1 << 31] {
        setup.set(&flag, value);
        setup.queue.replay(&graph).unwrap();
        expected += u32::from(value != 0);
        assert_eq!(setup.read(&count), [expected], "{value}");
    }
    // A signed condition is compared in the same way.
    let signed = setup.queue.full([1], -1_i32).unwrap();
    let (graph, ()) = setup.queue.graph_of(|c| c.if_(&signed, |body| setup.raise(body, &count)));
    for value in [-1, 0, 1] {
        setup.set(&signed, value);
        setup.queue.replay(&graph).unwrap();
    }
    assert_eq!(setup.read(&count), [expected + 2]);
}

fn two_halves(subject: &Subject) {
    let setup = Setup::new(subject);
    let [flag, then, other] = setup.words([0, 0, 0]);
    let (graph, ()) = setup.queue.graph_of(|c| {
        let mut own = flag.clone();
        c.if_else(
            &flag,
            |body| {
                body.fill(&mut own, 0)?;
                setup.raise(body, &then)
            },
            |body| {
                setup.raise(body, &flag)?;
                setup.raise(body, &other)
            },
        )
    });
    let mut thens = 0;
    let mut others = 0;
    for value in [1, 0, 0, 5, 0] {
        setup.set(&flag, value);
        setup.queue.replay(&graph).unwrap();
        thens += u32::from(value != 0);
        others += u32::from(value == 0);
        assert_eq!(setup.read(&then), [thens]);
        assert_eq!(setup.read(&other), [others]);
        assert_eq!(setup.read(&flag), [u32::from(value == 0)]);
    }
}

fn countdown(subject: &Subject) {
    let setup = Setup::new(subject);
    let left = setup.word(0);
    let count = setup.queue.full([N], 0_u32).unwrap();
    let (graph, steps) = setup.queue.graph_of(|c| {
        setup.raise(c, &count)?;
        let steps = c.while_(&left, Bound::AtMost(8), |body| setup.step(body, &left, &count))?;
        setup.raise(c, &count)?;
        Ok(steps)
    });
    let mut expected = 0;
    for start in [3, 0, 8, 1, 5] {
        setup.set(&left, start);
        let run = setup.queue.replay(&graph).unwrap();
        expected += start + 2;
        assert_eq!(setup.read(&count), [expected; N], "{start}");
        assert_eq!(setup.read(&left), [0]);
        assert_eq!(ended(&run, &steps), (start, false));
    }
}

fn do_while(subject: &Subject) {
    let setup = Setup::new(subject);
    let [left, count] = setup.words([0, 0]);
    let body = |body: &Capture| setup.step(body, &left, &count);
    let (graph, steps) = setup.queue.graph_of(|c| c.do_while(&left, Bound::AtMost(6), body));
    let mut expected = 0;
    // The first iteration wraps 0 around to the largest number, so the bound ends the loop.
    for (start, iterations) in [(1, 1), (4, 4), (6, 6), (7, 6), (0, 6)] {
        setup.set(&left, start);
        let run = setup.queue.replay(&graph).unwrap();
        expected += iterations;
        assert_eq!(setup.read(&count), [expected], "{start}");
        assert_eq!(ended(&run, &steps), (iterations, start == 7 || start == 0), "{start}");
    }
    assert_says(setup.queue.do_while(&left, Bound::AtMost(0), |_| Ok(())), "bound above 0");
}

fn repeat(subject: &Subject) {
    let setup = Setup::new(subject);
    let times = setup.queue.full([1], 0_i32).unwrap();
    let sum = setup.word(0);
    let body = |body: &Capture| setup.raise(body, &sum);
    let (graph, steps) = setup.queue.graph_of(|c| c.repeat(&times, Bound::AtMost(5), body));
    let mut expected = 0;
    for (count, iterations) in [(0, 0), (1, 1), (5, 5), (6, 5), (-1, 0), (i32::MIN, 0), (i32::MAX, 5)] {
        setup.set(&times, count);
        let run = setup.queue.replay(&graph).unwrap();
        expected += iterations;
        assert_eq!(setup.read(&sum), [expected], "{count}");
        assert_eq!(ended(&run, &steps), (iterations, count > 5), "{count}");
    }
    // The body ends the loop: the count is read again before each iteration.
    let unsigned = setup.word(u32::MAX);
    let mut own = unsigned.clone();
    let steps = setup.queue.repeat(&unsigned, Bound::AtMost(5), |body| body.fill(&mut own, 2)).unwrap();
    assert_eq!(iterations_of(steps.replay().unwrap(), &steps), 2);
}

fn bounds(subject: &Subject) {
    let setup = Setup::new(subject);
    let left = setup.word(0);
    for bound in [0, 1, 2, 70] {
        let body = |body: &Capture| setup.lower(body, &left);
        let (graph, steps) = setup.queue.graph_of(|c| c.while_(&left, Bound::AtMost(bound), body));
        for start in [bound.saturating_sub(1), bound, bound + 1] {
            setup.set(&left, start);
            let run = setup.queue.replay(&graph).unwrap();
            let expected = (start.min(bound), start > bound);
            assert_eq!(ended(&run, &steps), expected, "{start} of {bound}");
            assert_eq!(setup.read(&left), [start - expected.0]);
        }
    }
    // A body that never changes its condition ends at the bound, or never executes.
    let count = setup.word(0);
    let body = |body: &Capture| setup.raise(body, &count);
    let (graph, steps) = setup.queue.graph_of(|c| c.while_(&left, Bound::AtMost(9), body));
    for (value, expected) in [(1, 9), (0, 9), (2, 18)] {
        setup.set(&left, value);
        let run = setup.queue.replay(&graph).unwrap();
        assert_eq!(run.reached_bound(&steps).unwrap().wait().unwrap(), value != 0);
        assert_eq!(setup.read(&count), [expected]);
    }
}

fn condition_in_loop(subject: &Subject) {
    let setup = Setup::new(subject);
    let [left, skip, count] = setup.words([0, 0, 0]);
    // The inner condition is counted down too: its body executes only in the first iterations.
    let (graph, steps) = setup.queue.graph_of(|c| {
        c.while_(&left, Bound::AtMost(6), |body| {
            setup.lower(body, &left)?;
            body.if_(&skip, |body| setup.step(body, &skip, &count))
        })
    });
    let mut expected = 0;
    for (loops, ifs) in [(4, 2), (3, 6), (0, 5), (6, 0), (6, 6)] {
        setup.set(&left, loops);
        setup.set(&skip, ifs);
        let run = setup.queue.replay(&graph).unwrap();
        expected += ifs.min(loops);
        assert_eq!(setup.read(&count), [expected], "{loops} {ifs}");
        assert_eq!(setup.read(&skip), [ifs - ifs.min(loops)]);
        assert_eq!(iterations_of(&run, &steps), loops);
    }
}

fn nested(subject: &Subject) {
    let setup = Setup::new(subject);
    let [first, second, third, count] = setup.words([0, 0, 0, 0]);
    let (graph, (outer, middle, inner)) = setup.queue.graph_of(|c| {
        let mut middle = None;
        let mut inner = None;
        let outer = c.repeat(&first, Bound::AtMost(3), |body| {
            middle = Some(body.repeat(&second, Bound::AtMost(2), |body| {
                body.fill(&mut third.clone(), 2)?;
                inner = Some(body.while_(&third, Bound::AtMost(4), |body| setup.step(body, &third, &count))?);
                Ok(())
            })?);
            Ok(())
        })?;
        Ok((outer, middle.unwrap(), inner.unwrap()))
    });
    let mut expected = 0;
    for (outers, middles) in [(2, 2), (3, 1), (0, 2), (1, 0), (3, 3), (4, 1)] {
        setup.set(&first, outers);
        setup.set(&second, middles);
        let run = setup.queue.replay(&graph).unwrap();
        let all = outers.min(3) * middles.min(2);
        expected += 2 * all;
        assert_eq!(setup.read(&count), [expected], "{outers} {middles}");
        let expected = [(outers.min(3), outers > 3), (all, outers > 0 && middles > 2), (2 * all, false)];
        assert_eq!([&outer, &middle, &inner].map(|of| ended(&run, of)), expected);
    }
}

fn transfers(subject: &Subject) {
    let setup = Setup::new(subject);
    let queue = &setup.queue;
    let flag = setup.word(0);
    let source: Vec<u32> = (0..N as u32).collect();
    let from = queue.array(&source).unwrap();
    let uploaded: Vec<u32> = source.iter().map(|value| value * 7 + 1).collect();
    let small: Vec<u8> = (0..99).collect();
    let made = |value: u32| queue.full([N], value).unwrap();
    let [zeroed, mut filled, mut copied, mut loaded, shifted, mut part] = [1, 2, 3, 4, 0, 9].map(made);
    let mut square = made(5).reshape([16, 16]).unwrap();
    let mut bytes = queue.full([100], 255_u8).unwrap();
    let mut triples = queue.full([20], [1_u32, 2, 3]).unwrap();
    queue.copy(&from, &mut shifted.clone()).unwrap();
    let near = queue.array(&source).unwrap();
    let mut expected_near = source.clone();
    let (graph, ()) = queue.graph_of(|c| {
        c.if_(&flag, |body| {
            body.fill(&mut zeroed.slice(3..N)?, 0)?;
            body.fill(&mut filled, 77)?;
            body.copy(&from, &mut copied)?;
            body.upload(&uploaded, &mut loaded)?;
            let rows = from.reshape([16, 16])?;
            body.copy_region(&rows, region![2..6, 3..7], &mut square, region![1..5, 9..13])?;
            // Source and target overlap, in both directions.
            body.copy(&shifted.slice(0..N - 1)?, &mut shifted.slice(1..N)?)?;
            body.copy(&shifted.slice(8..N)?, &mut shifted.slice(0..N - 8)?)?;
            // They do not overlap, but a binding of the target would begin at the source.
            body.copy(&near.slice(0..8)?, &mut near.slice(16..24)?)?;
            body.set(&mut part, [17], 1234)?;
            body.upload_region(&small, &mut bytes, region![1..])?;
            body.fill(&mut triples, [4, 5, 6])
        })
    });
    let read = |array: &DeviceArray<u32>| queue.read(array).wait().unwrap();
    for value in [0, 1, 1, 0] {
        let before = read(&shifted);
        setup.set(&flag, value);
        for (array, value) in [(&zeroed, 1), (&filled, 2), (&copied, 3), (&loaded, 4), (&part, 9)] {
            setup.set(array, value);
        }
        queue.fill(&mut square, 5).unwrap();
        queue.fill(&mut bytes, 255).unwrap();
        queue.fill(&mut triples, [1, 2, 3]).unwrap();
        queue.replay(&graph).unwrap();
        let on = value != 0;
        let expected: Vec<u32> = (0..N).map(|at| u32::from(at < 3 || !on)).collect();
        assert_eq!(read(&zeroed), expected, "{value}");
        assert_eq!(read(&filled), [if on { 77 } else { 2 }; N]);
        assert_eq!(read(&copied), if on { source.clone() } else { vec![3; N] });
        assert_eq!(read(&loaded), if on { uploaded.clone() } else { vec![4; N] });
        let at = |row: usize, column: usize| match on && (1..5).contains(&row) && (9..13).contains(&column) {
            true => source[(row + 1) * 16 + column - 6],
            false => 5,
        };
        let expected: Vec<u32> = (0..N).map(|index| at(index / 16, index % 16)).collect();
        assert_eq!(queue.read(&square).wait().unwrap(), expected);
        let mut expected = before;
        if on {
            expected.copy_within(0..N - 1, 1);
            expected.copy_within(8..N, 0);
        }
        assert_eq!(read(&shifted), expected);
        if on {
            expected_near.copy_within(0..8, 16);
        }
        assert_eq!(read(&near), expected_near);
        let expected: Vec<u32> = (0..N).map(|at| if on && at == 17 { 1234 } else { 9 }).collect();
        assert_eq!(read(&part), expected);
        let expected: Vec<u8> = (0..100).map(|at| if on && at > 0 { at - 1 } else { 255 }).collect();
        assert_eq!(queue.read(&bytes).wait().unwrap(), expected);
        let expected = if on { [4, 5, 6] } else { [1, 2, 3] };
        assert_eq!(queue.read(&triples).wait().unwrap(), [expected; 20]);
    }
}

fn slice_condition(subject: &Subject) {
    let setup = Setup::new(subject);
    let flags = setup.ctx.zeros::<u32, 1>([N]).unwrap();
    let count = setup.word(0);
    let places = [0, 1, 63, 64, 65, N - 1];
    let (graph, ()) = setup.queue.graph_of(|c| {
        for (at, place) in places.into_iter().enumerate() {
            let condition = flags.slice(place..place + 1)?;
            c.if_(&condition, |body| setup.add(body, &count, 1 << (4 * at)))?;
        }
        Ok(())
    });
    for chosen in [vec![], vec![0], vec![5], vec![1, 3], vec![2, 4], vec![0, 1, 2, 3, 4, 5]] {
        let mut host = vec![1; N];
        places.iter().enumerate().for_each(|(at, &place)| host[place] = u32::from(chosen.contains(&at)));
        setup.queue.upload(&host, &mut flags.clone()).unwrap();
        setup.set(&count, 0);
        setup.queue.replay(&graph).unwrap();
        assert_eq!(setup.read(&count), [chosen.iter().map(|at| 1 << (4 * at)).sum::<u32>()], "{chosen:?}");
    }
}

fn indirect(subject: &Subject) {
    let setup = Setup::new(subject);
    let flag = setup.word(0);
    let count = setup.queue.full([N], 0_u32).unwrap();
    let groups = setup.queue.array(&[0_u32, 0, 4, 1, 1]).unwrap();
    let mix = setup.ctx.kernel::<Mix>().unwrap();
    let (graph, ()) = setup.queue.graph_of(|c| {
        c.if_(&flag, |body| {
            let args = Mix { a: 1, b: 1, x: &setup.nothing, y: &mut count.clone() };
            body.launch(&mix, Grid::indirect(&groups, 2), args)
        })
    });
    let workgroup = 64;
    let mut expected = vec![0; N];
    for (value, wanted) in [(1, 4), (0, 4), (1, 1), (1, 0), (1, 1 << 20), (7, 3)] {
        setup.set(&flag, value);
        setup.queue.fill(&mut groups.slice(2..3).unwrap(), wanted).unwrap();
        setup.queue.replay(&graph).unwrap();
        // More workgroups than the device allows count as zero.
        let threads = if value == 0 || wanted > 65_535 { 0 } else { wanted as usize * workgroup };
        expected[..threads.min(N)].iter_mut().for_each(|value| *value += 1);
        assert_eq!(setup.read(&count), expected, "{value} {wanted}");
    }
}

fn many_dispatches(subject: &Subject) {
    let setup = Setup::new(subject);
    // A workgroup of a gate handles 64 dispatches.
    for launches in [63, 64, 65, 130] {
        let [flag, count] = setup.words([0, 0]);
        let all = |body: &Capture, b: u32| (0..launches).try_for_each(|_| setup.add(body, &count, b));
        let (graph, ()) =
            setup.queue.graph_of(|c| c.if_else(&flag, |body| all(body, 1), |body| all(body, 1000)));
        let mut expected = 0;
        for value in [1, 0, 1] {
            setup.set(&flag, value);
            setup.queue.replay(&graph).unwrap();
            expected += launches * if value == 0 { 1000 } else { 1 };
            assert_eq!(setup.read(&count), [expected], "{launches} {value}");
        }
    }
}

fn policy(subject: &Subject) {
    let setup = Setup::on(subject.ctx_with(Policy::Checked));
    let other = setup.ctx.queue("other");
    let [flag, mut count] = setup.words([0, 0]);
    let (graph, ()) = setup.queue.capture(|c| c.if_(&flag, |body| setup.raise(body, &count))).unwrap();
    setup.queue.replay(&graph).unwrap();
    // The policy counts the body as a write, even if it does not execute.
    assert_error!(other.fill(&mut count, 5), ErrorDetail::Hazard { .. });
    assert_error!(other.fill(&mut flag.clone(), 5), ErrorDetail::Hazard { .. });
    other.wait_for(&setup.queue).unwrap();
    other.fill(&mut flag.clone(), 5).unwrap();
    assert_eq!(other.read_after(&graph, &count), [1]);
    // Two forked queues of a body need an order too.
    let hazard = other.capture(|c| {
        c.if_(&flag, |body| {
            let side = body.fork("side");
            setup.raise(body, &count)?;
            setup.raise(&side, &count)?;
            body.wait_for(&side)
        })
    });
    assert!(matches!(hazard.unwrap_err().detail(), ErrorDetail::Hazard { .. }));
}

fn forks(subject: &Subject) {
    let setup = Setup::on(subject.ctx_with(Policy::Unchecked));
    let left = setup.word(0);
    let total = setup.queue.full([N], 0_u32).unwrap();
    let parts: Vec<DeviceArray<u32>> = (0..3).map(|_| setup.queue.full([N], 0).unwrap()).collect();
    setup.queue.finish().wait().unwrap();
    let (graph, steps) = setup.queue.graph_of(|c| {
        c.while_(&left, Bound::AtMost(20), |body| {
            setup.lower(body, &left)?;
            let sides: Vec<CommandQueue> = (0..3).map(|at| body.fork(&format!("side {at}"))).collect();
            for (side, part) in sides.iter().zip(&parts) {
                setup.raise(side, part)?;
                setup.raise(side, part)?;
            }
            for (side, part) in sides.iter().zip(&parts) {
                body.wait_for(side)?;
                body.mix(1, 0, part, &mut total.clone())?;
            }
            Ok(())
        })
    });
    let mut raised = 0;
    let mut expected = 0;
    for start in [3, 0, 20, 21] {
        setup.set(&left, start);
        let run = setup.queue.replay(&graph).unwrap();
        for _ in 0..start.min(20) {
            raised += 2;
            expected += 3 * raised;
        }
        assert_eq!(setup.read(&total), [expected; N], "{start}");
        assert_eq!(iterations_of(&run, &steps), start.min(20));
    }
    let unjoined = setup.queue.capture(|c| c.if_(&left, |body| setup.raise(&body.fork("lost"), &total)));
    assert_error!(unjoined, ErrorDetail::Unjoined { queue, .. } if queue == "lost");
}

fn child(subject: &Subject) {
    let setup = Setup::new(subject);
    let [left, times, count] = setup.words([0, 0, 0]);
    let (child, steps) = setup.queue.graph_of(|c| {
        let mut own = c.zeros::<u32, 1>([1])?;
        c.copy(&left, &mut own)?;
        c.while_(&own, Bound::AtMost(4), |body| setup.step(body, &own, &count))
    });
    let (graph, repeats) = setup.queue.graph_of(|c| {
        c.replay(&child)?;
        let repeats = c.repeat(&times, Bound::AtMost(3), |body| body.replay(&child).map(|_| ()))?;
        c.replay(&child)?;
        Ok(repeats)
    });
    let mut expected = 0;
    for (iterations, again) in [(2, 1), (4, 3), (0, 3), (3, 0)] {
        setup.set(&left, iterations);
        setup.set(&times, again);
        let run = setup.queue.replay(&graph).unwrap();
        expected += (again + 2) * iterations;
        assert_eq!(setup.read(&count), [expected], "{iterations} {again}");
        assert_eq!(iterations_of(&run, &repeats), again);
        // The loops in all copies of the child are counted together, under its label.
        assert_eq!(iterations_of(&run, &steps), (again + 2) * iterations);
    }
    let alone = setup.queue.replay(&child).unwrap();
    assert_eq!(alone.iterations(&steps).unwrap().wait().unwrap(), 3);
    assert_says(alone.iterations(&repeats), "another graph");
}

fn copies_of_child(subject: &Subject) {
    const LONG: usize = 1 << 17;
    let setup = Setup::new(subject);
    let flag = setup.word(0);
    let mut expected: Vec<u32> = (0..LONG as u32).collect();
    let x = setup.queue.array(&expected).unwrap();
    let mut end = setup.queue.zeros::<u32, 1>([1]).unwrap();
    let (child, ()) = setup.queue.graph_of(|c| {
        // A copy, and a node of another queue after it.
        c.copy(&x.slice(0..LONG - 1)?, &mut x.slice(1..LONG)?)?;
        let side = c.fork("side");
        side.copy(&x.slice(LONG - 1..LONG)?, &mut end)?;
        c.wait_for(&side)?;
        c.copy(&x.slice(8..LONG)?, &mut x.slice(0..LONG - 8)?)
    });
    let (graph, ()) = setup.queue.graph_of(|c| {
        c.if_(&flag, |body| {
            body.replay(&child)?;
            body.replay(&child).map(drop)
        })
    });
    let mut last = 0;
    for value in [0, 1, 1, 0] {
        setup.set(&flag, value);
        setup.queue.replay(&graph).unwrap();
        for _ in 0..2 * value {
            expected.copy_within(0..LONG - 1, 1);
            last = expected[LONG - 1];
            expected.copy_within(8..LONG, 0);
        }
        let found = setup.queue.read(&x).wait().unwrap();
        let wrong = (0..LONG).find(|&at| found[at] != expected[at]);
        assert_eq!((wrong, setup.read(&end)), (None, vec![last]), "{value}");
    }
}

fn forked_loops(subject: &Subject) {
    let setup = Setup::new(subject);
    let [one, two] = setup.words([0, 0]);
    let counts = setup.words([0, 0]);
    let (graph, (first, second)) = setup.queue.graph_of(|c| {
        let side = c.fork("side");
        let first = c.while_(&one, Bound::AtMost(5), |body| setup.step(body, &one, &counts[0]))?;
        let second = side.while_(&two, Bound::AtMost(7), |body| setup.step(body, &two, &counts[1]))?;
        c.wait_for(&side)?;
        Ok((first, second))
    });
    let mut expected = [0, 0];
    for (left, right) in [(5, 1), (0, 7), (2, 0), (3, 6)] {
        setup.set(&one, left);
        setup.set(&two, right);
        let run = setup.queue.replay(&graph).unwrap();
        expected = [expected[0] + left, expected[1] + right];
        assert_eq!([setup.read(&counts[0])[0], setup.read(&counts[1])[0]], expected);
        assert_eq!(iterations_of(&run, &first), left);
        assert_eq!(iterations_of(&run, &second), right);
    }
}

fn outside(subject: &Subject) {
    let setup = Setup::new(subject);
    let queue = &setup.queue;
    let [left, count] = setup.words([3, 0]);
    let steps = queue.while_(&left, Bound::AtMost(10), |body| setup.step(body, &left, &count)).unwrap();
    // The queue's commands after the loop run after it.
    setup.raise(queue, &count).unwrap();
    queue.if_(&left, |body| setup.add(body, &count, 1000)).unwrap();
    queue.if_else(&left, |body| setup.add(body, &count, 1000), |b| setup.add(b, &count, 100)).unwrap();
    setup.set(&left, 2);
    queue.repeat(&left, Bound::AtMost(10), |body| setup.add(body, &count, 10)).unwrap();
    queue.do_while(&setup.word(0), Bound::AtMost(10), |body| setup.add(body, &count, 500)).unwrap();
    assert_eq!(setup.read(&count), [3 + 1 + 100 + 20 + 500]);
    assert_eq!(ended(steps.replay().unwrap(), &steps), (3, false));
    // A failed body enqueues nothing.
    let error = queue.if_(&setup.word(1), |body| {
        setup.raise(body, &count)?;
        body.copy(&count, &mut setup.nothing.clone())
    });
    assert!(matches!(error.unwrap_err().detail(), ErrorDetail::Shape { .. }));
    assert_eq!(setup.read(&count), [624]);
}

fn one_submission(subject: &Subject) {
    let counted = Counted::new(subject);
    let setup = Setup::on(counted.ctx.clone());
    let [left, count] = setup.words([0, 0]);
    let (graph, steps) = setup.queue.graph_of(|c| {
        c.while_(&left, Bound::AtMost(30), |body| {
            setup.lower(body, &left)?;
            body.if_(&left, |body| setup.raise(body, &count))
        })
    });
    setup.set(&left, 20);
    setup.queue.finish().wait().unwrap();
    let before = counted.submissions();
    let run = setup.queue.replay(&graph).unwrap();
    assert_eq!(iterations_of(&run, &steps), 20);
    assert_eq!(counted.submissions() - before, 1);
    assert_eq!(setup.read(&count), [19]);
}

fn refused(subject: &Subject) {
    let setup = Setup::new(subject);
    let queue = &setup.queue;
    let condition = setup.word(1);
    let x = setup.queue.full([N], 1_u32).unwrap();
    let (reads, ()) = queue.capture(|c| c.read_as("x", &x).map(|_| ())).unwrap();
    let (calls, ()) = queue.capture(|c| c.host(|| ())).unwrap();
    let upload: HostArray<u32, Upload> = setup.ctx.pinned([N]).unwrap();
    let download: HostArray<u32, Download> = setup.ctx.pinned([N]).unwrap();
    let download = std::cell::RefCell::new(download);
    const REPLAY: &str = "a replay of a graph with outputs or host callbacks";
    type Wrong<'a> = (&'a str, Box<dyn Fn(&Capture) -> Result<()> + 'a>);
    let wrong: Vec<Wrong<'_>> = vec![
        ("read_as", Box::new(|body| body.read_as("x", &x).map(|_| ()))),
        ("host", Box::new(|body| body.host(|| ()))),
        ("read", Box::new(|body| body.read(&x).wait().map(|_| ()))),
        ("get", Box::new(|body| body.get(&x, [0]).wait().map(|_| ()))),
        ("callback", Box::new(|body| body.callback(|| ()))),
        ("finish", Box::new(|body| body.finish().wait())),
        ("capture", Box::new(|body| body.capture(|_| Ok(())).map(|_| ()))),
        (REPLAY, Box::new(|body| body.replay(&reads).map(|_| ()))),
        (REPLAY, Box::new(|body| body.replay(&calls).map(|_| ()))),
        ("", Box::new(|body| body.upload(&upload, &mut x.clone()))),
        ("", Box::new(|body| body.download(&x, &mut download.borrow_mut()))),
    ];
    for (expected, wrong) in &wrong {
        // The caller ignores the results of both calls, but the capture still fails.
        let captured = queue.capture(|c| {
            drop(c.if_(&condition, |body| {
                drop(wrong(body));
                setup.raise(body, &x)
            }));
            Ok(())
        });
        let error = captured.unwrap_err();
        let ErrorDetail::Captured { call, remedy, .. } = error.detail() else {
            panic!("{expected}: {error}")
        };
        assert!(call == expected || expected.is_empty(), "{expected}: {error}");
        // A body refuses `read_as` too.
        assert!(!remedy.contains("read_as"), "{error}");
        let outside = queue.while_(&condition, Bound::AtMost(2), |body| wrong(body));
        assert!(matches!(outside.unwrap_err().detail(), ErrorDetail::Captured { .. }), "{expected}");
    }
    queue.if_(&condition, |body| setup.raise(body, &x)).unwrap();
    assert_eq!(setup.read(&x), [2; N]);
}

fn outer_queue(subject: &Subject) {
    let setup = Setup::new(subject);
    let condition = setup.word(0);
    let x = setup.queue.full([N], 1_u32).unwrap();
    let captured = setup.queue.capture(|c| {
        let side = c.fork("side");
        c.wait_for(&side)?;
        c.if_(&condition, |body| {
            setup.raise(body, &x)?;
            drop(setup.raise(&side, &x));
            Ok(())
        })
    });
    let error = captured.unwrap_err();
    let ErrorDetail::Captured { queue, remedy, .. } = error.detail() else { panic!("{error}") };
    assert_eq!(queue, "side");
    assert!(remedy.contains("the capture that the function receives"), "{error}");
    // After the body, and after a panic in a body, the outer queue works again.
    let (graph, ()) = setup.queue.graph_of(|c| {
        let panics = || c.if_(&condition, |_| -> Result<()> { std::panic::panic_any(7_u8) });
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics));
        assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&7_u8));
        c.if_(&condition, |body| setup.raise(body, &x))?;
        setup.raise(c, &x)
    });
    setup.queue.replay(&graph).unwrap();
    assert_eq!(setup.read(&x), [2; N]);
    // A captured queue of a body cannot be used by the queues around it.
    let mut kept = None;
    let error = setup.queue.capture(|c| {
        c.if_(&condition, |body| {
            kept = Some(body.fork("kept"));
            body.wait_for(kept.as_ref().unwrap())
        })?;
        setup.raise(kept.as_ref().unwrap(), &x)
    });
    assert_error!(error, ErrorDetail::CaptureEnded { .. });
}

fn wrong_condition(subject: &Subject) {
    let setup = Setup::new(subject);
    let count = setup.word(0);
    let two = setup.queue.array(&[1_u32, 1]).unwrap();
    let error = setup.queue.if_(&two, |body| setup.raise(body, &count)).unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::Shape { found, .. } if found == &[2]), "{error}");
    assert!(error.to_string().contains("a slice of one"), "{error}");
    let none = two.slice(1..1).unwrap();
    assert_error!(setup.queue.while_(&none, Bound::AtMost(1), |_| Ok(())), ErrorDetail::Shape { .. });
    let other = subject.ctx();
    let foreign = other.zeros::<u32, 1>([1]).unwrap();
    let captured = setup.queue.capture(|c| c.if_(&foreign, |body| setup.raise(body, &count)));
    assert_error!(captured, ErrorDetail::ForeignContext { .. });
    let square = setup.queue.full([1, 1], 1_u32).unwrap();
    setup.queue.if_(&square, |body| setup.raise(body, &count)).unwrap();
    assert_eq!(setup.read(&count), [1]);
}

fn too_long(subject: &Subject) {
    let setup = Setup::new(subject);
    let [condition, count] = setup.words([1, 0]);
    let nest = |bound| {
        setup.queue.capture(|c| {
            c.while_(&condition, Bound::AtMost(bound), |body| {
                body.repeat(&condition, Bound::AtMost(200), |body| setup.raise(body, &count)).map(|_| ())
            })
        })
    };
    let error = nest(200).unwrap_err();
    let ErrorDetail::GraphTooLong { call, dispatches, limit, .. } = error.detail() else { panic!("{error}") };
    assert_eq!((*call, *dispatches, *limit), ("while_", 200 * (2 * 200 + 1 + 1) + 1, 65_536));
    let (graph, _) = nest(2).unwrap();
    assert_eq!(graph.nodes(), 2 * (2 * 200 + 1 + 1) + 1 + 1);
    let body = |body: &Capture| setup.raise(body, &count);
    let (half, _) = setup.queue.graph_of(|c| c.while_(&condition, Bound::AtMost(20_000), body));
    let twice = setup.queue.capture(|c| c.replay(&half).and_then(|_| c.replay(&half)).map(|_| ()));
    assert_error!(twice, ErrorDetail::GraphTooLong { call: "replay", .. });
    let endless = setup.queue.while_(&condition, Bound::AtMost(u32::MAX), body);
    assert_error!(endless, ErrorDetail::GraphTooLong { .. });
    setup.raise(&setup.queue, &count).unwrap();
    assert_eq!(setup.read(&count), [1]);
}

fn memory_returns(subject: &Subject) {
    let setup = Setup::new(subject);
    let [condition, count, copied] = setup.words([4, 0, 0]);
    setup.queue.finish().wait().unwrap();
    let before = setup.ctx.pool().stats().used;
    for _ in 0..3 {
        let (graph, _) = setup.queue.graph_of(|c| {
            c.repeat(&condition, Bound::AtMost(9), |body| {
                setup.raise(body, &count)?;
                body.copy(&count, &mut copied.clone())
            })
        });
        assert!(setup.ctx.pool().stats().used > before);
        setup.queue.replay(&graph).unwrap();
    }
    assert_eq!(setup.read(&count), [12]);
    assert_eq!(setup.read(&copied), [12]);
    setup.queue.finish().wait().unwrap();
    setup.ctx.synchronize().wait().unwrap();
    has_returned(&setup.ctx, before);
}
