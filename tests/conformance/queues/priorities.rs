//! Q10: the order in which the work of several queues is submitted.

use crate::common::busy::{Busy, LENGTHS};
use crate::common::kernels::tick;
use crate::common::{BY_TURNS, Case, NO_BLOCKING, Subject, case};
use fencepost::prelude::*;
use std::sync::mpsc::channel;
use std::time::Duration;

const ONE_LANE: &str = "a priority decides which batch one hardware queue takes next";

pub fn cases() -> Vec<Case> {
    vec![
        case("q10_numbers_out_of_range_clamp_and_a_queue_returns_its_priority", numbers),
        case("q10_high_work_is_first_whichever_queue_was_made_or_filled_first", high_first)
            .one_lane(ONE_LANE),
        case("q10_high_work_overtakes_low_work_that_is_flushed", high_overtakes)
            .not_simulated_in_a_page(NO_BLOCKING)
            .one_lane(ONE_LANE),
        case("q10_a_wait_of_high_work_raises_the_priority_of_low_work", needed_is_lifted).one_lane(ONE_LANE),
        case("q10_a_wait_for_a_low_queue_raises_its_priority", waited_for_is_lifted).not_in_a_page(BY_TURNS),
        case("q10_low_work_is_never_starved", not_starved)
            .gpu_only("on the CPU recorder the waiting thread runs the work"),
    ]
}

/// A context whose queues record the tick at which each of their launches runs. The policy is `Unchecked`, because the
/// shared clock would order the queues under another policy.
struct Race {
    ctx: Context,
    tick: DynKernel,
    clock: DeviceArray<u32>,
    ticks: DeviceArray<u32>,
}

const MOST: usize = 256;

impl Race {
    fn new(ctx: Context) -> Self {
        let tick = tick(&ctx);
        let clock = ctx.zeros([1]).unwrap();
        let ticks = ctx.zeros([MOST]).unwrap();
        Self { ctx, tick, clock, ticks }
    }

    fn queue(&self, priority: Priority) -> CommandQueue {
        self.ctx.queue_with(QueueOptions::default().label(format!("{priority:?}")).priority(priority))
    }

    /// Enqueues launches that record their ticks at these indices.
    fn run(&self, queue: &CommandQueue, places: std::ops::Range<u32>) {
        for at in places {
            let clock = &mut self.clock.clone();
            let ticks = &mut self.ticks.clone();
            queue
                .launch_dyn(&self.tick, Grid::groups([1]), args![at = at, clock = clock, ticks = ticks])
                .unwrap();
        }
    }

    /// Returns the ticks once these queues are done. A wait for a queue would start its work, so callbacks report when
    /// the queues are done after `start` has run.
    fn times(&self, queues: &[&CommandQueue], start: impl FnOnce()) -> Vec<u32> {
        let (sender, receiver) = channel();
        for queue in queues {
            let sender = sender.clone();
            queue.callback(move || sender.send(()).unwrap()).unwrap();
        }
        start();
        queues.iter().for_each(|_| crate::common::received(&receiver));
        self.ctx.queue("times").read(&self.ticks).wait().unwrap()
    }
}

fn last(times: &[u32]) -> u32 {
    times.iter().copied().max().unwrap()
}

fn first(times: &[u32]) -> u32 {
    times.iter().copied().min().unwrap()
}

fn numbers(subject: &Subject) {
    assert_eq!([-100, -1].map(Priority::clamped), [Priority::High; 2]);
    assert_eq!(Priority::clamped(0), Priority::Normal);
    assert_eq!([1, 100].map(Priority::clamped), [Priority::Low; 2]);
    let ctx = subject.ctx();
    assert_eq!(ctx.queue("plain").options().priority, Priority::Normal);
    for priority in [-5, 0, 5].map(Priority::clamped) {
        let queue = ctx.queue_with(QueueOptions::default().label("q").priority(priority));
        assert_eq!(queue.options().priority, priority);
        assert_eq!(queue.fork("child").options().priority, priority);
    }
}

