//! Which elements operations name: parts of arrays, and rows and windows of tables.

use super::op::Id;
use std::ops::Range;

/// Elements of an array; of a table, all of its memory.
#[derive(Clone, Copy, PartialEq)]
pub struct Part {
    pub a: Id,
    pub start: usize,
    pub len: usize,
}

/// Every so manyth element of a part, the last one included.
#[derive(Clone, Copy, PartialEq)]
pub struct Steps {
    pub part: Part,
    pub step: usize,
}

/// The shape of a table, and the shape of its memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    pub rows: usize,
    pub cols: usize,
    pub padded_rows: usize,
    pub padded_cols: usize,
}

/// Some rows of a table; all of them with the padding behind the last one if it is `whole`.
#[derive(Clone, Copy, PartialEq)]
pub struct Rows {
    pub a: Id,
    pub frame: Frame,
    pub start: usize,
    pub len: usize,
    pub whole: bool,
}

/// Indices of one axis.
#[derive(Clone, Copy, PartialEq)]
pub struct Every {
    pub first: usize,
    pub count: usize,
    pub step: usize,
}

/// A region of a table in both dimensions.
#[derive(Clone, Copy, PartialEq)]
pub struct Window {
    pub a: Id,
    pub frame: Frame,
    pub rows: Every,
    pub cols: Every,
}

/// What a region picks.
#[derive(Clone, Copy, PartialEq)]
pub enum Pick {
    Steps(Steps),
    Window(Window),
}

impl Part {
    pub fn end(self) -> usize {
        self.start + self.len
    }

    pub fn range(self) -> Range<usize> {
        self.start..self.end()
    }
}

impl Steps {
    /// Elements in all.
    pub fn count(self) -> usize {
        self.part.len.div_ceil(self.step)
    }
}

impl Frame {
    /// Elements of the memory.
    pub fn memory(self) -> usize {
        self.padded_rows * self.padded_cols
    }

    /// Whether there is any padding.
    pub fn is_padded(self) -> bool {
        (self.rows, self.cols) != (self.padded_rows, self.padded_cols)
    }
}

impl Rows {
    /// Their memory, the padding included.
    pub fn memory(self) -> Range<usize> {
        let width = self.frame.padded_cols;
        if self.whole { 0..self.frame.memory() } else { self.start * width..(self.start + self.len) * width }
    }

    /// The same rows as a window.
    pub fn window(self) -> Window {
        let rows = Every { first: self.start, count: self.len, step: 1 };
        let cols = Every { first: 0, count: self.frame.cols, step: 1 };
        Window { a: self.a, frame: self.frame, rows, cols }
    }
}

impl Every {
    pub fn last(self) -> usize {
        self.first + (self.count - 1) * self.step
    }

    pub fn range(self) -> Range<usize> {
        self.first..self.last() + 1
    }

    pub fn indices(self) -> impl Iterator<Item = usize> {
        self.range().step_by(self.step)
    }
}

impl Window {
    /// Where its elements lie in the table's memory, in C order.
    pub fn places(self) -> Vec<usize> {
        let row = |row: usize| self.cols.indices().map(move |col| row * self.frame.padded_cols + col);
        self.rows.indices().flat_map(row).collect()
    }

    /// The memory from the first element to the last.
    pub fn span(self) -> Range<usize> {
        let at = |row: usize, col: usize| row * self.frame.padded_cols + col;
        at(self.rows.first, self.cols.first)..at(self.rows.last(), self.cols.last()) + 1
    }
}

impl Pick {
    pub fn a(self) -> Id {
        match self {
            Pick::Steps(steps) => steps.part.a,
            Pick::Window(window) => window.a,
        }
    }

    /// Where the elements lie in memory, in C order.
    pub fn places(self) -> Vec<usize> {
        match self {
            Pick::Steps(steps) => steps.part.range().step_by(steps.step).collect(),
            Pick::Window(window) => window.places(),
        }
    }

    /// The memory from the first element to the last.
    pub fn span(self) -> Range<usize> {
        match self {
            Pick::Steps(steps) => steps.part.range(),
            Pick::Window(window) => window.span(),
        }
    }

    /// The shape of the region. A window of one row, or of one column, has one dimension.
    pub fn shape(self) -> Vec<usize> {
        match self {
            Pick::Steps(steps) => vec![steps.count()],
            Pick::Window(Window { rows, cols, .. }) if rows.count > 1 && cols.count > 1 => {
                vec![rows.count, cols.count]
            }
            Pick::Window(Window { rows, cols, .. }) => vec![rows.count.max(cols.count)],
        }
    }
}
