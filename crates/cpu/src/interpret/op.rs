//! The instructions of the interpreter.
//!
//! A value is a row of slots, one for each of its scalars: a vector has its components, a matrix its columns, a struct or
//! an array its members in order. A slot holds the bits of its scalar.

use naga::{AtomicFunction, BinaryOperator, Expression, Handle, MathFunction, RelationalFunction, Span};
use naga::{GatherMode, ScalarKind, SubgroupOperation, UnaryOperator};

/// Numbers a slot from the base of the frame. The constants of the function are below the base.
pub(super) type Slot = i32;

/// Numbers the instruction that a jump goes to. While a function is decoded, it numbers a label.
pub(super) type Target = u32;

/// Computes the bits of a result from the bits of the operands.
pub(super) type Quick = fn(u64, u64) -> u64;

/// Computes the bits of a result from the bits of three operands.
pub(super) type QuickThree = fn(u64, u64, u64) -> u64;

/// Computes up to four components from the components of two vectors.
pub(super) type QuickVector = fn(&[f32], &[f32]) -> [f32; 4];

/// Says where an address begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Root {
    /// Begins at the base of the frame. Such addresses count slots.
    Frame,
    /// Begins at the private variables of the invocation. Such addresses count slots.
    Private,
    /// Begins at a region of memory. Such addresses count bytes.
    Region(u16),
    /// Begins at the slot that the index slot holds.
    StackPointer,
    /// Begins at the region and the byte that the index slot holds.
    MemoryPointer,
}

/// Is the place of a variable or of a part of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Address {
    /// Is added to the root.
    pub(super) offset: u64,
    /// Is a slot whose value is added too.
    pub(super) index: Option<Slot>,
    pub(super) root: Root,
}

impl Address {
    /// Returns `true` for private variables and variables of functions.
    pub(super) fn is_stack(&self) -> bool {
        matches!(self.root, Root::Frame | Root::Private | Root::StackPointer)
    }
}

/// Names where an instruction puts its result, and how many slots the result has.
#[derive(Clone, Copy, Debug)]
pub(super) struct To {
    pub(super) slot: Slot,
    pub(super) count: u32,
}

/// Is an operand of an instruction that works on components: a vector steps by 1, a scalar by 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strided {
    pub(super) slot: Slot,
    pub(super) step: u8,
}

/// Is one instruction. The large ones are in boxes, so that the common ones are small.
#[derive(Debug)]
pub(super) enum Op {
    /// Copies one slot.
    Move { to: Slot, from: Slot },
    /// Copies the only slot of a variable of the function.
    LoadSlot { to: Slot, from: Slot },
    /// Copies to the only slot of a variable of the function.
    StoreSlot { to: Slot, from: Slot },
    /// Copies a row of slots.
    Copy { to: To, from: Slot },
    /// Sets slots to zero.
    Zero { to: To },
    /// Copies one scalar to all components.
    Splat { to: To, from: Slot },
    /// Copies one element of a value. The index is moved to the last element.
    Pick { to: To, from: Slot, index: Slot, len: u32 },
    /// Applies a quick function to two scalars.
    Quick { function: Quick, to: Slot, a: Slot, b: Slot },
    /// Applies a quick function to components.
    QuickEach { function: Quick, to: To, a: Strided, b: Strided },
    /// Applies a quick function of three operands to components.
    QuickThree(Box<QuickThreeEach>),
    /// Applies a quick function to two vectors.
    QuickVector(Box<QuickVectors>),
    /// Applies an operator to components.
    Binary(Box<Binary>),
    /// Applies an operator to components.
    Unary { op: UnaryOperator, ty: naga::Scalar, to: To, from: Slot },
    /// Multiplies a matrix of `a` with `inner` columns of `rows` components and a matrix of `b` with `columns` columns.
    Product(Box<Product>),
    /// Chooses between two values by one condition, or by one for each component.
    Select { to: To, condition: Strided, accept: Slot, reject: Slot },
    /// Converts components.
    Convert { to: To, from: Slot, ty: naga::Scalar, kind: ScalarKind, width: Option<u8> },
    /// Calls a relational function.
    Relational { fun: RelationalFunction, to: To, from: Slot, count: u8, ty: naga::Scalar },
    /// Calls a math function.
    Math(Box<Math>),
    /// Adds the stride for each element before an index, which is moved to the last element, to a dynamic offset.
    Index { to: Slot, base: Option<Slot>, index: Slot, len: u32, stride: u32 },
    /// Does the same for an array whose length depends on its memory.
    IndexUnsized { to: Slot, base: Option<Slot>, index: Slot, array: Box<Unsized> },
    /// Counts the elements of an array whose length depends on its memory.
    Length { to: Slot, array: Box<Unsized> },
    /// Puts the address itself into a slot.
    Pointer { to: Slot, at: Address },
    /// Copies from a variable of the invocation.
    LoadStack { to: To, at: Address },
    /// Copies to a variable of the invocation.
    StoreStack { from: Slot, count: u32, at: Address },
    /// Copies words from memory.
    LoadWords { to: To, at: Address },
    /// Copies words to memory.
    StoreWords { from: Slot, count: u32, at: Address },
    /// Copies a value of any shape from memory.
    Load { to: Slot, at: Address, shape: u32 },
    /// Copies a value of any shape to memory.
    Store { from: Slot, at: Address, shape: u32 },
    /// Copies an atomic variable of this many bytes.
    LoadAtomic { to: Slot, at: Address, width: u8 },
    /// Copies to an atomic variable of this many bytes.
    StoreAtomic { from: Slot, at: Address, width: u8 },
    /// Changes an atomic variable.
    Atomic(Box<Atomic>),
    /// Goes on elsewhere.
    Jump(Target),
    /// Goes on elsewhere if a condition holds.
    JumpIf { condition: Slot, target: Target },
    /// Goes on elsewhere unless a condition holds.
    JumpUnless { condition: Slot, target: Target },
    /// Goes on at the case for a value.
    Switch { selector: Slot, cases: Box<Cases> },
    /// Ends the run if its caller says so.
    Poll,
    /// Calls a function.
    Call(Box<Call>),
    /// Returns from a function.
    Return { from: Slot, count: u32 },
    /// Waits for the other invocations of the workgroup.
    Barrier,
    /// Orders the memory accesses of the invocation.
    Fence,
    /// Waits for the active invocations of the subgroup, and exchanges values with them.
    Subgroup(Box<Subgroup>),
}

