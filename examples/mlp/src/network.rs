//! The network on the device, its training and its results.

use fencepost::prelude::*;

use crate::samples::{CLASSES, DeviceSamples, PIXELS};

pub(crate) const HIDDEN: usize = 64;
/// Number of samples of a step. The arrays of so many samples have multiples of 256 bytes, the alignment of a binding.
pub(crate) const BATCH: usize = 32;
pub(crate) const RATE: f32 = 0.2;
/// Part of the velocity that a step keeps.
pub(crate) const MOMENTUM: f32 = 0.9;

/// A layer: `weights` has a row for each input, and a column for each output.
struct Layer {
    weights: DeviceArray<f32, 2>,
    bias: DeviceArray<f32>,
    weights_velocity: DeviceArray<f32, 2>,
    bias_velocity: DeviceArray<f32>,
}

impl Layer {
    fn new(queue: &CommandQueue, [inputs, outputs]: [usize; 2], generator: Philox) -> Result<Self> {
        let mut weights = queue.empty([inputs, outputs])?;
        let deviation = (2.0 / inputs as f32).sqrt();
        queue.fill_random(&mut weights, generator, Normal { mean: 0.0, deviation })?;
        Ok(Self {
            weights,
            bias: queue.zeros([outputs])?,
            weights_velocity: queue.zeros([inputs, outputs])?,
            bias_velocity: queue.zeros([outputs])?,
        })
    }

    /// Enqueues a step. `slopes` are the derivatives of the loss with respect to the outputs.
    fn step(
        &mut self,
        queue: &CommandQueue,
        inputs: &DeviceArray<f32, 2>,
        slopes: &DeviceArray<f32, 2>,
        ones: &DeviceArray<f32>,
    ) -> Result<()> {
        // velocity = gradient + MOMENTUM * velocity
        let momentum = Matmul::default().beta(MOMENTUM);
        queue.matmul(inputs.transposed(), slopes, &mut self.weights_velocity, momentum)?;
        queue.matmul(ones, slopes, &mut self.bias_velocity, momentum)?;
        queue.axpy(-RATE, &self.weights_velocity, &mut self.weights)?;
        queue.axpy(-RATE, &self.bias_velocity, &mut self.bias)
    }
}

/// Loss and number of images whose digit is found.
pub(crate) struct Score {
    pub(crate) loss: f32,
    pub(crate) right: u32,
}

/// A perceptron with two layers.
pub(crate) struct Network {
    hidden: Layer,
    output: Layer,
    /// One for each sample of a batch.
    ones: DeviceArray<f32>,
}

impl Network {
    /// Makes a network with random weights.
    pub(crate) fn new(queue: &CommandQueue, generator: Philox) -> Result<Self> {
        Ok(Self {
            hidden: Layer::new(queue, [PIXELS, HIDDEN], generator.stream(0))?,
            output: Layer::new(queue, [HIDDEN, CLASSES], generator.stream(1))?,
            ones: queue.full([BATCH], 1.0)?,
        })
    }

    /// Captures an epoch: a step for each batch of the samples, in an order that each replay reads.
    pub(crate) fn epoch(
        &mut self,
        queue: &CommandQueue,
        samples: &DeviceSamples,
        order: &DeviceArray<u32>,
    ) -> Result<Graph> {
        let (graph, ()) = queue.capture(|c| {
            let images = rows(c, &samples.images, order)?;
            let targets = rows(c, &samples.targets, order)?;
            for batch in 0..order.len() / BATCH {
                let batch = batch * BATCH..(batch + 1) * BATCH;
                self.step(c, &images.slice(batch.clone())?, &targets.slice(batch)?)?;
            }
            Ok(())
        })?;
        Ok(graph)
    }

    /// Enqueues a step of gradient descent.
    fn step(
        &mut self,
        queue: &CommandQueue,
        images: &DeviceArray<f32, 2>,
        targets: &DeviceArray<f32, 2>,
    ) -> Result<()> {
        let [active, scores] = self.forward(queue, images)?;
        let logs = log_sums(queue, &scores)?;
        let mut slopes = queue.empty::<f32, 2>(&scores)?;
        let inputs = args![z = &scores, l = &logs, t = targets, n = BATCH as f32];
        queue.map(inputs, "(exp(z - l) - t) / n", &mut slopes)?; // exp(z - l) is the softmax
        let mut hidden_slopes = queue.empty::<f32, 2>(&active)?;
        queue.matmul(&slopes, self.output.weights.transposed(), &mut hidden_slopes, Matmul::default())?;
        queue.map_in_place(args![s = &mut hidden_slopes, a = &active], "select(0.0, s, a > 0.0)")?;
        self.output.step(queue, &active, &slopes, &self.ones)?;
        self.hidden.step(queue, images, &hidden_slopes, &self.ones)
    }

