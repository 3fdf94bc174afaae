//! Calls of queues that many cases make.

use super::kernels::Mix;
use fencepost::graph::Replayable;
use fencepost::{Capture, CommandQueue, DeviceArray, Element, Graph, Grid, Output, Result, UserEvent};

/// Calls of a queue. All but [`mix`](Self::mix) must succeed.
pub trait Calls {
    /// Captures a graph. Also returns the result of `commands`.
    #[track_caller]
    fn graph_of<T>(&self, commands: impl FnOnce(&Capture) -> Result<T>) -> (Graph, T);

    /// Replays a graph. Returns the elements that an array has then.
    #[track_caller]
    fn read_after<T: Element, const D: usize>(
        &self,
        graph: &impl Replayable,
        array: &DeviceArray<T, D>,
    ) -> Vec<T>;

    /// Replays a graph. Returns one of its outputs.
    #[track_caller]
    fn output_of<T: Element>(&self, graph: &impl Replayable, output: &Output<T>) -> Vec<T>;

    /// Makes the queue wait until the returned event is signalled.
    #[track_caller]
    fn hold(&self) -> UserEvent;

    /// Launches [`Mix`] for all elements of `y`.
    #[track_caller]
    fn mix(&self, a: u32, b: u32, x: &DeviceArray<u32>, y: &mut DeviceArray<u32>) -> Result<()>;
}

impl Calls for CommandQueue {
    fn graph_of<T>(&self, commands: impl FnOnce(&Capture) -> Result<T>) -> (Graph, T) {
        self.capture(commands).unwrap()
    }

    fn read_after<T: Element, const D: usize>(
        &self,
        graph: &impl Replayable,
        array: &DeviceArray<T, D>,
    ) -> Vec<T> {
        self.replay(graph).unwrap();
        self.read(array).wait().unwrap()
    }

    fn output_of<T: Element>(&self, graph: &impl Replayable, output: &Output<T>) -> Vec<T> {
        self.replay(graph).unwrap().read(output).unwrap().wait().unwrap()
    }

    fn hold(&self) -> UserEvent {
        let gate = self.context().user_event("gate");
        self.wait_for(&gate.event()).unwrap();
        gate
    }

    fn mix(&self, a: u32, b: u32, x: &DeviceArray<u32>, y: &mut DeviceArray<u32>) -> Result<()> {
        let mix = self.context().kernel::<Mix>()?;
        let all = Grid::threads([y.len()]);
        self.launch(&mix, all, Mix { a, b, x, y })
    }
}
