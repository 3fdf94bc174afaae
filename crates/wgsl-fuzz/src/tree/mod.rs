//! The tree of a generated program, which the generator builds, the printer writes and the shrinker reduces.

pub(crate) mod bounds;
pub(crate) mod print;
pub(crate) mod statement;
pub(crate) mod types;
pub(crate) mod visit;

use self::statement::Stmt;
use self::types::{Struct, Type};

/// A whole program.
#[derive(Clone, Debug)]
pub(crate) struct Tree {
    pub(crate) structs: Vec<Struct>,
    /// Variables of the module.
    pub(crate) globals: Vec<Global>,
    pub(crate) functions: Vec<Function>,
    pub(crate) main: Vec<Stmt>,
    pub(crate) workgroup: [u32; 3],
    pub(crate) groups: [u32; 3],
    /// Seed of the inputs.
    pub(crate) data_seed: u64,
    /// `true` if inputs contain only floats on which operations are exact.
    pub(crate) is_portable: bool,
    /// `true` if the invocation number is in private variables; otherwise each function gets it as an argument.
    pub(crate) has_privates: bool,
    /// `true` if the entry point gets the subgroup built-ins.
    pub(crate) has_subgroups: bool,
}

/// A private variable or a workgroup variable.
#[derive(Clone, Debug)]
pub(crate) struct Global {
    pub(crate) space: Space,
    pub(crate) name: String,
    /// Type, as written in WGSL.
    pub(crate) text: String,
}

/// Address space of a module's variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Space {
    Private,
    Workgroup,
}

/// A function.
#[derive(Clone, Debug)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) params: Vec<Param>,
    pub(crate) result: Option<Type>,
    pub(crate) body: Vec<Stmt>,
    /// Steps of a call, roughly.
    pub(crate) cost: u32,
    /// `true` if the function has barriers, so that only uniform control flow may call it.
    pub(crate) uniform: bool,
}

/// A parameter of a function.
#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) pointer: bool,
}

/// An expression with its type.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) ty: Type,
    pub(crate) node: Node,
}

/// Kind of an expression.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    Bool(bool),
    I32(i32),
    U32(u32),
    /// A float, as a multiple of 1/4.
    F32(i32),
    /// The zero value of the type.
    Zero,
    Read(Place),
    Unary(&'static str, Box<Expr>),
    Binary(&'static str, Box<Expr>, Box<Expr>),
    Builtin(&'static str, Vec<Expr>),
    /// Constructor of a vector, a matrix, an array or a struct, or a scalar conversion.
    Construct(Vec<Expr>),
    Call(String, Vec<Argument>),
    Swizzle(Box<Expr>, String),
    /// Element of a vector or column of a matrix, with the number of elements or [`ANY`].
    Element(Box<Expr>, Box<Expr>, u32),
}

/// An argument of a call.
#[derive(Clone, Debug)]
pub(crate) enum Argument {
    Value(Expr),
    Pointer(String),
}

/// A place in memory: a variable and the path into it.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) root: String,
    pub(crate) steps: Vec<Step>,
}

/// Pseudo number of elements that allows any index.
pub(crate) const ANY: u32 = u32::MAX;

/// A step into a value.
#[derive(Clone, Debug)]
pub(crate) enum Step {
    Field(String),
    /// Index, and a number of elements to which the printer limits it unless the number is [`ANY`].
    Index(Box<Expr>, u32),
    /// A text that the shrinker does not change.
    Fixed(String),
}

impl Tree {
    /// Returns the subgroup built-ins that the entry point gets, with `true` for those that are the same in each
    /// invocation of a workgroup. naga numbers the invocations of a subgroup only if the workgroup has one dimension.
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

    pub(crate) fn binary(ty: Type, operator: &'static str, left: Self, right: Self) -> Self {
        Self { ty, node: Node::Binary(operator, Box::new(left), Box::new(right)) }
    }

    /// Returns the value as one of type `ty`: it is converted, and repeated in each component of a vector.
    pub(crate) fn splat(self, ty: &Type) -> Self {
        if self.ty == *ty { self } else { Self { ty: ty.clone(), node: Node::Construct(vec![self]) } }
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
