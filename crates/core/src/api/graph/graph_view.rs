//! The dumps of a graph: as text, and in the DOT language of Graphviz. All dumps and drawings are made from the same
//! plain data of nodes and edges.

use crate::api::graph::Graph;
use crate::memory::block::BlockId;
use crate::work::graph::control::{ChunkedLoop, Cut};
use crate::work::graph::nodes::GraphNode;
use crate::work::graph::order::barriers;
use crate::work::graph::plan::GraphPlan;
use crate::work::kernel_launch::BoundArray;
use crate::work::step::Work;
use fencepost_kernels::Access;
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::HashSet;
use std::fmt::Write;
use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

/// A graph as plain data. The vertices are the nodes, in the order of their numbers, then the host callbacks and the
/// ends of chunked loops.
pub(crate) struct GraphView {
    pub(crate) label: Arc<str>,
    pub(crate) queues: Vec<Arc<str>>,
    /// Number of contexts.
    pub(crate) contexts: usize,
    pub(crate) vertices: Vec<Vertex>,
    /// Number of nodes.
    pub(crate) nodes: usize,
    /// Number of columns: the levels, plus one column for each host callback and for the end of each chunked loop.
    pub(crate) columns: u32,
}

/// A node, a host callback, or the end of a chunked loop.
pub(crate) struct Vertex {
    pub(crate) kind: VertexKind,
    pub(crate) name: String,
    /// Captured queue of a node.
    pub(crate) queue: Option<u32>,
    /// Column of the vertex: its level, where host callbacks have levels of their own.
    pub(crate) column: u32,
    pub(crate) uses: Vec<VertexUse>,
    /// Vertices that come before this one.
    pub(crate) before: Vec<u32>,
    pub(crate) at: Option<&'static Location<'static>>,
}

/// An array that a node uses.
pub(crate) struct VertexUse {
    pub(crate) array: Arc<str>,
    pub(crate) range: Range<u64>,
    pub(crate) reads: bool,
    pub(crate) writes: bool,
}

/// Kind of a vertex.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum VertexKind {
    Launch,
    Copy,
    Fill,
    Upload,
    Read,
    /// A node that reads the clock of the device and does nothing else.
    Time,
    Host,
    /// A node that decides if the nodes of a body execute.
    Gate,
}

impl VertexKind {
    pub(crate) const ALL: [Self; 8] =
        [Self::Launch, Self::Copy, Self::Fill, Self::Upload, Self::Read, Self::Time, Self::Host, Self::Gate];

    /// Returns the kind of a node.
    ///
    /// # Panics
    /// Panics for work that cannot be captured, which is a bug.
    pub(crate) fn of(node: &GraphNode) -> Self {
        match &node.command.work {
            Work::Launch(_) => Self::Launch,
            Work::Copy { .. } | Work::Region(_) => Self::Copy,
            // A copy between contexts uses this work for its write.
            Work::Fill { .. } if node.command.is_side_of_copy() => Self::Upload,
            Work::Fill { .. } => Self::Fill,
            Work::Upload { .. } => Self::Upload,
            Work::Read { .. } => Self::Read,
            Work::Nothing => Self::Time,
            Work::Gate(_) => Self::Gate,
            _ => unreachable!("bug: a graph has a node of work that cannot be captured"),
        }
    }

    /// Returns the name of the kind in lower case.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Launch => "launch",
            Self::Copy => "copy",
            Self::Fill => "fill",
            Self::Upload => "upload",
            Self::Read => "read",
            Self::Time => "time",
            Self::Host => "host",
            Self::Gate => "gate",
        }
    }
}

impl GraphView {
    /// Describes a graph. Two graphs of the same capture have equal descriptions.
    pub(crate) fn of(graph: &Graph) -> Self {
        let plan = &graph.plan;
        let nodes = plan.nodes.len();
        let mut view = Self {
            label: plan.label.clone(),
            queues: queue_names(graph),
            contexts: graph.contexts(),
            vertices: Vec::with_capacity(nodes),
            nodes,
            columns: 0,
        };
        view.add_nodes(plan);
        view.add_host_parts(plan);
        view
    }

    /// Adds the nodes with the levels and the predecessors of their segments.
    fn add_nodes(&mut self, plan: &GraphPlan) {
        let mut names = ArrayNames::default();
        for (segment, order) in plan.segments.iter().map(|segment| &segment.order).enumerate() {
            self.columns += segment.checked_sub(1).map_or(0, |before| plan.cuts[before].levels());
            for (place, (level, before)) in order.levels.iter().zip(&order.before).enumerate() {
                let node = &plan.nodes[order.first as usize + place];
                self.vertices.push(Vertex {
                    kind: VertexKind::of(node),
                    name: node.command.name(),
                    queue: Some(node.queue),
                    column: self.columns + level,
                    uses: names.uses_of(node),
                    before: before.to_vec(),
                    at: Some(node.command.at),
                });
            }
            self.columns += order.depth;
        }
    }

