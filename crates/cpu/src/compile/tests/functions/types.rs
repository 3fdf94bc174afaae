//! The types of the calls, and the values of their components.

use crate::arith::Scalar;
use crate::arith::tests::edges::{doubles, floats, halves, integers, same, value};
use half::f16;

/// Size of the numbers of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Width {
    Half,
    Word,
    Double,
}

impl Width {
    fn bytes(self) -> u8 {
        match self {
            Self::Half => 2,
            Self::Word => 4,
            Self::Double => 8,
        }
    }
}

/// A type of a row. The letters are:
/// - `f`: any float; `m`: a float of moderate magnitude
/// - `i`, `u`: any integer
/// - `o`: a `u32` that is a bit index or count; `e`: an `i32` exponent
#[derive(Clone, Copy)]
pub(super) struct Type {
    letter: u8,
    width: Width,
    columns: usize,
    rows: usize,
}

impl Type {
    /// Parses a type, with a number of components for `*`.
    pub(super) fn new(text: &str, size: usize, width: Width) -> Self {
        let number = |byte: u8| if byte == b'*' { size } else { usize::from(byte - b'0') };
        let (columns, rows) = match text.as_bytes()[1..] {
            [] => (1, 1),
            [rows] => (1, number(rows)),
            [columns, rows] => (number(columns), number(rows)),
            _ => panic!("{text} is not a type"),
        };
        Self { letter: text.as_bytes()[0], width, columns, rows }
    }

    pub(super) fn components(self) -> usize {
        self.columns * self.rows
    }

    /// Returns the component type as naga's.
    fn naga(self) -> naga::Scalar {
        let (kind, width) = match self.letter {
            b'f' | b'm' => (naga::ScalarKind::Float, self.width),
            b'i' => (naga::ScalarKind::Sint, self.width),
            b'u' => (naga::ScalarKind::Uint, self.width),
            b'o' => (naga::ScalarKind::Uint, Width::Word),
            b'e' => (naga::ScalarKind::Sint, Width::Word),
            other => panic!("{other} is not a letter of a type"),
        };
        naga::Scalar { kind, width: width.bytes() }
    }

    pub(super) fn is_float(self) -> bool {
        self.naga().kind == naga::ScalarKind::Float
    }

    /// Returns the size of a component in bytes.
    pub(super) fn bytes(self) -> usize {
        usize::from(self.naga().width)
    }

    pub(super) fn scalar(self) -> &'static str {
        match (self.naga().kind, self.naga().width) {
            (naga::ScalarKind::Float, 2) => "f16",
            (naga::ScalarKind::Float, 4) => "f32",
            (naga::ScalarKind::Float, _) => "f64",
            (naga::ScalarKind::Sint, 4) => "i32",
            (naga::ScalarKind::Sint, _) => "i64",
            (_, 4) => "u32",
            _ => "u64",
        }
    }

    pub(super) fn wgsl(self) -> String {
        match (self.columns, self.rows) {
            (1, 1) => self.scalar().into(),
            (1, rows) => format!("vec{rows}<{}>", self.scalar()),
            (columns, rows) => format!("mat{columns}x{rows}<{}>", self.scalar()),
        }
    }

    /// Returns the WGSL suffix that selects a component.
    pub(super) fn index(self, component: usize) -> String {
        match (self.columns, self.rows) {
            (1, 1) => String::new(),
            (1, _) => format!("[{component}]"),
            (_, rows) => format!("[{}][{}]", component / rows, component % rows),
        }
    }

    /// Returns the bits of the values to try for a component.
    pub(super) fn values(self) -> Vec<u64> {
        match self.letter {
            b'f' => match self.width {
                Width::Half => halves().into_iter().map(|x| x.to_bits().into()).collect(),
                Width::Word => floats().into_iter().map(|x| x.to_bits().into()).collect(),
                Width::Double => doubles().into_iter().map(f64::to_bits).collect(),
            },
            b'm' => {
                let mut rng = fastrand::Rng::with_seed(11);
                let few = [0.0, -0.0, 0.5, 1.0, -1.0, 2.0, 3.0, -4.0, 0.25, 1e-3, -100.0];
                let random: Vec<f64> = (0..200).map(|_| (rng.f64() - 0.5) * 20.0).collect();
                few.into_iter().chain(random).map(|x| self.rounded(x)).collect()
            }
            b'o' => (0..70).chain([u32::MAX, 1 << 31]).map(u64::from).collect(),
            b'e' => {
                let far = [-2200, -1100, -1000, 1000, 1100, 2200, i32::MIN, i32::MAX];
                (-160..140).chain(far).map(|x| u64::from(x.cast_unsigned())).collect()
            }
            _ => integers(self.naga()).into_iter().map(|x| self.wrapped(x)).collect(),
        }
    }

    /// Returns the bits of the float that is nearest to a number.
    pub(super) fn rounded(self, x: f64) -> u64 {
        match self.width {
            Width::Half => f16::from_f64(x).to_bits().into(),
            Width::Word => (x as f32).to_bits().into(),
            Width::Double => x.to_bits(),
        }
    }

    /// Returns the bits of an integer, which wraps.
    pub(super) fn wrapped(self, x: i128) -> u64 {
        Scalar::from_bits(self.naga(), x as u64).bits()
    }

    /// Returns the number that a component represents.
    pub(super) fn number(self, bits: u64) -> f64 {
        match Scalar::from_bits(self.naga(), bits) {
            Scalar::F16(x) => x.to_f64(),
            Scalar::F32(x) => x.into(),
            Scalar::F64(x) => x,
            _ => self.integer(bits) as f64,
        }
    }

    /// Returns the integer that a component represents.
    pub(super) fn integer(self, bits: u64) -> i128 {
        value(Scalar::from_bits(self.naga(), bits))
    }

    /// Returns `true` if two components are equal, or both are NaN.
    pub(super) fn equal(self, [one, other]: [u64; 2]) -> bool {
        let [x, y] = [one, other].map(|bits| Scalar::from_bits(self.naga(), bits));
        one == other || same(x, y)
    }
}
