//! Reads and writes NumPy's files: `.npy`.

use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use npyz::{DType, NpyFile, NpyHeader, Order, TypeChar, WriteOptions, WriterBuilder};

use super::host::{Limit, Numbers};
use super::number::Number;

/// Largest header in bytes; NumPy itself reads 10000 bytes.
const HEADER: usize = 1 << 16;

/// Largest number of brackets that a header has open at once. An array in a record in a record in a record needs eight.
const MOST_BRACKETS: usize = 8;

/// First bytes of a file.
const MAGIC: &[u8] = b"\x93NUMPY";

/// Reads an array whose numbers have the type `T`. `name` stands for the file in messages, and `declared` is the
/// shader's declaration.
///
/// # Errors
/// The file cannot be read, is cut off, has no elements, or has elements of another type or order.
pub(super) fn read<T: Number>(
    name: &str,
    mut from: impl Read,
    declared: &str,
    limit: &Limit,
) -> Result<Numbers<T>> {
    let head = head(name, &mut from)?;
    if !is_harmless(&head) {
        bail!(
            "{name} has a shape whose dimensions multiply to 2^64 or more, or a header unlike NumPy's: save the array again \
             with `numpy.save`"
        );
    }
    let header = NpyHeader::from_reader(&head[..])
        .with_context(|| format!("{name} is not a .npy file that NumPy has saved"))?;
    if let Some(misfit) = misfit::<T>(&header.dtype(), declared) {
        bail!("{name} {misfit}");
    }
    if header.order() == Order::Fortran && header.shape().len() > 1 {
        bail!("{name} is in Fortran order: save `numpy.ascontiguousarray(...)` of the array");
    }
    let shape = header.shape();
    let size = T::SCALAR.size() as u64;
    let needed = shape.iter().fold(size, |all, &n| all.saturating_mul(n));
    if needed == 0 {
        bail!(
            "{name} has no elements, its shape is {shape:?}: save an array with elements, or give zeros:0 for a buffer that the \
             kernel does not use"
        );
    }
    // An archive may unpack to many times its size, so no more is read than is needed.
    let bytes = limit.read(name, from.take(needed.saturating_add(1)))?;
    let found = bytes.len() as u64;
    if found != needed {
        let found = if found > needed { format!("more than {needed}") } else { found.to_string() };
        bail!(
            "{name} has {found} bytes of elements, and its shape {shape:?} needs {needed}: the file is damaged; save the array \
             again with `numpy.save`"
        );
    }
    let shape = shape.iter().map(|&n| n as usize).collect();
    let data = NpyFile::with_header(header, &bytes[..]).into_vec();
    Ok(Numbers { shape, data: data.with_context(|| format!("cannot read {name}"))? })
}

/// Reads the start of a file up to the numbers.
///
/// # Errors
/// The file cannot be read, ends before the numbers, or does not start as a `.npy` file.
fn head(name: &str, from: &mut impl Read) -> Result<Vec<u8>> {
    let mut head = Vec::new();
    extend(name, &mut head, from, 10)?;
    if !head.starts_with(&MAGIC[..MAGIC.len().min(head.len())]) {
        bail!(
            "{name} is not a .npy file, because it starts with other bytes: save the array with `numpy.save`"
        );
    }
    if head.is_empty() {
        bail!("{name} is empty, it has 0 bytes: save the array again with `numpy.save`");
    }
    complete(name, &head, 10)?;
    if head[6] > 1 {
        extend(name, &mut head, from, 12)?; // later versions store the length in four bytes
        complete(name, &head, 12)?;
    }
    let length = head[8..].iter().rev().fold(0, |length, &byte| length << 8 | usize::from(byte));
    if length > HEADER {
        bail!("{name} is damaged: its header has {length} bytes, and the limit is {HEADER}");
    }
    let needed = head.len() + length;
    extend(name, &mut head, from, needed)?;
    complete(name, &head, needed)?;
    Ok(head)
}

/// Reads until `head` has `needed` bytes, or the file ends.
fn extend(name: &str, head: &mut Vec<u8>, from: &mut impl Read, needed: usize) -> Result<()> {
    let missing = needed.saturating_sub(head.len()) as u64;
    from.by_ref().take(missing).read_to_end(head).with_context(|| format!("cannot read {name}"))?;
    Ok(())
}

/// Fails if a file ends inside its first `needed` bytes.
fn complete(name: &str, head: &[u8], needed: usize) -> Result<()> {
    if head.len() < needed {
        bail!(
            "{name} is cut off: it has {} bytes, and its header needs {needed}; save or copy the file again",
            head.len()
        );
    }
    Ok(())
}

/// Describes why elements are not of the type `T`, and how to convert them; `None` if they are.
fn misfit<T: Number>(found: &DType, declared: &str) -> Option<String> {
    let needed = T::SCALAR.name();
    let numpy = T::default_dtype().descr();
    let numpy = numpy.trim_matches('\'');
    let shader = format!("the shader declares `{declared}`: its numbers are {needed}");
    if found.uses_pickled_array() {
        return Some(format!(
            "has Python objects, which only Python reads, and {shader}; save `numpy.array(a.tolist(), dtype=\"{numpy}\")` of \
             the array `a`, or `numpy.concatenate(a).astype(\"{numpy}\")` if its rows have different lengths"
        ));
    }
    match found {
        DType::Plain(plain) if plain.type_char() == TypeChar::Complex => Some(format!(
            "has complex numbers ({}), and {shader}; save `numpy.stack([a.real, a.imag], axis=-1).astype(\"{numpy}\")` of the \
             array `a` for a buffer `array<vec2<{needed}>>`, or only `a.real.astype(\"{numpy}\")`",
            found.descr()
        )),
        DType::Record(fields) => {
            let names: Vec<String> = fields.iter().map(|field| format!("`{}`", field.name)).collect();
            let first = fields.first().map_or("", |field| field.name.as_str());
            Some(format!(
                "has records with the fields {}, and {shader}; save each field as an array, such as \
                 `a[\"{first}\"].astype(\"{numpy}\")` of the array `a`",
                names.join(", ")
            ))
        }
        _ if type_name(found).as_deref() == Some(needed) => None,
        _ => Some(format!(
            "has elements of {}, and {shader}; convert the array with `.astype(\"{numpy}\")`",
            described(found)
        )),
    }
}

