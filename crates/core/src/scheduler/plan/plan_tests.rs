//! Tests of the batches that a planning adds to the lists of the lanes.

mod context_plans;
mod late_results;

use crate::device::CostModel;
use crate::memory::block::Block;
use crate::memory::read_slot::{ReadSlot, ReadState};
use crate::memory::uses::Policy;
use crate::record::cpu::cpu_recorder as cpu;
use crate::record::cpu::cpu_recorder::SimulatorOptions;
use crate::scheduler::costs::CommandCosts;
use crate::scheduler::engine::Engine;
use crate::scheduler::plan::open_batch::{DueCommands, MOST_CONTEXT_COMMANDS};
use crate::scheduler::plan::*;
use crate::scheduler::test_engine::{
    TestTask, batch_of, block, enqueue, enqueue_wait, enqueue_work, fill, finish, hold, queue, queue_of,
    queues, reached_by_planning, span,
};
use crate::scheduler::wait::WaitTarget;
use crate::work::kernel_launch::{BoundArray, Launch};
use fencepost_kernels::Access;
use fencepost_sync::prim::MutexGuard;
use std::ops::RangeBounds;
use std::sync::Arc;

/// Returns an engine without threads, so that work is planned and submitted only by the test.
fn engine(lanes: usize) -> Arc<Engine> {
    let (device, lanes) =
        cpu::open(&SimulatorOptions { lanes, threads: false, ..SimulatorOptions::default() });
    Engine::new(device, lanes, Policy::Unchecked, false)
}

/// Largest delay of a result that the planner allows, in seconds.
const BOUND: f32 = 1e-3;

/// Like [`engine`], with one lane. The planner expects fills to be short, and each launch to take `seconds`; infinite
/// means unknown.
fn paced(seconds: f32) -> Arc<Engine> {
    let engine = engine(1);
    let mut costs = CommandCosts::new(CostModel::Measured(CostModel::LATENESS));
    if seconds.is_finite() {
        costs.expect(&launch(&block()), seconds);
    }
    engine.lock().lanes[0].costs = costs;
    engine
}

/// Enqueues works on one queue, plans them, and returns the number of steps of each batch. A marker follows each work
/// with an index in `marked`.
fn cut(engine: &Engine, works: &[fn(&Arc<Block>) -> Work], marked: impl RangeBounds<usize>) -> Vec<usize> {
    let slot = queue(engine);
    let mut markers = Vec::new();
    let enqueued = works.iter().enumerate().map(|(at, work)| {
        let point = enqueue_work(engine, slot, work(&block()));
        markers.extend(marked.contains(&at).then(|| engine.marker(slot)));
        point
    });
    let points: Vec<Point> = enqueued.collect();
    let mut state = engine.lock();
    let rest = state.plan(points.last().copied(), Priority::Normal);
    assert!(rest.roots.is_empty() && state.queue(slot).pending.is_empty());
    lengths(&mut state)
}

#[test]
fn q10_launches_planned_together_do_not_exceed_the_largest_batch() {
    let engine = paced(0.0);
    let [first, second] = queues(&engine);
    let block = block();
    let ends = [(first, 100), (second, LARGEST_BATCH)].map(|(slot, count)| {
        let points: Vec<Point> = (0..count).map(|_| enqueue_work(&engine, slot, launch(&block))).collect();
        points[count - 1]
    });
    let mut state = engine.lock();
    let rest = state.plan(ends, Priority::Normal);
    assert_eq!(lengths(&mut state), [LARGEST_BATCH]);
    assert_eq!(rest.roots, ends[1..]);
}

#[test]
fn q01_one_planning_makes_a_limited_number_of_batches() {
    let engine = paced(0.5);
    let slot = queue(&engine);
    let ends = enqueue_many(&engine, slot, MOST_CUTS + 6, launch);
    let mut state = engine.lock();
    let rest = state.plan(ends.last().copied(), Priority::Normal);
    assert_eq!(lengths(&mut state), [1; MOST_CUTS]);
    let middle = state.lanes[0].list(Priority::Normal)[MOST_CUTS / 2].seq;
    assert_eq!((rest.after, &rest.roots[..]), (Some(middle), &ends[MOST_CUTS + 5..]));
    assert!(state.plan(rest.roots, Priority::Normal).roots.is_empty());
}

