//! Reads tables of numbers: `.csv`.

use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use anyhow::{Context, Error, Result, anyhow, bail};
use csv::{ReaderBuilder, StringRecord, Trim};

use super::host::{Limit, Numbers, open, parse, quoted};
use super::number::Number;
use crate::bytes::bytes;

/// Largest row in bytes.
const MOST_ROW_BYTES: usize = 16 << 20;

/// Bytes that some programs write before a text.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// Fields that mark a missing number.
const MISSING: [&str; 3] = ["na", "n/a", "null"];

/// Fields of spreadsheets that have an error in place of a number.
const ERRORS: [&str; 7] = ["#DIV/0!", "#N/A", "#NAME?", "#NULL!", "#NUM!", "#REF!", "#VALUE!"];

/// Reads a table, or a column of it by its name or its number from 1. Lines that start with `#` are comments. The first
/// row is a heading if no field of it is a number, and a field of it can be a name.
///
/// # Errors
/// The file cannot be read, has no rows, has rows of different lengths, lacks the column, or has a field that is no
/// number of the type; or the numbers exceed the limit.
pub(super) fn read<T: Number>(path: &Path, column: Option<&str>, limit: &Limit) -> Result<Numbers<T>> {
    table(&quoted(path), BufReader::new(open(path)?), column, limit)
}

/// Columns of a table.
struct Columns {
    names: Option<StringRecord>,
    count: usize,
    /// Index of the wanted column; `None` if all are wanted.
    wanted: Option<usize>,
}

fn table<T: Number>(
    name: &str,
    from: impl BufRead,
    column: Option<&str>,
    limit: &Limit,
) -> Result<Numbers<T>> {
    let no_rows = || anyhow!("{name} has no row of numbers: it needs at least one");
    let mut rows = Rows::new(name, from);
    let mut place = rows.read()?;
    if place.is_none() {
        return Err(no_rows());
    }
    let is_heading = is_heading(&rows.fields);
    let columns = Columns::new(name, &rows.fields, is_heading, column)?;
    if is_heading {
        place = rows.read()?;
    }
    let mut count = 0;
    let mut data = Vec::new();
    while let Some(at) = place {
        count += 1;
        columns.add(name, at, &rows.fields, &mut data)?;
        let size = data.len() as u64 * T::SCALAR.size() as u64;
        if size > limit.bytes {
            limit.check(&format!("{name} has numbers of more than {} bytes", limit.bytes), size.into())?;
        }
        place = rows.read()?;
    }
    if count == 0 {
        return Err(no_rows());
    }
    let is_vector = columns.wanted.is_some() || columns.count == 1;
    Ok(Numbers { shape: if is_vector { vec![count] } else { vec![count, columns.count] }, data })
}

/// Returns `true` if a first row has names of columns. Numbers in another notation and marks of missing numbers are no
/// names.
fn is_heading(row: &StringRecord) -> bool {
    let is_name = |field: &str| {
        let is_missing = MISSING.iter().chain(&ERRORS).any(|mark| field.eq_ignore_ascii_case(mark));
        !field.is_empty()
            && !is_missing
            && !field.starts_with(|c: char| c.is_ascii_digit() || "+-.".contains(c))
    };
    row.iter().all(|field| field.parse::<f64>().is_err()) && row.iter().any(is_name)
}

impl Columns {
    /// Finds the columns in the first row of a table.
    fn new(name: &str, first: &StringRecord, is_heading: bool, wanted: Option<&str>) -> Result<Self> {
        let columns = Self { names: is_heading.then(|| first.clone()), count: first.len(), wanted: None };
        let wanted = wanted.map(|wanted| columns.index(name, wanted)).transpose()?;
        Ok(Self { wanted, ..columns })
    }

    /// Returns the index of a column.
    fn index(&self, name: &str, wanted: &str) -> Result<usize> {
        let named = self.names.as_ref().and_then(|names| names.iter().position(|known| known == wanted));
        let numbered = wanted.parse::<usize>().ok().filter(|number| (1..=self.count).contains(number));
        match (named, numbered, &self.names) {
            (Some(at), ..) => Ok(at),
            (None, Some(number), _) => Ok(number - 1),
            (None, None, Some(names)) => {
                let names: Vec<String> = names.iter().map(|known| format!("`{known}`")).collect();
                bail!("{name} has no column `{wanted}`: its columns are {}", names.join(", "))
            }
            (None, None, None) => {
                bail!(
                    "{name} has no column `{wanted}`: it has no heading, and its columns are 1 to {}",
                    self.count
                )
            }
        }
    }

