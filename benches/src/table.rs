use std::io::{Result, Write};

/// Text in columns: the first few aligned to the left, numbers to the right.
pub(crate) struct Table {
    lines: Vec<Vec<String>>,
    left: usize,
}

impl Table {
    pub(crate) fn new(left: usize, header: &[&str]) -> Self {
        Self { lines: vec![header.iter().map(|&cell| cell.to_owned()).collect()], left }
    }

    /// Returns `true` if the table has only its header.
    pub(crate) fn is_empty(&self) -> bool {
        self.lines.len() == 1
    }

    pub(crate) fn line(&mut self, cells: Vec<String>) {
        self.lines.push(cells);
    }

    /// Adds an empty line between groups, but none below the header.
    pub(crate) fn gap(&mut self) {
        if !self.is_empty() {
            self.lines.push(Vec::new());
        }
    }

    pub(crate) fn write(&self, out: &mut dyn Write) -> Result<()> {
        let columns = self.lines.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns).map(|column| self.width(column)).collect();
        for line in &self.lines {
            let mut text = String::new();
            for (column, (cell, width)) in line.iter().zip(&widths).enumerate() {
                let padding = " ".repeat(width - cell.chars().count());
                let (before, after) = if column < self.left { ("", &*padding) } else { (&*padding, "") };
                text += &format!("{before}{cell}{after}  ");
            }
            writeln!(out, "{}", text.trim_end())?;
        }
        Ok(())
    }

    fn width(&self, column: usize) -> usize {
        self.lines
            .iter()
            .filter_map(|line| line.get(column))
            .map(|cell| cell.chars().count())
            .max()
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::Table;

    #[test]
    fn numbers_are_aligned_to_the_right() {
        let mut table = Table::new(1, &["name", "µs"]);
        table.line(vec!["a".into(), "12.5".into()]);
        let mut text = Vec::new();
        table.write(&mut text).expect("a Vec takes all");
        assert_eq!(String::from_utf8(text).expect("text"), "name    µs\na     12.5\n");
    }
}