#[test]
fn e02_a_waited_batch_goes_before_batches_planned_earlier() {
    let engine = paced(0.5);
    let [other, one, two] = queues(&engine);
    let plan = |slot: Slot| {
        let point = enqueue_work(&engine, slot, launch(&block()));
        engine.lock().plan([point], Priority::Normal);
        point
    };
    let others = [(); 3].map(|()| plan(other).stamp);
    let first = plan(one);
    enqueue_wait(&engine, two, first);
    let second = plan(two);
    let mut state = engine.lock();
    let seq = batch_of(&state, second);
    state.move_to_front(seq);
    let expected = [&[first.stamp, second.stamp][..], &others].concat();
    assert_eq!(firsts(&mut state), expected);
    state.move_to_front(seq);
    assert_eq!(firsts(&mut state), expected, "the batch is already in front");
}

/// The batches of the two lanes alternately wait for each other. All are submitted, whichever point a caller waits for.
#[test]
fn e02_a_hurried_batch_brings_forward_its_dependencies_on_other_lanes() {
    for waited in 0..4 {
        let engine = engine(2);
        let slots: [Slot; 4] = queues(&engine); // alternately on the two lanes
        let mut last: Option<Point> = None;
        let points = slots.map(|slot| {
            if let Some(point) = last {
                enqueue_wait(&engine, slot, point);
            }
            let point = enqueue(&engine, slot);
            drop(plan(&engine, [point]));
            // Another command separates the batches on each lane.
            for slot in [slots[0], slots[1]] {
                let other = enqueue(&engine, slot);
                engine.lock().plan([other], Priority::Normal);
            }
            *last.insert(point)
        });
        let mut state = engine.lock();
        let seq = batch_of(&state, points[waited]);
        state.move_to_front(seq);
        drop(state);
        for _ in 0..64 {
            engine.make_progress(std::time::Duration::ZERO);
        }
        let state = engine.lock();
        assert!(state.lanes.iter().all(|lane| !lane.has_ready()), "waiting for point {waited}");
    }
}

#[test]
fn q01_one_planning_takes_a_limited_number_of_commands() {
    let engine = engine(1);
    let slot = queue(&engine);
    let block = block();
    let points: Vec<Point> =
        (0..LARGEST_BATCH + 5).map(|_| enqueue_work(&engine, slot, fill(&block))).collect();
    let mut state = engine.lock();
    let end = points.last().copied();
    let rest = state.plan(end, Priority::Normal);
    assert_eq!((rest.roots.clone(), state.queue(slot).pending.len()), (Vec::from_iter(end), 5));
    assert!(state.queue(slot).urgent(), "the rest is requested");
    assert!(state.plan(rest.roots, Priority::Normal).roots.is_empty());
}

#[test]
fn e02_commands_of_unknown_cost_are_planned_a_few_at_a_time() {
    let engine = paced(f32::INFINITY);
    let slot = queue(&engine);
    let ends = enqueue_many(&engine, slot, 2000, launch);
    let mut state = engine.lock();
    let rest = state.plan(ends.last().copied(), Priority::Normal);
    assert_eq!(lengths(&mut state), [1; MOST_UNSEEN]);
    let first = batch_of(&state, ends[0]);
    assert_eq!((rest.after, rest.roots.len()), (Some(first), 1));
    state.lanes[0].costs.expect(&launch(&block()), 0.0);
    assert!(state.plan(rest.roots, Priority::Normal).roots.is_empty());
    assert_eq!(lengths(&mut state)[MOST_UNSEEN..], [2000 - MOST_UNSEEN]);
}

/// Returns a launch without a kernel, which never runs.
fn launch(block: &Arc<Block>) -> Work {
    let bound =
        BoundArray { at: 0, block: block.clone(), offset: 0, size: 64, used: Some(Access::ReadWrite) };
    let mut launch = Launch::default();
    launch.bindings.push(bound);
    Work::Launch(Box::new(launch))
}

/// Enqueues `count` works, each on a block of its own.
fn enqueue_many(engine: &Engine, slot: Slot, count: usize, work: fn(&Arc<Block>) -> Work) -> Vec<Point> {
    (0..count).map(|_| enqueue_work(engine, slot, work(&block()))).collect()
}

/// Plans `roots` with normal priority.
fn plan(engine: &Engine, roots: impl IntoIterator<Item = Point>) -> MutexGuard<'_, State> {
    let mut state = engine.lock();
    state.plan(roots, Priority::Normal);
    state
}

/// Plans `roots` and returns the number of steps of each planned batch.
fn planned(engine: &Engine, roots: impl IntoIterator<Item = Point>) -> Vec<usize> {
    lengths(&mut plan(engine, roots))
}