    /// Enqueues the outputs of the hidden layer, and the scores of the digits.
    fn forward(
        &self,
        queue: &CommandQueue,
        images: &DeviceArray<f32, 2>,
    ) -> Result<[DeviceArray<f32, 2>; 2]> {
        let count = images.shape()[0];
        let mut active = queue.empty([count, HIDDEN])?;
        let mut scores = queue.empty([count, CLASSES])?;
        let relu = Matmul::default().bias(&self.hidden.bias).activation("max(x, 0.0)");
        queue.matmul(images, &self.hidden.weights, &mut active, relu)?;
        let linear = Matmul::default().bias(&self.output.bias);
        queue.matmul(&active, &self.output.weights, &mut scores, linear)?;
        Ok([active, scores])
    }

    /// Returns the mean loss of the samples, and the number of right digits.
    pub(crate) fn score(&self, queue: &CommandQueue, samples: &DeviceSamples) -> Result<Score> {
        let [_, scores] = self.forward(queue, &samples.images)?;
        let logs = log_sums(queue, &scores)?;
        let mut losses = queue.empty::<f32, 2>(&scores)?;
        queue.map(args![z = &scores, l = &logs, t = &samples.targets], "t * (l - z)", &mut losses)?;
        let mut found = queue.empty(&logs)?;
        let mut expected = queue.empty(&logs)?;
        let mut is_right = queue.empty::<u32, 2>(&logs)?;
        queue.argmax(scores.axis(1), &mut found)?;
        queue.argmax(samples.targets.axis(1), &mut expected)?;
        queue.zip(&found, &expected, "u32(x == y)", &mut is_right)?;
        let loss = queue.value_of(|out| queue.sum(&losses, out));
        let right = queue.value_of(|out| queue.sum(&is_right, out));
        Ok(Score { loss: loss.wait()? / logs.len() as f32, right: right.wait()? })
    }

    /// Returns the weights and the bias of the hidden layer, then those of the output layer.
    pub(crate) fn read(&self, queue: &CommandQueue) -> Result<[Vec<f32>; 4]> {
        let Self { hidden, output, .. } = self;
        Ok([
            queue.read(&hidden.weights).wait()?,
            queue.read(&hidden.bias).wait()?,
            queue.read(&output.weights).wait()?,
            queue.read(&output.bias).wait()?,
        ])
    }
}

/// Enqueues `log(sum(exp(z)))` of each row.
fn log_sums(queue: &CommandQueue, z: &DeviceArray<f32, 2>) -> Result<DeviceArray<f32, 2>> {
    let column = [z.shape()[0], 1];
    let mut most = queue.empty(column)?;
    let mut powers = queue.empty::<f32, 2>(z)?;
    let mut sums = queue.empty(column)?;
    queue.max(z.axis(1), &mut most)?;
    queue.map(args![z = z, m = &most], "exp(z - m)", &mut powers)?;
    queue.sum(powers.axis(1), &mut sums)?;
    queue.map_in_place(args![s = &mut sums, m = &most], "m + log(s)")?;
    Ok(sums)
}

/// Enqueues the rows of a matrix in another order.
fn rows(
    queue: &CommandQueue,
    x: &DeviceArray<f32, 2>,
    order: &DeviceArray<u32>,
) -> Result<DeviceArray<f32, 2>> {
    let [count, columns] = x.shape();
    let mut places = queue.empty::<u32, 2>(x)?;
    let mut moved = queue.empty(x)?;
    let order = order.reshape([count, 1])?; // repeats along the rows of `places`
    queue.map(args![row = &order, n = columns as u32], "n * row + i % n", &mut places)?;
    queue.gather(x, &places, Outside::Zero, &mut moved)?;
    Ok(moved)
}
