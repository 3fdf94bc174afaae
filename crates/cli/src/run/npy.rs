//! Files of NumPy's: `.npy`.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use npyz::{DType, NpyFile, Order, TypeChar, WriteOptions, WriterBuilder};

use super::host::{Limit, Numbers};
use super::number::Number;

/// Reads a file whose numbers are of the type; `declared` is what the shader declares.
///
/// # Errors
/// The file cannot be read, is cut off, or has elements of another type or order.
pub(super) fn read<T: Number>(file: &Path, declared: &str, limit: &Limit) -> Result<Numbers<T>> {
    let name = file.display();
    let opened = File::open(file).with_context(|| format!("cannot read `{name}`"))?;
    let found = NpyFile::new(opened).with_context(|| format!("`{name}` is no .npy file, or is cut off"))?;
    let header = found.header().clone();
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
    let bytes = limit.read(file, found.into_inner())?;
    let shape = header.shape();
    let size = T::SCALAR.size() as u64;
    let needed = shape.iter().fold(size, |all, &n| all.saturating_mul(n)); // the count of the header may have wrapped
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

/// Writes a file.
///
/// # Errors
/// It cannot be written.
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

/// The name of a type of plain numbers, as shaders have it.
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

/// What NumPy calls the type.
fn default_type<T: Number>() -> String {
    T::default_dtype().descr().trim_matches('\'').to_owned()
}
