//! The order in which a recorder visits the steps of a batch. The CPU recorder uses another order.

use crate::device::recorder::Failure;
use crate::record::interleave;
use crate::record::walk::{WorkVisitor, visit};
use crate::work::graph_data::graph_run::GraphStep;
use crate::work::step::{Step, Work};
use std::iter;

/// The order in which a recorder visits the steps of a batch, and two facts about the batch's work.
#[derive(Default)]
pub(crate) struct StepOrder {
    /// Indices of the steps in the order of the visits. Most batches are sorted already: their list 0, 1, 2 and so on
    /// is kept, and the next batch only shortens or extends it.
    order: Vec<usize>,
    /// `true` if `order[at] == at` for each index.
    identity: bool,
    /// `true` if the batch has other work than launches.
    pub(crate) more_than_launches: bool,
    /// `true` if the batch measures the time of a command.
    pub(crate) times: bool,
}

impl StepOrder {
    /// Orders the steps by level, then by stamp, which is the order of the user's calls.
    pub(crate) fn sort(&mut self, steps: &[Step]) {
        self.more_than_launches = false;
        self.times = false;
        let mut last = (0, fencepost_sync::Stamp(0));
        let mut sorted = true;
        for step in steps {
            let place = (step.level, step.stamp);
            sorted &= last <= place;
            last = place;
            self.more_than_launches |= !matches!(step.work, Work::Launch(_));
            self.times |= matches!(step.work, Work::Start(_));
        }
        if !self.identity {
            self.order.clear();
        }
        self.order.truncate(steps.len());
        self.order.extend(self.order.len()..steps.len());
        self.identity = sorted;
        if !sorted {
            self.order.sort_unstable_by_key(|&at| (steps[at].level, steps[at].stamp, at));
        }
    }

    /// Visits every step, in the order of [`sort`](Self::sort). Steps at the levels of a graph are visited level by
    /// level with the nodes of the graph.
    ///
    /// # Errors
    /// Returns the error of the first step that the visitor could not record, with the index of the step.
    #[inline]
    pub(crate) fn walk<'e>(
        &self,
        steps: &'e [Step],
        visitor: &mut impl WorkVisitor<'e>,
    ) -> Result<(), Failure> {
        let mut level = None;
        let mut order = self.order.iter();
        while let Some(&at) = order.next() {
            let step = &steps[at];
            if level.replace(step.level) != Some(step.level) {
                visitor.level(step.level);
            }
            if !visitor.begin_step(at) {
                continue;
            }
            let visited = match &step.work {
                Work::Graph(graph) => {
                    let later = order.as_slice();
                    let (together, others) = later.split_at(interleave::overlapping(steps, at, later));
                    if !together.is_empty() {
                        let together = iter::once(at).chain(together.iter().copied());
                        interleave::walk_together(steps, together, visitor, &mut level)?;
                        order = others.iter();
                        continue;
                    }
                    visitor.graph(GraphStep::of(&**graph), step.level, &mut level, steps.len() == 1)
                }
                work => visit(visitor, step.level, work),
            };
            if let Err(error) = visited {
                return Err(Failure { step: Some(at), error, lost: false });
            }
        }
        Ok(())
    }
}
