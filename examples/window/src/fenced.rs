//! The waves of Fencepost: a context on the program's device writes the program's buffer, and the program's render pass is
//! a command of the same queue.

use std::time::Duration;

use anyhow::Result;
use fencepost::prelude::*;

use crate::draw::{Frame, Painter, Way};
use crate::screen::Gpu;
use crate::waves::Waves;

/// Usages of a buffer that an array is on.
pub(crate) const OF_ARRAYS: wgpu::BufferUsages =
    wgpu::BufferUsages::STORAGE.union(wgpu::BufferUsages::COPY_SRC).union(wgpu::BufferUsages::COPY_DST);

/// Time in which a frame should be ready. No result inside of a frame is needed earlier, so its commands may share a
/// submission.
const FRAME: Duration = Duration::from_millis(16);

/// Waves on a queue of a context.
pub(crate) struct Fenced {
    queue: CommandQueue,
    waves: Waves,
    /// Array on the program's buffer, from which the render pass draws.
    pixels: DeviceArray<[u8; 4], 2>,
    picture: wgpu::BindGroup,
}

impl Fenced {
    /// Makes the waves. With `threads`, the context has the default options. Otherwise it has no threads: a program that
    /// presents waits for each submission, so it may submit by itself.
    pub(crate) fn new(gpu: &Gpu, painter: &Painter, cells: [u32; 2], threads: bool) -> Result<Self> {
        let defaults = AdoptOptions::default();
        let options = if threads { defaults } else { defaults.threads(false).lateness(FRAME) };
        let ctx = Context::adopt(gpu.device.clone(), gpu.queue.clone(), options)?;
        let [width, height] = cells;
        let buffer = gpu.buffer("pixels", 4 * u64::from(width) * u64::from(height), OF_ARRAYS);
        let pixels = ctx.array_on(&buffer, [height as usize, width as usize])?;
        let queue = ctx.queue("waves");
        let waves = Waves::new(&ctx, cells)?;
        Ok(Self { queue, waves, pixels, picture: painter.picture(gpu, &buffer) })
    }
}

impl Way for Fenced {
    fn name(&self) -> &'static str {
        "fencepost"
    }

    fn frame(&mut self, frame: &Frame<'_>) -> Result<()> {
        for number in frame.steps.clone() {
            self.waves.step(&self.queue, number, frame.source)?;
        }
        self.waves.paint(&self.queue, &mut self.pixels)?;
        self.queue.encode(|encoder, access| {
            access.read(&self.pixels)?;
            frame.record(encoder, &self.picture);
            Ok(())
        })?;
        // A texture of a window must not be presented before the commands that draw into it are submitted.
        self.queue.marker().submitted().wait()?;
        Ok(())
    }

    fn finish(&self) -> Result<()> {
        Ok(self.queue.finish().wait()?)
    }
}
