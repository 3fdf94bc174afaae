//! Describes the state of a context as text.

use crate::device::adapter_info::AdapterInfo;
use crate::scheduler::command::Op;
use crate::scheduler::engine::Engine;
use crate::scheduler::queue_state::{Hold, QueueState};
use crate::scheduler::state::State;
use crate::work::step::Work;
use std::fmt::Write;

/// Most queues that a dump lists, queues with work or an error first.
const MOST_QUEUES: usize = 100;

impl Engine {
    /// Returns the state of the queues and lanes, one line each, for at most [`MOST_QUEUES`] queues.
    pub(crate) fn dump(&self, info: &AdapterInfo) -> String {
        let state = self.lock();
        let recorder = self.device.recorder();
        let (policy, compared) = (state.policy(), state.compared.get());
        let mut text = format!(
            "{info}\npolicy {policy:?}, {compared} commands compared with earlier uses, recorder {recorder}\n"
        );
        if let Some(lost) = &state.lost {
            let _ = writeln!(text, "lost: {lost}");
        }
        for (at, lane) in state.lanes.iter().enumerate() {
            let timeline = lane.timeline;
            let _ = writeln!(
                text,
                "lane {at}: completed {}, submitted {}, {} batches planned{}",
                timeline.completed(),
                timeline.submitted(),
                lane.ready_len(),
                if lane.token { ", submitting" } else { "" },
            );
        }
        let (wakers, failures, known, names) = state.kept();
        let _ = writeln!(
            text,
            "kept: {wakers} wakers, {failures} failures, {known} entries of clocks, {names} names of kernels"
        );
        let queues = || state.queues.iter().enumerate().filter(|(_, queue)| !queue.free);
        let is_idle = |queue: &QueueState| queue.is_finished() && queue.error.is_none();
        let all = queues().count();
        let mut listed: Vec<_> = queues().filter(|(_, queue)| !is_idle(queue)).take(MOST_QUEUES).collect();
        listed.extend(queues().filter(|(_, queue)| is_idle(queue)).take(MOST_QUEUES - listed.len()));
        listed.sort_unstable_by_key(|&(at, _)| at);
        for &(at, queue) in &listed {
            let _ = writeln!(text, "queue {at} `{}`: {}", queue.label, state.describe(queue));
        }
        if listed.len() < all {
            let _ = writeln!(text, "{} more queues", all - listed.len());
        }
        text
    }
}

impl State {
    /// Returns the number of entries in the tables that can grow with the calls of a program: wakers, failures that
    /// handles may still refer to, clock entries, and names of kernels.
    fn kept(&self) -> (usize, usize, usize, usize) {
        let failures = self.queues.iter().map(|queue| queue.failures.len()).sum();
        let known =
            self.queues.iter().map(|queue| queue.clock.len()).sum::<usize>() + self.host_clock().len();
        (self.wakers.len(), failures, known, self.kernels.len())
    }

    fn describe(&self, queue: &QueueState) -> String {
        let mut text = format!(
            "lane {}, {:?}, completed {} of {}, {} pending",
            queue.lane,
            queue.priority,
            queue.completed(),
            queue.enqueued(),
            queue.pending.len(),
        );
        if let Some(front) = queue.pending.front() {
            let _ = write!(text, ", next: {}", describe_op(&front.op));
        }
        if let Some(hold) = queue.hold {
            let _ = write!(text, ", held: {}", describe_hold(hold));
        }
        if let Some(error) = &queue.error {
            let _ = write!(text, ", failed: {error}");
        }
        text
    }
}

fn describe_op(op: &Op) -> String {
    match op {
        Op::Work(work) => describe_work(work),
        Op::Timed(timed) => describe_work(&timed.work),
        Op::Wait(point) => format!("wait for queue {} at {}", point.slot.0, point.stamp),
        Op::Early(_) => "an array that is made".into(),
        Op::WaitUser(event) if event.source().is_some() => {
            format!("wait for {}, in another context", event.label())
        }
        Op::WaitUser(event) => format!("wait for user event `{}`", event.label()),
        Op::Callback(_) | Op::DueCallback(_) => "host callback".into(),
        Op::Loop(run) => run.describe(),
    }
}

fn describe_work(work: &Work) -> String {
    match work {
        Work::Launch(launch) => format!("launch of `{}`", launch.kernel().name),
        Work::Copy { .. } | Work::Region(_) => "copy".into(),
        Work::Fill { .. } => "fill".into(),
        Work::Upload { .. } => "upload".into(),
        Work::Read { .. } => "read".into(),
        Work::Graph(graph) => format!("replay of graph `{}`", graph.label()),
        Work::WgpuCommands(_) => "commands of the program".into(),
        Work::Gate(_) => "condition".into(),
        Work::Start(_) | Work::End(_) => "time".into(),
        Work::QueueFence => "wait for another context, on the device".into(),
        Work::Nothing => "nothing".into(),
    }
}

pub(crate) fn describe_hold(hold: Hold) -> &'static str {
    match hold {
        Hold::User(_) => "a user event is not signalled",
        Hold::Callback(_) => "a host callback has not run",
        Hold::Host(_) => "the host accesses an array",
        Hold::Drain(_) => "a host callback waits for earlier work",
        Hold::Loop(_) => "a chunk of a loop is not complete",
    }
}
