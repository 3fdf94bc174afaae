//! Checks that an entry point works when a one-dimensional grid is folded into two dimensions.

use naga::{
    Binding, Block, BuiltIn, EntryPoint, Expression, Function, FunctionArgument, Handle, Literal, Module,
    Statement, TypeInner,
};
use std::sync::OnceLock;

/// Name of the function of the snippet `linear`.
const LINEAR_ID: &str = "linear_id";
const SNIPPET: &str = include_str!("../shaders/lib/linear.wgsl");

/// Returns `true` if the entry point numbers its invocations by `linear_id` of the snippet `linear`, with its own
/// workgroup's width, and does not use their position in the grid otherwise.
pub(crate) fn folds(module: &Module, entry: &EntryPoint, width: u32) -> bool {
    let linear = module.functions.iter().find(|(_, function)| function.name.as_deref() == Some(LINEAR_ID));
    let Some((linear, function)) = linear else { return false };
    if shape(module, function) != *snippet() {
        return false;
    }
    let roles = entry.function.arguments.iter().map(|argument| role(module, argument));
    let Ok(roles) = roles.collect::<Result<Vec<_>, Misused>>() else { return false };
    let search = Search { module, entry, linear, width };
    search.in_function(&entry.function, &roles) == Ok(true)
}

/// Describes a function as text, so that equal code in different modules has equal texts.
fn shape(module: &Module, function: &Function) -> String {
    let arguments = function.arguments.iter().map(|argument| &module.types[argument.ty].inner);
    let arguments: Vec<&TypeInner> = arguments.collect();
    let statements: Vec<&Statement> = function.body.iter().collect(); // without their positions in the text
    format!("{arguments:?} {:?} {statements:?}", function.expressions)
}

fn snippet() -> &'static str {
    static SHAPE: OnceLock<String> = OnceLock::new();
    SHAPE.get_or_init(|| {
        let module = naga::front::wgsl::parse_str(SNIPPET).expect("bug: a snippet of ours is not WGSL");
        let (_, linear) = module.functions.iter().next().expect("bug: the snippet has no function");
        shape(&module, linear)
    })
}

/// Builtins that only `linear_id` may take.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Id,
    Groups,
}

/// Error for an entry point that uses the position in the grid itself, which a fold changes.
#[derive(PartialEq, Eq, Debug)]
struct Misused;

fn role(module: &Module, argument: &FunctionArgument) -> Result<Option<Role>, Misused> {
    match argument.binding {
        Some(Binding::BuiltIn(BuiltIn::GlobalInvocationId)) => Ok(Some(Role::Id)),
        Some(Binding::BuiltIn(BuiltIn::NumWorkGroups)) => Ok(Some(Role::Groups)),
        Some(Binding::BuiltIn(BuiltIn::WorkGroupId)) => Err(Misused),
        Some(_) => Ok(None),
        None => match &module.types[argument.ty].inner {
            // The search does not follow the members of a struct.
            TypeInner::Struct { members, .. } if members.iter().any(is_place) => Err(Misused),
            _ => Ok(None),
        },
    }
}

fn is_place(member: &naga::StructMember) -> bool {
    let places = [BuiltIn::GlobalInvocationId, BuiltIn::NumWorkGroups, BuiltIn::WorkGroupId];
    matches!(&member.binding, Some(Binding::BuiltIn(builtin)) if places.contains(builtin))
}

struct Search<'a> {
    module: &'a Module,
    entry: &'a EntryPoint,
    linear: Handle<Function>,
    width: u32,
}

/// A function and the roles of its arguments.
#[derive(Clone, Copy)]
struct Within<'a> {
    function: &'a Function,
    roles: &'a [Option<Role>],
}

impl Within<'_> {
    fn role(self, expression: Handle<Expression>) -> Option<Role> {
        match self.function.expressions[expression] {
            Expression::FunctionArgument(index) => self.roles.get(index as usize).copied().flatten(),
            _ => None,
        }
    }
}

impl Search<'_> {
    /// Returns `true` if the function, or a function that it calls, calls `linear_id`.
    fn in_function(&self, function: &Function, roles: &[Option<Role>]) -> Result<bool, Misused> {
        let within = Within { function, roles };
        let used = |expression| within.role(expression).is_some();
        if function.expressions.iter().any(|(_, expression)| operands(expression).into_iter().any(used)) {
            return Err(Misused);
        }
        self.in_block(within, &function.body)
    }

    fn in_block(&self, within: Within<'_>, block: &Block) -> Result<bool, Misused> {
        let mut calls = false;
        for statement in block {
            calls |= self.in_statement(within, statement)?;
        }
        Ok(calls)
    }

    fn in_statement(&self, within: Within<'_>, statement: &Statement) -> Result<bool, Misused> {
        let both = |one, two| Ok(self.in_block(within, one)? | self.in_block(within, two)?);
        match statement {
            Statement::Call { function: called, arguments, .. } if *called == self.linear => {
                let roles = arguments.iter().map(|&argument| within.role(argument));
                let right = roles.eq([Some(Role::Id), Some(Role::Groups), None])
                    && self.is_width(&within.function.expressions[arguments[2]]);
                if right { Ok(true) } else { Err(Misused) }
            }
            // This recursion ends, because WGSL forbids recursive functions.
            Statement::Call { function: called, arguments, .. } => {
                let roles: Vec<_> = arguments.iter().map(|&argument| within.role(argument)).collect();
                self.in_function(&self.module.functions[*called], &roles)
            }
            Statement::Store { value, .. } | Statement::Return { value: Some(value) }
                if within.role(*value).is_some() =>
            {
                Err(Misused)
            }
            Statement::Block(inner) => self.in_block(within, inner),
            Statement::If { accept, reject, .. } => both(accept, reject),
            Statement::Loop { body, continuing, .. } => both(body, continuing),
            Statement::Switch { cases, .. } => {
                cases.iter().try_fold(false, |calls, case| Ok(calls | self.in_block(within, &case.body)?))
            }
            _ => Ok(false),
        }
    }

    /// Returns `true` if the expression is the workgroup's declared width: that number, or that override.
    fn is_width(&self, expression: &Expression) -> bool {
        match expression {
            Expression::Literal(Literal::U32(width)) => *width == self.width,
            Expression::Constant(constant) => {
                self.is_width(&self.module.global_expressions[self.module.constants[*constant].init])
            }
            Expression::Override(given) => {
                let sizes = self.entry.workgroup_size_overrides;
                let size = sizes.and_then(|sizes| sizes[0]).map(|size| &self.module.global_expressions[size]);
                matches!(size, Some(Expression::Override(size)) if size == given)
            }
            _ => false,
        }
    }
}

/// Returns the operands of an expression that can be vectors of three numbers.
fn operands(expression: &Expression) -> Vec<Handle<Expression>> {
    use Expression as E;
    match *expression {
        E::Access { base, index } => vec![base, index],
        E::AccessIndex { base: value, .. }
        | E::Splat { value, .. }
        | E::Swizzle { vector: value, .. }
        | E::Load { pointer: value }
        | E::Unary { expr: value, .. }
        | E::Relational { argument: value, .. }
        | E::As { expr: value, .. } => vec![value],
        E::Compose { ref components, .. } => components.clone(),
        E::Binary { left, right, .. } => vec![left, right],
        E::Select { condition, accept, reject } => vec![condition, accept, reject],
        E::Math { arg, arg1, arg2, arg3, .. } => {
            [Some(arg), arg1, arg2, arg3].into_iter().flatten().collect()
        }
        _ => Vec::new(),
    }
}
