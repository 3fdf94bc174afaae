//! The instructions of the interpreter.
//!
//! A value occupies consecutive slots, one for each scalar: the components of a vector, the columns of a matrix, and
//! the members of a struct or an array, in order. A slot contains the bits of its scalar.

use crate::arith::{OfVectors, Operator, Reference};
use naga::{AtomicFunction, Expression, Handle, MathFunction, RelationalFunction, Span};
use naga::{GatherMode, ScalarKind, SubgroupOperation};

/// Number of a slot, counted from the base of the frame. The constants of the function are below the base.
pub(super) type Slot = i32;

/// Number of the target instruction of a jump. While a function is decoded, it is the number of a label.
pub(super) type Target = u32;

/// Function from the bits of three operands to the bits of a result.
pub(super) type QuickThree = fn(u64, u64, u64) -> u64;

/// Start of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    /// Base of the frame. Such addresses count slots.
    Frame,
    /// Private variables of the invocation. Such addresses count slots.
    Private,
    /// Region of memory. Such addresses count bytes.
    Region(u16),
    /// Slot of the invocation; the index slot contains its number.
    StackPointer,
    /// Region and byte given by the pointer in the index slot.
    MemoryPointer,
}

/// Place of a variable or of a part of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    /// Distance from the root.
    pub(super) offset: u64,
    /// Slot with a dynamic offset that is added too.
    pub(super) index: Option<Slot>,
    pub(super) root: Root,
}

impl Address {
    /// Returns `true` for private variables and variables of functions.
    pub(super) fn is_stack(&self) -> bool {
        matches!(self.root, Root::Frame | Root::Private | Root::StackPointer)
    }
}

/// Slot of an instruction's result, and the result's number of slots.
#[derive(Clone, Copy, Debug)]
pub(super) struct To {
    pub(super) slot: Slot,
    pub(super) count: u32,
}

/// An operand of a componentwise instruction: the step is 1 for a vector, and 0 for a scalar.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strided {
    pub(super) slot: Slot,
    pub(super) step: u8,
}

/// One instruction. The large ones are boxed, so that the common ones are small.
#[derive(Debug)]
pub(super) enum Op {
    /// Copy of one slot.
    Move { to: Slot, from: Slot },
    /// Load from a variable of the function that has one slot.
    LoadSlot { to: Slot, from: Slot },
    /// Store to a variable of the function that has one slot.
    StoreSlot { to: Slot, from: Slot },
    /// Copy of a row of slots.
    Copy { to: To, from: Slot },
    /// Zeros in all slots.
    Zero { to: To },
    /// Copy of one scalar to all components.
    Splat { to: To, from: Slot },
    /// Copy of one element of a value. The index is clamped to the last element.
    Pick { to: To, from: Slot, index: Slot, len: u32 },
    /// Quick function of two scalars.
    Quick { function: Operator, to: Slot, a: Slot, b: Slot },
    /// Quick function of each component.
    QuickEach { function: Operator, to: To, a: Strided, b: Strided },
    /// Quick function of three operands, for each component.
    QuickThree(Box<QuickThreeEach>),
    /// Quick function of vectors.
    QuickVector(Box<QuickVectors>),
    /// Product of a matrix `a` of `inner` columns with `rows` components, and a matrix `b` of `columns` columns.
    Product(Box<Product>),
    /// Choice between two values by one condition, or by one for each component.
    Select { to: To, condition: Strided, accept: Slot, reject: Slot },
    /// Conversion of each component.
    Convert { to: To, from: Slot, ty: naga::Scalar, kind: ScalarKind, width: Option<u8> },
    /// Call of a relational function.
    Relational { fun: RelationalFunction, to: To, from: Slot, count: u8, ty: naga::Scalar },
    /// Call of a math function.
    Math(Box<Math>),
    /// Offset of an element: `base` plus the stride times the clamped index.
    Index { to: Slot, base: Option<Slot>, index: Slot, len: u32, stride: u32 },
    /// Offset of an element of an array whose length depends on its memory.
    IndexUnsized { to: Slot, base: Option<Slot>, index: Slot, array: Box<Unsized> },
    /// Number of elements of an array whose length depends on its memory.
    Length { to: Slot, array: Box<Unsized> },
    /// Address as a pointer in a slot.
    Pointer { to: Slot, at: Address },
    /// Load from a variable of the invocation.
    LoadStack { to: To, at: Address },
    /// Store to a variable of the invocation.
    StoreStack { from: Slot, count: u32, at: Address },
    /// Load of words from memory.
    LoadWords { to: To, at: Address },
    /// Store of words to memory.
    StoreWords { from: Slot, count: u32, at: Address },
    /// Load of a value of any shape from memory.
    Load { to: Slot, at: Address, shape: u32 },
    /// Store of a value of any shape to memory.
    Store { from: Slot, at: Address, shape: u32 },
    /// Load of an atomic variable of this many bytes.
    LoadAtomic { to: Slot, at: Address, width: u8 },
    /// Store to an atomic variable of this many bytes.
    StoreAtomic { from: Slot, at: Address, width: u8 },
    /// Change of an atomic variable.
    Atomic(Box<Atomic>),
    /// Unconditional jump.
    Jump(Target),
    /// Jump if a condition holds.
    JumpIf { condition: Slot, target: Target },
    /// Jump unless a condition holds.
    JumpUnless { condition: Slot, target: Target },
    /// Jump to the case of a value.
    Switch { selector: Slot, cases: Box<Cases> },
    /// End of the run if its caller asks for it.
    Poll,
    /// Call of a function.
    Call(Box<Call>),
    /// Return from a function.
    Return { from: Slot, count: u32 },
    /// Barrier of the workgroup.
    Barrier,
    /// Fence that orders the memory accesses of the invocation.
    Fence,
    /// Exchange of values with the active invocations of the subgroup, after a wait for them.
    Subgroup(Box<Subgroup>),
}