/// Returns the number of steps of each batch of normal priority on the first lane.
fn lengths(state: &mut State) -> Vec<usize> {
    lengths_of(state, 0, Priority::Normal)
}

fn lengths_of(state: &mut State, lane: usize, priority: Priority) -> Vec<usize> {
    state.lanes[lane].list(priority).iter().map(|batch| batch.steps.len()).collect()
}

/// Returns the stamp of the first step of each batch of normal priority on the first lane.
fn firsts(state: &mut State) -> Vec<Stamp> {
    firsts_of(state, 0, Priority::Normal)
}

fn firsts_of(state: &mut State, lane: usize, priority: Priority) -> Vec<Stamp> {
    state.lanes[lane].list(priority).iter().map(|batch| batch.steps[0].stamp).collect()
}

#[test]
fn q03_a_new_queue_follows_earlier_work_and_an_unused_closed_queue_frees_its_slot() {
    let engine = engine(1);
    let first = queue(&engine);
    let point = enqueue(&engine, first);
    let unused = queue(&engine);
    let second = queue(&engine);
    let waited = match engine.lock().queue(second).pending.front().map(|front| &front.op) {
        Some(Op::Wait(waited)) => Some(*waited),
        _ => None,
    };
    assert_eq!(waited, Some(point), "the new queue does not wait for the unused queue");
    let [marked, waited] = queues(&engine);
    let (_marker, (end, _)) = (engine.marker(marked), engine.marker(waited));
    enqueue_wait(&engine, second, end);
    drop(engine.marker(unused));
    [unused, marked, waited].into_iter().for_each(|slot| engine.close_queue(slot));
    let state = engine.lock();
    assert_eq!([unused, marked, waited].map(|slot| state.queue(slot).free), [true, false, false]);
}

#[test]
fn e08_commands_after_the_planned_point_stay_pending() {
    for work in [fill, launch] {
        let engine = engine(1);
        let slot = queue(&engine);
        let block = block();
        let points: Vec<Point> = (0..4).map(|_| enqueue_work(&engine, slot, work(&block))).collect();
        let mut state = plan(&engine, [points[1]]);
        assert_eq!(state.queue(slot).pending.len(), 2);
        assert_eq!(lengths(&mut state), [2]);
    }
}

#[test]
fn q10_a_closed_queue_is_not_urgent() {
    let engine = engine(1);
    let urgent = queue_of(&engine, Priority::High);
    assert!(engine.lock().queues.any_above(Priority::Normal));
    engine.close_queue(urgent);
    assert!(!engine.lock().queues.any_above(Priority::Normal));
}

#[test]
fn q10_each_priority_of_a_lane_has_batches_of_its_own() {
    let engine = engine(1);
    for priority in Priority::ORDER {
        let slot = queue_of(&engine, priority);
        enqueue(&engine, slot);
    }
    let mut state = engine.lock();
    state.plan_lane(0, DueCommands::All);
    for priority in Priority::ORDER {
        assert_eq!(lengths_of(&mut state, 0, priority), [1], "{priority:?}");
    }
}

#[test]
fn q10_dependencies_of_urgent_work_are_lifted_before_it() {
    for lanes in [1, 2] {
        let engine = engine(lanes);
        let low = queue_of(&engine, Priority::Low);
        let middle = queue_of(&engine, Priority::Low);
        let high = queue_of(&engine, Priority::High);
        let first = enqueue(&engine, low);
        enqueue_wait(&engine, middle, first);
        let second = enqueue(&engine, middle);
        enqueue_wait(&engine, high, second);
        let third = enqueue(&engine, high);
        let mut state = engine.lock();
        for point in [first, second] {
            state.plan([point], Priority::Low);
        }
        state.plan([third], Priority::High);
        let lane = |slot: Slot| state.queue(slot).lane;
        let mut expected = vec![Vec::new(); lanes];
        for point in [first, second, third] {
            expected[lane(point.slot)].push(point.stamp);
        }
        for (lane, expected) in expected.into_iter().enumerate() {
            assert_eq!(firsts_of(&mut state, lane, Priority::High), expected, "lane {lane} of {lanes}");
            assert!(state.lanes[lane].list(Priority::Low).is_empty());
        }
    }
}

