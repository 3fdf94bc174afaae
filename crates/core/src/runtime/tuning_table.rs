//! The table of measured choices among the variants of the verbs' kernels, and its text.

use crate::device::adapter::AdapterInfo;
use crate::error::{Error, ErrorDetail, Result};
use std::fmt;
use std::str::FromStr;

/// First line of the text of a table.
const FIRST_LINE: &str = "fencepost tuning 1";
/// Maximum number of choices in a text. This crate never writes that many.
const MOST_CHOICES: usize = 1000;
/// Number of elements up to which an array is small. One workgroup reduces or scans that many.
const MOST_OF_FEW: usize = 16 << 10;

/// Measured choices among the variants of the verbs' kernels, for one adapter and its driver.
///
/// `to_string` returns a text with a line for each choice, and `parse` returns the table of such a text. So a program
/// can store a table in a file, or contain it with `include_str!`.
///
/// A context ignores a table that was measured on another adapter or with another driver, and a choice that was
/// measured with kernels of another version of this library. The log has a warning then.
///
/// # Example
/// ```
/// use fencepost::prelude::*;
/// # let (ctx, queue) = fencepost::doctest();
/// let table = ctx.tune(TuneOptions::default().kernels([Tunable::Transpose])).wait()?;
/// let text = table.to_string();
/// ctx.set_tuning(TuningChoice::Table(text.parse()?));
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct TuningTable {
    adapter: String,
    backend: String,
    driver: String,
    ceilings: Option<Ceilings>,
    choices: Vec<TunedChoice>,
}

/// A measured choice of a [`TuningTable`].
#[non_exhaustive]
#[derive(Clone, Debug, PartialEq)]
pub struct TunedChoice {
    /// Name of the kernels.
    pub kernels: String,
    /// Size of the arrays.
    pub size: ArraySize,
    /// Hash of the texts of the kernels.
    pub hash: u64,
    /// Parameters of the fastest variant. The list is empty if the default is the fastest one.
    pub values: Vec<(String, u32)>,
    /// Time of a call with the fastest variant, in seconds.
    pub seconds: f64,
    /// Time of a call with the default, in seconds.
    pub default_seconds: f64,
}

/// Size of an array, or number of the results of a product of matrices, as far as the choice of a kernel depends on it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum ArraySize {
    /// Up to 16,384 elements; for products of matrices, fewer than 262,144 results.
    Few,
    /// More than 16,384 elements; for products of matrices, at least 262,144 results.
    Many,
}

/// Highest rates of an adapter, as measured with simple kernels. A kernel that comes close to them cannot be improved.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ceilings {
    /// Bytes that a copying kernel reads and writes per second.
    pub bytes_per_second: f64,
    /// Multiplications and additions of `f32` per second.
    pub operations_per_second: f64,
}

/// Kernels with variants and a size of arrays: the case for which a choice is made.
pub type TunedCase = (&'static str, ArraySize);

impl ArraySize {
    /// Returns the size of an array with this number of elements.
    ///
    /// # Example
    /// ```
    /// use fencepost::tuning::ArraySize;
    /// assert_eq!([100, 1 << 20].map(ArraySize::of), [ArraySize::Few, ArraySize::Many]);
    /// ```
    pub fn of(elements: usize) -> Self {
        if elements <= MOST_OF_FEW { Self::Few } else { Self::Many }
    }
}

impl fmt::Display for ArraySize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Few => "few",
            Self::Many => "many",
        })
    }
}

impl Ceilings {
    #[doc(hidden)] // for the crate that measures
    pub fn new(bytes_per_second: f64, operations_per_second: f64) -> Self {
        Self { bytes_per_second, operations_per_second }
    }
}

impl TunedChoice {
    #[doc(hidden)] // for the crate that measures
    pub fn new(
        (kernels, size): TunedCase,
        hash: u64,
        values: &[(&str, u32)],
        seconds: f64,
        default_seconds: f64,
    ) -> Self {
        let values = values.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
        Self { kernels: kernels.into(), size, hash, values, seconds, default_seconds }
    }
}

