//! The arguments that the host passes: typed argument structs, and lists made at run time.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;

use smallvec::SmallVec;

use crate::{DType, Element, Param, Result, ShaderSource};

/// Device memory that can be bound to a kernel.
pub trait BufferArg {
    /// Returns the type of its elements.
    fn dtype(&self) -> DType;
    /// Returns the number of its elements.
    fn len(&self) -> usize;
    /// Returns `true` if it has no elements.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Returns the number of elements in each dimension, without padding. Memory without a shape has one dimension.
    fn shape(&self) -> Vec<usize> {
        vec![self.len()]
    }
    /// Returns the shape of the memory, padding included.
    fn padded_shape(&self) -> Vec<usize> {
        self.shape()
    }
    /// Returns the handle by which the crate that runs kernels knows the buffer.
    fn handle(&self) -> &dyn Any;
}

/// Device memory whose element type is known when the program is compiled.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an array that a kernel can be given",
    label = "not a device array",
    note = "references in kernel arguments are arrays; pass a parameter as a plain value"
)]
pub trait TypedBuffer: BufferArg {
    /// Type of its elements.
    type Element: Element;
}

/// A receiver of a kernel's arguments, in the order of the fields.
pub trait Binder {
    /// Takes a buffer.
    fn buffer(&mut self, buffer: &dyn BufferArg);
    /// Takes the bytes of a parameter.
    fn value(&mut self, bytes: &[u8]);
}

/// Kind of argument that a field of an argument struct passes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum ArgKind {
    /// Buffer that the kernel only reads, passed by `&`.
    Read(DType),
    /// Buffer that the kernel may write, passed by `&mut`.
    ReadWrite(DType),
    /// Parameter, passed as a plain value.
    Value(DType),
}

impl ArgKind {
    /// Returns the element or value type.
    pub const fn dtype(self) -> DType {
        match self {
            Self::Read(dtype) | Self::ReadWrite(dtype) | Self::Value(dtype) => dtype,
        }
    }
}

impl fmt::Display for ArgKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(dtype) => write!(f, "`&` to an array of {dtype}"),
            Self::ReadWrite(dtype) => write!(f, "`&mut` to an array of {dtype}"),
            Self::Value(dtype) => write!(f, "a value of {dtype}"),
        }
    }
}

/// One field of an argument struct.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ArgField {
    /// Name of the field, which is the argument's name in the shader.
    pub name: &'static str,
    /// Kind of the argument that the field passes.
    pub kind: ArgKind,
}

/// A struct that holds the arguments of one kernel; `#[derive(KernelArgs)]` implements it.
///
/// References are buffers (`&` reads, `&mut` writes), plain values are parameters, and the fields have the
/// names that the shader uses.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a struct of kernel arguments",
    label = "not known to be arguments of a kernel",
    note = "add `#[derive(KernelArgs)]` and `#[kernel(source = \"...\")]` to it",
    note = "if it has both, their list `T = [..]` lacks the type; in generic code, add a bound such as `Saxpy<'static, T>: KernelFamily`"
)]
pub trait KernelArgs {
    /// The same struct with every lifetime `'static`. Argument structs with the same family belong to the same kernel.
    type Family: KernelArgs + 'static;

    /// `true` if the kernel returns a value; then the struct implements [`Returns`].
    const RETURNS: bool = false;

    /// Entry points that the same launch runs after [`entry`](Self::entry), in this order; then the struct implements
    /// [`EntryPoints`]. Each entry point uses the fields that it declares.
    const NEXT: &'static [&'static str] = &[];

    /// Returns the struct's name, for messages.
    fn label() -> &'static str;

    /// Returns the shader, with the element type of a generic struct filled in.
    ///
    /// # Errors
    /// [`Error::UnknownBuiltin`](crate::Error::UnknownBuiltin) and
    /// [`Error::UnknownAlias`](crate::Error::UnknownAlias); the derive rules both out.
    fn source() -> Result<ShaderSource>;

    /// Returns the name of the entry point.
    fn entry() -> &'static str;

    /// Returns the fields in the order of their declaration.
    fn fields() -> Vec<ArgField>;

    /// Passes every field to `binder`, in the order of their declaration.
    fn bind<B: Binder + ?Sized>(&self, binder: &mut B);
}

