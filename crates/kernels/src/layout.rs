//! Packs parameter values into the bytes of the uniform block.

use crate::{ArgumentSlot, Interface};

/// Bytes of one launch's uniform block.
///
/// # Example
/// ```
/// use fencepost_kernels::{args, check_dyn, Module, ParamsBlock, ShaderSource};
/// let module = Module::parse(&ShaderSource::text("k", "
///     struct Params { n: u32, scale: vec2<f32> }
///     @group(0) @binding(0) var<uniform> params: Params;
///     @compute @workgroup_size(1) fn k() { _ = params.n; }"))?;
/// let interface = module.interface("k", &[])?;
/// let list = args![n = 7u32, scale = [1.0f32, 2.0]];
/// let plan = check_dyn(&interface, &list)?;
/// let mut block = ParamsBlock::new(&interface);
/// for ((_, arg), slot) in list.iter().zip(plan.slots()) {
///     if let fencepost_kernels::DynArg::Value(value) = arg {
///         block.set(*slot, value.bytes());
///     }
/// }
/// assert_eq!(block.bytes().len(), 16);              // `scale` is aligned to 8
/// assert_eq!(block.bytes()[..4], 7u32.to_ne_bytes());
/// # Ok::<(), fencepost_kernels::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParamsBlock {
    /// The bytes, in memory that is aligned for whole words.
    words: Vec<u32>,
    size: u32,
}

impl ParamsBlock {
    /// Makes a block of zeros as large as the interface's.
    pub fn new(interface: &Interface) -> Self {
        Self::with_size(interface.params.as_ref().map_or(0, |params| params.size))
    }

    /// Makes a block of `size` zeros.
    pub fn with_size(size: u32) -> Self {
        Self { words: vec![0; size.div_ceil(4) as usize], size }
    }

    /// Resets the block to `size` zeros, reusing its memory.
    #[inline]
    pub fn reset(&mut self, size: u32) {
        self.words.clear();
        self.words.resize(size.div_ceil(4) as usize, 0);
        self.size = size;
    }

    /// Writes one value; does nothing for a buffer's slot.
    ///
    /// # Panics
    /// If `slot` belongs to another interface, or if `bytes` and the slot have different sizes.
    #[inline]
    pub fn set(&mut self, slot: ArgumentSlot, bytes: &[u8]) {
        if let ArgumentSlot::Value { offset, size } = slot {
            let offset = offset as usize;
            let size = size as usize;
            bytemuck::cast_slice_mut(&mut self.words)[offset..offset + size].copy_from_slice(bytes);
        }
    }

    /// Returns the bytes as words; the last one is padded with zeros.
    #[inline]
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// Returns the bytes, padding included.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.size as usize]
    }
}
