//! The visits of steps whose levels overlap, if one of them replays a part of a graph: level by level, so that one
//! barrier of the recorder orders the next level of all of them.

use crate::device::recorder::Failure;
use crate::record::walk::{WorkVisitor, visit, visit_node};
use crate::work::graph_data::graph_run::GraphStep;
use crate::work::step::{Step, Work};
use fencepost_sync::Stamp;

/// A visit of a step, or of a node of a graph. Visits are sorted by these fields, in this order.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Visit {
    level: u32,
    stamp: Stamp,
    /// Index of the step.
    step: usize,
    /// Place of the node in the graph's order; `None` for a step that is visited as a whole.
    place: Option<u32>,
}

/// Counts the steps at the start of `later` that must be visited together with the graph at `first`, because their
/// levels overlap: visited one after the other, their levels would add up. `later` lists the steps after the graph, in
/// the order of the visits. Returns 0 if each step can be visited as a whole.
pub(crate) fn overlapping(steps: &[Step], first: usize, later: &[usize]) -> usize {
    let (base, stamp) = (steps[first].level, steps[first].stamp);
    let mut end = base + steps[first].work.depth();
    let (mut count, mut is_deep) = (0, false);
    for &at in later {
        let step = &steps[at];
        if step.level >= end {
            break;
        }
        let behind = step.level + step.work.depth();
        end = end.max(behind);
        // The end time of the graph has the stamp of the graph.
        is_deep |= step.stamp != stamp && behind > base + 1;
        count += 1;
    }
    if is_deep { count } else { 0 }
}

/// Visits `together`, steps whose levels overlap, level by level. `level` is the level of the last visit.
///
/// # Errors
/// Returns the error of the first step that the visitor could not record, with the index of the step.
#[cold]
#[inline(never)] // the loop over the steps of a batch without graphs stays small
pub(crate) fn walk_together<'e>(
    steps: &'e [Step],
    together: impl Iterator<Item = usize>,
    visitor: &mut impl WorkVisitor<'e>,
    level: &mut Option<u32>,
) -> Result<(), Failure> {
    for Visit { level: of_visit, step, place, .. } in visits(steps, together, visitor)? {
        if level.replace(of_visit) != Some(of_visit) {
            visitor.level(of_visit);
        }
        if !visitor.begin_step(step) {
            continue;
        }
        let visited = match (&steps[step].work, place) {
            (Work::Graph(graph), None) => visitor.graph(GraphStep::of(&**graph), of_visit, level, false),
            (Work::Graph(graph), Some(place)) => {
                let graph = GraphStep::of(&**graph);
                if place == 0 {
                    visitor.begin_graph();
                }
                let node = graph.order().sorted[place as usize];
                if visitor.begin_node(graph, node) {
                    visit_node(visitor, of_visit, graph, node).map_err(|error| graph.failure(node, error))
                } else {
                    Ok(())
                }
            }
            (work, _) => visit(visitor, of_visit, work),
        };
        visited.map_err(|error| failure(step, error))?;
    }
    Ok(())
}

/// Lists the visits in their order.
fn visits<'e>(
    steps: &'e [Step],
    together: impl Iterator<Item = usize>,
    visitor: &mut impl WorkVisitor<'e>,
) -> Result<Vec<Visit>, Failure> {
    let mut visits = Vec::new();
    for at in together {
        let Step { level, stamp, work, .. } = &steps[at];
        let visit = |level, place| Visit { level, stamp: *stamp, step: at, place };
        let Work::Graph(graph) = work else {
            visits.push(visit(*level, None));
            continue;
        };
        let graph = GraphStep::of(&**graph);
        if visitor.keeps_whole(graph).map_err(|error| failure(at, error))? {
            visits.push(visit(*level, None));
            continue;
        }
        let order = graph.order();
        let of_nodes = order.sorted.iter().map(|&node| order.levels[(node - order.first) as usize]);
        visits.extend(of_nodes.zip(0..).map(|(of_node, place)| visit(level + of_node, Some(place))));
    }
    visits.sort(); // the nodes of each graph are sorted already, which this sort makes use of
    Ok(visits)
}

fn failure(step: usize, error: crate::error::Error) -> Failure {
    Failure { step: Some(step), error, lost: false }
}