    /// Adds the wanted numbers of a row. `name` stands for the file in messages.
    fn add<T: Number>(&self, name: &str, at: Place, row: &StringRecord, data: &mut Vec<T>) -> Result<()> {
        if let (1, Some(gap)) = (self.count, at.gap) {
            bail!("{name}, line {gap}: the line is empty: write the missing number, or delete the line");
        }
        let line = at.line;
        if row.len() != self.count {
            let found = row.len();
            bail!(
                "{name}, line {line}: the number of fields is {found}, and in the first row it is {}",
                self.count
            );
        }
        let is_wanted = |at: usize| self.wanted.is_none_or(|wanted| wanted == at);
        for (at, field) in row.iter().enumerate().filter(|&(at, _)| is_wanted(at)) {
            data.push(parse(field).with_context(|| format!("{name}, line {line}, column {}", at + 1))?);
        }
        Ok(())
    }
}

/// Place of a row in its file.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// Number of its first line, from 1.
    line: u64,
    /// Number of the first empty line between the row and the one before it.
    gap: Option<u64>,
}

/// Reader of the rows of a table.
struct Rows<'a, R> {
    name: &'a str,
    reader: csv::Reader<Lines<R>>,
    /// Fields of the last row.
    fields: StringRecord,
}

impl<'a, R: BufRead> Rows<'a, R> {
    fn new(name: &'a str, from: R) -> Self {
        let mut options = ReaderBuilder::new();
        options.has_headers(false).flexible(true).trim(Trim::All);
        Self { name, reader: options.from_reader(Lines::new(from)), fields: StringRecord::new() }
    }

    /// Reads the next row into `fields`. Returns its place; `None` at the end of the file.
    fn read(&mut self) -> Result<Option<Place>> {
        self.reader.get_mut().begin_row();
        let is_row = self.reader.read_record(&mut self.fields);
        let place = self.reader.get_ref().place();
        match is_row {
            Ok(is_row) => Ok(is_row.then_some(place)),
            Err(error) if error.is_io_error() => {
                Err(Error::new(error).context(format!("cannot read {}", self.name)))
            }
            Err(_) => bail!("{} is not a table of numbers: line {} is not UTF-8", self.name, place.line),
        }
    }
}

/// Lines of the rows of a table, without comments and empty lines, which are dropped between rows. A read returns bytes
/// of one line only, so that a row is not read before it begins.
struct Lines<R> {
    from: R,
    /// The last line, with its end: `\n`, `\r` or both. If both, the second one counts as a text of its own.
    text: Vec<u8>,
    /// Number of bytes of `text` that were returned.
    taken: usize,
    /// Number of the last line, from 1.
    number: u64,
    /// Number of the row's first line, once it is known.
    first: Option<u64>,
    /// Number of the first empty line before the row.
    gap: Option<u64>,
    /// Number of bytes of the row so far.
    row_bytes: usize,
}

impl<R: BufRead> Lines<R> {
    fn new(from: R) -> Self {
        Self { from, text: Vec::new(), taken: 0, number: 0, first: None, gap: None, row_bytes: 0 }
    }

    fn begin_row(&mut self) {
        self.first = None;
        self.gap = None;
        self.row_bytes = 0;
    }

    fn place(&self) -> Place {
        Place { line: self.first.unwrap_or(self.number), gap: self.gap }
    }

    /// Reads the next line of the row, or the first line of the next row. At the end of the file, `text` is empty.
    fn next_line(&mut self) -> io::Result<()> {
        loop {
            let is_after_return = self.text.ends_with(b"\r");
            self.take_line()?;
            let is_second_half = is_after_return && self.text == b"\n";
            self.number += u64::from(!is_second_half && !self.text.is_empty());
            match self.text.first().copied() {
                Some(_) if self.first.is_some() => return self.grow(),
                Some(_) if is_second_half => {}
                Some(b'\r' | b'\n') => self.gap = self.gap.or(Some(self.number)),
                Some(b'#') => self.check_comment()?,
                Some(_) => {
                    self.first = Some(self.number);
                    return self.grow();
                }
                None => return Ok(()),
            }
        }
    }