#[test]
fn q10_a_batch_follows_its_dependencies_on_its_own_lane() {
    let engine = engine(1);
    let low = queue_of(&engine, Priority::Low);
    let high = queue_of(&engine, Priority::High);
    let first = enqueue(&engine, low);
    enqueue_wait(&engine, high, first);
    let second = enqueue(&engine, high);
    let mut state = engine.lock();
    state.plan([first], Priority::Low);
    state.plan([second], Priority::High);
    let seqs: Vec<Seq> = state.lanes[0].list(Priority::High).iter().map(|batch| batch.seq).collect();
    assert_eq!(state.lanes[0].list(Priority::High)[1].deps[..], seqs[..1]);
}

#[test]
fn q02_lifting_a_batch_to_its_own_or_a_lower_priority_moves_nothing() {
    let engine = engine(1);
    let slot = queue(&engine);
    let points: Vec<Point> = (0..2).map(|_| enqueue(&engine, slot)).collect();
    let mut state = engine.lock();
    for &point in &points {
        state.plan([point], Priority::Normal);
    }
    let before = firsts(&mut state);
    let first = state.lanes[0].list(Priority::Normal)[0].seq;
    state.raise_priority(first, Priority::Normal);
    assert_eq!(firsts(&mut state), before);
    state.raise_priority(first, Priority::Low);
    assert_eq!(firsts(&mut state), before);
}

#[test]
fn q10_dependencies_of_a_lifted_batch_go_before_it() {
    let engine = engine(2);
    let [first, second, third] = [(); 3].map(|()| queue_of(&engine, Priority::Low));
    let waited = enqueue(&engine, first);
    enqueue_wait(&engine, second, waited);
    let point = enqueue(&engine, second);
    let other = enqueue(&engine, third);
    let mut state = engine.lock();
    for point in [other, waited, point] {
        state.plan([point], Priority::Low);
    }
    let seq = batch_of(&state, point);
    state.raise_priority(seq, Priority::Normal);
    for lifted in [waited, point] {
        let lane = state.queue(lifted.slot).lane;
        assert_eq!(firsts_of(&mut state, lane, Priority::Normal), [lifted.stamp]);
    }
    let lane = state.queue(third).lane;
    assert_eq!(firsts_of(&mut state, lane, Priority::Low), [other.stamp]);
}

#[test]
fn t02_the_clock_is_read_before_and_after_a_timed_command_and_on_its_level() {
    let engine = engine(1);
    let slot = engine.new_queue("timed", Priority::Normal, true).expect("the device is there");
    let end = [fill(&block()), fill(&block())].map(|work| enqueue_work(&engine, slot, work))[1];
    let mut state = plan(&engine, [end]);
    let steps = &state.lanes[0].list(Priority::Normal)[0].steps;
    for (at, step) in steps.iter().enumerate() {
        let right = match at % 3 {
            0 => matches!(step.work, Work::Start(_)),
            1 => matches!(step.work, Work::Fill { .. }),
            _ => matches!(step.work, Work::End(_)),
        };
        assert!(right && step.level == at as u32 / 3, "step {at}");
    }
    assert_eq!(steps.len(), 6);
}

#[test]
fn q10_a_lifted_batch_can_be_lifted_again() {
    let engine = engine(1);
    let slot = queue_of(&engine, Priority::Low);
    let point = enqueue(&engine, slot);
    let mut state = engine.lock();
    state.plan([point], Priority::Low);
    let seq = state.lanes[0].list(Priority::Low)[0].seq;
    state.raise_priority(seq, Priority::Normal);
    state.raise_priority(seq, Priority::High);
    assert_eq!(state.batches.status(seq), BatchStatus::Ready(Priority::High));
    assert_eq!(firsts_of(&mut state, 0, Priority::High), [point.stamp]);
}

#[test]
fn e09_a_held_queue_holds_the_queues_that_need_it_and_no_other() {
    let engine = engine(1);
    let [held, needs, free] = queues(&engine);
    let gate = hold(&engine, held);
    let after = enqueue(&engine, held);
    enqueue_wait(&engine, needs, after);
    let ends = [enqueue(&engine, needs), enqueue(&engine, free)];
    let mut state = plan(&engine, ends);
    let hold = Some(HoldReason::User(gate.state().hold));
    assert_eq!([held, needs, free].map(|slot| state.queue(slot).hold), [hold, hold, None]);
    assert_eq!(lengths(&mut state), [1]);
    drop(state);
    gate.signal();
}

#[test]
fn e05_a_task_is_woken_when_planning_alone_completes_its_point() {
    let engine = engine(1);
    let (slot, end) = reached_by_planning(&engine);
    engine.register_waker(WaitTarget::Point(end), &TestTask::new().1);
    let mut state = engine.lock();
    assert!(state.after.wakers.is_empty());
    state.plan([end], Priority::Normal);
    assert_eq!(state.queue(slot).reached(end.stamp), PointProgress::Done);
    assert_eq!(state.after.wakers.len(), 1);
}

