//! Sets of intervals: their union, intersection, gaps and length.
//!
//! The functions sort the intervals and sweep over them once: V. Klee, Can the measure of a union of intervals be
//! computed in less than O(n log n) steps?, 1977; J. L. Bentley.

use crate::row::Interval;

/// Returns the union of the intervals, as sorted intervals that do not touch.
pub(crate) fn union(intervals: impl IntoIterator<Item = Interval>) -> Vec<Interval> {
    let mut all: Vec<Interval> = intervals.into_iter().collect();
    all.sort_unstable_by(|a, b| a.start.total_cmp(&b.start));
    let mut union: Vec<Interval> = Vec::new();
    for next in all {
        match union.last_mut() {
            Some(last) if next.start <= last.end => last.end = last.end.max(next.end),
            _ => union.push(next),
        }
    }
    union
}

/// Returns the intersection of two unions.
pub(crate) fn both(a: &[Interval], b: &[Interval]) -> Vec<Interval> {
    let mut i = 0;
    let mut j = 0;
    let mut shared = Vec::new();
    while let (Some(x), Some(y)) = (a.get(i), b.get(j)) {
        let start = x.start.max(y.start);
        let end = x.end.min(y.end);
        if start < end {
            shared.push(Interval { start, end });
        }
        if x.end < y.end { i += 1 } else { j += 1 }
    }
    shared
}

/// Returns the gaps between the intervals of a union.
pub(crate) fn gaps(union: &[Interval]) -> Vec<Interval> {
    union.windows(2).map(|pair| Interval { start: pair[0].end, end: pair[1].start }).collect()
}

pub(crate) fn seconds<'a>(intervals: impl IntoIterator<Item = &'a Interval>) -> f64 {
    intervals.into_iter().map(Interval::seconds).fold(0.0, |sum, seconds| sum + seconds) // an empty `sum` is -0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spans(spans: &[(f64, f64)]) -> Vec<Interval> {
        spans.iter().map(|&(start, end)| Interval { start, end }).collect()
    }

    #[test]
    fn a_union_covers_each_moment_once() {
        let all = union(spans(&[(5.0, 6.0), (1.0, 3.0), (2.0, 2.5), (3.0, 4.0)]));
        assert_eq!(all, spans(&[(1.0, 4.0), (5.0, 6.0)]));
        assert_eq!((seconds(&all), gaps(&all)), (4.0, spans(&[(4.0, 5.0)])));
    }

    #[test]
    fn the_intersection_of_two_unions_is_in_both() {
        let a = spans(&[(0.0, 2.0), (3.0, 6.0)]);
        let b = spans(&[(1.0, 4.0), (5.0, 5.5), (6.0, 7.0)]);
        assert_eq!(both(&a, &b), spans(&[(1.0, 2.0), (3.0, 4.0), (5.0, 5.5)]));
        assert_eq!(both(&b, &a), both(&a, &b));
        assert_eq!(both(&a, &[]), []);
    }
}
