//! The launches of a row, and their results.

use anyhow::{Result, ensure};

use crate::implementation::Implementation;

/// Elements of every array of the launch rows.
pub const ELEMENTS: usize = 1024;
/// Bytes of every array of the launch rows.
pub const ARRAY_BYTES: usize = ELEMENTS * size_of::<f32>();
/// Bytes of an array that is alive and takes no part in a launch.
pub const LIVE_BYTES: usize = 256;
/// Number of output arrays of the independent variant.
pub const OUTPUTS: usize = 64;
/// Maximum number of queues that take launches.
pub const MOST_QUEUES: usize = 2;
/// Workgroups of one launch: `saxpy.wgsl` has 64 invocations in each.
pub const WORKGROUPS: u32 = (ELEMENTS / 64) as u32;
/// WGSL text of the kernel, which all implementations share.
pub const WGSL: &str = include_str!("saxpy.wgsl");
/// Entry point of the kernel.
pub const ENTRY: &str = "saxpy";

/// Dependencies between the launches of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// The launches have one shared input, and [`OUTPUTS`] outputs in turn.
    Independent,
    /// Each launch depends on the one before it. Each queue has its own chain.
    Chain,
}

/// A number of launches with one flush at the end.
#[derive(Clone, Copy, Debug)]
pub struct Job {
    /// Dependencies between the launches.
    pub variant: Variant,
    /// Number of launches.
    pub launches: usize,
    /// Number of queues, which take the launches in turn.
    pub queues: usize,
}

impl Job {
    /// Counts the outputs that the job writes, from the first.
    pub fn outputs(&self) -> usize {
        let all = if self.variant == Variant::Chain { self.queues } else { OUTPUTS };
        all.min(self.launches)
    }

    /// Returns the output that a launch writes.
    pub fn output_of(&self, launch: usize) -> usize {
        launch % if self.variant == Variant::Chain { self.queues } else { OUTPUTS }
    }

    /// Returns the queue of a launch. Launches that share an output share the queue.
    pub fn queue_of(&self, launch: usize) -> usize {
        launch % self.queues
    }

    /// Returns the scalar of a launch. Scalars are small whole numbers, so that their sums are exact in `f32`.
    pub fn scalar_of(&self, launch: usize) -> f32 {
        1.0 + (launch % 3) as f32
    }

    /// Compares every output that the job wrote with the expected values, after `times` runs of the job.
    pub fn check(&self, implementation: &mut dyn Implementation, times: u32) -> Result<()> {
        let input = input();
        for output in 0..self.outputs() {
            let factor = times as f32 * self.factor(output);
            let found = implementation.output(output)?;
            ensure!(found.len() == ELEMENTS, "{} returned {} elements", implementation.name(), found.len());
            for (i, (found, x)) in found.iter().zip(&input).enumerate() {
                let name = implementation.name();
                ensure!(
                    *found == factor * x,
                    "{name}, {self:?}: y{output}[{i}] is {found}, not {}",
                    factor * x
                );
            }
        }
        Ok(())
    }

    /// Returns the sum of the scalars of all launches that write this output.
    fn factor(&self, output: usize) -> f32 {
        (0..self.launches).filter(|&i| self.output_of(i) == output).map(|i| self.scalar_of(i)).sum()
    }
}

/// Returns the input that all launches read.
pub fn input() -> Vec<f32> {
    (0..ELEMENTS).map(|i| (i % 7) as f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_that_share_an_output_share_the_queue() {
        for variant in [Variant::Independent, Variant::Chain] {
            let job = Job { variant, launches: 1000, queues: 2 };
            for i in 0..job.launches {
                for j in i..job.launches {
                    assert!(job.output_of(i) != job.output_of(j) || job.queue_of(i) == job.queue_of(j));
                }
            }
        }
    }

    #[test]
    fn outputs_counts_the_outputs_that_launches_write() {
        for (variant, launches, queues, outputs) in
            [(Variant::Chain, 10, 1, 1), (Variant::Chain, 1, 2, 1), (Variant::Independent, 10, 1, 10)]
        {
            let job = Job { variant, launches, queues };
            let highest = (0..launches).map(|i| job.output_of(i)).max();
            assert_eq!((job.outputs(), highest), (outputs, Some(outputs - 1)));
        }
    }
}
