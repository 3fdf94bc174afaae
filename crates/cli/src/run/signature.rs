//! The arguments of a kernel, in the terms of this command.

use std::fmt::Write;

use anyhow::{Result, bail};
use fencepost::interface::{Access, Interface};
use fencepost::{DType, Scalar};

/// All arguments of a kernel.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    pub(super) kernel: String,
    pub(super) workgroup: [u32; 3],
    pub(super) buffers: Vec<Buffer>,
    pub(super) params: Vec<Param>,
}

/// A buffer of a kernel.
#[derive(Clone, Debug)]
pub(super) struct Buffer {
    pub(super) name: String,
    /// Type as written in the shader.
    pub(super) text: String,
    /// Access that the shader declares.
    pub(super) declared: Access,
    /// Actual access of the kernel.
    pub(super) used: Option<Access>,
    element: Option<Block>,
}

/// A parameter of a kernel.
#[derive(Clone, Debug)]
pub(super) struct Param {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) block: Option<Block>,
}

/// Equal numbers in memory, without a gap: one number, a vector, or a matrix by its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) scalar: Scalar,
    /// Numbers in each dimension, as in the shader.
    pub(super) counts: Vec<usize>,
    /// Allocated size of each dimension: in an array, a vector of three takes the space of four.
    pub(super) room: Vec<usize>,
}

impl Signature {
    pub(super) fn of(interface: &Interface) -> Self {
        let block = |name: &str| {
            let layout = interface.layout_of(name)?;
            let [leaf] = &layout.leaves[..] else { return None };
            let dims: Vec<_> = leaf.dims.iter().map(|dim| [dim.len, dim.stride]).collect();
            Block::new(leaf.scalar, layout.size, &dims).filter(|_| leaf.path.is_empty())
        };
        let buffers = interface.array_bindings().iter().map(|binding| Buffer {
            name: binding.name.clone(),
            text: binding.text.clone(),
            declared: binding.declared,
            used: binding.used,
            element: if binding.layout.is_some() { block(&binding.name) } else { Some(Block::word()) },
        });
        let fields = interface.params.iter().flat_map(|params| &params.fields);
        let params = fields.map(|field| Param {
            name: field.name.clone(),
            text: field.text.clone(),
            block: block(&field.name),
        });
        let kernel = interface.entry.clone();
        let workgroup = interface.workgroup;
        Self { kernel, workgroup, buffers: buffers.collect(), params: params.collect() }
    }

    /// Returns the buffer of a name.
    ///
    /// # Errors
    /// No buffer has the name.
    pub(super) fn buffer(&self, name: &str) -> Result<&Buffer> {
        match self.buffers.iter().find(|buffer| buffer.name == name) {
            Some(buffer) => Ok(buffer),
            None => bail!("kernel `{}` has no buffer `{name}`\n{}", self.kernel, self.list()),
        }
    }

    /// Lists every argument with its type, one per line.
    pub(super) fn list(&self) -> String {
        let params = self.params.iter().map(|param| (&param.name, "parameter", &param.text));
        let buffers = self.buffers.iter().map(|buffer| (&buffer.name, buffer.role(), &buffer.text));
        let lines: Vec<_> = params.chain(buffers).collect();
        let width = lines.iter().map(|(name, ..)| name.len()).max().unwrap_or(0);
        let mut text = if lines.is_empty() {
            "it takes no arguments".into()
        } else {
            String::from("its arguments are:")
        };
        for (name, role, declared) in lines {
            let _ = write!(text, "\n  {name:width$}  {role:18}  {declared}"); // writing to a String does not fail
        }
        text
    }
}

impl Buffer {
    /// Returns `true` if the kernel writes it.
    pub(super) fn is_written(&self) -> bool {
        self.used.is_some_and(Access::writes)
    }

    fn role(&self) -> &'static str {
        match self.declared {
            Access::Read => "buffer, read",
            _ => "buffer, read_write",
        }
    }

    /// Returns the numbers of an element.
    ///
    /// # Errors
    /// The element is a struct.
    pub(super) fn element(&self) -> Result<&Block> {
        match &self.element {
            Some(block) => Ok(block),
            None => bail!(
                "buffer `{}` is `{}`: this command makes arrays of numbers, vectors and matrices, no structs; write a program \
                 with `#[derive(Element)]` for those",
                self.name,
                self.text
            ),
        }
    }
}

impl Block {
    /// Makes a block of `size` bytes, from the count and the stride of each dimension; `None` if there are gaps between
    /// the numbers.
    fn new(scalar: Scalar, size: u32, dims: &[[u32; 2]]) -> Option<Self> {
        let counts = dims.iter().map(|dim| dim[0] as usize).collect();
        let mut room = Vec::new();
        let mut outer = size;
        for &[_, stride] in dims {
            room.push((outer / stride) as usize);
            outer = stride;
        }
        (outer as usize == scalar.size()).then_some(Self { scalar, counts, room })
    }

    /// Returns a word, the block for elements without a host type.
    fn word() -> Self {
        Self { scalar: Scalar::U32, counts: Vec::new(), room: Vec::new() }
    }

    /// Returns the type on the host.
    pub(super) fn dtype(&self) -> DType {
        let number = DType::Scalar(self.scalar);
        // Types contain static references to other types, so these are leaked; there are only a few.
        self.room.iter().rev().fold(number, |of, &count| DType::Array(Box::leak(Box::new(of)), count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_of_three_has_room_for_four_in_an_array() {
        let block = Block::new(Scalar::F32, 16, &[[3, 4]]).expect("it has no gap inside");
        assert_eq!((&block.counts[..], &block.room[..]), (&[3][..], &[4][..]));
        assert_eq!(block.dtype().to_string(), "vec4<f32>");
    }

    #[test]
    fn a_matrix_is_listed_by_its_columns() {
        let block = Block::new(Scalar::F32, 48, &[[3, 16], [3, 4]]).expect("it has no gap inside");
        assert_eq!((&block.counts[..], &block.room[..]), (&[3, 3][..], &[3, 4][..]));
        assert_eq!(block.dtype().to_string(), "mat3x4<f32>");
    }

    #[test]
    fn numbers_with_gaps_between_them_are_no_block() {
        assert_eq!(Block::new(Scalar::F32, 64, &[[4, 16]]), None);
    }
}
