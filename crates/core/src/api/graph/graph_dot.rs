//! The dump of a graph in the DOT language of Graphviz.

use crate::api::graph::graph_handle::Graph;
use crate::api::graph::graph_text::{accesses, title};
use crate::api::graph::graph_view::{GraphView, VertexKind, ViewEdge, drawn_edges};
use std::fmt::Write;

impl Graph {
    /// *Returns* the graph in the DOT language of Graphviz. A cluster is a captured queue, and nodes of one rank are on
    /// one level. Edges that follow from other edges are left out. A dashed edge is the order of a queue. An edge is
    /// red if the native recorder needs a barrier between the two nodes; such an edge is always there.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut x = ctx.zeros::<u32, 1>([4])?;
    /// let (graph, ()) = queue.capture(|c| {
    ///     c.fill(&mut x, 1)?;
    ///     c.fill(&mut x, 2)
    /// })?;
    /// let dot = graph.to_dot();
    /// assert!(dot.starts_with("digraph") && dot.contains("n0 -> n1 [style=dashed, color=red];"), "{dot}");
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn to_dot(&self) -> String {
        let view = GraphView::of(self);
        let mut dot = format!("digraph {} {{\n", quoted(&view.label));
        dot.push_str("  rankdir=LR;\n  node [shape=box, fontname=\"sans-serif\"];\n");
        clusters(&mut dot, &view);
        host_functions(&mut dot, &view);
        ranks(&mut dot, &view);
        for edge in drawn_edges(self, &view) {
            edge_line(&mut dot, &view, edge);
        }
        dot.push_str("}\n");
        dot
    }
}

/// Returns a quoted string of the DOT language.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => quoted.extend(['\\', letter]),
            '\n' => quoted.push_str("\\n"),
            letter if letter.is_control() => quoted.push('\u{fffd}'),
            letter => quoted.push(letter),
        }
    }
    quoted.push('"');
    quoted
}

fn id(view: &GraphView, at: u32) -> String {
    format!("n{}", view.number(at))
}

fn node_line(dot: &mut String, view: &GraphView, at: u32, indent: &str) {
    let vertex = &view.vertices[at as usize];
    let mut label = format!("{}: {}", view.number(at), title(vertex));
    if !vertex.uses.is_empty() {
        let _ = write!(label, "\n{}", accesses(vertex));
    }
    let tooltip = vertex.at.map(ToString::to_string).unwrap_or_default();
    let shape = match vertex.kind {
        VertexKind::Host => ", shape=octagon",
        VertexKind::Gate => ", shape=diamond",
        _ => "",
    };
    let (id, label, tooltip) = (id(view, at), quoted(&label), quoted(&tooltip));
    let _ = writeln!(dot, "{indent}{id} [label={label}, tooltip={tooltip}{shape}];");
}

fn clusters(dot: &mut String, view: &GraphView) {
    for (queue, label) in view.queues.iter().enumerate() {
        let _ = writeln!(dot, "  subgraph cluster_{queue} {{\n    label={};", quoted(label));
        for at in (0..view.nodes as u32).filter(|&at| view.vertices[at as usize].queue == Some(queue as u32))
        {
            node_line(dot, view, at, "    ");
        }
        dot.push_str("  }\n");
    }
}

fn host_functions(dot: &mut String, view: &GraphView) {
    for at in view.nodes..view.vertices.len() {
        node_line(dot, view, at as u32, "  ");
    }
}

/// Puts the nodes of each level on one rank.
fn ranks(dot: &mut String, view: &GraphView) {
    let mut levels: Vec<Vec<String>> = vec![Vec::new(); view.columns as usize];
    for at in view.sorted() {
        levels[view.vertices[at as usize].column as usize].push(id(view, at));
    }
    for nodes in levels.iter().filter(|nodes| nodes.len() > 1) {
        let _ = writeln!(dot, "  {{ rank=same; {}; }}", nodes.join("; "));
    }
}

fn edge_line(dot: &mut String, view: &GraphView, edge: ViewEdge) {
    let (from, to) = (id(view, edge.from), id(view, edge.to));
    let looks = match (edge.of_queue, edge.barrier) {
        (true, true) => " [style=dashed, color=red]",
        (true, false) => " [style=dashed]",
        (false, true) => " [color=red]",
        (false, false) => "",
    };
    let _ = writeln!(dot, "  {from} -> {to}{looks};");
}
