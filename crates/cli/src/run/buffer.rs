//! The buffers of a kernel on the device, of any type.

use std::any::Any;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

use anyhow::{Context as _, Result};
use fencepost::interface::{Access, BufferArg, DynArg};
use fencepost::{AnyArray, CommandQueue, DType, DeviceArray, Scalar};

use super::argument::Given;
use super::check::MOST_BYTES;
use super::host::{Limit, Numbers};
use super::number::{Number, with_number};
use super::signature::{Block, Buffer};
use super::{npy, show};

/// A buffer of a kernel on the device.
pub(super) struct Bound {
    pub(super) name: String,
    pub(super) is_written: bool,
    /// Number of elements in each dimension, without the dimensions inside an element.
    pub(super) elements: Vec<usize>,
    /// Hash of the initial elements, if they are integers that the kernel reads. A buffer that is too large for a check
    /// has none.
    pub(super) contents: Option<u64>,
    declared: Access,
    seen: Seen,
    held: Box<dyn Held>,
}

/// An array of numbers, passed to the kernel as an array of the shader's elements.
struct Seen {
    array: AnyArray,
    dtype: DType,
    len: usize,
}

impl BufferArg for Seen {
    fn dtype(&self) -> DType {
        self.dtype
    }

    fn len(&self) -> usize {
        self.len
    }

    fn handle(&self) -> &dyn Any {
        self.array.handle()
    }
}

impl Bound {
    /// Uploads the data of an argument. `again` is `true` if the buffer must be restored later.
    ///
    /// # Errors
    /// The argument does not fit the buffer, or the memory is used up.
    pub(super) fn new(
        queue: &CommandQueue,
        buffer: &Buffer,
        given: &Given,
        limit: &Limit,
        again: bool,
    ) -> Result<Self> {
        let element = buffer.element()?;
        let of_buffer = || format!("argument `{}`", buffer.name);
        with_number!(element.scalar, T => {
            let numbers = Numbers::<T>::of(given, buffer, element, limit);
            numbers.and_then(|numbers| Self::of(queue, buffer, element, numbers, again)).with_context(of_buffer)
        })
    }

    fn of<T: Number>(
        queue: &CommandQueue,
        buffer: &Buffer,
        element: &Block,
        numbers: Numbers<T>,
        again: bool,
    ) -> Result<Self> {
        let elements = numbers.elements(element).to_vec();
        let contents = hash_of_integers(buffer, &numbers.data);
        let array = queue.array(&numbers.data)?.named(buffer.name.as_str());
        let first = if again && buffer.is_written() { Some(queue.array(&numbers.data)?) } else { None };
        let seen = Seen { array: array.any(), dtype: element.dtype(), len: elements.iter().product() };
        let name = buffer.name.clone();
        let is_written = buffer.is_written();
        let declared = buffer.declared;
        let held = Box::new(Typed { array, first, shape: numbers.shape });
        Ok(Self { name, is_written, elements, contents, declared, seen, held })
    }

    /// Returns the argument of a launch.
    pub(super) fn arg(&self) -> DynArg<'_> {
        match self.declared {
            Access::Read => DynArg::Read(&self.seen),
            _ => DynArg::ReadWrite(&self.seen),
        }
    }

    /// Returns its size in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.seen.len as u64 * self.seen.dtype.size() as u64
    }

    /// Enqueues a copy that restores the initial elements, if a launch may have changed them.
    pub(super) fn restore(&mut self, queue: &CommandQueue) -> Result<()> {
        self.held.restore(queue)
    }

    /// Reads the elements.
    pub(super) fn read(&self, queue: &CommandQueue) -> Result<Box<dyn Elements>> {
        self.held.read(queue)
    }
}

/// Returns a hash of integers that the kernel reads, because they may be indices.
fn hash_of_integers<T: Number>(buffer: &Buffer, data: &[T]) -> Option<u64> {
    let is_float = matches!(T::SCALAR, Scalar::F16 | Scalar::F32 | Scalar::F64);
    let is_read = buffer.used.is_some_and(Access::reads);
    let bytes: &[u8] = bytemuck::cast_slice(data);
    (is_read && !is_float && bytes.len() as u64 <= MOST_BYTES).then(|| {
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        hasher.finish()
    })
}

/// An array without its type.
trait Held {
    fn restore(&mut self, queue: &CommandQueue) -> Result<()>;
    fn read(&self, queue: &CommandQueue) -> Result<Box<dyn Elements>>;
}

struct Typed<T: Number> {
    array: DeviceArray<T>,
    first: Option<DeviceArray<T>>,
    shape: Vec<usize>,
}

impl<T: Number> Held for Typed<T> {
    fn restore(&mut self, queue: &CommandQueue) -> Result<()> {
        match &self.first {
            Some(first) => Ok(queue.copy(first, &mut self.array)?),
            None => Ok(()),
        }
    }

    fn read(&self, queue: &CommandQueue) -> Result<Box<dyn Elements>> {
        let data = queue.read(&self.array).wait()?;
        Ok(Box::new(Numbers { shape: self.shape.clone(), data }))
    }
}

/// Elements of a buffer after the launch.
pub(super) trait Elements {
    /// Returns the type of the numbers.
    fn type_name(&self) -> &'static str;
    fn shape(&self) -> &[usize];
    /// Writes the elements as NumPy prints them: only the first and the last, if there are many.
    fn text(&self) -> String;
    /// Returns all elements, in C order.
    fn json(&self) -> Vec<serde_json::Value>;
    /// Writes the elements to a `.npy` file.
    fn save(&self, file: &Path) -> Result<()>;
}

impl<T: Number> Elements for Numbers<T> {
    fn type_name(&self) -> &'static str {
        T::SCALAR.name()
    }

    fn shape(&self) -> &[usize] {
        &self.shape
    }

    fn text(&self) -> String {
        show::text(&self.shape, &|at| self.data[at].text())
    }

    fn json(&self) -> Vec<serde_json::Value> {
        self.data.iter().map(|number| number.json()).collect()
    }

    fn save(&self, file: &Path) -> Result<()> {
        npy::write(file, self)
    }
}