/// Returns `true` if `npyz` parses a header without a panic, and in little time.
///
/// It panics if the product of all nonzero dimensions does not fit into a `u64`; every number outside a string counts
/// as a dimension. Its time doubles with each open bracket. Sums, fractions and escapes, which NumPy does not write,
/// are refused too.
fn is_harmless(head: &[u8]) -> bool {
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
    product.is_some() && has_few_brackets(&outside)
}

/// Returns `true` if a header without its strings has one dictionary, and few brackets are open at once.
fn has_few_brackets(outside: &str) -> bool {
    let mut open = 0_usize;
    for letter in outside.chars() {
        match letter {
            '[' | '(' | '{' => open += 1,
            ']' | ')' | '}' => open = open.saturating_sub(1),
            _ => {}
        }
        if open > MOST_BRACKETS {
            return false;
        }
    }
    outside.matches('{').count() <= 1
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_of_dimensions_beyond_64_bits_is_found() {
        let of = |shape: &str| {
            let text = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}");
            is_harmless(&[b"\x93NUMPY\x01\x00\x00\x00", text.as_bytes()].concat())
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
    fn a_header_with_many_open_brackets_is_found() {
        let of = |header: &str| is_harmless(&[b"\x93NUMPY\x01\x00\x00\x00", header.as_bytes()].concat());
        let nested = "[('a', [('b', [('c', '<f4', (2, 3))])])]";
        assert!(of(&format!("{{'descr': {nested}, 'fortran_order': False, 'shape': (2,), }}")));
        assert!(of("{'descr': '[[[[[[[[[[', 'shape': (2,), }"), "brackets in a string do not nest");
        for bracket in ["[", "(", "[(", "{"] {
            assert!(!of(&format!("{{'descr': {}", bracket.repeat(30))), "{bracket}");
        }
        assert!(!of("{'descr': {}}"), "NumPy writes one dictionary");
    }

    #[test]
    fn only_as_many_elements_are_read_as_the_shape_needs() {
        let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }";
        let length = (header.len() as u16).to_le_bytes();
        let head = [&b"\x93NUMPY\x01\x00"[..], &length, header.as_bytes()].concat();
        let limit = Limit { adapter: "G".into(), bytes: 1 << 20 };
        let error = read::<f32>("`x`", (&head[..]).chain(std::io::repeat(0)), "array<f32>", &limit);
        let error = error.map(drop).unwrap_err().to_string();
        assert!(
            error.starts_with("`x` has more than 16 bytes of elements, and its shape [4] needs 16"),
            "{error}"
        );
        let whole = read::<f32>("`x`", (&head[..]).chain(std::io::repeat(0).take(16)), "array<f32>", &limit);
        assert_eq!(whole.map(|numbers| numbers.data).unwrap(), [0.0; 4]);
    }

    #[test]
    fn a_header_without_an_end_is_not_read() {
        let start = [&b"\x93NUMPY\x02\x00"[..], &u32::MAX.to_le_bytes()].concat();
        let endless = &mut (&start[..]).chain(std::io::repeat(b' '));
        let error = head("`x`", endless).unwrap_err().to_string();
        assert!(error.contains("4294967295") && error.contains("65536"), "{error}");
    }

    #[test]
    fn a_file_that_ends_too_early_is_described_by_its_bytes() {
        let of = |bytes: &[u8]| head("`x`", &mut &bytes[..]).unwrap_err().to_string();
        assert!(of(b"").starts_with("`x` is empty, it has 0 bytes"), "{}", of(b""));
        assert!(of(b"\x93NUM").starts_with("`x` is cut off: it has 4 bytes, and its header needs 10"));
        assert!(of(b"\x93NUMPY\x01\x00\x76\x00{'descr'").starts_with("`x` is cut off: it has 18 bytes"));
        assert!(of(b"PK").starts_with("`x` is not a .npy file"), "{}", of(b"PK"));
    }

    #[test]
    fn each_kind_of_elements_has_a_remedy_of_its_own() {
        let of = |descr: &str| {
            let header = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (2,), }}");
            let length = (header.len() as u16).to_le_bytes();
            let head = [&b"\x93NUMPY\x01\x00"[..], &length, header.as_bytes()].concat();
            let dtype = NpyHeader::from_reader(&head[..]).expect("it is a header").dtype();
            misfit::<f32>(&dtype, "array<f32>")
        };
        let has = |descr: &str, parts: &[&str]| {
            let text = of(descr).expect("it is not `f32`");
            assert!(parts.iter().all(|part| text.contains(part)), "{text}");
        };
        assert_eq!(of("'<f4'"), None);
        assert_eq!(of("'>f4'"), None);
        has("'<f8'", &["f64", "`array<f32>`", "`.astype(\"<f4\")`"]);
        has("'<c8'", &["complex", "numpy.stack([a.real, a.imag], axis=-1)", "`array<vec2<f32>>`"]);
        has("'|O'", &["Python objects", "numpy.array(a.tolist(), dtype=\"<f4\")", "numpy.concatenate(a)"]);
        has("[('mass', '<f4'), ('id', '<u4')]", &["`mass`, `id`", "a[\"mass\"].astype(\"<f4\")"]);
    }
}