    /// Replaces the text by the next one.
    fn take_line(&mut self) -> io::Result<()> {
        self.text.clear();
        self.taken = 0;
        loop {
            let found = self.from.fill_buf()?;
            let end = found.iter().position(|&byte| matches!(byte, b'\r' | b'\n'));
            let count = end.map_or(found.len(), |at| at + 1);
            self.text.extend_from_slice(&found[..count]);
            self.from.consume(count);
            if self.text.len() > MOST_ROW_BYTES {
                return Err(too_long(self.number + 1));
            }
            if end.is_some() || count == 0 {
                break;
            }
        }
        if self.number == 0 && self.text.starts_with(MARK) {
            self.text.drain(..MARK.len());
        }
        Ok(())
    }

    /// Adds the text to the size of the row.
    fn grow(&mut self) -> io::Result<()> {
        self.row_bytes += self.text.len();
        if self.row_bytes > MOST_ROW_BYTES { Err(too_long(self.place().line)) } else { Ok(()) }
    }

    /// Fails if a comment is a row that begins with an error of a spreadsheet.
    fn check_comment(&self) -> io::Result<()> {
        match ERRORS.iter().find(|error| self.text.starts_with(error.as_bytes())) {
            Some(error) => {
                Err(invalid(format!("line {} begins with `{error}`, which is not a number", self.number)))
            }
            None => Ok(()),
        }
    }
}

impl<R: BufRead> Read for Lines<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.text.len() {
            self.next_line()?;
        }
        let mut rest = &self.text[self.taken..];
        let count = rest.read(into)?;
        self.taken += count;
        Ok(count)
    }
}

/// Returns the error for a row that is too large; a quote without an end is the usual reason.
fn too_long(line: u64) -> io::Error {
    let most = bytes(MOST_ROW_BYTES as u64);
    invalid(format!("line {line} begins a row of more than {most}: close its quotes, or write several rows"))
}

