//! The lines of the edges of a drawing, which cross no box.

use crate::api::graph::graph_view::{GraphView, ViewEdge};
use std::collections::HashMap;

/// Half of the space between two columns.
const REACH: f64 = 26.0;
/// Length of an arrow's head.
const ARROW: f64 = 7.0;
/// Number of parallel lines that fit between two rows.
const TRACKS: usize = 5;

/// SVG paths of an edge and of its head.
pub(crate) struct Line {
    pub(crate) path: String,
    pub(crate) head: String,
}

/// The route of an edge from box to box.
pub(crate) struct Route {
    from: [f64; 2],
    to: [f64; 2],
    /// Height of the line between two rows, if a box may be on the straight line.
    detour: Option<f64>,
}

impl Route {
    /// Returns the lines of the edges. `place` returns the left, top, right and bottom end of a box.
    pub(crate) fn all(view: &GraphView, edges: &[ViewEdge], place: impl Fn(u32) -> [f64; 4]) -> Vec<Line> {
        let (leaving, arriving) = (
            places(view, edges, |edge| [edge.from, edge.to]),
            places(view, edges, |edge| [edge.to, edge.from]),
        );
        let mut tracks: HashMap<i64, usize> = HashMap::new();
        let line = |(at, edge): (usize, &ViewEdge)| {
            let (from, to) = (place(edge.from), place(edge.to));
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

    fn line(&self) -> Line {
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
                let (out, back) = (x + 2.0 * REACH, tip - 2.0 * REACH);
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
        Line { path, head }
    }
}

/// Returns for each edge its place among the edges of one of its ends, and the number of those edges. The places are in
/// the order of the rows at the other ends, so that the edges do not cross.
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

/// Returns the height at which an edge meets the box `own`. A tall box is met at the height of the other box.
fn height(own: [f64; 4], other: [f64; 4], (at, count): (usize, usize)) -> f64 {
    let middle = |place: [f64; 4]| f64::midpoint(place[1], place[3]);
    let is_tall = |place: [f64; 4]| place[3] - place[1] > 50.0;
    if is_tall(own) && !is_tall(other) {
        return middle(other);
    }
    let step = f64::min(9.0, 26.0 / count as f64);
    middle(own) + (at as f64 - (count - 1) as f64 / 2.0) * step
}

/// Returns `true` if the straight line may cross a box: a box is in a column between the ends, and it is in the row of
/// both ends or the ends are in different rows.
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

/// Returns the middle of the space next to the row of `to`, on the side of `from`.
fn gutter(from: [f64; 4], to: [f64; 4]) -> f64 {
    if from[1] < to[1] { to[1] - 22.0 } else { to[3] + 22.0 }
}
