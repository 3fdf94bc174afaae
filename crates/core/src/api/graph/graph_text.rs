//! The dump of a graph as text.

use crate::api::graph::graph_handle::Graph;
use crate::api::graph::graph_view::{GraphView, Vertex};
use std::fmt::Write;

impl Graph {
    /// *Returns* the graph as text with one line for each node: its number, its queue, its level, its name, the bytes
    /// that it reads, updates (reads and writes) and writes, the nodes that come before it, and the line of the program
    /// that captured it. Two graphs of the same capture have the same text, on every adapter.
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

/// Most characters of a column. A longer text makes only its own line longer.
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

/// Returns a text with escapes in place of the characters that would end the line.
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
    let (nodes, queues) = (counted(view.nodes, "node"), counted(view.queues.len(), "queue"));
    let levels = counted(view.columns as usize, "level");
    let contexts = match view.contexts {
        1 => String::new(),
        several => format!(" of {several} contexts"),
    };
    format!("graph `{}`: {nodes} on {queues}{contexts}, {levels}\n", on_one_line(&view.label))
}

/// Returns the name of a node, with its kind if the name does not say it.
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
    let (own, column, title) = (view.number(at), vertex.column, on_one_line(&title(vertex)));
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