impl TuningTable {
    /// Returns a table without choices, for an adapter.
    pub(crate) fn of(info: &AdapterInfo) -> Self {
        Self {
            adapter: one_line(&info.name),
            backend: one_line(info.backend),
            driver: one_line(&info.driver),
            ceilings: None,
            choices: Vec::new(),
        }
    }

    /// Returns the name of the adapter.
    pub fn adapter(&self) -> &str {
        &self.adapter
    }

    /// Returns the graphics interface of the adapter.
    pub fn backend(&self) -> &str {
        &self.backend
    }

    /// Returns the name and the version of the adapter's driver.
    pub fn driver(&self) -> &str {
        &self.driver
    }

    /// Returns the highest rates of the adapter, if they were measured.
    pub fn ceilings(&self) -> Option<Ceilings> {
        self.ceilings
    }

    /// Returns the choices, one for each case, in the order of the kernels' names.
    pub fn choices(&self) -> &[TunedChoice] {
        &self.choices
    }

    /// Returns the choice of a case.
    pub(crate) fn find(&self, (kernels, size): TunedCase) -> Option<&TunedChoice> {
        self.choices.iter().find(|choice| choice.kernels == kernels && choice.size == size)
    }

    /// Adds a choice, or replaces the one of the same case.
    pub(crate) fn insert(&mut self, choice: TunedChoice) {
        let key = |choice: &TunedChoice| (choice.kernels.clone(), choice.size);
        match self.choices.binary_search_by_key(&key(&choice), key) {
            Ok(at) => self.choices[at] = choice,
            Err(at) => self.choices.insert(at, choice),
        }
    }

    /// Adds the choices and the rates of another table of the adapter, which replace those of the same cases.
    pub(crate) fn add(&mut self, other: &Self) {
        self.ceilings = other.ceilings.or(self.ceilings);
        other.choices.iter().for_each(|choice| self.insert(choice.clone()));
    }

    /// Sets the highest rates of the adapter.
    pub(crate) fn set_ceilings(&mut self, ceilings: Ceilings) {
        self.ceilings = Some(ceilings);
    }

    /// Returns the same table without choices and rates.
    pub(crate) fn without_choices(&self) -> Self {
        Self { ceilings: None, choices: Vec::new(), ..self.clone() }
    }

    /// Returns the reason why a context does not use this table, if `own` is a table of the context's adapter.
    pub(crate) fn reason_against(&self, own: &Self) -> Option<String> {
        let device = |table: &Self| (table.adapter.clone(), table.backend.clone(), table.driver.clone());
        let (adapter, backend, driver) = device(self);
        let (own_adapter, own_backend, own_driver) = device(own);
        (device(self) != device(own)).then(|| {
            format!(
                "it was measured on adapter `{adapter}` ({backend}, driver `{driver}`), and the context is on \
                 `{own_adapter}` ({own_backend}, driver `{own_driver}`)"
            )
        })
    }
}

/// Returns a text in one line, in which single spaces separate the words.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl fmt::Display for TuningTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{FIRST_LINE}")?;
        writeln!(f, "adapter {}", self.adapter)?;
        writeln!(f, "backend {}", self.backend)?;
        writeln!(f, "driver {}", self.driver)?;
        if let Some(Ceilings { bytes_per_second, operations_per_second }) = self.ceilings {
            writeln!(f, "ceilings {bytes_per_second:e} {operations_per_second:e}")?;
        }
        writeln!(
            f,
            "# kernels, size of the arrays, hash of the kernels, seconds, seconds of the default, parameters"
        )?;
        for choice in &self.choices {
            let TunedChoice { kernels, size, hash, values, seconds, default_seconds } = choice;
            write!(f, "choice {kernels} {size} {hash:016x} {seconds:e} {default_seconds:e}")?;
            values.iter().try_for_each(|(name, value)| write!(f, " {name}={value}"))?;
            writeln!(f)?;
        }
        writeln!(f, "end {}", self.choices.len())
    }
}

impl FromStr for TuningTable {
    type Err = Error;

