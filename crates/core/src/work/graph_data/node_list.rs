//! The nodes of a plan: a list that plans share, and the nodes that one plan has changed.

use crate::work::graph_data::graph_node::GraphNode;
use std::ops::Index;
use std::sync::Arc;

/// A list of nodes. A clone shares them, and a list with changed nodes shares the others.
#[derive(Clone)]
pub(crate) struct NodeList {
    captured: Arc<[GraphNode]>,
    /// Changed nodes by their numbers, in ascending order, or `None` if no node is changed.
    changed: Option<Arc<Vec<(u32, GraphNode)>>>,
}

impl NodeList {
    pub(crate) fn new(nodes: Vec<GraphNode>) -> Self {
        Self { captured: nodes.into(), changed: None }
    }

    pub(crate) fn len(&self) -> usize {
        self.captured.len()
    }

    /// Returns a node.
    #[inline]
    pub(crate) fn get(&self, node: u32) -> &GraphNode {
        match &self.changed {
            None => &self.captured[node as usize],
            Some(changed) => match changed.binary_search_by_key(&node, |(at, _)| *at) {
                Ok(at) => &changed[at].1,
                Err(_) => &self.captured[node as usize],
            },
        }
    }

    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = &GraphNode> + ExactSizeIterator {
        (0..self.len()).map(|node| &self[node])
    }

    /// Returns the list with other nodes in place of some. `changes` is in ascending order. The cost does not depend on
    /// the length of the list, as long as less than half of the nodes are changed.
    pub(crate) fn with(&self, changes: Vec<(u32, GraphNode)>) -> Self {
        if changes.is_empty() {
            return self.clone();
        }
        let changed = match self.changed.as_deref() {
            None => changes,
            Some(earlier) => merged(earlier, changes),
        };
        let captured = self.captured.clone();
        let all = Self { captured, changed: Some(Arc::new(changed)) };
        let many = all.changed.as_ref().is_some_and(|changed| changed.len() * 2 > all.len());
        if many { Self::new(all.to_vec()) } else { all }
    }

    /// Puts the changed nodes into the list, if no other plan shares it. Then the list names no old block.
    pub(crate) fn absorb(&mut self) {
        let Some(captured) = Arc::get_mut(&mut self.captured) else { return };
        for (node, changed) in self.changed.take().map(Arc::unwrap_or_clone).into_iter().flatten() {
            captured[node as usize] = changed;
        }
    }

    /// Returns a copy of all nodes. A node shares its command with the list.
    pub(crate) fn to_vec(&self) -> Vec<GraphNode> {
        self.iter().cloned().collect()
    }
}

impl Index<usize> for NodeList {
    type Output = GraphNode;

    #[inline]
    fn index(&self, node: usize) -> &GraphNode {
        self.get(node as u32)
    }
}

/// Merges two ascending lists of changes. A later change replaces an earlier one of the same node.
fn merged(earlier: &[(u32, GraphNode)], later: Vec<(u32, GraphNode)>) -> Vec<(u32, GraphNode)> {
    let mut all = Vec::with_capacity(earlier.len() + later.len());
    let mut earlier = earlier.iter().peekable();
    for change in later {
        while let Some(before) = earlier.next_if(|(node, _)| *node < change.0) {
            all.push(before.clone());
        }
        earlier.next_if(|(node, _)| *node == change.0);
        all.push(change);
    }
    all.extend(earlier.cloned());
    all
}
