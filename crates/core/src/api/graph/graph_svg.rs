//! The drawing of a graph as SVG.

mod routes;

use crate::api::graph::graph_handle::Graph;
use crate::api::graph::graph_svg::routes::{Line, Route};
use crate::api::graph::graph_text::{accesses, title};
use crate::api::graph::graph_view::{GraphView, Vertex, VertexKind, ViewEdge, drawn_edges, longest_path};
use std::collections::HashSet;
use std::fmt::Write;

/// Width of a letter of the drawing's font, in units.
const LETTER: f64 = 7.3;
/// Most letters in a box. The tooltip has the whole text.
const MOST_LETTERS: usize = 26;
const BOX_HEIGHT: f64 = 40.0;
/// Space between two rows, in units. `COLUMN_GAP` is the space between two columns.
const ROW_GAP: f64 = 44.0;
const COLUMN_GAP: f64 = 52.0;
const TOP: f64 = 84.0;
const LEFT: f64 = 24.0;

/// Style sheet of the drawing, for light and dark pages.
const STYLE: &str = include_str!("graph_svg/style.css");

impl Graph {
    /// *Returns* a drawing of the graph as a self-contained SVG document. Columns are levels and rows are captured
    /// queues. A box is a node, and its tooltip has the bytes that the node uses and the line that captured it. Edges
    /// that follow from other edges are left out. A dashed edge is the order of a queue, and the native recorder needs
    /// a barrier at a red edge. Thick outlines mark a longest path, where each node counts as one.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let mut x = ctx.zeros::<u32, 1>([4])?;
    /// let (graph, ()) = queue.capture(|c| c.fill(&mut x, 7))?;
    /// let svg = graph.to_svg();
    /// assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"));
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn to_svg(&self) -> String {
        let view = GraphView::of(self);
        let drawing = Drawing::new(&view);
        let edges = drawn_edges(self, &view);
        let path: HashSet<u32> = longest_path(&view).into_iter().collect();
        let mut svg = drawing.head();
        drawing.rows(&mut svg);
        drawing.columns(&mut svg);
        drawing.edges(&mut svg, &edges, &path);
        for (at, vertex) in view.vertices.iter().enumerate() {
            drawing.vertex(&mut svg, at as u32, vertex, path.contains(&(at as u32)));
        }
        drawing.legend(&mut svg, &edges);
        svg.push_str("</svg>\n");
        svg
    }
}

/// Returns text for an XML document. Characters that XML cannot hold become U+FFFD.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(letter),
            '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// Returns at most `most` letters of a text.
fn shortened(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.into();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

/// Layout of a drawing.
struct Drawing<'v> {
    view: &'v GraphView,
    /// Left and right end of each column.
    columns: Vec<[f64; 2]>,
    width: f64,
    height: f64,
}

impl<'v> Drawing<'v> {
    fn new(view: &'v GraphView) -> Self {
        let labels = view.queues.iter().map(|queue| queue.chars().count().min(MOST_LETTERS)).max();
        let start = LEFT + labels.unwrap_or(0) as f64 * LETTER + COLUMN_GAP;
        let mut widths = vec![0.0; view.columns as usize];
        for (at, vertex) in view.vertices.iter().enumerate() {
            let width = &mut widths[vertex.column as usize];
            *width = f64::max(*width, box_width(view, at as u32, vertex));
        }
        let mut left = start;
        let mut columns = Vec::with_capacity(widths.len());
        for width in widths {
            columns.push([left, left + width]);
            left += width + COLUMN_GAP;
        }
        let height = TOP + view.queues.len() as f64 * (BOX_HEIGHT + ROW_GAP) + 64.0;
        Self { view, columns, width: left.max(760.0), height }
    }

    fn top(row: u32) -> f64 {
        TOP + f64::from(row) * (BOX_HEIGHT + ROW_GAP)
    }

    fn bottom(&self) -> f64 {
        Self::top(self.view.queues.len() as u32) - ROW_GAP
    }