    /// Returns the table of a text.
    ///
    /// # Errors
    /// Returns [`ErrorDetail::Value`], which names the line, if the text is damaged or of another format.
    fn from_str(text: &str) -> Result<Self> {
        let lines = (1..).zip(text.lines().map(str::trim_end));
        let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let (number, first) = lines.next().unwrap_or((1, ""));
        if first != FIRST_LINE {
            return Err(wrong(number, first, "`fencepost tuning 1` in the first line"));
        }
        let mut table = Self {
            adapter: String::new(),
            backend: String::new(),
            driver: String::new(),
            ceilings: None,
            choices: Vec::new(),
        };
        let mut last = number;
        while let Some((number, line)) = lines.next() {
            last = number;
            let (key, rest) = line.split_once(' ').unwrap_or((line, ""));
            match key {
                "adapter" => table.adapter = one_line(rest),
                "backend" => table.backend = one_line(rest),
                "driver" => table.driver = one_line(rest),
                "ceilings" => {
                    let needed = "two rates above 0 after `ceilings`";
                    table.ceilings = Some(ceilings(rest).ok_or_else(|| wrong(number, line, needed))?);
                }
                "choice" if table.choices.len() == MOST_CHOICES => {
                    return Err(wrong(number, line, "a table of at most 1000 choices"));
                }
                "choice" => {
                    let needed = "a choice as `TuningTable::to_string` writes it";
                    table.insert(choice(rest).ok_or_else(|| wrong(number, line, needed))?);
                }
                "end" if rest.parse::<usize>() == Ok(table.choices.len()) => {
                    let after = lines.next();
                    return after
                        .map_or(Ok(table), |(number, line)| Err(wrong(number, line, "no line after `end`")));
                }
                _ => return Err(wrong(number, line, "a line as `TuningTable::to_string` writes it")),
            }
        }
        Err(wrong(last + 1, "", "the line `end` with the number of choices"))
    }
}

/// Returns the error for a line of a text.
fn wrong(number: usize, line: &str, needed: &'static str) -> Error {
    let object = format!("line {number} of a tuning table");
    let found = format!("`{}`", line.chars().take(100).collect::<String>());
    ErrorDetail::Value { object, found, needed }.into()
}

/// Returns a time or a rate: a number above 0.
fn positive(text: &str) -> Option<f64> {
    text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0)
}

fn ceilings(line: &str) -> Option<Ceilings> {
    let (bytes, operations) = line.split_once(' ')?;
    Some(Ceilings::new(positive(bytes)?, positive(operations)?))
}

