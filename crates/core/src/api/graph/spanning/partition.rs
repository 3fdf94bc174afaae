//! Division of a graph of several contexts into parts: groups of nodes that a context executes without waiting for
//! another.
//!
//! Each context executes its parts in order. A part ends before the next wait for another context, and after a node
//! that another context waits for. So parts of different contexts wait for each other only where the capture orders
//! their nodes.

use crate::work::graph::order::GraphOrder;
use smallvec::SmallVec;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Context of a node, and the copy that it is a side of, if any.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NodePlace {
    /// Context of the node.
    pub(crate) context: u32,
    /// Number of the copy between contexts, if the node is one of its sides.
    pub(crate) copy: Option<u32>,
}

/// A part of a graph.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PartNodes {
    pub(crate) context: u32,
    /// Segment of the part. Host callbacks run between segments.
    pub(crate) segment: u32,
    /// Nodes of the part. Each side of a copy is a separate part.
    pub(crate) nodes: Vec<u32>,
    /// Parts of other contexts that this part waits for, except those that other waits or the order of a context imply.
    /// The read of a copy is not included, because each piece of a copy has its own wait.
    pub(crate) after: SmallVec<[u32; 2]>,
    /// `true` if the part must wait for the start of its segment, which is in the first context.
    pub(crate) waits_for_start: bool,
}

/// All parts of a graph. Each part comes after the parts that it waits for.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Partition {
    pub(crate) parts: Vec<PartNodes>,
    /// For each segment, the parts of other contexts that the first context waits for at the end of the segment.
    pub(crate) joins: Vec<SmallVec<[u32; 2]>>,
}

/// Sort key of the parts. It sorts them by the number of parts before them on a longest path. Among equals, parts that
/// wait for no other context come first, and then parts that another context waits for.
type PartKey = (u32, bool, bool, u32, Option<u32>);

/// Everything before a part: the number of earlier parts of each context, and the number of segments started by then.
#[derive(Clone)]
struct EarlierParts {
    parts: Vec<u32>,
    /// Number of segments that start before the part.
    starts: u32,
}

/// Returns the parts of a graph. `orders` are the orders of its segments.
pub(crate) fn partition(orders: &[Arc<GraphOrder>], places: &[NodePlace], contexts: usize) -> Partition {
    let mut partition = Partition::default();
    // For each context, its parts, and the past after the last one.
    let mut queues = vec![(Vec::new(), EarlierParts { parts: vec![0; contexts], starts: 0 }); contexts];
    for (segment, order) in orders.iter().enumerate() {
        let segment = segment as u32;
        queues[0].1.starts = segment + 1;
        let mut pasts: Vec<EarlierParts> = Vec::new();
        let first_part = partition.parts.len() as u32;
        let grouped = groups(order, places);
        let mut part_of: BTreeMap<u32, u32> = BTreeMap::new();
        for (number, nodes) in (first_part..).zip(grouped.values()) {
            part_of.extend(nodes.iter().map(|&node| (node, number)));
        }
        for nodes in grouped.into_values() {
            let place = places[nodes[0] as usize];
            let number = partition.parts.len() as u32;
            let own = place.context as usize;
            let mut past = queues[own].1.clone();
            let before = nodes.iter().flat_map(|&node| &order.before[(node - order.first) as usize]);
            let foreign = before.filter(|&&node| places[node as usize].context != place.context);
            let mut foreign: Vec<(u32, bool)> = foreign
                .map(|&node| {
                    (part_of[&node], place.copy.is_some() && places[node as usize].copy == place.copy)
                })
                .collect();
            foreign.sort_unstable();
            foreign.dedup();
            let mut after = SmallVec::new();
            // Later parts come first, because they may imply the earlier ones.
            for &(other, is_own_read) in foreign.iter().rev() {
                let of = partition.parts[other as usize].context as usize;
                let known: &EarlierParts = &pasts[(other - first_part) as usize];
                let is_known = past.parts[of] >= known.parts[of];
                past.parts.iter_mut().zip(&known.parts).for_each(|(own, known)| *own = (*own).max(*known));
                past.starts = past.starts.max(known.starts);
                if !is_known && !is_own_read {
                    after.push(other);
                }
            }
            let waits_for_start = past.starts <= segment;
            past.starts = segment + 1;
            queues[own].0.push(number);
            past.parts[own] = queues[own].0.len() as u32;
            queues[own].1 = past.clone();
            pasts.push(past);
            partition.parts.push(PartNodes {
                context: place.context,
                segment,
                nodes,
                after,
                waits_for_start,
            });
        }
        partition.joins.push(join(&mut queues));
    }
    partition
}

/// Returns the parts that the first context must wait for in order to come after all parts. Adds them to its past.
fn join(queues: &mut [(Vec<u32>, EarlierParts)]) -> SmallVec<[u32; 2]> {
    let mut joins = SmallVec::new();
    for other in 1..queues.len() {
        let count = queues[other].0.len() as u32;
        if queues[0].1.parts[other] < count {
            joins.extend(queues[other].0.last().copied());
            queues[0].1.parts[other] = count;
        }
    }
    joins
}