    fn head(&self) -> String {
        let (width, height) = (self.width, self.height);
        let name = escaped(&self.view.label);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\">\n<title>Graph {name}</title>\n"
        );
        let (nodes, columns) = (self.view.nodes, self.view.columns);
        let _ =
            writeln!(svg, "<style>\n{STYLE}</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>");
        let _ = writeln!(svg, "<text class=\"name\" x=\"{LEFT}\" y=\"32\">Graph {name}</text>");
        let _ = writeln!(
            svg,
            "<text class=\"soft\" x=\"{LEFT}\" y=\"52\">{nodes} nodes, {columns} levels</text>"
        );
        svg
    }

    /// Draws the names of the queues, each with a band.
    fn rows(&self, svg: &mut String) {
        for (row, label) in self.view.queues.iter().enumerate() {
            let (top, width) = (Self::top(row as u32) - 8.0, self.width - 2.0 * LEFT + 16.0);
            let (height, middle) = (BOX_HEIGHT + 16.0, Self::top(row as u32) + BOX_HEIGHT / 2.0 + 4.0);
            let (left, short) = (LEFT - 8.0, escaped(&shortened(label, MOST_LETTERS)));
            let _ = writeln!(
                svg,
                "<rect class=\"band\" x=\"{left}\" y=\"{top}\" width=\"{width:.0}\" height=\"{height}\" rx=\"8\"/>"
            );
            let _ = writeln!(
                svg,
                "<g><title>queue {}</title><text class=\"queue\" x=\"{LEFT}\" y=\"{middle}\">{short}</text></g>",
                escaped(label)
            );
        }
    }

    /// Draws the numbers of the levels.
    fn columns(&self, svg: &mut String) {
        for (at, [left, right]) in self.columns.iter().enumerate() {
            let middle = f64::midpoint(*left, *right);
            let _ = writeln!(
                svg,
                "<text class=\"level\" x=\"{middle:.1}\" y=\"{}\">{at}</text>",
                Self::top(0) - 16.0
            );
        }
    }

    /// Draws the edges: thin ones first, and those of the longest path last.
    fn edges(&self, svg: &mut String, edges: &[ViewEdge], path: &HashSet<u32>) {
        // A longest path goes from level to level.
        let column = |at: u32| self.view.vertices[at as usize].column;
        let on_path = |edge: &ViewEdge| {
            let is_next = column(edge.from) + 1 == column(edge.to);
            is_next && path.contains(&edge.from) && path.contains(&edge.to)
        };
        let routes = Route::all(self.view, edges, |at| self.place(at));
        let mut drawn: Vec<(&ViewEdge, &Line)> = edges.iter().zip(&routes).collect();
        drawn.sort_by_key(|(edge, _)| (on_path(edge), edge.barrier));
        for (edge, line) in drawn {
            let mut class = String::from("edge");
            for (is, word) in [(edge.of_queue, "order"), (edge.barrier, "barrier"), (on_path(edge), "path")] {
                if is {
                    let _ = write!(class, " {word}");
                }
            }
            let (from, to) = (self.view.number(edge.from), self.view.number(edge.to));
            let why = if edge.barrier { ", with a barrier" } else { "" };
            let _ = writeln!(
                svg,
                "<g class=\"{class}\"><title>{from} before {to}{why}</title><path d=\"{}\"/><path class=\"head\" d=\"{}\"/></g>",
                line.path, line.head
            );
        }
    }

    /// Returns the place of a vertex: left, top, right, bottom. A host callback crosses all rows.
    fn place(&self, at: u32) -> [f64; 4] {
        let vertex = &self.view.vertices[at as usize];
        let [left, right] = self.columns[vertex.column as usize];
        match vertex.queue {
            Some(row) => [left, Self::top(row), right, Self::top(row) + BOX_HEIGHT],
            None => [left, Self::top(0) - 8.0, right, self.bottom() + 8.0],
        }
    }

    fn vertex(&self, svg: &mut String, at: u32, vertex: &Vertex, on_path: bool) {
        let [left, top, right, bottom] = self.place(at);
        let class = format!("{}{}", vertex.kind.word(), if on_path { " path" } else { "" });
        let _ = writeln!(
            svg,
            "<g class=\"node {class}\"><title>{}</title>{}{}</g>",
            escaped(&tooltip(self.view, at, vertex)),
            outline(vertex.kind, [left, top, right, bottom], 5),
            self.caption(at, vertex)
        );
    }

    fn caption(&self, at: u32, vertex: &Vertex) -> String {
        let [left, top, right, bottom] = self.place(at);
        let (x, y) = (f64::midpoint(left, right), f64::midpoint(top, bottom));
        if vertex.queue.is_none() {
            let turn = format!("rotate(-90 {x:.1} {y:.1})");
            return format!("<text x=\"{x:.1}\" y=\"{:.1}\" transform=\"{turn}\">host</text>", y + 4.0);
        }
        let name = escaped(&shortened(&vertex.name, MOST_LETTERS));
        let number = self.view.number(at);
        let kind = if vertex.name == vertex.kind.word() { "" } else { vertex.kind.word() };
        let detail = format!("{number} {kind}");
        format!(
            "<text x=\"{x:.1}\" y=\"{:.1}\">{name}</text><text class=\"small\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>",
            y - 2.0,
            y + 13.0,
            detail.trim_end()
        )
    }

    /// Draws the meaning of the colours and lines that the drawing has.
    fn legend(&self, svg: &mut String, edges: &[ViewEdge]) {
        let (mut x, y) = (LEFT, self.bottom() + 56.0);
        for kind in VertexKind::ALL {
            if self.view.vertices.iter().any(|vertex| vertex.kind == kind) {
                let word = kind.word();
                let _ = writeln!(
                    svg,
                    "<g class=\"node {word}\">{}</g><text class=\"soft\" x=\"{}\" y=\"{y}\">{word}</text>",
                    outline(kind, [x, y - 11.0, x + 14.0, y + 3.0], 3),
                    x + 20.0
                );
                x += 40.0 + word.len() as f64 * LETTER;
            }
        }
        let (mut x, y) = (LEFT, y + 26.0);
        let some = |is: fn(&ViewEdge) -> bool| edges.iter().any(is);
        let lines = [
            ("edge order", "order of a queue", some(|edge| edge.of_queue)),
            ("edge", "order between queues", some(|edge| !edge.of_queue)),
            ("edge barrier", "barrier", some(|edge| edge.barrier)),
            ("edge path", "longest path", !edges.is_empty()),
        ];
        for (class, text, _) in lines.into_iter().filter(|(.., is)| *is) {
            let _ = writeln!(
                svg,
                "<g class=\"{class}\"><path d=\"M{x} {}h34\"/></g><text class=\"soft\" x=\"{}\" y=\"{y}\">{text}</text>",
                y - 4.0,
                x + 42.0
            );
            x += 66.0 + text.len() as f64 * LETTER;
        }
    }
}

