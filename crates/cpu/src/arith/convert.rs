//! Conversions between the types of scalars.

use super::Scalar;
use naga::ScalarKind;

/// Converts a value to the type of a kind and a width in bytes, or reinterprets its bits if there is no width.
pub(crate) fn convert(x: Scalar, kind: ScalarKind, width: Option<u8>) -> Scalar {
    todo!("{x:?} {kind:?} {width:?}")
}
