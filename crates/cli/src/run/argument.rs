//! Arguments in the form of the command line: `NAME=VALUE`.

use std::path::PathBuf;
use std::str::FromStr;

use fencepost::Scalar;

use super::shape::Shape;

/// One argument of the kernel.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Argument {
    pub(crate) name: String,
    pub(crate) given: Given,
}

/// Source of a buffer's elements, or the numbers of a parameter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Given {
    /// An array that NumPy saved.
    Npy(PathBuf),
    /// An array of an archive that NumPy saved, by its name.
    Npz(PathBuf, Option<String>),
    /// A table of numbers, or a column of it.
    Csv(PathBuf, Option<String>),
    /// The bytes of a file.
    Raw(Scalar, PathBuf),
    /// 0, 1, 2, ...
    Iota(Shape),
    /// Random elements, made from a seed.
    Random(Shape, u64),
    Zeros(Shape),
    /// This number for every element.
    Full(Shape, String),
    /// The numbers of a parameter.
    Numbers(Vec<String>),
}

/// An override constant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Setting {
    pub(crate) name: String,
    pub(crate) value: f64,
}

/// A buffer and the file to write it to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Saved {
    pub(crate) name: String,
    pub(crate) file: PathBuf,
}

const FORMS: &str = "VALUE is FILE.npy, FILE.npz[:ARRAY], FILE.csv[:COLUMN], raw:TYPE:FILE, iota:SHAPE, \
    random:SHAPE[:SEED], zeros:SHAPE, full:SHAPE:NUMBER, or for a parameter a number or a list of numbers";

impl FromStr for Argument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = named(text, "VALUE")?;
        Ok(Self { name, given: given(value)? })
    }
}

impl FromStr for Setting {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = named(text, "NUMBER")?;
        let number = match value {
            "true" => Ok(1.0),
            "false" => Ok(0.0),
            value => value.parse().map_err(|_| format!("`{value}` is not a number")),
        };
        Ok(Self { name, value: number? })
    }
}

impl FromStr for Saved {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, file) = named(text, "FILE.npy")?;
        let file = PathBuf::from(file);
        if file.extension().is_none_or(|ending| !ending.eq_ignore_ascii_case("npy")) {
            return Err(format!("`{}` must end in .npy", file.display()));
        }
        Ok(Self { name, file })
    }
}

/// Returns the two sides of the first `=`.
fn named<'a>(text: &'a str, value: &str) -> Result<(String, &'a str), String> {
    match text.split_once('=') {
        Some((name, rest)) if !name.is_empty() && !rest.is_empty() => Ok((name.into(), rest)),
        _ => Err(format!("it must be NAME={value}")),
    }
}

fn given(value: &str) -> Result<Given, String> {
    let (form, rest) = value.split_once(':').unwrap_or((value, ""));
    let two = |what: &str| rest.split_once(':').ok_or_else(|| format!("it must be {what}"));
    match form {
        "iota" => Ok(Given::Iota(rest.parse()?)),
        "zeros" => Ok(Given::Zeros(rest.parse()?)),
        "random" => {
            let (shape, seed) = rest.split_once(':').unwrap_or((rest, "0"));
            let seed = seed
                .parse()
                .map_err(|_| format!("`{seed}` is not a seed: write a whole number of 64 bits"))?;
            Ok(Given::Random(shape.parse()?, seed))
        }
        "full" => {
            let (shape, number) = two("full:SHAPE:NUMBER")?;
            Ok(Given::Full(shape.parse()?, number.into()))
        }
        "raw" => {
            let (name, file) = two("raw:TYPE:FILE")?;
            let scalar = Scalar::from_name(name).filter(|scalar| super::number::is_stored(*scalar));
            let scalar = scalar.ok_or_else(|| {
                format!("`{name}` is not a type: write f16, f32, f64, i32, i64, u32 or u64")
            })?;
            Ok(Given::Raw(scalar, file.into()))
        }
        _ => match file(value) {
            Some(file) => Ok(file),
            None => numbers(value),
        },
    }
}