fn invalid(message: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(bytes: u64) -> Limit {
        Limit { adapter: "G".into(), bytes }
    }

    fn of(text: &str, column: Option<&str>) -> Result<(Vec<usize>, Vec<f32>), String> {
        let read = table::<f32>("`t.csv`", text.as_bytes(), column, &limit(1 << 20));
        read.map(|numbers| (numbers.shape, numbers.data)).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn a_table_has_the_shape_of_its_rows_and_columns() {
        assert_eq!(of("1,2,3\n4,5,6\n", None), Ok((vec![2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])));
        assert_eq!(of("# saved\n 1 ,\"2\"\n", None), Ok((vec![1, 2], vec![1.0, 2.0])));
        assert_eq!(of("\u{feff}# saved\n1\n", None), Ok((vec![1], vec![1.0])));
        for end in ["\n", "\r\n", "\r"] {
            let text = ["1", "# two", "-2.5e1", "3"].join(end);
            assert_eq!(of(&text, None), Ok((vec![3], vec![1.0, -25.0, 3.0])), "{end:?}");
        }
    }

    #[test]
    fn a_column_is_named_by_the_heading_or_by_its_number() {
        let text = "time,\"price, net\"\n1,10\n2,20\n";
        assert_eq!(of(text, Some("price, net")), Ok((vec![2], vec![10.0, 20.0])));
        assert_eq!(of(text, Some("1")), Ok((vec![2], vec![1.0, 2.0])));
        assert_eq!(of("7,8\n", Some("2")), Ok((vec![1], vec![8.0])));
        let error = of("2019,sum\n7,8\n", None).unwrap_err();
        assert_eq!(error, "`t.csv`, line 1, column 2: `sum` is not a number of type f32");
        let error = of(text, Some("cost")).unwrap_err();
        assert_eq!(error, "`t.csv` has no column `cost`: its columns are `time`, `price, net`");
        let error = of("7,8\n", Some("3")).unwrap_err();
        assert_eq!(error, "`t.csv` has no column `3`: it has no heading, and its columns are 1 to 2");
    }

    #[test]
    fn a_field_that_is_no_number_has_its_line_and_column() {
        let error = of("a,b\n1,2\n3,four\n", None).unwrap_err();
        assert_eq!(error, "`t.csv`, line 3, column 2: `four` is not a number of type f32");
        for end in ["\n", "\r\n", "\r"] {
            let text = ["# saved", "", "a,\"b", "net\"", "# more", "", "1,2", "3,four"].join(end);
            assert!(of(&text, None).unwrap_err().starts_with("`t.csv`, line 8, column 2: `four`"), "{end:?}");
        }
        assert!(of("1,x\n", None).unwrap_err().contains("line 1, column 2: `x`"), "it is not a heading");
        assert!(of("1,\n", None).unwrap_err().contains("line 1, column 2: `` is not a number"));
    }

    #[test]
    fn a_first_row_without_a_name_is_no_heading() {
        for row in ["\"\"", ",", "NA,NA", "n/a", "-", ".", "0x10,0x20", "\"1,5\",\"2,5\"", "NULL,#N/A"] {
            let error = of(&format!("{row}\n1,2\n"), None).unwrap_err();
            assert!(error.starts_with("`t.csv`, line 1, column 1: `"), "{row}: {error}");
        }
        let error = of("#N/A\n1\n", None).unwrap_err();
        assert_eq!(error, "cannot read `t.csv`: line 1 begins with `#N/A`, which is not a number");
        assert_eq!(of("NA,b\n1,2\n", Some("b")), Ok((vec![1], vec![2.0])), "a heading has at least one name");
    }

    #[test]
    fn an_empty_line_in_a_table_of_one_column_is_a_missing_number() {
        let error = of("1\n\n3\n", None).unwrap_err();
        assert_eq!(error, "`t.csv`, line 2: the line is empty: write the missing number, or delete the line");
        for text in ["\n2\n3\n", "price\n\n3\n", "1\r\n\r\n3\r\n", "1\r\r3\r", "1\n# two\n\n\n3\n"] {
            assert!(of(text, None).unwrap_err().contains(": the line is empty"), "{text:?}");
        }
        assert_eq!(of("\nprice\n1\n2\n\n\n", None), Ok((vec![2], vec![1.0, 2.0])), "none is missing there");
        assert_eq!(of("1,2\n\n3,4\n", None), Ok((vec![2, 2], vec![1.0, 2.0, 3.0, 4.0])));
    }

    #[test]
    fn rows_have_equal_lengths_and_there_is_at_least_one() {
        let error = of("1,2\n3\n", None).unwrap_err();
        assert_eq!(error, "`t.csv`, line 2: the number of fields is 1, and in the first row it is 2");
        for text in ["", "a,b\n", "# nothing\n", "\n"] {
            assert!(of(text, None).unwrap_err().contains("has no row of numbers"), "{text:?}");
        }
    }

    #[test]
    fn only_the_numbers_count_for_the_limit() {
        let text = format!("# {0}\n1,{0}\n2,{0}\n", "0".repeat(1000));
        let column = |bytes| table::<f32>("`t.csv`", text.as_bytes(), Some("1"), &limit(bytes));
        assert_eq!(column(8).expect("two numbers fit").data, [1.0, 2.0]);
        let error = column(7).map(drop).unwrap_err().to_string();
        assert!(
            error.starts_with("`t.csv` has numbers of more than 7 bytes, and the limit of adapter `G`"),
            "{error}"
        );
    }

    /// Reads a table whose second row is too large.
    fn check_large_row(from: impl BufRead) {
        let error = table::<f32>("`t.csv`", from, None, &limit(1 << 40)).map(drop).unwrap_err();
        let error = format!("{error:#}");
        let expected = "cannot read `t.csv`: line 2 begins a row of more than 16 MiB";
        assert!(error.starts_with(expected), "{error}");
    }

    #[test]
    fn a_row_without_an_end_is_not_read() {
        check_large_row(BufReader::new((&b"1,2\n3,"[..]).chain(io::repeat(b'4'))));
        let line = "4".repeat(1 << 20) + "\n";
        check_large_row(format!("1,2\n3,\"{}", line.repeat(17)).as_bytes());
    }
}