/// Is a binary operation that has no quick function.
#[derive(Debug)]
pub(super) struct Binary {
    pub(super) op: BinaryOperator,
    pub(super) ty: naga::Scalar,
    /// Is the type of `b`: the amount of a shift has a type of its own.
    pub(super) ty_b: naga::Scalar,
    pub(super) to: To,
    pub(super) a: Strided,
    pub(super) b: Strided,
}

/// Is a quick function of three operands.
#[derive(Debug)]
pub(super) struct QuickThreeEach {
    pub(super) function: QuickThree,
    pub(super) to: To,
    pub(super) from: [Strided; 3],
}

/// Is a quick function of two vectors of `f32`. A function of one vector ignores the second one.
#[derive(Debug)]
pub(super) struct QuickVectors {
    pub(super) function: QuickVector,
    pub(super) to: To,
    pub(super) from: [Argument; 2],
}

/// Is a product of matrices, or a dot product. A vector is a matrix with one column or one row.
#[derive(Debug)]
pub(super) struct Product {
    pub(super) to: Slot,
    pub(super) a: Argument,
    pub(super) b: Argument,
    pub(super) rows: u8,
    pub(super) inner: u8,
    pub(super) columns: u8,
}

/// Names a scalar, a vector or a matrix that a function takes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Argument {
    pub(super) slot: Slot,
    pub(super) ty: naga::Scalar,
    /// Is 0 for a scalar.
    pub(super) rows: u8,
    /// Is 0 for a scalar and for a vector.
    pub(super) columns: u8,
}

impl Argument {
    /// Counts the slots.
    pub(super) fn count(&self) -> usize {
        usize::from(self.rows.max(1)) * usize::from(self.columns.max(1))
    }
}

/// Is a call of a math function.
#[derive(Debug)]
pub(super) struct Math {
    pub(super) fun: MathFunction,
    pub(super) to: Slot,
    pub(super) arguments: Vec<Argument>,
}

/// Is an array whose length depends on its memory.
#[derive(Clone, Debug)]
pub(super) struct Unsized {
    pub(super) at: Address,
    pub(super) stride: u32,
}

/// Is an operation on an atomic variable.
#[derive(Debug)]
pub(super) struct Atomic {
    pub(super) fun: AtomicFunction,
    pub(super) ty: naga::Scalar,
    pub(super) at: Address,
    pub(super) value: Slot,
    /// Holds the value that a compare-exchange expects.
    pub(super) compare: Option<Slot>,
    /// Takes the old value, and `true` after it if a compare-exchange stored its value.
    pub(super) to: Option<Slot>,
}

/// Holds the targets of a switch.
#[derive(Debug)]
pub(super) struct Cases {
    /// Holds the target of each value, in the order of the values.
    pub(super) values: Vec<(u32, Target)>,
    pub(super) default: Target,
}

/// Is a call of a function of the module.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) function: usize,
    /// Holds the first slot and the number of slots of each argument.
    pub(super) arguments: Vec<(Slot, u32)>,
    /// Takes the result.
    pub(super) to: Slot,
}

/// Says what the invocations of a subgroup exchange.
#[derive(Clone, Copy, Debug)]
pub(super) enum Exchange {
    /// Waits only.
    Barrier,
    /// Collects a bit of each lane.
    Ballot,
    /// Takes the value of another lane. The second slot holds the number of the lane, or what it is computed from.
    Gather(GatherMode, Slot),
    /// Combines the values of all lanes.
    Reduce(SubgroupOperation),
    /// Combines the values of the lanes up to this one.
    InclusiveScan(SubgroupOperation),
    /// Combines the values of the lanes before this one.
    ExclusiveScan(SubgroupOperation),
}

/// Is an operation of a subgroup.
#[derive(Clone, Copy, Debug)]
pub(super) struct Subgroup {
    pub(super) exchange: Exchange,
    pub(super) ty: naga::Scalar,
    /// Holds the value of the invocation, if the operation has one.
    pub(super) from: Option<Slot>,
    pub(super) to: To,
}

/// Says what an instruction was made from.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    /// Is the expression or the pointer of the statement.
    pub(super) expression: Option<Handle<Expression>>,
    pub(super) span: Span,
}

/// Holds the instructions of one function.
#[derive(Debug)]
pub(super) struct Code {
    pub(super) ops: Vec<Op>,
    /// Holds the origin of each instruction.
    pub(super) origins: Vec<Origin>,
    /// Holds the values of the slots below the base.
    pub(super) constants: Vec<u64>,
    /// Counts the slots from the base.
    pub(super) frame: usize,
    /// Lists the functions that this one calls, which have smaller numbers.
    pub(super) calls: Vec<usize>,
}

impl Code {
    /// Returns `true` if an invocation may wait for others here.
    pub(super) fn waits(&self) -> bool {
        self.ops.iter().any(|op| matches!(op, Op::Barrier | Op::Subgroup(_)))
    }
}
