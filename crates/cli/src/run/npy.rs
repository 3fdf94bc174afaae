//! Reads and writes NumPy's files: `.npy`.

use std::fs::File;
use std::io::{self, BufWriter, ErrorKind, Read, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use fencepost::plain_file;
use npyz::{DType, NpyFile, NpyHeader, Order, TypeChar, WriteOptions, WriterBuilder};

use super::host::{Limit, Numbers};
use super::number::Number;

/// Largest header in bytes; NumPy itself reads 10000 bytes.
const HEADER: usize = 1 << 16;

/// Reads a file whose numbers have the type `T`; `declared` is the shader's declaration.
///
/// # Errors
/// The file cannot be read, is cut off, or has elements of another type or order.
pub(super) fn read<T: Number>(path: &Path, declared: &str, limit: &Limit) -> Result<Numbers<T>> {
    let name = path.display();
    let mut opened = plain_file::open(path).with_context(|| format!("cannot read `{name}`"))?;
    let head = head(&mut opened).with_context(|| format!("`{name}` is no .npy file, or is cut off"))?;
    if !multiplies(&head) {
        bail!(
            "`{name}` has a shape whose dimensions multiply to 2^64 or more, or a header unlike NumPy's: save the array \
             again with `numpy.save`"
        );
    }
    let header = NpyHeader::from_reader(&head[..])
        .with_context(|| format!("`{name}` is no .npy file, or is cut off"))?;
    let dtype = header.dtype();
    if type_name(&dtype).as_deref() != Some(T::SCALAR.name()) {
        bail!(
            "`{name}` has elements of {}, and the shader declares `{declared}`: its numbers are {}; convert the array with \
             `.astype(\"{}\")`",
            described(&dtype),
            T::SCALAR.name(),
            default_type::<T>()
        );
    }
    if header.order() == Order::Fortran && header.shape().len() > 1 {
        bail!("`{name}` is in Fortran order: save `numpy.ascontiguousarray(...)` of the array");
    }
    let bytes = limit.read(path, opened)?;
    let shape = header.shape();
    let size = T::SCALAR.size() as u64;
    let needed = shape.iter().fold(size, |all, &n| all.saturating_mul(n));
    if bytes.len() as u64 != needed {
        bail!(
            "`{name}` has {} bytes of elements, and its shape {shape:?} needs {needed}: the file is damaged",
            bytes.len()
        );
    }
    let shape = shape.iter().map(|&n| n as usize).collect();
    let data = NpyFile::with_header(header, &bytes[..]).into_vec();
    Ok(Numbers { shape, data: data.with_context(|| format!("cannot read `{name}`"))? })
}

/// Reads the start of a file up to the numbers.
///
/// # Errors
/// The file ends before the numbers, or does not start as a `.npy` file.
fn head(from: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut head = vec![0; 10];
    from.read_exact(&mut head)?;
    if !head.starts_with(b"\x93NUMPY") {
        return Err(io::Error::new(ErrorKind::InvalidData, "it does not start as a .npy file"));
    }
    if head[6] > 1 {
        head.resize(12, 0); // later versions store the length in four bytes
        from.read_exact(&mut head[10..])?;
    }
    let length = head[8..].iter().rev().fold(0, |length, &byte| length << 8 | usize::from(byte));
    if length > HEADER {
        let reason = format!("its header has {length} bytes, and the limit is {HEADER}");
        return Err(io::Error::new(ErrorKind::InvalidData, reason));
    }
    let start = head.len();
    head.resize(start + length, 0);
    from.read_exact(&mut head[start..])?;
    Ok(head)
}

/// Returns `true` if the product of all nonzero dimensions fits into a `u64`; `npyz` panics if it does not.
///
/// Every number outside a string counts as a dimension. Sums, fractions and escapes, which NumPy does not write, are
/// refused.
fn multiplies(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(&head[if head[6] > 1 { 12 } else { 10 }..]);
    let mut outside = String::new();
    let mut quote = None;
    for letter in text.chars() {
        match (quote, letter) {
            (_, '\\') | (None, '+' | '.') => return false,
            (None, '\'' | '"') => quote = Some(letter),
            (None, letter) => outside.push(letter),
            (Some(open), letter) if open == letter => quote = None,
            (Some(_), _) => {}
        }
    }
    let words = outside.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
    let mut numbers = words.filter(|word| word.starts_with(|letter: char| letter.is_ascii_digit()));
    let product = numbers.try_fold(1_u64, |all, word| all.checked_mul(word.parse::<u64>().ok()?.max(1)));
    product.is_some()
}

/// Writes a file.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write<T: Number>(file: &Path, numbers: &Numbers<T>) -> Result<()> {
    let shape: Vec<u64> = numbers.shape.iter().map(|&n| n as u64).collect();
    let written = || {
        let mut out = BufWriter::new(File::create(file)?);
        let options = WriteOptions::<T>::new().default_dtype().shape(&shape).writer(&mut out);
        let mut writer = options.begin_nd()?;
        writer.extend(numbers.data.iter().copied())?;
        writer.finish()?;
        out.flush()
    };
    written().with_context(|| format!("cannot write `{}`", file.display()))
}

/// Returns WGSL's name of a number type.
fn type_name(dtype: &DType) -> Option<String> {
    let DType::Plain(plain) = dtype else { return None };
    let letter = match plain.type_char() {
        TypeChar::Float => 'f',
        TypeChar::Int => 'i',
        TypeChar::Uint => 'u',
        _ => return None,
    };
    Some(format!("{letter}{}", 8 * plain.size_field()))
}

fn described(dtype: &DType) -> String {
    let descr = dtype.descr();
    type_name(dtype).map_or_else(|| format!("type {descr}"), |name| format!("type {name} ({descr})"))
}

/// Returns NumPy's name of the type.
fn default_type<T: Number>() -> String {
    T::default_dtype().descr().trim_matches('\'').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_of_dimensions_beyond_64_bits_is_found() {
        let of = |shape: &str| {
            let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
            multiplies(&[b"\x93NUMPY\x01\x00\x00\x00", text.as_bytes()].concat())
        };
        for good in ["()", "(3,)", "(4294967296, 4294967295)", "(0, 5)"] {
            assert!(of(good), "{good}");
        }
        let many = "(4294967296, 4294967296)";
        for bad in [
            many,
            "(0, 99999999999, 99999999999)",
            "(0x100000000, 4294967296)",
            "(4294967295+1, 2)",
            "(1_0,)",
        ] {
            assert!(!of(bad), "{bad}");
        }
    }

    #[test]
    fn a_header_without_an_end_is_not_read() {
        let start = [&b"\x93NUMPY\x02\x00"[..], &u32::MAX.to_le_bytes()].concat();
        let error = head(&mut (&start[..]).chain(io::repeat(b' '))).unwrap_err().to_string();
        assert!(error.contains("4294967295") && error.contains("65536"), "{error}");
    }
}
