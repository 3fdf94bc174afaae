//! The same network in plain Rust, in `f64`.

use anyhow::{Result, ensure};

use crate::network::{BATCH, HIDDEN, MOMENTUM, RATE};
use crate::samples::{CLASSES, Samples};

/// Largest difference between a weight of the device and one of the host after an epoch.
const TOLERANCE: f64 = 1e-3;

pub(crate) struct Plain {
    /// Weights and bias of the hidden layer, then those of the output layer.
    parameters: [Vec<f64>; 4],
    velocities: [Vec<f64>; 4],
}

impl Plain {
    pub(crate) fn new(parameters: &[Vec<f32>; 4]) -> Self {
        let wide = |list: &Vec<f32>| -> Vec<f64> { list.iter().copied().map(f64::from).collect() };
        let parameters = parameters.each_ref().map(wide);
        Self { velocities: zeros(&parameters), parameters }
    }

    /// Makes the steps of an epoch.
    pub(crate) fn epoch(&mut self, samples: &Samples, order: &[u32]) {
        order.chunks_exact(BATCH).for_each(|batch| self.step(samples, batch));
    }

    fn step(&mut self, samples: &Samples, batch: &[u32]) {
        let mut gradients = zeros(&self.parameters);
        for at in batch.iter().map(|&at| at as usize) {
            let image = samples.image(at);
            let [active, scores] = self.forward(&image);
            let sum: f64 = scores.iter().map(|score| score.exp()).sum();
            let slope = |class: usize| {
                (scores[class].exp() / sum - f64::from(class == samples.digits[at])) / BATCH as f64
            };
            let slopes: Vec<f64> = (0..CLASSES).map(slope).collect();
            let hidden_slope = |unit: usize| -> f64 {
                let weights = &self.parameters[2][unit * CLASSES..][..CLASSES];
                let slope: f64 = weights.iter().zip(&slopes).map(|(weight, slope)| weight * slope).sum();
                if active[unit] > 0.0 { slope } else { 0.0 }
            };
            let hidden_slopes: Vec<f64> = (0..HIDDEN).map(hidden_slope).collect();
            let [hidden, hidden_bias, output, output_bias] = &mut gradients;
            add_products(hidden, &image, &hidden_slopes);
            add_products(hidden_bias, &[1.0], &hidden_slopes);
            add_products(output, &active, &slopes);
            add_products(output_bias, &[1.0], &slopes);
        }
        let velocities = self.velocities.iter_mut().flatten().zip(gradients.iter().flatten());
        for (parameter, (velocity, gradient)) in self.parameters.iter_mut().flatten().zip(velocities) {
            *velocity = gradient + f64::from(MOMENTUM) * *velocity;
            *parameter -= f64::from(RATE) * *velocity;
        }
    }

    /// Returns the outputs of the hidden layer, and the scores of the digits.
    fn forward(&self, image: &[f64]) -> [Vec<f64>; 2] {
        let [hidden, hidden_bias, output, output_bias] = &self.parameters;
        let mut active = layer(image, hidden, hidden_bias);
        active.iter_mut().for_each(|x| *x = x.max(0.0));
        let scores = layer(&active, output, output_bias);
        [active, scores]
    }

    /// Fails unless the device has these parameters.
    pub(crate) fn compare(&self, found: &[Vec<f32>; 4]) -> Result<()> {
        let expected = self.parameters.iter().flatten();
        for (at, (found, expected)) in found.iter().flatten().zip(expected).enumerate() {
            let is_close = (f64::from(*found) - expected).abs() <= TOLERANCE;
            ensure!(is_close, "parameter {at} is {found}, not {expected}");
        }
        Ok(())
    }

    /// Returns the number of images whose digit has the highest score.
    pub(crate) fn right(&self, samples: &Samples) -> usize {
        let is_right = |&(at, digit): &(usize, &usize)| {
            let [_, scores] = self.forward(&samples.image(at));
            (0..CLASSES).all(|class| scores[class] <= scores[*digit])
        };
        samples.digits.iter().enumerate().filter(is_right).count()
    }
}

fn zeros(like: &[Vec<f64>; 4]) -> [Vec<f64>; 4] {
    like.each_ref().map(|list| vec![0.0; list.len()])
}

/// Returns the sums of the inputs by their weights, and the bias.
fn layer(inputs: &[f64], weights: &[f64], bias: &[f64]) -> Vec<f64> {
    let mut outputs = bias.to_vec();
    for (input, weights) in inputs.iter().zip(weights.chunks(bias.len())) {
        outputs.iter_mut().zip(weights).for_each(|(output, weight)| *output += input * weight);
    }
    outputs
}

/// Adds the products of each pair of numbers to a matrix.
fn add_products(matrix: &mut [f64], left: &[f64], right: &[f64]) {
    let products = left.iter().flat_map(|x| right.iter().map(move |y| x * y));
    matrix.iter_mut().zip(products).for_each(|(sum, product)| *sum += product);
}
