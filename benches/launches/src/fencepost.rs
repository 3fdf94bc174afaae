//! The launches with Fencepost, on each recorder.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use fencepost::{CommandQueue, Context, DeviceArray, Grid, Kernel, KernelArgs, Pending, RecorderChoice};

use crate::{
    implementation::{Handover, Implementation, LaunchTime, timed},
    job::{ELEMENTS, Job, LIVE_BYTES, MOST_QUEUES, OUTPUTS, input},
    part::Part,
    recorders::Recorder,
    replays::Replays,
    saxpy::Saxpy,
};

/// Fencepost as its users write it, with the default policy, which adds missing waits between queues.
pub struct Fencepost {
    name: &'static str,
    part: Part,
    /// A context for each number of queues, since a context's work depends on that number.
    sides: Vec<Side>,
    /// Index of the side that launched last; `output` reads this side's outputs.
    last: usize,
    transfer: Option<DeviceArray<u32>>,
    /// Graphs of the jobs, if jobs are replayed and not launched.
    replays: Option<Replays>,
}

/// A context with its queues, and the arrays of the launch rows.
pub struct Side {
    context: Context,
    queues: Vec<CommandQueue>,
    saxpy: Kernel<<Saxpy<'static> as KernelArgs>::Family>,
    input: DeviceArray<f32>,
    outputs: Vec<DeviceArray<f32>>,
    /// Arrays that no launch uses.
    live: Vec<DeviceArray<f32>>,
}

impl Fencepost {
    /// Opens Fencepost on contexts that choose their recorder themselves. It takes part in every row.
    pub fn open(context: impl Fn() -> Result<Context>) -> Result<Self> {
        let part = Part { queues: MOST_QUEUES, live_arrays: true, transfers: true };
        Self::of("fencepost", part, context)
    }

    /// Opens Fencepost with one recorder, for the launch rows. Returns `None` if contexts on the adapter do not get
    /// this recorder.
    pub fn with_recorder(
        recorder: &Recorder,
        context: impl Fn(RecorderChoice) -> Result<Context>,
    ) -> Result<Option<Self>> {
        let part = Part { queues: MOST_QUEUES, live_arrays: true, transfers: false };
        let all = Self::of(recorder.contestant, part, || context(recorder.choice))?;
        let has_it = all.sides.iter().all(|side| recorder.records_for(&side.context));
        Ok(has_it.then_some(all))
    }

    /// Opens Fencepost with the direct recorder, or returns `None` as [`with_recorder`](Self::with_recorder) does. Each
    /// job on one queue is captured once, and its rows replay the graph.
    pub fn with_replays(
        recorder: &Recorder,
        context: impl Fn(RecorderChoice) -> Result<Context>,
    ) -> Result<Option<Self>> {
        let opened = Self::with_recorder(recorder, context)?;
        Ok(opened.map(|opened| {
            let part = Part { queues: 1, live_arrays: false, transfers: false };
            Self { part, replays: Some(Replays::default()), ..opened }
        }))
    }

    fn of(name: &'static str, part: Part, context: impl Fn() -> Result<Context>) -> Result<Self> {
        let sides = (1..=MOST_QUEUES).map(|queues| Side::new(context()?, queues));
        Ok(Self { name, part, sides: sides.collect::<Result<_>>()?, last: 0, transfer: None, replays: None })
    }

    fn transfer_side(&mut self) -> Result<(&CommandQueue, &mut DeviceArray<u32>)> {
        let array = self.transfer.as_mut().context("transfer rows allocate first")?;
        Ok((&self.sides[0].queues[0], array))
    }
}

impl Side {
    fn new(context: Context, queues: usize) -> Result<Self> {
        let outputs = (0..OUTPUTS).map(|_| context.zeros([ELEMENTS]));
        Ok(Self {
            outputs: outputs.collect::<Result<_, _>>()?,
            input: context.array(&input())?,
            saxpy: context.kernel::<Saxpy>()?,
            queues: (0..queues).map(|queue| context.queue(&format!("queue {queue}"))).collect(),
            live: Vec::new(),
            context,
        })
    }

    fn reset(&mut self, outputs: usize) -> Result<()> {
        let queue = &self.queues[0];
        self.outputs[..outputs].iter_mut().try_for_each(|output| queue.fill(output, 0.0))?;
        Ok(queue.finish().wait()?)
    }

    /// Returns the first queue.
    pub fn queue(&self) -> &CommandQueue {
        &self.queues[0]
    }

