use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use fencepost::{
    AdapterChoice, CommandQueue, Context, ContextOptions, DeviceArray, Grid, Kernel, KernelArgs, Pending,
};

use crate::{
    adapter::Chosen,
    implementation::{Implementation, LaunchTime},
    job::{ELEMENTS, Job, OUTPUTS, input},
    measure::MOST_QUEUES,
};

/// The library's own saxpy: the same statement as in the shader that the others compile.
#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl")]
struct Saxpy<'a> {
    a: f32,
    x: &'a DeviceArray<f32>,
    y: &'a mut DeviceArray<f32>,
}

/// Fencepost as its users write it, with the default policy: missing waits between queues are added.
pub(crate) struct Fencepost {
    /// For each number of queues a context of its own: what a context tracks depends on how many it has.
    sides: Vec<Side>,
    /// The side that launched last, whose outputs are asked for.
    last: usize,
    transfer: Option<DeviceArray<u32>>,
}

/// A context with its queues, and the arrays of the launch rows.
struct Side {
    context: Context,
    queues: Vec<CommandQueue>,
    saxpy: Kernel<<Saxpy<'static> as KernelArgs>::Family>,
    input: DeviceArray<f32>,
    outputs: Vec<DeviceArray<f32>>,
}

impl Fencepost {
    pub(crate) fn open(chosen: &Chosen) -> Result<Self> {
        let sides = (1..=MOST_QUEUES).map(|queues| Side::open(chosen, queues)).collect::<Result<_>>()?;
        Ok(Self { sides, last: 0, transfer: None })
    }

    fn transfer_side(&mut self) -> Result<(&CommandQueue, &mut DeviceArray<u32>)> {
        let array = self.transfer.as_mut().context("transfer rows allocate first")?;
        Ok((&self.sides[0].queues[0], array))
    }
}

impl Side {
    fn open(chosen: &Chosen, queues: usize) -> Result<Self> {
        let name = format!("{} {}", chosen.info.name, chosen.info.backend);
        let options = ContextOptions { adapter: AdapterChoice::Name(name), ..ContextOptions::default() };
        let context = Context::with_options(options).wait()?;
        let info = context.info();
        ensure!(info.name == chosen.info.name, "Fencepost has opened `{info}`");
        let outputs = (0..OUTPUTS).map(|_| context.zeros([ELEMENTS]));
        Ok(Self {
            outputs: outputs.collect::<Result<_, _>>()?,
            input: context.array(&input())?,
            saxpy: context.kernel::<Saxpy>()?,
            queues: (0..queues).map(|queue| context.queue(&format!("queue {queue}"))).collect(),
            context,
        })
    }

    fn reset(&mut self, outputs: usize) -> Result<()> {
        let queue = &self.queues[0];
        self.outputs[..outputs].iter_mut().try_for_each(|output| queue.fill(output, 0.0))?;
        Ok(queue.finish().wait()?)
    }

    fn enqueue(&mut self, job: &Job) -> Result<()> {
        for i in 0..job.launches {
            let args = Saxpy { a: job.scalar_of(i), x: &self.input, y: &mut self.outputs[job.output_of(i)] };
            self.queues[job.queue_of(i)].launch(&self.saxpy, Grid::threads([ELEMENTS]), args)?;
        }
        Ok(())
    }

    fn launch(&mut self, job: &Job) -> Result<LaunchTime> {
        let start = Instant::now();
        self.enqueue(job)?;
        self.queues.iter().try_for_each(CommandQueue::flush)?;
        let host = start.elapsed();
        self.queues.iter().map(CommandQueue::finish).try_for_each(Pending::wait)?;
        Ok(LaunchTime { host, total: start.elapsed() })
    }

    fn launch_and_wait(&mut self, job: &Job) -> Result<Duration> {
        let start = Instant::now();
        self.enqueue(job)?;
        self.queues[0].finish().wait()?;
        Ok(start.elapsed())
    }
}

impl Implementation for Fencepost {
    fn name(&self) -> &'static str {
        "fencepost"
    }

    fn queues(&self) -> usize {
        MOST_QUEUES
    }

    fn reset(&mut self, outputs: usize) -> Result<()> {
        self.sides.iter_mut().try_for_each(|side| side.reset(outputs))
    }

    fn launch(&mut self, job: &Job) -> Result<LaunchTime> {
        self.last = job.queues - 1;
        self.sides[self.last].launch(job)
    }

    /// The end of the work is asked for at once, without a flush before it.
    fn launch_and_wait(&mut self, job: &Job) -> Result<Duration> {
        self.last = job.queues - 1;
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
