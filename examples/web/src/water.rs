//! Waves under the mouse: a graph that is captured once, and replayed for each frame with the position of the mouse as a
//! value.

use fencepost::Output;
use fencepost::prelude::*;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::device::Device;

#[path = "../../wave/waves.rs"]
#[allow(dead_code, reason = "the example uses more of it")]
mod waves;

use waves::Waves;

/// Steps of a frame: one period of the source. The number is even, so each frame starts with the same arrays.
const STEPS: u32 = 40;
/// Width and height of the water in cells, on a GPU and on the CPU device.
const SIZES: [[u32; 2]; 2] = [[480, 300], [96, 60]];

/// The graph of a frame.
#[wasm_bindgen]
pub struct Water {
    queue: CommandQueue,
    graph: Graph,
    pixels: Output<[u8; 4]>,
    size: [u32; 2],
}

impl Water {
    /// Makes still water, and captures the steps of a frame.
    ///
    /// # Errors
    /// Fails if the device has no memory, or cannot compile the kernels.
    pub fn new(device: &Device) -> Result<Self> {
        Self::of(&device.ctx, device.choose(SIZES[0], SIZES[1]))
    }

    fn of(ctx: &Context, size: [u32; 2]) -> Result<Self> {
        let queue = ctx.queue("water");
        let mut waves = Waves::new(ctx, size)?;
        let (graph, pixels) = queue.capture(|c| {
            let mouse = c.value("mouse", [0.0_f32; 2])?;
            for number in 0..STEPS {
                waves.step(c, number, mouse.get())?;
                c.parameter("mouse", &mouse)?;
            }
            let mut pixels = c.zeros([size[1] as usize, size[0] as usize])?;
            waves.paint(c, &mut pixels)?;
            c.read_as("pixels", &pixels)
        })?;
        Ok(Self { queue, graph, pixels, size })
    }

    /// Returns the width and the height in cells.
    pub fn size(&self) -> [u32; 2] {
        self.size
    }

    /// Replays the graph with the mouse at a position, in cells. Returns the red, green, blue and alpha of each cell,
    /// row by row. A mouse far outside of the water moves nothing.
    ///
    /// # Errors
    /// Fails if the device fails.
    pub async fn replayed(&self, mouse: [f32; 2]) -> Result<Vec<u8>> {
        let run = self.queue.replay(&self.graph.with().value("mouse", mouse)?)?;
        Ok(run.read(&self.pixels)?.await?.into_flattened())
    }
}

#[cfg(test)]
mod tests {
    use pollster::block_on;

    use super::*;
    use crate::device::tests::on_cpu;

    const AWAY: [f32; 2] = [-1000.0; 2];

    /// Returns the pixels of frames with the mouse at these positions.
    fn frames(positions: &[[f32; 2]]) -> Vec<Vec<u8>> {
        let water = Water::new(&on_cpu()).expect("it is made");
        positions.iter().map(|mouse| block_on(water.replayed(*mouse)).expect("it runs")).collect()
    }

    /// Returns the number of cells whose colour differs from that of the first cell, which is at the edge and still.
    fn moved(frame: &[u8]) -> usize {
        frame.chunks(4).filter(|pixel| *pixel != &frame[..4]).count()
    }

    #[test]
    fn a_frame_has_four_bytes_for_each_cell() {
        let [width, height] = SIZES[1];
        let frame = &frames(&[AWAY])[0];
        assert_eq!(frame.len(), (4 * width * height) as usize);
        assert!(frame.chunks(4).all(|pixel| pixel[3] == 255));
    }

    #[test]
    fn water_without_the_mouse_stays_still() {
        assert_eq!(frames(&[AWAY, AWAY]).iter().map(|frame| moved(frame)).collect::<Vec<_>>(), [0, 0]);
    }

    #[test]
    fn waves_start_at_the_mouse_and_go_on_without_it() {
        let frames = frames(&[[30.0, 30.0], AWAY, [60.0, 20.0]]);
        let moved: Vec<usize> = frames.iter().map(|frame| moved(frame)).collect();
        assert!(moved[0] > 100 && moved[1] > moved[0], "{moved:?}");
        assert_ne!(frames[1], frames[2]);
    }

    #[test]
    fn all_frames_use_one_graph() {
        let water = Water::new(&on_cpu()).expect("it is made");
        let statistics = water.graph.statistics();
        assert_eq!((statistics.launches, statistics.outputs), (STEPS as usize + 1, 1));
    }
}
