//! The kernels and the arrays of k-means. All iterations run on the device.

use fencepost::prelude::*;

use crate::points::CLUSTERS;

/// Number of bits of a label.
const BITS: u32 = CLUSTERS.ilog2();

#[derive(KernelArgs)]
#[kernel(source = "../../examples/kmeans/kmeans.wgsl", entry = "measure")]
struct Measure<'a> {
    x: &'a DeviceArray<f32>,
    y: &'a DeviceArray<f32>,
    centers_in: &'a DeviceArray<[f32; 2]>,
    distances: &'a mut DeviceArray<f32, 2>,
}

#[derive(KernelArgs)]
#[kernel(source = "../../examples/kmeans/kmeans.wgsl", entry = "move_centers")]
struct MoveCenters<'a> {
    limit: f32,
    runs: &'a DeviceArray<u32>,
    labels: &'a DeviceArray<u32>,
    sizes: &'a DeviceArray<u32>,
    sums_x: &'a DeviceArray<f32>,
    sums_y: &'a DeviceArray<f32>,
    centers: &'a mut DeviceArray<[f32; 2]>,
    go: &'a mut DeviceArray<u32>,
}

/// The points, and the arrays of an iteration.
pub(crate) struct Clusters {
    x: DeviceArray<f32>,
    y: DeviceArray<f32>,
    pub(crate) centers: DeviceArray<[f32; 2]>,
    distances: DeviceArray<f32, 2>,
    /// The cluster of each point.
    pub(crate) labels: DeviceArray<u32>,
    sorted_labels: DeviceArray<u32>,
    sorted: DeviceArray<f32>,
    kept: DeviceArray<u32>,
    sizes: DeviceArray<u32>,
    sums_x: DeviceArray<f32>,
    sums_y: DeviceArray<f32>,
    runs: DeviceArray<u32>,
    /// 1 while the centers move, then 0.
    pub(crate) go: DeviceArray<u32>,
    measure: Kernel<Measure<'static>>,
    move_centers: Kernel<MoveCenters<'static>>,
}

impl Clusters {
    /// Starts with the first points as the centers.
    pub(crate) fn new(ctx: &Context, x: &[f32], y: &[f32]) -> Result<Self> {
        let n = x.len();
        let centers: Vec<[f32; 2]> = x.iter().zip(y).take(CLUSTERS).map(|(&x, &y)| [x, y]).collect();
        Ok(Self {
            x: ctx.array(x)?,
            y: ctx.array(y)?,
            centers: ctx.array(&centers)?,
            distances: ctx.zeros([n, CLUSTERS])?,
            labels: ctx.zeros([n])?,
            sorted_labels: ctx.zeros([n])?,
            sorted: ctx.zeros([n])?,
            kept: ctx.zeros([n])?,
            sizes: ctx.zeros([n])?,
            sums_x: ctx.zeros([n])?,
            sums_y: ctx.zeros([n])?,
            runs: ctx.zeros([1])?,
            go: ctx.zeros([1])?,
            measure: ctx.kernel::<Measure>()?,
            move_centers: ctx.kernel::<MoveCenters>()?,
        })
    }

    /// Enqueues an iteration: each point joins the nearest center, and each center moves to the mean of its points.
    pub(crate) fn iteration(&mut self, queue: &CommandQueue, limit: f32) -> Result<()> {
        let n = self.x.len();
        let Self { x, y, centers, distances, .. } = self;
        queue.launch(&self.measure, Grid::threads([n]), Measure { x, y, centers_in: centers, distances })?;
        queue.argmin(self.distances.axis(1), &mut self.labels.reshape([n, 1])?)?;
        // Sorted by their labels, the points of a cluster are a run.
        let sort = Sort::ascending().bits(0..BITS);
        for (values, sums) in [(&self.x, &mut self.sums_x), (&self.y, &mut self.sums_y)] {
            let keys = &mut self.sorted_labels;
            queue.sort_pairs(&self.labels, values, keys, &mut self.sorted, sort)?;
            queue.reduce_by_key(keys, &self.sorted, Operation::Sum, &mut self.kept, sums, &mut self.runs)?;
        }
        queue.run_lengths(&self.sorted_labels, &mut self.kept, &mut self.sizes, &mut self.runs)?;
        let Self { runs, kept, sizes, sums_x, sums_y, centers, go, .. } = self;
        let means = MoveCenters { limit, runs, labels: kept, sizes, sums_x, sums_y, centers, go };
        queue.launch(&self.move_centers, Grid::groups([1]), means)
    }
}