/// Groups the nodes of a segment into parts, in the order of the parts.
fn groups(order: &GraphOrder, places: &[NodePlace]) -> BTreeMap<PartKey, Vec<u32>> {
    let count = order.levels.len();
    let place = |at: usize| places[order.first as usize + at];
    let before = |at: usize| order.before[at].iter().map(|&node| (node - order.first) as usize);
    let crosses = |from: usize, to: usize| {
        let from = place(from);
        let to = place(to);
        from.context != to.context || from.copy.is_some() || to.copy.is_some()
    };
    let mut exits = vec![false; count];
    for to in 0..count {
        before(to).filter(|&from| crosses(from, to)).for_each(|from| exits[from] = true);
    }
    let mut phases = vec![0_u32; count];
    let mut bound = vec![false; count];
    for to in 0..count {
        let phase = |from: usize| phases[from] + u32::from(crosses(from, to) || exits[from]);
        phases[to] = before(to).map(phase).max().unwrap_or(0);
        let binds = |from: usize| {
            place(from).context != place(to).context || (bound[from] && phases[from] == phases[to])
        };
        bound[to] = before(to).any(binds);
    }
    let mut leads = exits;
    for to in (0..count).rev().filter(|&to| order.levels[to] > 0) {
        if leads[to] {
            before(to).filter(|&from| phases[from] == phases[to]).for_each(|from| leads[from] = true);
        }
    }
    let mut groups: BTreeMap<PartKey, Vec<u32>> = BTreeMap::new();
    for at in 0..count {
        let node = order.first + at as u32;
        let of_copy = place(at).copy.map(|_| node);
        let key = (phases[at], bound[at], !leads[at], place(at).context, of_copy);
        groups.entry(key).or_default().push(node);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the partition of nodes. Each entry of `nodes` is a context, a copy, and the nodes that come before.
    /// `starts` lists the first nodes of the segments.
    fn parts(nodes: &[(u32, Option<u32>, &[u32])], starts: &[u32]) -> Partition {
        let places: Vec<NodePlace> =
            nodes.iter().map(|&(context, copy, _)| NodePlace { context, copy }).collect();
        let ends = starts.iter().skip(1).copied().chain([nodes.len() as u32]);
        let orders = starts.iter().copied().zip(ends).map(|(first, end)| {
            let of_segment = &nodes[first as usize..end as usize];
            let before: Vec<SmallVec<[u32; 2]>> = of_segment.iter().map(|node| node.2.into()).collect();
            let mut levels: Vec<u32> = Vec::new();
            for before in &before {
                levels
                    .push(before.iter().map(|&node| levels[(node - first) as usize] + 1).max().unwrap_or(0));
            }
            Arc::new(GraphOrder { first, levels, before, ..GraphOrder::default() })
        });
        let orders: Vec<Arc<GraphOrder>> = orders.collect();
        let contexts = nodes.iter().map(|node| node.0 as usize + 1).max().unwrap_or(1);
        partition(&orders, &places, contexts)
    }

    fn nodes(partition: &Partition) -> Vec<(u32, Vec<u32>, Vec<u32>)> {
        let part = |part: &PartNodes| (part.context, part.nodes.clone(), part.after.to_vec());
        partition.parts.iter().map(part).collect()
    }

    #[test]
    fn a_part_ends_where_another_context_waits_and_the_rest_goes_on() {
        // Node 1 is in the other context and waits for node 0. Node 3 waits for node 1, but node 2 does not.
        let found = parts(&[(0, None, &[]), (1, None, &[0]), (0, None, &[0]), (0, None, &[2, 1])], &[0]);
        let expected =
            [(0, vec![0], vec![]), (0, vec![2], vec![]), (1, vec![1], vec![0]), (0, vec![3], vec![2])];
        assert_eq!(nodes(&found), expected);
        assert_eq!(found.joins, [SmallVec::<[u32; 2]>::new()]);
    }

    #[test]
    fn two_waits_for_one_queue_make_two_parts_of_it() {
        // Nodes 1 and 3 are in the other context. They wait for different nodes of the first context.
        let found = parts(&[(0, None, &[]), (1, None, &[0]), (0, None, &[0]), (1, None, &[1, 2])], &[0]);
        let expected =
            [(0, vec![0], vec![]), (0, vec![2], vec![]), (1, vec![1], vec![0]), (1, vec![3], vec![1])];
        assert_eq!(nodes(&found), expected);
    }

    #[test]
    fn contexts_without_a_path_between_them_wait_only_at_the_end() {
        let found = parts(&[(0, None, &[]), (1, None, &[]), (2, None, &[]), (1, None, &[1])], &[0]);
        assert_eq!(nodes(&found), [(0, vec![0], vec![]), (1, vec![1, 3], vec![]), (2, vec![2], vec![])]);
        assert_eq!(found.joins[0].to_vec(), [1, 2]);
        let starts: Vec<bool> = found.parts.iter().map(|part| part.waits_for_start).collect();
        assert_eq!(starts, [false, true, true]);
    }

    #[test]
    fn each_side_of_a_copy_is_a_part_and_its_write_does_not_wait_for_its_whole_read() {
        let found = parts(&[(0, None, &[]), (0, Some(0), &[0]), (1, Some(0), &[1]), (1, None, &[2])], &[0]);
        assert_eq!(
            nodes(&found),
            [(0, vec![0], vec![]), (0, vec![1], vec![]), (1, vec![2], vec![]), (1, vec![3], vec![])]
        );
        assert!(!found.parts[2].waits_for_start, "the write follows the read");
        assert_eq!(found.joins[0].to_vec(), [3]);
    }

    #[test]
    fn a_segment_begins_after_all_contexts_of_the_segment_before() {
        let found = parts(&[(1, None, &[]), (0, None, &[]), (1, None, &[])], &[0, 1]);
        assert_eq!(found.joins.iter().map(|join| join.to_vec()).collect::<Vec<_>>(), [vec![0], vec![2]]);
        let starts: Vec<(u32, bool)> =
            found.parts.iter().map(|part| (part.segment, part.waits_for_start)).collect();
        assert_eq!(starts, [(0, true), (1, false), (1, true)]);
    }
}