fn choice(line: &str) -> Option<TunedChoice> {
    let mut words = line.split(' ');
    let kernels = words.next().filter(|name| !name.is_empty())?.to_owned();
    let size = match words.next()? {
        "few" => ArraySize::Few,
        "many" => ArraySize::Many,
        _ => return None,
    };
    let hash = words.next().filter(|hash| hash.len() == 16)?;
    let hash = u64::from_str_radix(hash, 16).ok()?;
    let seconds = positive(words.next()?)?;
    let default_seconds = positive(words.next()?)?;
    let value = |word: &str| {
        let (name, value) = word.split_once('=')?;
        Some((name.to_owned(), value.parse().ok()?))
    };
    let values = words.map(value).collect::<Option<_>>()?;
    Some(TunedChoice { kernels, size, hash, values, seconds, default_seconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> TuningTable {
        let mut table = TuningTable {
            adapter: "A card".into(),
            backend: "Vulkan".into(),
            driver: String::new(),
            ceilings: Some(Ceilings::new(1.5e11, 3e12)),
            choices: Vec::new(),
        };
        let choice =
            |case, values: &[(&str, u32)]| TunedChoice::new(case, u64::MAX - 1, values, 1.25e-6, 2e-6);
        table.insert(choice(("sort", ArraySize::Many), &[("WORKGROUP", 64), ("PER", 8)]));
        table.insert(choice(("reduce", ArraySize::Many), &[]));
        table.insert(choice(("reduce", ArraySize::Few), &[("WORKGROUP", 32)]));
        table
    }

    #[test]
    fn a_text_gives_the_same_table() {
        let table = table();
        let text = table.to_string();
        assert_eq!(text.parse::<TuningTable>().expect("a table"), table);
        assert!(text.contains("\nchoice reduce few fffffffffffffffe 1.25e-6 2e-6 WORKGROUP=32\n"), "{text}");
        let windows = text.replace('\n', "\r\n");
        assert_eq!(windows.parse::<TuningTable>().expect("a table"), table);
        let names: Vec<_> = table.choices().iter().map(|choice| (&*choice.kernels, choice.size)).collect();
        let sorted = [("reduce", ArraySize::Few), ("reduce", ArraySize::Many), ("sort", ArraySize::Many)];
        assert_eq!(names, sorted);
    }

    #[test]
    fn a_choice_replaces_the_one_of_its_case_alone() {
        let mut table = table();
        let case = ("reduce", ArraySize::Many);
        table.insert(TunedChoice::new(case, 7, &[("WORKGROUP", 16)], 1.0, 2.0));
        assert_eq!((table.choices().len(), table.find(case).expect("it is there").hash), (3, 7));
        assert_ne!(table.find(("reduce", ArraySize::Few)).expect("it is there").hash, 7);
        assert_eq!(table.find(("sort", ArraySize::Few)), None);
    }

    #[test]
    fn a_text_without_its_end_is_refused() {
        let text = table().to_string();
        for (end, _) in text.char_indices().skip(1) {
            let cut = &text[..end];
            let whole = cut.trim_end() == text.trim_end();
            assert_eq!(cut.parse::<TuningTable>().is_ok(), whole, "{cut}");
        }
    }

    #[test]
    fn a_wrong_line_is_refused_with_its_number() {
        let text = table().to_string();
        for (from, to, line) in [
            ("tuning 1", "tuning 2", 1),
            ("adapter A", "card A", 2),
            ("ceilings 1.5e11", "ceilings NaN", 5),
            ("ceilings 1.5e11 ", "ceilings ", 5),
            ("reduce few", "reduce some", 7),
            ("fffffffffffffffe", "fffffffffffffffg", 7),
            ("fffffffffffffffe", "ffffffffffffffe", 7),
            (" 1.25e-6", " 0", 7),
            (" 1.25e-6", " -1", 7),
            (" 1.25e-6", " inf", 7),
            ("WORKGROUP=32", "WORKGROUP", 7),
            ("WORKGROUP=32", "WORKGROUP=-32", 7),
            ("end 3", "end 2", 10),
            ("end 3\n", "end 3\nmore\n", 11),
        ] {
            let error = text.replacen(from, to, 1).parse::<TuningTable>().expect_err(to).to_string();
            assert!(error.starts_with(&format!("line {line} of a tuning table is `")), "{to}: {error}");
        }
        assert!("".parse::<TuningTable>().is_err());
    }

    #[test]
    fn a_text_with_too_many_choices_is_refused() {
        let line = |at: usize| format!("choice k{at} few {:016x} 1 1\n", at);
        let text =
            |count: usize| format!("{FIRST_LINE}\n{}end {count}\n", (0..count).map(line).collect::<String>());
        assert!(text(MOST_CHOICES).parse::<TuningTable>().is_ok());
        assert!(text(MOST_CHOICES + 1).parse::<TuningTable>().is_err());
    }

    #[test]
    fn a_table_of_another_adapter_or_driver_is_foreign() {
        let own = table();
        assert_eq!(table().reason_against(&own.without_choices()), None);
        let others: [fn(&mut TuningTable); 3] =
            [|it| it.adapter += "!", |it| it.backend = "GL".into(), |it| it.driver = "2".into()];
        for change in others {
            let mut other = table();
            change(&mut other);
            assert!(other.reason_against(&own).is_some_and(|reason| reason.contains("A card")));
        }
    }

    #[test]
    fn a_name_with_line_ends_stays_in_its_line() {
        assert_eq!(one_line(" a\n  card\t1 "), "a card 1");
    }
}