    /// Adds the host callbacks and the ends of chunked loops. Each comes after the last nodes of the previous segment,
    /// and before the first nodes of the next one. The first nodes of a chunked loop come after the last nodes before
    /// the loop.
    fn add_host_parts(&mut self, plan: &GraphPlan) {
        let mut column = 0;
        let mut host = None;
        let mut chunked = plan.loops.iter();
        for (pair, cut) in plan.segments.windows(2).zip(plan.cuts.iter()) {
            let order = &pair[0].order;
            let next = &pair[1].order;
            column += order.depth;
            let nodes = |first: u32, levels: usize| first..first + levels as u32;
            let followed: FxHashSet<u32> = order.before.iter().flatten().copied().collect();
            let mut before: Vec<u32> = nodes(order.first, order.levels.len()).collect();
            before.retain(|node| !followed.contains(node));
            if before.is_empty() {
                before.extend(host);
            }
            let name = match cut {
                Cut::HostCall => "host function".into(),
                Cut::LoopEnd => chunked.next().map(ends).unwrap_or_default(),
                Cut::LoopStart(_) => {
                    self.order_after(nodes(next.first, next.levels.len()), &before);
                    continue;
                }
            };
            let of_host = self.vertices.len() as u32;
            host = Some(of_host);
            self.order_after(nodes(next.first, next.levels.len()), &[of_host]);
            let kind = VertexKind::Host;
            let queue = None;
            let uses = Vec::new();
            let at = None;
            self.vertices.push(Vertex { kind, name, queue, column, uses, before, at });
            column += cut.levels();
        }
    }

    /// Orders the nodes without predecessors after `before`.
    fn order_after(&mut self, nodes: Range<u32>, before: &[u32]) {
        for node in nodes {
            let known = &mut self.vertices[node as usize].before;
            if known.is_empty() {
                known.extend(before);
            }
        }
    }

    /// Returns the vertices in a topological order.
    pub(crate) fn sorted(&self) -> Vec<u32> {
        let mut sorted: Vec<u32> = (0..self.vertices.len() as u32).collect();
        sorted.sort_by_key(|&at| self.vertices[at as usize].column);
        sorted
    }

    /// Returns the unique name of a vertex.
    pub(crate) fn number(&self, at: u32) -> String {
        match (at as usize).checked_sub(self.nodes) {
            Some(host) => format!("h{host}"),
            None => at.to_string(),
        }
    }
}

/// Returns the names of the queues. In a graph of several contexts, each name includes the number of the queue's
/// context.
fn queue_names(graph: &Graph) -> Vec<Arc<str>> {
    let queues = graph.plan.queues.iter();
    match &graph.spanning {
        None => queues.cloned().collect(),
        Some(spanning) => queues
            .zip(&spanning.shape.of_queue)
            .map(|(queue, context)| format!("{queue}, context {context}").into())
            .collect(),
    }
}

/// Describes the end of a chunked loop.
fn ends(chunked: &ChunkedLoop) -> String {
    let first = chunked.nodes.start;
    let last = chunked.nodes.end.saturating_sub(1);
    let each = chunked.iterations;
    let bound = chunked.bound;
    format!("loop: nodes {first} to {last} are {each} iterations of at most {bound}")
}

/// Returns the bindings of a launch.
fn bindings(node: &GraphNode) -> &[BoundArray] {
    if let Work::Launch(launch) = &node.command.work { &launch.bindings } else { &[] }
}

/// Names of arrays, by block. Blocks that share a label get different names.
#[derive(Default)]
struct ArrayNames {
    names: FxHashMap<BlockId, Arc<str>>,
    /// Number of blocks with each label.
    counts: FxHashMap<Arc<str>, u32>,
}

impl ArrayNames {
    fn uses_of(&mut self, node: &GraphNode) -> Vec<VertexUse> {
        let mut bound = bindings(node).iter().filter_map(|bound| bound.used);
        let uses = node.touches().map(|touch| {
            let label = touch.block.order().label.clone();
            let array = self.name(touch.block.id, label);
            // The bindings of a launch come first; only bindings may both read and write.
            let reads = bound.next().map_or(!touch.write, Access::reads);
            VertexUse { array, range: touch.range, reads, writes: touch.write }
        });
        uses.collect()
    }

