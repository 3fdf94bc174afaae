//! The tree of a generated program, which the generator builds, the printer writes and the shrinker reduces.

pub(crate) mod bounds;
pub(crate) mod print;
pub(crate) mod statement;
pub(crate) mod types;
pub(crate) mod visit;

use self::statement::Stmt;
use self::types::{Struct, Type};

/// Holds a whole program.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) structs: Vec<Struct>,
    /// Declares variables of the module: address space, name and type.
    pub(crate) globals: Vec<Global>,
    pub(crate) functions: Vec<Function>,
    pub(crate) main: Vec<Stmt>,
    pub(crate) workgroup: [u32; 3],
    pub(crate) groups: [u32; 3],
    /// Chooses the inputs.
    pub(crate) data_seed: u64,
    /// Says that inputs hold only floats on which operations are exact.
    pub(crate) is_portable: bool,
    /// Says that the number of the invocation is in private variables. Otherwise each function gets it as an argument.
    pub(crate) has_privates: bool,
    /// Says that the entry point gets the builtin values of subgroups.
    pub(crate) has_subgroups: bool,
}

/// Declares a private variable or a workgroup variable.
#[derive(Clone, Debug)]
pub(crate) struct Global {
    pub(crate) space: Space,
    pub(crate) name: String,
    /// Writes the type.
    pub(crate) text: String,
}

/// Names the address space of a module's variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Private,
    Workgroup,
}

/// Holds a function.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) params: Vec<Param>,
    pub(crate) result: Option<Type>,
    pub(crate) body: Vec<Stmt>,
    /// Counts the steps of a call, roughly.
    pub(crate) cost: u32,
    /// Is true if the function has barriers, so that only uniform control flow calls it.
    pub(crate) uniform: bool,
}

/// Declares a parameter of a function.
#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) pointer: bool,
}

/// Holds an expression with its type.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) ty: Type,
    pub(crate) node: Node,
}

/// Names the kinds of expressions.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Bool(bool),
    I32(i32),
    U32(u32),
    /// Is a number of quarters.
    F32(i32),
    /// Is the zero value of the type.
    Zero,
    Read(Place),
    Unary(&'static str, Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    Builtin(&'static str, Vec<Expr>),
    /// Constructs a vector, a matrix, an array or a struct, or converts a scalar.
    Construct(Vec<Expr>),
    Call(String, Vec<Argument>),
    Swizzle(Box<Expr>, String),
    /// Is an element of a vector or a column of a matrix, with the number of elements or [`ANY`].
    Element(Box<Expr>, Box<Expr>, u32),
}

/// Passes an argument to a function.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    Value(Expr),
    Pointer(String),
}

/// Names a place in memory: a variable and the way into it.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) root: String,
    pub(crate) steps: Vec<Step>,
}

/// Stands for the number of elements if an index may have any value.
pub(crate) const ANY: u32 = u32::MAX;

/// Goes into a value.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Field(String),
    /// Indexes one of a number of elements; the printer limits the index, unless the number is [`ANY`].
    Index(Box<Expr>, u32),
    /// Is a text that the shrinker leaves as it is.
    Fixed(String),
}

impl Tree {
    /// Names the builtin values of subgroups that the entry point gets, and says whether each invocation of a workgroup has the
    /// same one. naga numbers the invocations of a subgroup only if the workgroup has one dimension.
    pub(crate) fn subgroup_builtins(&self) -> &'static [(&'static str, bool)] {
        const BUILTINS: [(&str, bool); 4] = [
            ("subgroup_size", true),
            ("num_subgroups", true),
            ("subgroup_invocation_id", false),
            ("subgroup_id", false),
        ];
        match self.workgroup {
            _ if !self.has_subgroups => &[],
            [_, 1, 1] => &BUILTINS,
            _ => &BUILTINS[..2],
        }
    }
}

impl Expr {
    pub(crate) fn new(ty: Type, node: Node) -> Self {
        Self { ty, node }
    }

    pub(crate) fn read(ty: Type, root: &str) -> Self {
        Self { ty, node: Node::Read(Place { root: root.to_owned(), steps: Vec::new() }) }
    }

    pub(crate) fn u32(value: u32) -> Self {
        Self { ty: types::U32, node: Node::U32(value) }
    }

    /// Returns `true` if the compiler can compute the expression.
    pub(crate) fn is_const(&self) -> bool {
        match &self.node {
            Node::Bool(_) | Node::I32(_) | Node::U32(_) | Node::F32(_) | Node::Zero => true,
            Node::Read(_) | Node::Call(..) => false,
            Node::Unary(_, of) | Node::Swizzle(of, _) => of.is_const(),
            Node::Binary(_, left, right) => left.is_const() && right.is_const(),
            Node::Builtin(_, of) | Node::Construct(of) => of.iter().all(Self::is_const),
            Node::Element(of, at, _) => of.is_const() && at.is_const(),
        }
    }
}