/// An argument struct with `'static` for every lifetime, and with element types for which its kernel is compiled.
///
/// `#[derive(KernelArgs)]` implements this trait for every type that the attribute lists, as in `T = [f32, u32]`. It is
/// the bound of code that is generic over the element type: with it, the struct implements [`KernelArgs`] for every
/// lifetime.
///
/// # Example
/// ```
/// use fencepost::prelude::*;
///
/// #[derive(KernelArgs)]
/// #[kernel(source = "saxpy.wgsl", T = [f32, i32, u32])]
/// struct Saxpy<'a, T: Element> {
///     a: T,
///     x: &'a DeviceArray<T>,
///     y: &'a mut DeviceArray<T>,
/// }
///
/// /// Enqueues y = a x + y.
/// fn saxpy<T: Element>(queue: &CommandQueue, a: T, x: &DeviceArray<T>, y: &mut DeviceArray<T>) -> Result<()>
/// where
///     Saxpy<'static, T>: KernelFamily,
/// {
///     let kernel = queue.context().kernel::<Saxpy<T>>()?;
///     queue.launch(&kernel, Grid::threads([y.len()]), Saxpy { a, x, y })
/// }
/// # let (ctx, queue) = fencepost::doctest();
/// let (x, mut y) = (ctx.array(&[1_u32, 2])?, ctx.full([2], 1_u32)?);
/// saxpy(&queue, 10, &x, &mut y)?;
/// assert_eq!(queue.read(&y).wait()?, [11, 21]);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "the kernel of `{Self}` is not compiled for this type",
    label = "not known to be a type of the kernel",
    note = "see the list of types, such as `T = [..]`, in its `#[kernel(..)]`",
    note = "if the type is a parameter, add `where {Self}: KernelFamily`"
)]
pub trait KernelFamily {}

/// Arguments of a kernel that returns a value; `#[kernel(..., returns(total: f32))]` implements it.
///
/// The last of the [`fields`](KernelArgs::fields) is the buffer to which the kernel writes the value.
/// [`bind`](KernelArgs::bind) does not pass that buffer.
#[diagnostic::on_unimplemented(
    message = "the kernel of `{Self}` returns no value",
    note = "`#[kernel(..., returns(total: f32))]` names the variable of the shader that holds the value, and its type"
)]
pub trait Returns: KernelArgs {
    /// Type of the value.
    type Value: Element;
}

/// Arguments of several entry points, which one call launches in order; `#[kernel(..., entries("a", "b"))]` implements
/// it.
#[diagnostic::on_unimplemented(
    message = "the kernel of `{Self}` has one entry point",
    note = "`#[kernel(..., entries(\"first\", \"second\"))]` lists several, which one call launches in order"
)]
pub trait EntryPoints: KernelArgs {
    /// An array with one item for each entry point.
    type Each<X>: AsRef<[X]>;
}

/// Bytes of one parameter, with their type.
#[derive(Clone, PartialEq, Debug)]
pub struct Value {
    dtype: DType,
    bytes: SmallVec<[u8; 16]>,
}

impl Value {
    /// Copies a value.
    pub fn new<T: Param>(value: T) -> Self {
        Self { dtype: T::TYPE, bytes: value.with_bytes(SmallVec::from_slice) }
    }

    /// Copies the bytes of a value of a type. Returns `None` if the type has another size.
    pub fn from_bytes(dtype: DType, bytes: &[u8]) -> Option<Self> {
        (dtype.size() == bytes.len()).then(|| Self { dtype, bytes: bytes.into() })
    }

    /// Returns its type.
    pub const fn dtype(&self) -> DType {
        self.dtype
    }