/// Returns the commands of other queues in the first batch that the command at `point` follows.
fn after(state: &mut State, point: Point) -> Vec<Point> {
    let steps = &state.lanes[0].list(Priority::Normal)[0].steps;
    let step = steps.iter().find(|step| step.slot == point.slot && step.stamp == point.stamp);
    let after = &step.expect("the step is planned").after;
    after.iter().map(|&at| &steps[at as usize]).map(|s| Point { slot: s.slot, stamp: s.stamp }).collect()
}

#[test]
fn e01_a_marker_after_a_wait_covers_the_wait_whatever_is_planned_after_it() {
    for to_the_end in [false, true] {
        let engine = engine(1);
        let [first, second, third] = queues(&engine);
        let waited = enqueue(&engine, first);
        let own = enqueue(&engine, second);
        enqueue_wait(&engine, second, waited);
        let marker = engine.lock().queue(second).end(second);
        let later = enqueue(&engine, second);
        enqueue_wait(&engine, third, marker);
        let last = enqueue(&engine, third);
        let mut state = engine.lock();
        let roots = if to_the_end { [later, last] } else { [last, last] };
        state.plan(roots, Priority::Normal);
        assert_eq!(after(&mut state, last), [waited, own]);
    }
}

#[test]
fn e03_the_last_step_of_a_queue_stands_for_all_its_steps() {
    let engine = engine(1);
    let [first, second, third] = queues(&engine);
    let points: Vec<Point> = [first, first, second].map(|slot| enqueue(&engine, slot)).into();
    points.iter().for_each(|&point| enqueue_wait(&engine, third, point));
    let last = enqueue(&engine, third);
    let mut state = plan(&engine, [last]);
    assert_eq!(after(&mut state, last), points[1..]);
}

#[test]
fn m02_a_read_of_mapped_memory_needs_no_step() {
    let engine = engine(1);
    let slot = queue(&engine);
    let block = block();
    let read = ReadSlot::new();
    enqueue_work(&engine, slot, fill(&block));
    let end = enqueue_work(&engine, slot, Work::Read { src: span(&block), slot: read.clone() });
    assert_eq!(planned(&engine, [end]), [1]);
    assert!(matches!(read.state(), ReadState::Lazy));
}

#[test]
fn m02_a_writer_of_reused_memory_saves_the_bytes_of_earlier_reads() {
    let engine = engine(1);
    let slot = queue(&engine);
    let block = block();
    let read = ReadSlot::new();
    enqueue_work(&engine, slot, Work::Read { src: span(&block), slot: read.clone() });
    let end = engine.lock().queue(slot).end(slot);
    engine.lock().plan([end], Priority::Normal);
    let end = enqueue_work(&engine, slot, fill(&block));
    let mut state = plan(&engine, [end]);
    let steps = &state.lanes[0].list(Priority::Normal)[0].steps;
    assert!(matches!(&steps[0].work, Work::Read { slot, .. } if read.owns(slot)));
    assert!(matches!(steps[1].work, Work::Fill { .. }) && steps[0].level < steps[1].level);
}

#[test]
fn m06_a_reading_host_holds_writers_and_no_readers() {
    let other = block();
    let block = block();
    block.order().readers = 1;
    let reads = Work::Copy { src: span(&block), dst: span(&other) };
    assert_eq!(host_conflict(1, &reads), None);
    assert_eq!(host_conflict(1, &fill(&block)), Some(HoldReason::Host(block.id)));
    assert_eq!(host_conflict(0, &fill(&block)), None);
    block.order().readers = 0;
    block.order().host = HostUse::Writing;
    assert_eq!(host_conflict(1, &reads), Some(HoldReason::Host(block.id)));
}

#[test]
fn m06_a_launch_after_another_waits_for_host_access_to_its_own_bytes() {
    let engine = engine(1);
    let slot = queue(&engine);
    let free = block();
    let busy = block();
    let end = [launch(&free), launch(&busy)].map(|work| enqueue_work(&engine, slot, work))[1];
    let mut state = engine.lock();
    busy.order().host = HostUse::Writing;
    state.memory.host_uses = 1;
    state.plan([end], Priority::Normal);
    assert_eq!(lengths(&mut state), [1]);
    assert_eq!(state.queue(slot).hold, Some(HoldReason::Host(busy.id)));
}