    fn name(&mut self, id: BlockId, label: Arc<str>) -> Arc<str> {
        let counts = &mut self.counts;
        let name = self.names.entry(id).or_insert_with(|| {
            let count = counts.entry(label.clone()).or_default();
            *count += 1;
            if *count == 1 { label } else { format!("{label} ({count})").into() }
        });
        name.clone()
    }
}

/// An edge of a drawing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ViewEdge {
    pub(crate) from: u32,
    pub(crate) to: u32,
    /// `true` if both nodes are on one captured queue.
    pub(crate) of_queue: bool,
    /// `true` if there is a barrier between the two nodes.
    pub(crate) barrier: bool,
}

/// Returns the edges of a drawing: those that other edges do not imply, and one for each barrier.
pub(crate) fn drawn_edges(graph: &Graph, view: &GraphView) -> Vec<ViewEdge> {
    let mut pairs = reduced(view);
    let barriers: HashSet<(u32, u32)> = barriers(&graph.plan).pairs.into_iter().collect();
    pairs.extend(&barriers);
    pairs.sort_unstable_by_key(|&(from, to)| (to, from));
    pairs.dedup();
    let queue = |at: u32| view.vertices[at as usize].queue;
    let edge = |(from, to): (u32, u32)| ViewEdge {
        from,
        to,
        of_queue: queue(from).is_some() && queue(from) == queue(to),
        barrier: barriers.contains(&(from, to)),
    };
    pairs.into_iter().map(edge).collect()
}

/// Returns the edges that other edges do not imply.
fn reduced(view: &GraphView) -> Vec<(u32, u32)> {
    // The vertices of one queue form a chain, and so do the host callbacks. For each chain, the clock of a vertex holds
    // 1 plus the index of the last vertex that comes before this vertex or is this vertex.
    let chain = |at: u32| view.vertices[at as usize].queue.map_or(view.queues.len(), |queue| queue as usize);
    let mut clocks: Vec<Vec<u32>> = vec![Vec::new(); view.vertices.len()];
    let mut edges = Vec::new();
    for to in view.sorted() {
        let before = &view.vertices[to as usize].before;
        for &from in before {
            let implied = |&other: &u32| other != from && clocks[other as usize][chain(from)] > from;
            if !before.iter().any(implied) {
                edges.push((from, to));
            }
        }
        let mut clock = vec![0; view.queues.len() + 1];
        for &from in before {
            clock.iter_mut().zip(&clocks[from as usize]).for_each(|(own, known)| *own = (*own).max(*known));
        }
        clock[chain(to)] = to + 1;
        clocks[to as usize] = clock;
    }
    edges
}

/// Returns a longest path, counted in vertices.
pub(crate) fn longest_path(view: &GraphView) -> Vec<u32> {
    let mut lengths = vec![(1_u32, None); view.vertices.len()];
    for at in view.sorted() {
        let before = view.vertices[at as usize].before.iter();
        let longest = before.map(|&before| (lengths[before as usize].0, before)).max_by_key(|&(n, _)| n);
        if let Some((length, before)) = longest {
            lengths[at as usize] = (length + 1, Some(before));
        }
    }
    let end = (0..lengths.len()).rev().max_by_key(|&at| lengths[at].0).map(|at| at as u32);
    let mut path: Vec<u32> = std::iter::successors(end, |&at| lengths[at as usize].1).collect();
    path.reverse();
    path
}

impl Graph {
    /// *Returns* the graph as text with one line for each node: number, queue, level, name, bytes, predecessors, and
    /// source line of the capture. The bytes are those that the node reads, updates (reads and writes) and writes. Two
    /// graphs of the same capture have the same text, on every adapter.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let x = ctx.zeros::<u32, 1>([4])?.named("x");
    /// let mut y = ctx.zeros::<u32, 1>([4])?.named("y");
    /// let (graph, ()) = queue.capture(|c| {
    ///     c.fill(&mut y, 1)?;
    ///     c.copy(&x, &mut y)
    /// })?;
    /// let text = graph.to_text();
    /// assert_eq!(text.lines().count(), 3);
    /// assert!(text.contains("copy  reads `x`[0..16], writes `y`[0..16]; after 0; at "), "{text}");
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn to_text(&self) -> String {
        let view = GraphView::of(self);
        let mut text = heading(&view);
        let widths = Widths::of(&view);
        for at in view.sorted() {
            line(&mut text, &view, at, &widths);
        }
        text
    }
}

/// Maximum width of a column in characters. A longer text widens only its own line.
const WIDEST: usize = 40;