    /// Returns its bytes, as many as its type has.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// An argument of a launch that is checked at run time.
#[derive(Clone)]
pub enum DynArg<'a> {
    /// The argument `&array`.
    Read(&'a dyn BufferArg),
    /// The argument `&mut array`.
    ReadWrite(&'a dyn BufferArg),
    /// A plain value.
    Value(Value),
    /// The argument `&value` of a named value in a graph; a replay may pass another number.
    Named(&'a dyn NamedValue),
}

/// A value that has a name in a graph.
pub trait NamedValue {
    /// Returns the name.
    fn name(&self) -> &str;

    /// Returns the default value, which a replay passes unless it gets another one.
    fn value(&self) -> Value;

    /// Returns the identifier of the value among the values of all graphs.
    fn token(&self) -> u64;
}

impl DynArg<'_> {
    /// Returns the kind of the argument, without the argument itself.
    pub fn kind(&self) -> ArgKind {
        match self {
            Self::Read(buffer) => ArgKind::Read(buffer.dtype()),
            Self::ReadWrite(buffer) => ArgKind::ReadWrite(buffer.dtype()),
            Self::Value(value) => ArgKind::Value(value.dtype()),
            Self::Named(value) => ArgKind::Value(value.value().dtype()),
        }
    }

    /// Passes the argument to `binder`.
    pub fn bind<B: Binder + ?Sized>(&self, binder: &mut B) {
        match self {
            Self::Read(buffer) | Self::ReadWrite(buffer) => binder.buffer(*buffer),
            Self::Value(value) => binder.value(value.bytes()),
            Self::Named(value) => binder.value(value.value().bytes()),
        }
    }
}

impl fmt::Debug for DynArg<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind().fmt(f)
    }
}

/// An argument with its name, if it is passed by name: one item of [`args!`](crate::args!).
pub type NamedArg<'a> = (Option<Cow<'a, str>>, DynArg<'a>);

/// An item that [`args!`](crate::args!) takes: `&array`, `&mut array`, a plain value, or `&value` for a named value of
/// a graph.
pub trait IntoArg<'a> {
    /// Wraps the item.
    fn into_arg(self) -> DynArg<'a>;
}

impl<'a, A: BufferArg> IntoArg<'a> for &'a A {
    fn into_arg(self) -> DynArg<'a> {
        DynArg::Read(self)
    }
}

impl<'a, A: BufferArg> IntoArg<'a> for &'a mut A {
    fn into_arg(self) -> DynArg<'a> {
        DynArg::ReadWrite(self)
    }
}

impl<'a, T: Element, const N: usize> IntoArg<'a> for [T; N] {
    fn into_arg(self) -> DynArg<'a> {
        DynArg::Value(Value::new(self))
    }
}

macro_rules! value_arg {
    ($($host:ty),* $(,)?) => {$(
        impl<'a> IntoArg<'a> for $host {
            fn into_arg(self) -> DynArg<'a> {
                DynArg::Value(Value::new(self))
            }
        }
    )*};
}
value_arg! { bool, f32, i32, u32, f64, i64, u64, half::f16 }

/// Makes the argument list of a launch that is checked at run time: an array of [`NamedArg`].
///
/// By name, `args![a = 2.0f32, x = &x, y = &mut y]`, or by position, `args![2.0f32, &x, &mut y]`: bindings by ascending
/// index, with the members of the uniform block at its index. A number needs its type: a bare `2.0` is an `f64`.
///
/// # Example
/// ```
/// use fencepost::{Element, args};
/// use fencepost::interface::DynArg;
/// let list = args![a = 2.0f32, n = 7u32];
/// assert_eq!(list[0].0.as_deref(), Some("a"));
/// assert!(matches!(&list[1].1, DynArg::Value(n) if n.dtype() == u32::DTYPE));
/// ```
#[macro_export]
macro_rules! args {
    ($($name:ident = $value:expr),+ $(,)?) => {
        [$((
            ::core::option::Option::Some(::std::borrow::Cow::Borrowed(::core::stringify!($name))),
            $crate::IntoArg::into_arg($value),
        )),+]
    };
    ($($value:expr),* $(,)?) => {
        [$((::core::option::Option::<::std::borrow::Cow<'static, str>>::None, $crate::IntoArg::into_arg($value))),*]
    };
}
