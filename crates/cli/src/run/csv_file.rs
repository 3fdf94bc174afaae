//! Reads tables of numbers: `.csv`.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use csv::{ReaderBuilder, StringRecord, Trim};

use super::host::{Limit, Numbers, open, parse, quoted};
use super::number::Number;

/// Reads a table, or a column of it by its name or its number from 1. Lines that start with `#` are comments. The first
/// row is a heading if no field of it is a number.
///
/// # Errors
/// The file cannot be read, has no rows, has rows of different lengths, lacks the column, or has a field that is no
/// number of the type.
pub(super) fn read<T: Number>(path: &Path, column: Option<&str>, limit: &Limit) -> Result<Numbers<T>> {
    let name = quoted(path);
    let bytes = limit.read(&name, open(path)?)?;
    let numbers = table::<T>(&name, &bytes, column)?;
    let size = numbers.data.len() as u128 * T::SCALAR.size() as u128;
    limit.check(&format!("the {} numbers of {name} take {size} bytes", numbers.data.len()), size)?;
    Ok(numbers)
}

/// Columns of a table.
struct Columns {
    names: Option<StringRecord>,
    count: usize,
    /// Index of the wanted column; `None` if all are wanted.
    wanted: Option<usize>,
}

fn table<T: Number>(name: &str, bytes: &[u8], column: Option<&str>) -> Result<Numbers<T>> {
    let mut options = ReaderBuilder::new();
    options.has_headers(false).flexible(true).trim(Trim::All).comment(Some(b'#'));
    let mut records = options.from_reader(bytes).into_records();
    let read =
        |record: csv::Result<StringRecord>| record.with_context(|| format!("{name} is no table of numbers"));
    let no_rows = || anyhow!("{name} has no row of numbers: it needs at least one");
    let first = records.next().map(read).transpose()?.with_context(no_rows)?;
    let is_heading = first.iter().all(|field| field.parse::<f64>().is_err());
    let columns = Columns::new(name, &first, is_heading, column)?;
    let skipped = usize::from(is_heading);
    let first = (!is_heading).then_some(Ok(first));
    let mut rows = 0;
    let mut data = Vec::new();
    for record in first.into_iter().chain(records) {
        rows += 1;
        columns.add(&format!("{name}, row {}", rows + skipped), &read(record)?, &mut data)?;
    }
    if rows == 0 {
        return Err(no_rows());
    }
    let is_vector = columns.wanted.is_some() || columns.count == 1;
    Ok(Numbers { shape: if is_vector { vec![rows] } else { vec![rows, columns.count] }, data })
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

    /// Adds the wanted numbers of a row. `name` stands for the row in messages.
    fn add<T: Number>(&self, name: &str, row: &StringRecord, data: &mut Vec<T>) -> Result<()> {
        if row.len() != self.count {
            bail!("{name}: the number of fields is {}, and in the first row it is {}", row.len(), self.count);
        }
        let is_wanted = |at: usize| self.wanted.is_none_or(|wanted| wanted == at);
        for (at, field) in row.iter().enumerate().filter(|&(at, _)| is_wanted(at)) {
            data.push(parse(field).with_context(|| format!("{name}, column {}", at + 1))?);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, column: Option<&str>) -> Result<(Vec<usize>, Vec<f32>), String> {
        let read = table::<f32>("`t.csv`", text.as_bytes(), column);
        read.map(|numbers| (numbers.shape, numbers.data)).map_err(|error| format!("{error:#}"))
    }

    #[test]
    fn a_table_has_the_shape_of_its_rows_and_columns() {
        assert_eq!(of("1,2,3\n4,5,6\n", None), Ok((vec![2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0])));
        assert_eq!(of("1\r\n-2.5e1\r\n", None), Ok((vec![2], vec![1.0, -25.0])));
        assert_eq!(of("# saved\n 1 ,\"2\"\n", None), Ok((vec![1, 2], vec![1.0, 2.0])));
    }

    #[test]
    fn a_column_is_named_by_the_heading_or_by_its_number() {
        let text = "time,\"price, net\"\n1,10\n2,20\n";
        assert_eq!(of(text, Some("price, net")), Ok((vec![2], vec![10.0, 20.0])));
        assert_eq!(of(text, Some("1")), Ok((vec![2], vec![1.0, 2.0])));
        assert_eq!(of("7,8\n", Some("2")), Ok((vec![1], vec![8.0])));
        let error = of(text, Some("cost")).unwrap_err();
        assert_eq!(error, "`t.csv` has no column `cost`: its columns are `time`, `price, net`");
        let error = of("7,8\n", Some("3")).unwrap_err();
        assert_eq!(error, "`t.csv` has no column `3`: it has no heading, and its columns are 1 to 2");
    }

    #[test]
    fn a_field_that_is_no_number_has_its_line_and_column() {
        let error = of("a,b\n1,2\n3,four\n", None).unwrap_err();
        assert_eq!(error, "`t.csv`, row 3, column 2: `four` is no number of type f32");
        assert!(of("1,x\n", None).unwrap_err().contains("row 1, column 2: `x`"), "it is no heading");
        assert!(of("1,\n", None).unwrap_err().contains("row 1, column 2: `` is no number"));
    }

    #[test]
    fn rows_have_equal_lengths_and_there_is_at_least_one() {
        let error = of("1,2\n3\n", None).unwrap_err();
        assert_eq!(error, "`t.csv`, row 2: the number of fields is 1, and in the first row it is 2");
        for text in ["", "a,b\n", "# nothing\n"] {
            assert!(of(text, None).unwrap_err().contains("has no row of numbers"), "{text:?}");
        }
    }
}
