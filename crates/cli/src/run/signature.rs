//! What a kernel takes, in the words of this command.

use std::fmt::Write;

use anyhow::{Result, bail};
use fencepost::{Access, DType, Interface, Scalar};

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
    /// Its type as the shader has it.
    pub(super) text: String,
    /// Whether the shader declares that it may write.
    pub(super) declared: Access,
    /// What the kernel does with it.
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

/// Equal numbers in memory, without a gap: one of them, a vector, a matrix by its columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) scalar: Scalar,
    /// How many there are in each dimension, as the shader counts.
    pub(super) counts: Vec<usize>,
    /// How many there is room for: a vector of three has room for four in an array.
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
        let buffers = interface.bindings.iter().map(|binding| Buffer {
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
        let (kernel, workgroup) = (interface.entry.clone(), interface.workgroup);
        Self { kernel, workgroup, buffers: buffers.collect(), params: params.collect() }
    }

    /// The buffer of a name.
    ///
    /// # Errors
    /// There is none.
    pub(super) fn buffer(&self, name: &str) -> Result<&Buffer> {
        match self.buffers.iter().find(|buffer| buffer.name == name) {
            Some(buffer) => Ok(buffer),
            None => bail!("kernel `{}` has no buffer `{name}`\n{}", self.kernel, self.list()),
        }
    }

    /// Every argument with its type, a line each.
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
            let _ = write!(text, "\n  {name:width$}  {role:18}  {declared}"); // a String takes everything
        }
        text
    }
}

impl Buffer {
    /// Whether the kernel writes it.
    pub(super) fn is_written(&self) -> bool {
        self.used.is_some_and(Access::writes)
    }

    fn role(&self) -> &'static str {
        match self.declared {
            Access::Read => "buffer, read",
            _ => "buffer, read_write",
        }
    }

    /// The numbers of an element.
    ///
    /// # Errors
    /// The element is a struct of several.
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
    /// A block of `size` bytes, by the count and the stride of each dimension; none if there are gaps between the numbers.
    fn new(scalar: Scalar, size: u32, dims: &[[u32; 2]]) -> Option<Self> {
        let (counts, mut room, mut outer) =
            (dims.iter().map(|dim| dim[0] as usize).collect(), Vec::new(), size);
        for &[_, stride] in dims {
            room.push((outer / stride) as usize);
            outer = stride;
        }
        (outer as usize == scalar.size()).then_some(Self { scalar, counts, room })
    }

    /// What stands for elements that the host has no type for: their words.
    fn word() -> Self {
        Self { scalar: Scalar::U32, counts: Vec::new(), room: Vec::new() }
    }

    /// The type on the host.
    pub(super) fn dtype(&self) -> DType {
        let number = DType::Scalar(self.scalar);
        // Types are compared by static references, and a run has few of them.
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
    fn numbers_with_gaps_between_are_no_block() {
        assert_eq!(Block::new(Scalar::F32, 64, &[[4, 16]]), None);
    }
}
