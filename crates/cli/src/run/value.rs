//! Parameters: numbers, vectors and matrices.

use anyhow::{Context, Result, bail};
use fencepost::interface::Value;

use super::host::parse;
use super::number::{Number, with_number};
use super::signature::Param;

/// Parses the value of a parameter from the texts of its numbers.
///
/// # Errors
/// The count of the numbers is wrong, a text is not a number of the type, or the command does not support such
/// parameters.
pub(super) fn value(param: &Param, texts: &[String]) -> Result<Value> {
    let Some(block) = &param.block else { return not_made(param) };
    let needed: usize = block.counts.iter().product();
    if texts.len() != needed {
        let s = if needed == 1 { "" } else { "s" };
        let given = match texts.len() {
            1 => "1 is given".to_owned(),
            count => format!("{count} are given"),
        };
        bail!("parameter `{}` is `{}`, {needed} number{s}: {given}", param.name, param.text);
    }
    with_number!(block.scalar, T => {
        of::<T>(param, &block.counts, texts).with_context(|| format!("parameter `{}`", param.name))
    })
}

fn of<T: Number>(param: &Param, counts: &[usize], texts: &[String]) -> Result<Value> {
    let n: Vec<T> = texts.iter().map(|text| parse(text)).collect::<Result<_>>()?;
    match counts {
        [] => Ok(Value::new(n[0])),
        [2] => Ok(vector::<T, 2>(&n)),
        [3] => Ok(vector::<T, 3>(&n)),
        [4] => Ok(vector::<T, 4>(&n)),
        // A column of three takes the space of four.
        [2, rows] => matrix::<T, 2>(param, *rows, &n),
        [3, rows] => matrix::<T, 3>(param, *rows, &n),
        [4, rows] => matrix::<T, 4>(param, *rows, &n),
        _ => not_made(param),
    }
}

fn vector<T: Number, const N: usize>(numbers: &[T]) -> Value {
    Value::new(std::array::from_fn::<T, N, _>(|at| numbers[at]))
}

fn matrix<T: Number, const C: usize>(param: &Param, rows: usize, numbers: &[T]) -> Result<Value> {
    match rows {
        2 => Ok(columns::<T, C, 2>(2, numbers)),
        3 => Ok(columns::<T, C, 4>(3, numbers)),
        4 => Ok(columns::<T, C, 4>(4, numbers)),
        _ => not_made(param),
    }
}

/// Makes a matrix of columns with `R` rows, of which `rows` are used.
fn columns<T: Number, const C: usize, const R: usize>(rows: usize, numbers: &[T]) -> Value {
    let number = |c: usize, r: usize| if r < rows { numbers[c * rows + r] } else { T::zeroed() };
    Value::new(std::array::from_fn::<[T; R], C, _>(|c| std::array::from_fn(|r| number(c, r))))
}

fn not_made(param: &Param) -> Result<Value> {
    bail!(
        "parameter `{}` is `{}`: this command makes numbers, vectors and matrices; write a program for others",
        param.name,
        param.text
    )
}