fn high_first(subject: &Subject) {
    let ctx = subject.ctx_with(Policy::Unchecked);
    for (made_first, filled_first) in [(false, false), (false, true), (true, false), (true, true)] {
        let race = Race::new(ctx.clone());
        let mut order = [Priority::Low, Priority::High];
        if made_first {
            order.reverse();
        }
        let [one, two] = order.map(|priority| race.queue(priority));
        let (high, low) = if made_first { (one, two) } else { (two, one) };
        let gate = race.ctx.user_event("gate");
        for queue in [&high, &low] {
            queue.wait_for(&gate.event()).unwrap();
        }
        let fill = |queue: &CommandQueue, places| {
            race.run(queue, places);
            queue.flush().unwrap();
        };
        if filled_first {
            fill(&high, 0..60);
            fill(&low, 60..160);
        } else {
            fill(&low, 60..160);
            fill(&high, 0..60);
        }
        let times = race.times(&[&low, &high], || gate.signal());
        assert!(
            last(&times[..60]) < first(&times[60..160]),
            "made {made_first}, filled {filled_first}: {times:?}"
        );
    }
}

/// Races work of high priority against flushed work of low priority. The result counts only if both were flushed before
/// the busy kernel was done.
fn high_overtakes(subject: &Subject) {
    let told = LENGTHS.into_iter().any(|milliseconds| {
        let race = Race::new(subject.ctx_with(Policy::Unchecked));
        let [busy, low, high] = [Priority::Normal, Priority::Low, Priority::High].map(|p| race.queue(p));
        let busy = Busy::start(subject, &race.ctx, &busy, milliseconds);
        race.run(&low, 100..200);
        low.flush().unwrap();
        race.run(&high, 0..60);
        high.flush().unwrap();
        let told = !busy.is_over();
        let times = race.times(&[&low, &high], || busy.let_go());
        assert!(!told || last(&times[..60]) < first(&times[100..200]), "{times:?}");
        told
    });
    assert!(told, "each busy kernel was done before the queues were filled");
}

fn needed_is_lifted(subject: &Subject) {
    let race = Race::new(subject.ctx_with(Policy::Unchecked));
    let [low, normal, high] = [Priority::Low, Priority::Normal, Priority::High].map(|p| race.queue(p));
    let gate = race.ctx.user_event("gate");
    for queue in [&low, &normal, &high] {
        queue.wait_for(&gate.event()).unwrap();
    }
    race.run(&low, 0..10);
    high.wait_for(&low.marker()).unwrap();
    race.run(&normal, 10..50);
    race.run(&high, 50..60);
    let times = race.times(&[&normal, &high], || gate.signal());
    assert!(
        last(&times[..10]) < first(&times[50..60]),
        "high work comes after the low work for which it waits: {times:?}"
    );
    assert!(last(&times[50..60]) < first(&times[10..50]), "high work comes before normal work: {times:?}");
}

fn waited_for_is_lifted(subject: &Subject) {
    for wait in [false, true] {
        let race = Race::new(subject.without_threads_with(Policy::Unchecked));
        let normal = race.queue(Priority::Normal);
        let low = race.queue(Priority::Low);
        let gate = race.ctx.user_event("gate");
        for queue in [&normal, &low] {
            queue.wait_for(&gate.event()).unwrap();
        }
        race.run(&normal, 0..10);
        race.run(&low, 10..20);
        low.flush().unwrap();
        normal.flush().unwrap();
        gate.signal();
        if wait {
            low.marker().wait().unwrap();
        }
        normal.finish().wait().unwrap();
        low.finish().wait().unwrap();
        let times = race.times(&[], || ());
        let low_first = last(&times[10..20]) < first(&times[..10]);
        assert_eq!(low_first, wait, "{times:?}");
    }
}

/// Checks that work of low priority runs after at most eight batches of high priority. The result counts only if all
/// batches were enqueued before the busy kernel was done.
fn not_starved(subject: &Subject) {
    let told = LENGTHS.into_iter().any(|milliseconds| {
        let race = Race::new(subject.ctx_with(Policy::Unchecked));
        let [busy, low, high] = [Priority::Normal, Priority::Low, Priority::High].map(|p| race.queue(p));
        // On some drivers, no thread can wait while another thread's submit call blocks on running work, so the kernel
        // must end by itself.
        let busy = Busy::for_a_while(subject, &race.ctx, &busy, milliseconds);
        race.run(&low, 0..1);
        low.flush().unwrap();
        for at in 1..40 {
            race.run(&high, at..at + 1);
            // The wait puts the launch into its own batch.
            high.finish().wait_timeout(Duration::ZERO).unwrap();
        }
        let told = !busy.is_over();
        let times = race.times(&[&high, &low], || busy.let_go());
        assert!(!told || times[0] < 10, "low work came after {} batches of high work", times[0]);
        told
    });
    assert!(told, "each busy kernel was done before the queues were filled");
}
