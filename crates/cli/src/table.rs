//! Tables of plain text: their columns are two spaces apart, without lines around them.

use comfy_table::{CellAlignment, Table, presets};

/// A table that is filled row by row.
pub(crate) struct Columns {
    table: Table,
}

impl Columns {
    /// Makes a table without a heading.
    pub(crate) fn new() -> Self {
        let mut table = Table::new();
        table.load_style(presets::NOTHING);
        Self { table }
    }

    /// Makes a table with a heading.
    pub(crate) fn with_heading<S: ToString>(heading: impl IntoIterator<Item = S>) -> Self {
        let mut columns = Self::new();
        columns.table.set_header(heading.into_iter().map(|cell| cell.to_string()));
        columns
    }

    /// Adds a row.
    pub(crate) fn row<S: ToString>(&mut self, row: impl IntoIterator<Item = S>) {
        self.table.add_row(row.into_iter().map(|cell| cell.to_string()));
    }

    /// Aligns the numbers of a column, counted from 0.
    pub(crate) fn right(&mut self, column: usize) {
        if let Some(column) = self.table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }

    /// Returns the text, with a line end after each row and no space before it.
    pub(crate) fn text(mut self) -> String {
        for column in self.table.column_iter_mut() {
            column.set_padding((0, 2));
        }
        self.table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_no_line_ends_in_a_space() {
        let mut columns = Columns::with_heading(["name", "size"]);
        columns.row(["x", "12"]);
        columns.row(["a longer one", "3"]);
        columns.right(1);
        assert_eq!(columns.text(), "name          size\nx               12\na longer one     3\n");
    }
}
