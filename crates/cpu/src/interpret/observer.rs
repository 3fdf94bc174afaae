//! The seam for tools that watch a run.

use naga::{Expression, Handle};

/// Names the instruction that an invocation executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    /// Numbers the function. The numbers are those of [`Interpreter::function`](super::Interpreter::function).
    pub(crate) function: usize,
    /// Numbers the instruction in its function.
    pub(crate) op: usize,
    /// Is the expression that the instruction computes, or the pointer of a store.
    pub(crate) expression: Option<Handle<Expression>>,
    /// Numbers the invocation in its workgroup.
    pub(crate) invocation: u32,
}

/// Names the bytes that an invocation accesses, or the slots of its own variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touched {
    /// Names bytes of a region. The buffers come first, then the uniform block, then the variables of the workgroup.
    Memory { region: u16, byte: u64, bytes: u64 },
    /// Names slots of the invocation's own variables.
    Stack { slot: usize, count: usize },
}

/// Watches a run. Each method is called before the operation takes effect.
///
/// The interpreter is compiled once for each observer, and the calls vanish for an observer that is not active.
pub(crate) trait Observer {
    /// Is `false` for an observer that sees nothing.
    const ACTIVE: bool = true;

    /// Sees the begin of a workgroup, whose variables are zero.
    fn group(&mut self, workgroup: [u32; 3]);

    /// Sees a load.
    fn load(&mut self, site: Site, touched: Touched);

    /// Sees a store.
    fn store(&mut self, site: Site, touched: Touched);

    /// Sees an atomic load, store or change.
    fn atomic(&mut self, site: Site, touched: Touched);

    /// Sees an index before it is moved into an array, a matrix or a vector of this many elements.
    fn index(&mut self, site: Site, index: u64, len: u64);

    /// Sees the operands of an operator for one component. A unary operator has no second one.
    fn operands(&mut self, site: Site, a: u64, b: Option<u64>);

    /// Sees the arguments of a math function.
    fn math(&mut self, site: Site, argument: &[u64]);

    /// Sees that all invocations of the workgroup passed a barrier.
    fn barrier(&mut self, site: Site);
}

/// Sees nothing.
impl Observer for () {
    const ACTIVE: bool = false;

    fn group(&mut self, _: [u32; 3]) {}
    fn load(&mut self, _: Site, _: Touched) {}
    fn store(&mut self, _: Site, _: Touched) {}
    fn atomic(&mut self, _: Site, _: Touched) {}
    fn index(&mut self, _: Site, _: u64, _: u64) {}
    fn operands(&mut self, _: Site, _: u64, _: Option<u64>) {}
    fn math(&mut self, _: Site, _: &[u64]) {}
    fn barrier(&mut self, _: Site) {}
}