/// Returns the outline of a vertex at a place: left, top, right, bottom. A gate has pointed ends.
fn outline(kind: VertexKind, [left, top, right, bottom]: [f64; 4], radius: u32) -> String {
    let (width, height) = (right - left, bottom - top);
    if kind != VertexKind::Gate {
        return format!(
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{radius}\"/>"
        );
    }
    let (slant, middle) = (height / 4.0, f64::midpoint(top, bottom));
    let (from, to) = (left + slant, right - slant);
    format!(
        "<polygon points=\"{left:.1},{middle:.1} {from:.1},{top:.1} {to:.1},{top:.1} {right:.1},{middle:.1} \
         {to:.1},{bottom:.1} {from:.1},{bottom:.1}\"/>"
    )
}

/// Returns the width of the box of a vertex.
fn box_width(view: &GraphView, at: u32, vertex: &Vertex) -> f64 {
    if vertex.queue.is_none() {
        return 32.0;
    }
    let name = vertex.name.chars().count().min(MOST_LETTERS) as f64 * LETTER;
    let detail = (view.number(at).len() + 1 + vertex.kind.word().len()) as f64 * 6.2;
    f64::max(name, detail).max(44.0) + 22.0
}

/// Returns all that is known about a vertex.
fn tooltip(view: &GraphView, at: u32, vertex: &Vertex) -> String {
    let mut lines = vec![format!("{}: {}", view.number(at), title(vertex))];
    lines.extend(
        vertex.queue.map(|queue| format!("queue {}, level {}", view.queues[queue as usize], vertex.column)),
    );
    lines.extend(Some(accesses(vertex)).filter(|accesses| !accesses.is_empty()));
    lines.extend(vertex.at.map(|at| format!("at {at}")));
    lines.join("\n")
}