/// Returns the file that a text names by its ending, in any case.
fn file(value: &str) -> Option<Given> {
    if has_ending(value, ".npy") {
        return Some(Given::Npy(value.into()));
    }
    if let Some((file, array)) = file_and_part(value, ".npz") {
        return Some(Given::Npz(file, array));
    }
    file_and_part(value, ".csv").map(|(file, column)| Given::Csv(file, column))
}

/// Splits `FILE` or `FILE:PART`, where the file has this ending.
fn file_and_part(value: &str, ending: &str) -> Option<(PathBuf, Option<String>)> {
    if has_ending(value, ending) {
        return Some((value.into(), None));
    }
    let end = value.to_ascii_lowercase().rfind(&format!("{ending}:"))? + ending.len();
    let part = &value[end + 1..];
    (!part.is_empty()).then(|| (PathBuf::from(&value[..end]), Some(part.to_owned())))
}

/// Returns `true` if a text has this ending, in any case.
fn has_ending(value: &str, ending: &str) -> bool {
    value.to_ascii_lowercase().ends_with(ending)
}

fn numbers(value: &str) -> Result<Given, String> {
    let parts: Vec<String> = value.split(',').map(|part| part.trim().to_owned()).collect();
    if parts.iter().all(|part| part.parse::<f64>().is_ok()) {
        Ok(Given::Numbers(parts))
    } else {
        Err(FORMS.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Given {
        text.parse::<Argument>().expect("it is well formed").given
    }

    fn shape(numbers: &[usize]) -> Shape {
        Shape(numbers.into())
    }

    #[test]
    fn every_form_of_an_argument_is_parsed() {
        assert_eq!(parsed("x=a=b.npy"), Given::Npy("a=b.npy".into()));
        assert_eq!(parsed("x=raw:u32:a:b"), Given::Raw(Scalar::U32, "a:b".into()));
        assert_eq!(parsed("x=raw:f32:e.npy"), Given::Raw(Scalar::F32, "e.npy".into()));
        assert_eq!(parsed("x=C:/e.npy"), Given::Npy("C:/e.npy".into()));
        assert_eq!(parsed("x=C:/e.npz"), Given::Npz("C:/e.npz".into(), None));
        assert_eq!(parsed("x=e.npz:a.b"), Given::Npz("e.npz".into(), Some("a.b".into())));
        assert_eq!(parsed("x=e.csv"), Given::Csv("e.csv".into(), None));
        assert_eq!(parsed("x=a.csv:e.csv:7"), Given::Csv("a.csv:e.csv".into(), Some("7".into())));
        assert_eq!(parsed("x=raw:f32:e.csv"), Given::Raw(Scalar::F32, "e.csv".into()));
        assert_eq!(parsed("x=A.NPY"), Given::Npy("A.NPY".into()));
        assert_eq!(parsed("x=A.Npz:B"), Given::Npz("A.Npz".into(), Some("B".into())));
        assert_eq!(parsed("x=A.CSV"), Given::Csv("A.CSV".into(), None));
        let saved = Saved { name: "y".into(), file: "Y.NPY".into() };
        assert_eq!("y=Y.NPY".parse(), Ok(saved));
        assert_eq!(parsed("x=iota:10"), Given::Iota(shape(&[10])));
        assert_eq!(parsed("x=random:2x3"), Given::Random(shape(&[2, 3]), 0));
        assert_eq!(parsed("x=random:2:9"), Given::Random(shape(&[2]), 9));
        assert_eq!(parsed("x=zeros:4"), Given::Zeros(shape(&[4])));
        assert_eq!(parsed("x=full:4:-1.5"), Given::Full(shape(&[4]), "-1.5".into()));
        assert_eq!(parsed("x=1, 2"), Given::Numbers(vec!["1".into(), "2".into()]));
    }

    #[test]
    fn an_argument_without_a_known_form_is_refused() {
        for text in [
            "x",
            "=1",
            "x=",
            "x=abc",
            "x=iota:a",
            "x=iota",
            "x=full:4",
            "x=raw:u8:f",
            "x=random:4:s",
            "x=1,",
            "x=ones:4",
            "x=e.npz:",
            "x=e.csv:",
        ] {
            assert!(text.parse::<Argument>().is_err(), "{text}");
        }
        assert!("y=y.txt".parse::<Saved>().is_err());
        assert!("W=wide".parse::<Setting>().is_err());
    }
}
