//! Elements that operations use: parts of arrays, and rows and windows of tables.

use super::op::Id;
use std::ops::Range;

/// A range of elements of an array. The range of a table covers all of its memory.
#[derive(Clone, Copy, PartialEq)]
pub struct Part {
    pub a: Id,
    pub start: usize,
    pub len: usize,
}

/// Every `step`-th element of a part. The last element of the part is one of them.
#[derive(Clone, Copy, PartialEq)]
pub struct Steps {
    pub part: Part,
    pub step: usize,
}

/// Shape of a table, and shape of its memory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Frame {
    pub rows: usize,
    pub cols: usize,
    pub padded_rows: usize,
    pub padded_cols: usize,
}

/// Some rows of a table. If `whole` is set, all rows, including the padding after the last one.
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

/// Elements of a region.
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
    /// Counts the elements.
    pub fn count(self) -> usize {
        self.part.len.div_ceil(self.step)
    }
}

impl Frame {
    /// Counts the elements of the memory.
    pub fn memory(self) -> usize {
        self.padded_rows * self.padded_cols
    }

    /// Returns `true` if the memory has padding.
    pub fn is_padded(self) -> bool {
        (self.rows, self.cols) != (self.padded_rows, self.padded_cols)
    }
}

impl Rows {
    /// Returns their memory, including the padding.
    pub fn memory(self) -> Range<usize> {
        let width = self.frame.padded_cols;
        if self.whole { 0..self.frame.memory() } else { self.start * width..(self.start + self.len) * width }
    }

    /// Returns the same rows as a window.
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
    /// Returns the positions of its elements in the table's memory, in C order.
    pub fn places(self) -> Vec<usize> {
        let row = |row: usize| self.cols.indices().map(move |col| row * self.frame.padded_cols + col);
        self.rows.indices().flat_map(row).collect()
    }

    /// Returns the memory from the first element to the last.
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

    /// Returns the positions of the elements in memory, in C order.
    pub fn places(self) -> Vec<usize> {
        match self {
            Pick::Steps(steps) => steps.part.range().step_by(steps.step).collect(),
            Pick::Window(window) => window.places(),
        }
    }

    /// Returns the memory from the first element to the last.
    pub fn span(self) -> Range<usize> {
        match self {
            Pick::Steps(steps) => steps.part.range(),
            Pick::Window(window) => window.span(),
        }
    }

    /// Returns the shape of the region. A window of one row, or of one column, has one dimension.
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