/// Widths of the columns, in characters.
struct Widths {
    number: usize,
    queue: usize,
    level: usize,
    name: usize,
}

impl Widths {
    fn of(view: &GraphView) -> Self {
        let all = || (0..view.vertices.len() as u32).zip(&view.vertices);
        Self {
            number: all().map(|(at, _)| view.number(at).len()).max().unwrap_or(0),
            queue: widest(view.queues.iter().map(|queue| queue.chars().count())).max(4),
            level: view.columns.saturating_sub(1).to_string().len(),
            name: widest(all().map(|(_, vertex)| on_one_line(&title(vertex)).chars().count())),
        }
    }
}

/// Returns the width of a column for texts of these lengths.
fn widest(lengths: impl Iterator<Item = usize>) -> usize {
    lengths.filter(|&length| length <= WIDEST).max().unwrap_or(0)
}

/// Returns the text with line-breaking characters escaped.
fn on_one_line(text: &str) -> String {
    text.chars()
        .flat_map(|letter| {
            let escaped = letter.is_control().then(|| letter.escape_default());
            let plain = escaped.is_none().then_some(letter);
            escaped.into_iter().flatten().chain(plain)
        })
        .collect()
}

fn heading(view: &GraphView) -> String {
    let counted = |count: usize, word: &str| format!("{count} {word}{}", if count == 1 { "" } else { "s" });
    let nodes = counted(view.nodes, "node");
    let queues = counted(view.queues.len(), "queue");
    let levels = counted(view.columns as usize, "level");
    let contexts = match view.contexts {
        1 => String::new(),
        several => format!(" of {several} contexts"),
    };
    format!("graph `{}`: {nodes} on {queues}{contexts}, {levels}\n", on_one_line(&view.label))
}

/// Returns the name of a node, followed by its kind if the name does not contain it.
pub(crate) fn title(vertex: &Vertex) -> String {
    let word = vertex.kind.word();
    let says = vertex.name == word || vertex.queue.is_none();
    if says { vertex.name.clone() } else { format!("{word} {}", vertex.name) }
}

/// Returns the bytes that a node reads and writes.
pub(crate) fn accesses(vertex: &Vertex) -> String {
    let mut text = String::new();
    for (is, word) in [((true, false), "reads"), ((true, true), "updates"), ((false, true), "writes")] {
        let uses = vertex.uses.iter().filter(|used| (used.reads, used.writes) == is);
        let names: Vec<String> =
            uses.map(|used| format!("`{}`[{}..{}]", used.array, used.range.start, used.range.end)).collect();
        if !names.is_empty() {
            let separator = if text.is_empty() { "" } else { ", " };
            let _ = write!(text, "{separator}{word} {}", names.join(", "));
        }
    }
    text
}

fn line(text: &mut String, view: &GraphView, at: u32, widths: &Widths) {
    let vertex = &view.vertices[at as usize];
    let queue = on_one_line(vertex.queue.map_or("host", |queue| &view.queues[queue as usize]));
    let Widths { number, queue: of_queue, level, name } = widths;
    let own = view.number(at);
    let column = vertex.column;
    let title = on_one_line(&title(vertex));
    let _ = write!(text, "{own:>number$}  {queue:of_queue$}  level {column:level$}  {title:name$}");
    let mut parts = Vec::new();
    parts.extend(Some(on_one_line(&accesses(vertex))).filter(|accesses| !accesses.is_empty()));
    if !vertex.before.is_empty() {
        let before: Vec<String> = vertex.before.iter().map(|&before| view.number(before)).collect();
        parts.push(format!("after {}", before.join(", ")));
    }
    parts.extend(vertex.at.map(|at| format!("at {at}")));
    let _ = writeln!(text, "  {}", parts.join("; "));
}

impl Graph {
    /// *Returns* the graph in the DOT language of Graphviz. Each captured queue is a cluster, and each level a rank.
    /// Edges implied by other edges are left out. A dashed edge is the order of a queue. A red edge shows that the
    /// native recorder needs a barrier between the two nodes; red edges are never left out.
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
    let id = id(view, at);
    let label = quoted(&label);
    let tooltip = quoted(&tooltip);
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
    let from = id(view, edge.from);
    let to = id(view, edge.to);
    let looks = match (edge.of_queue, edge.barrier) {
        (true, true) => " [style=dashed, color=red]",
        (true, false) => " [style=dashed]",
        (false, true) => " [color=red]",
        (false, false) => "",
    };
    let _ = writeln!(dot, "  {from} -> {to}{looks};");
}
