//! The drawing of a graph as SVG. Lines of edges never cross boxes.

use crate::api::graph::Graph;
use crate::api::graph::graph_view::{
    GraphView, Vertex, VertexKind, ViewEdge, accesses, drawn_edges, longest_path, title,
};
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

/// Width of a letter in the font of the drawing, in SVG units.
const LETTER: f64 = 7.3;
/// Maximum number of letters in a box. The tooltip has the whole text.
const MOST_LETTERS: usize = 26;
const BOX_HEIGHT: f64 = 40.0;
/// Space between two rows, in SVG units; `COLUMN_GAP` is that between two columns.
const ROW_GAP: f64 = 44.0;
const COLUMN_GAP: f64 = 52.0;
const TOP: f64 = 84.0;
const LEFT: f64 = 24.0;

/// Style sheet of the drawing, for light and dark pages.
const STYLE: &str = include_str!("graph_svg/style.css");

impl Graph {
    /// *Returns* a drawing of the graph as a self-contained SVG document. Columns are levels and rows are captured
    /// queues. A box is a node; its tooltip shows the bytes that the node uses and the line that captured it. Edges
    /// implied by other edges are left out. A dashed edge is the order of a queue. At a red edge, the native recorder
    /// needs a barrier. Thick outlines mark a longest path, counted in nodes.
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

/// Escapes a text for XML. Characters that XML cannot represent become U+FFFD.
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
        let width = self.width;
        let height = self.height;
        let name = escaped(&self.view.label);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             width=\"{width:.0}\" height=\"{height:.0}\" role=\"img\">\n<title>Graph {name}</title>\n"
        );
        let nodes = self.view.nodes;
        let columns = self.view.columns;
        let _ =
            writeln!(svg, "<style>\n{STYLE}</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>");
        let _ = writeln!(svg, "<text class=\"name\" x=\"{LEFT}\" y=\"32\">Graph {name}</text>");
        let _ = writeln!(
            svg,
            "<text class=\"soft\" x=\"{LEFT}\" y=\"52\">{nodes} nodes, {columns} levels</text>"
        );
        svg
    }

    /// Draws the band and the name of each queue.
    fn rows(&self, svg: &mut String) {
        for (row, label) in self.view.queues.iter().enumerate() {
            let top = Self::top(row as u32) - 8.0;
            let width = self.width - 2.0 * LEFT + 16.0;
            let height = BOX_HEIGHT + 16.0;
            let middle = Self::top(row as u32) + BOX_HEIGHT / 2.0 + 4.0;
            let left = LEFT - 8.0;
            let short = escaped(&shortened(label, MOST_LETTERS));
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
        // The edges of a longest path go from one level to the next.
        let column = |at: u32| self.view.vertices[at as usize].column;
        let on_path = |edge: &ViewEdge| {
            let is_next = column(edge.from) + 1 == column(edge.to);
            is_next && path.contains(&edge.from) && path.contains(&edge.to)
        };
        let routes = Route::all(self.view, edges, |at| self.place(at));
        let mut drawn: Vec<(&ViewEdge, &EdgePaths)> = edges.iter().zip(&routes).collect();
        drawn.sort_by_key(|(edge, _)| (on_path(edge), edge.barrier));
        for (edge, line) in drawn {
            let mut class = String::from("edge");
            for (is, word) in [(edge.of_queue, "order"), (edge.barrier, "barrier"), (on_path(edge), "path")] {
                if is {
                    let _ = write!(class, " {word}");
                }
            }
            let from = self.view.number(edge.from);
            let to = self.view.number(edge.to);
            let why = if edge.barrier { ", with a barrier" } else { "" };
            let _ = writeln!(
                svg,
                "<g class=\"{class}\"><title>{from} before {to}{why}</title><path d=\"{}\"/><path class=\"head\" d=\"{}\"/></g>",
                line.path, line.head
            );
        }
    }

    /// Returns the left, top, right and bottom of a vertex. A host callback crosses all rows.
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
        let x = f64::midpoint(left, right);
        let y = f64::midpoint(top, bottom);
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

    /// Draws a legend of the colours and line styles that occur in the drawing.
    fn legend(&self, svg: &mut String, edges: &[ViewEdge]) {
        let mut x = LEFT;
        let y = self.bottom() + 56.0;
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
        let mut x = LEFT;
        let y = y + 26.0;
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

/// Returns the outline of a vertex with the given left, top, right and bottom. A gate has pointed ends.
fn outline(kind: VertexKind, [left, top, right, bottom]: [f64; 4], radius: u32) -> String {
    let width = right - left;
    let height = bottom - top;
    if kind != VertexKind::Gate {
        return format!(
            "<rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{radius}\"/>"
        );
    }
    let slant = height / 4.0;
    let middle = f64::midpoint(top, bottom);
    let from = left + slant;
    let to = right - slant;
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

/// Returns the tooltip of a vertex, with everything known about it.
fn tooltip(view: &GraphView, at: u32, vertex: &Vertex) -> String {
    let mut lines = vec![format!("{}: {}", view.number(at), title(vertex))];
    lines.extend(
        vertex.queue.map(|queue| format!("queue {}, level {}", view.queues[queue as usize], vertex.column)),
    );
    lines.extend(Some(accesses(vertex)).filter(|accesses| !accesses.is_empty()));
    lines.extend(vertex.at.map(|at| format!("at {at}")));
    lines.join("\n")
}

/// Half of the space between two columns, in SVG units.
const REACH: f64 = 26.0;
/// Length of an arrowhead.
const ARROW: f64 = 7.0;
/// Number of parallel lines that fit between two rows.
const TRACKS: usize = 5;

/// SVG paths of an edge and of its head.
pub(crate) struct EdgePaths {
    pub(crate) path: String,
    pub(crate) head: String,
}

/// The route of an edge from box to box.
pub(crate) struct Route {
    from: [f64; 2],
    to: [f64; 2],
    /// Height of the detour between two rows, if a box may be on the straight line.
    detour: Option<f64>,
}

impl Route {
    /// Returns the lines of the edges. `place` returns the left, top, right and bottom end of a box.
    pub(crate) fn all(
        view: &GraphView,
        edges: &[ViewEdge],
        place: impl Fn(u32) -> [f64; 4],
    ) -> Vec<EdgePaths> {
        let leaving = places(view, edges, |edge| [edge.from, edge.to]);
        let arriving = places(view, edges, |edge| [edge.to, edge.from]);
        let mut tracks: HashMap<i64, usize> = HashMap::new();
        let line = |(at, edge): (usize, &ViewEdge)| {
            let from = place(edge.from);
            let to = place(edge.to);
            let mut route = Self {
                from: [from[2], height(from, to, leaving[at])],
                to: [to[0], height(to, from, arriving[at])],
                detour: None,
            };
            if needs_detour(view, edge) {
                let base = gutter(from, to);
                let track = tracks.entry(base as i64).or_default();
                route.detour = Some(base + ((*track % TRACKS) as f64 - TRACKS as f64 / 2.0) * 5.0);
                *track += 1;
            }
            route.line()
        };
        edges.iter().enumerate().map(line).collect()
    }

    fn line(&self) -> EdgePaths {
        let ([x, y], [tip, end]) = (self.from, self.to);
        let last = tip - ARROW + 1.0;
        let path = match self.detour {
            None => {
                let bend = (last - x) / 2.0;
                format!(
                    "M{x:.1} {y:.1}C{:.1} {y:.1} {:.1} {end:.1} {last:.1} {end:.1}",
                    x + bend,
                    last - bend
                )
            }
            Some(track) => {
                let out = x + 2.0 * REACH;
                let back = tip - 2.0 * REACH;
                format!(
                    "M{x:.1} {y:.1}C{:.1} {y:.1} {:.1} {track:.1} {out:.1} {track:.1}\
                     H{back:.1}C{:.1} {track:.1} {:.1} {end:.1} {last:.1} {end:.1}",
                    x + REACH,
                    out - REACH,
                    back + REACH,
                    last - REACH
                )
            }
        };
        let head = format!("M{tip:.1} {end:.1}l-{ARROW} -3.5v7z");
        EdgePaths { path, head }
    }
}

/// Returns, for each edge, its position among the edges at one of its ends, and the number of those edges. The
/// positions follow the rows of the other ends, so that the edges do not cross.
fn places(view: &GraphView, edges: &[ViewEdge], ends: impl Fn(&ViewEdge) -> [u32; 2]) -> Vec<(usize, usize)> {
    let row = |edge: &ViewEdge| view.vertices[ends(edge)[1] as usize].queue;
    let mut order: Vec<usize> = (0..edges.len()).collect();
    order.sort_by_key(|&at| (ends(&edges[at])[0], row(&edges[at]), ends(&edges[at])[1]));
    let mut places = vec![(0, 0); edges.len()];
    for of_vertex in order.chunk_by(|&a, &b| ends(&edges[a])[0] == ends(&edges[b])[0]) {
        for (place, &at) in of_vertex.iter().enumerate() {
            places[at] = (place, of_vertex.len());
        }
    }
    places
}

/// Returns the height at which an edge meets the box `own`. An edge meets a tall box at the height of the other box.
fn height(own: [f64; 4], other: [f64; 4], (at, count): (usize, usize)) -> f64 {
    let middle = |place: [f64; 4]| f64::midpoint(place[1], place[3]);
    let is_tall = |place: [f64; 4]| place[3] - place[1] > 50.0;
    if is_tall(own) && !is_tall(other) {
        return middle(other);
    }
    let step = f64::min(9.0, 26.0 / count as f64);
    middle(own) + (at as f64 - (count - 1) as f64 / 2.0) * step
}

/// Returns `true` if the straight line may cross a box: if the ends are in different rows, or a box between them is in
/// their row. A line between neighbouring columns never does.
fn needs_detour(view: &GraphView, edge: &ViewEdge) -> bool {
    let [from, to] = [edge.from, edge.to].map(|at| &view.vertices[at as usize]);
    if from.column + 1 == to.column {
        return false;
    }
    let row = to.queue.or(from.queue);
    let is_between = from.queue.is_some() && to.queue.is_some() && from.queue != to.queue;
    is_between
        || to.column <= from.column
        || view.vertices.iter().any(|other| {
            let inside = from.column < other.column && other.column < to.column;
            inside && (other.queue == row || other.queue.is_none())
        })
}

/// Returns the middle of the gap next to the row of `to`, on the side of `from`.
fn gutter(from: [f64; 4], to: [f64; 4]) -> f64 {
    if from[1] < to[1] { to[1] - 22.0 } else { to[3] + 22.0 }
}