/// A quick function of three operands.
#[derive(Debug)]
pub(super) struct QuickThreeEach {
    pub(super) function: QuickThree,
    pub(super) to: To,
    pub(super) from: [Strided; 3],
}

/// A quick function of vectors of `f32`.
#[derive(Debug)]
pub(super) struct QuickVectors {
    pub(super) function: OfVectors<f32>,
    pub(super) to: To,
    pub(super) from: Vec<Argument>,
}

/// A product of matrices, or a dot product. A vector is a matrix with one column or one row.
#[derive(Debug)]
pub(super) struct Product {
    pub(super) to: Slot,
    pub(super) a: Argument,
    pub(super) b: Argument,
    pub(super) rows: u8,
    pub(super) inner: u8,
    pub(super) columns: u8,
}

/// A scalar, a vector or a matrix that a function takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Argument {
    pub(super) slot: Slot,
    pub(super) ty: naga::Scalar,
    /// Number of rows, 0 for a scalar.
    pub(super) rows: u8,
    /// Number of columns, 0 for a scalar and for a vector.
    pub(super) columns: u8,
}

impl Argument {
    /// Returns the number of slots.
    pub(super) fn count(&self) -> usize {
        usize::from(self.rows.max(1)) * usize::from(self.columns.max(1))
    }
}

/// A call of a math function.
#[derive(Debug)]
pub(super) struct Math {
    /// Name of the function in a listing.
    #[allow(dead_code, reason = "the text of an instruction shows it")]
    pub(super) fun: MathFunction,
    pub(super) reference: Reference,
    pub(super) to: Slot,
    pub(super) arguments: Vec<Argument>,
}

/// An array whose length depends on its memory.
#[derive(Clone, Debug)]
pub(super) struct Unsized {
    pub(super) at: Address,
    pub(super) stride: u32,
}

/// An operation on an atomic variable.
#[derive(Debug)]
pub(super) struct Atomic {
    pub(super) fun: AtomicFunction,
    pub(super) ty: naga::Scalar,
    pub(super) at: Address,
    pub(super) value: Slot,
    /// Value that a compare-exchange expects.
    pub(super) compare: Option<Slot>,
    /// Slots for the old value and, for a compare-exchange, a flag that is `true` if it stored.
    pub(super) to: Option<Slot>,
}

/// Targets of a switch.
#[derive(Debug)]
pub(super) struct Cases {
    /// Target of each value, in the order of the values.
    pub(super) values: Vec<(u32, Target)>,
    pub(super) default: Target,
}

/// A call of a function of the module.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) function: usize,
    /// First slot and number of slots of each argument.
    pub(super) arguments: Vec<(Slot, u32)>,
    /// First slot of the result.
    pub(super) to: Slot,
}

/// Values that the invocations of a subgroup exchange.
#[derive(Clone, Copy, Debug)]
pub(super) enum Exchange {
    /// Only a barrier.
    Barrier,
    /// One bit from each lane (a ballot).
    Ballot,
    /// The value of another lane. The second slot has the number of that lane, or the value from which it is computed.
    Gather(GatherMode, Slot),
    /// The combined values of all lanes.
    Reduce(SubgroupOperation),
    /// The combined values of the lanes up to this one.
    InclusiveScan(SubgroupOperation),
    /// The combined values of the lanes before this one.
    ExclusiveScan(SubgroupOperation),
}

/// An operation of a subgroup.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subgroup {
    pub(super) exchange: Exchange,
    pub(super) ty: naga::Scalar,
    /// Value of the invocation, if the operation has one.
    pub(super) from: Option<Slot>,
    pub(super) to: To,
}

/// Origin of an instruction in the program.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    /// Expression, or the pointer of a statement.
    pub(super) expression: Option<Handle<Expression>>,
    pub(super) span: Span,
}

/// Instructions of one function.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) ops: Vec<Op>,
    /// Origin of each instruction.
    pub(super) origins: Vec<Origin>,
    /// Values of the slots below the base.
    pub(super) constants: Vec<u64>,
    /// Number of slots from the base on.
    pub(super) frame: usize,
    /// Functions that this one calls, which have smaller numbers.
    pub(super) calls: Vec<usize>,
}

impl Code {
    /// Returns `true` if an invocation may wait for others here.
    pub(super) fn waits(&self) -> bool {
        self.ops.iter().any(|op| matches!(op, Op::Barrier | Op::Subgroup(_)))
    }
}