    fn enqueue(&mut self, job: &Job) -> Result<()> {
        let Self { queues, saxpy, input, outputs, .. } = self;
        launches(saxpy, input, outputs, |queue| &queues[queue], job)
    }

    /// Makes the launches of a job on the given queues, not on the side's own.
    pub fn enqueue_on<'q>(&mut self, queue: impl Fn(usize) -> &'q CommandQueue, job: &Job) -> Result<()> {
        launches(&self.saxpy, &self.input, &mut self.outputs, queue, job)
    }

    fn start(&mut self, job: &Job) -> Result<()> {
        self.enqueue(job)?;
        Ok(self.queues.iter().try_for_each(CommandQueue::flush)?)
    }

    fn wait(&self) -> Result<()> {
        Ok(self.queues.iter().map(CommandQueue::finish).try_for_each(Pending::wait)?)
    }

    /// Makes arrays that stay alive, and uses each once. Repeating a call with the same number does nothing.
    fn keep_alive(&mut self, arrays: usize) -> Result<()> {
        if self.live.len() == arrays {
            return Ok(());
        }
        self.live.clear();
        for _ in 0..arrays {
            let mut array = self.context.empty([LIVE_BYTES / size_of::<f32>()])?;
            self.queues[0].fill(&mut array, 0.0)?;
            self.live.push(array);
        }
        self.wait()
    }

    fn launch_and_wait(&mut self, job: &Job) -> Result<Duration> {
        let start = Instant::now();
        self.enqueue(job)?;
        self.queues[0].finish().wait()?;
        Ok(start.elapsed())
    }
}

/// Makes the launches of a job.
fn launches<'q>(
    saxpy: &Kernel<<Saxpy<'static> as KernelArgs>::Family>,
    input: &DeviceArray<f32>,
    outputs: &mut [DeviceArray<f32>],
    queue: impl Fn(usize) -> &'q CommandQueue,
    job: &Job,
) -> Result<()> {
    for i in 0..job.launches {
        let args = Saxpy { a: job.scalar_of(i), x: input, y: &mut outputs[job.output_of(i)] };
        queue(job.queue_of(i)).launch(saxpy, Grid::threads([ELEMENTS]), args)?;
    }
    Ok(())
}

impl Implementation for Fencepost {
    fn name(&self) -> &'static str {
        self.name
    }

    fn part(&self) -> Part {
        self.part
    }

    fn reset(&mut self, outputs: usize) -> Result<()> {
        self.sides.iter_mut().try_for_each(|side| side.reset(outputs))
    }

    fn keep_alive(&mut self, arrays: usize) -> Result<()> {
        self.sides.iter_mut().try_for_each(|side| side.keep_alive(arrays))
    }

    fn launch(&mut self, job: &Job) -> Result<LaunchTime> {
        timed(self, job)
    }

    /// Waits for the end of the work at once, without a flush first.
    fn launch_and_wait(&mut self, job: &Job) -> Result<Duration> {
        self.last = job.queues - 1;
        if self.replays.is_some() {
            return Ok(self.launch(job)?.total);
        }
        self.sides[self.last].launch_and_wait(job)
    }

    fn output(&mut self, index: usize) -> Result<Vec<f32>> {
        let side = &self.sides[self.last];
        Ok(side.queues[0].read(&side.outputs[index]).wait()?)
    }

    fn allocate(&mut self, bytes: usize) -> Result<()> {
        self.transfer = None;
        if bytes > 0 {
            self.transfer = Some(self.sides[0].context.zeros([bytes / size_of::<u32>()])?);
        }
        Ok(())
    }

    fn upload(&mut self, data: &[u8]) -> Result<Duration> {
        let words: &[u32] = bytemuck::cast_slice(data);
        let (queue, array) = self.transfer_side()?;
        let start = Instant::now();
        queue.upload(words, array)?;
        queue.finish().wait()?;
        Ok(start.elapsed())
    }

    fn read(&mut self, out: &mut Vec<u8>) -> Result<Duration> {
        let words: &mut [u32] = bytemuck::cast_slice_mut(out);
        let (queue, array) = self.transfer_side()?;
        let start = Instant::now();
        queue.read_into(array, words)?;
        Ok(start.elapsed())
    }
}

impl Handover for Fencepost {
    fn start(&mut self, job: &Job) -> Result<()> {
        self.last = job.queues - 1;
        let side = &mut self.sides[self.last];
        match &mut self.replays {
            Some(replays) => {
                replays.start(side, job)?;
                Ok(side.queue().flush()?)
            }
            None => side.start(job),
        }
    }

    fn wait(&mut self) -> Result<()> {
        self.sides[self.last].wait()
    }
}
