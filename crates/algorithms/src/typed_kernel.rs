//! Built-in shaders for one element type, and arguments of their launches.

use crate::verb_queue::VerbQueue;
use crate::{counted, trusted};
use fencepost_core::{
    DeviceArray, DynArg, DynKernel, Element, IntoArg, NamedArg, Result, Scalar, ShaderSource, Value,
};
use fencepost_kernels::PART_COUNT;

/// Compiles the built-in shader `stem`.wgsl with its `alias T` set to a type.
pub(crate) fn compiled<T: Element>(
    queue: &VerbQueue<'_>,
    stem: &str,
    overrides: &[(&str, f64)],
) -> Result<DynKernel> {
    sized::<T>(queue, stem, overrides, None)
}

/// Compiles a shader as [`compiled`] does; for first elements if there is a count.
pub(crate) fn sized<T: Element>(
    queue: &VerbQueue<'_>,
    stem: &str,
    overrides: &[(&str, f64)],
    count: Option<&DeviceArray<u32>>,
) -> Result<DynKernel> {
    let source = ShaderSource::builtin(&format!("{stem}.wgsl"))?.with_type("T", T::DTYPE)?;
    trusted::kernel_from_source(queue, &counted::sized(source, count), stem, overrides, count.is_some())
}

/// Returns the argument with the number of first elements.
pub(crate) fn count_argument(count: Option<&DeviceArray<u32>>) -> Option<NamedArg<'_>> {
    count.map(|count| (Some(PART_COUNT.into()), count.into_arg()))
}

/// Returns the argument for a parameter.
pub(crate) fn value<T: Element>(name: &'static str, value: T) -> NamedArg<'static> {
    (Some(name.into()), DynArg::Value(Value::new(value)))
}

/// Returns the number of a type in the overrides of kernels that compute with bits.
pub(crate) fn type_number<T: Element>() -> f64 {
    match T::DTYPE.scalar() {
        Some(Scalar::F32) => 2.0,
        Some(Scalar::I32) => 1.0,
        _ => 0.0,
    }
}

/// Returns a mask: an element is not zero if any of these bits is set in it.
pub(crate) fn nonzero_bits<T: Element>() -> u32 {
    if T::DTYPE.scalar() == Some(Scalar::F32) { u32::MAX >> 1 } else { u32::MAX }
}
