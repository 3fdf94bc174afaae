//! Calls of the functions of the kernel.

use super::function::{Argument, Frame, Local, Lower};
use super::place::Place;
use super::refusal::{Result, refuse};
use crate::statements::visit;
use cranelift_codegen::ir::{self, InstBuilder};
use cranelift_module::Module as _;
use naga::{Expression, Function, Handle, Statement, TypeInner};

/// A function is expanded at each call if it and its callees have at most this many expressions.
const MOST_EXPANDED: usize = 60;

impl<'m> Lower<'_, 'm> {
    /// Translates a call.
    pub(super) fn call(
        &mut self,
        callee: Handle<Function>,
        arguments: &[Handle<Expression>],
        result: Option<Handle<Expression>>,
    ) -> Result<()> {
        let values = if self.shared.traits[callee.index()].weight <= MOST_EXPANDED {
            self.expand(callee, arguments)?
        } else {
            self.call_function(callee, arguments)?
        };
        match result {
            Some(result) => self.remember(result, values.into()),
            None => Ok(()),
        }
    }

    /// Translates the body of a function in place of its call.
    fn expand(
        &mut self,
        callee: Handle<Function>,
        arguments: &[Handle<Expression>],
    ) -> Result<Vec<ir::Value>> {
        let function = &self.shared.program.module().functions[callee];
        let exit = self.builder.create_block();
        let mut frame = Frame::new(function, &self.shared.program.info()[callee], exit);
        for &argument in arguments {
            let argument = if self.ty(argument).pointer_space().is_some() {
                Argument::Pointer(self.place(argument)?)
            } else {
                Argument::Value(self.value(argument)?)
            };
            frame.arguments.push(argument);
        }
        let caller = std::mem::replace(&mut self.frame, frame);
        let done = self.body();
        let callee = std::mem::replace(&mut self.frame, caller);
        done?;
        Ok(self.read(&callee.results).to_vec())
    }

    /// Translates the body of the current frame's function, and positions the builder after it.
    pub(super) fn body(&mut self) -> Result<()> {
        let function = self.frame.function;
        if let Some(result) = &function.result {
            let inner = self.types().inner(result.ty);
            self.frame.results = self.variables(inner)?;
            let zero = self.zero(inner)?;
            let results = self.frame.results.clone();
            self.define(&results, &zero);
        }
        self.declare_locals()?;
        self.block(&function.body)?;
        let exit = self.frame.exit;
        self.fall(exit);
        self.enter(exit);
        Ok(())
    }

    /// Calls a function that is compiled separately.
    fn call_function(
        &mut self,
        callee: Handle<Function>,
        arguments: &[Handle<Expression>],
    ) -> Result<Vec<ir::Value>> {
        let id = self.shared.function(callee)?;
        let target = self.shared.jit.declare_func_in_func(id, self.builder.func);
        let mut values = vec![self.context, self.invocation];
        for &argument in arguments {
            match self.ty(argument) {
                TypeInner::Pointer { .. } | TypeInner::ValuePointer { .. } => {
                    self.pass_pointer(argument, &mut values)?;
                }
                _ => values.extend(self.value(argument)?),
            }
        }
        let call = self.builder.ins().call(target, &values);
        let results = self.builder.inst_results(call).to_vec();
        if self.shared.traits[callee.index()].is_long {
            self.check_stop();
        }
        Ok(results)
    }

    fn pass_pointer(&mut self, argument: Handle<Expression>, values: &mut Vec<ir::Value>) -> Result<()> {
        match self.place(argument)? {
            Place::Registers(_) => return refuse("a pointer to registers"),
            Place::Memory { address, offset, .. } => {
                values.push(self.builder.ins().iadd_imm(address, i64::from(offset)));
            }
        }
        Ok(())
    }

    /// Sets the arguments to the parameters of the Cranelift function.
    pub(super) fn take_arguments(&mut self, values: &[ir::Value]) -> Result<()> {
        let mut values = values.iter().copied();
        let mut next = || values.next().expect("bug: the signature has all arguments");
        for argument in &self.frame.function.arguments {
            let argument = match self.shared.types.inner(argument.ty) {
                TypeInner::Pointer { .. } | TypeInner::ValuePointer { .. } => {
                    Argument::Pointer(Place::Memory { address: next(), offset: 0, length: None })
                }
                inner => {
                    let count = self.shared.types.count(inner)?;
                    Argument::Value((0..count).map(|_| next()).collect())
                }
            };
            self.frame.arguments.push(argument);
        }
        Ok(())
    }

    /// Declares each local variable of the frame and sets it to its first value.
    pub(super) fn declare_locals(&mut self) -> Result<()> {
        let function = self.frame.function;
        let in_memory = super::locals::in_memory(self.types(), function);
        for (handle, _) in function.local_variables.iter() {
            self.declare_local(handle, in_memory.contains(&handle))?;
        }
        Ok(())
    }

    /// Declares a local variable and sets it to its first value.
    pub(super) fn declare_local(
        &mut self,
        handle: Handle<naga::LocalVariable>,
        in_memory: bool,
    ) -> Result<()> {
        let span = self.frame.function.local_variables.get_span(handle);
        let local = self.new_local(handle, in_memory).map_err(|error| error.at(span))?;
        self.frame.locals.insert(handle, local.clone());
        self.initialise(handle, &local).map_err(|error| error.at(span))
    }

    fn new_local(&mut self, handle: Handle<naga::LocalVariable>, in_memory: bool) -> Result<Local> {
        let ty = self.frame.function.local_variables[handle].ty;
        Ok(if in_memory {
            Local::Stack(self.stack(self.types().size(ty))?)
        } else {
            Local::Registers(self.variables(self.types().inner(ty))?)
        })
    }
}

/// Counts the expressions of a program whose functions are expanded at their calls.
pub(crate) fn expanded(program: &crate::program::Program) -> usize {
    traits_of(&program.entry().function, &traits(program.module())).weight
}

/// Maximum number of expressions in a call without a check for a stop. Even without loops, a chain of functions
/// that each call the next one twice evaluates exponentially many expressions.
const MOST_WITHOUT_LOOK: usize = 100_000;

/// Size of a function of the kernel together with its callees.
#[derive(Clone, Copy, Default)]
pub(super) struct Traits {
    /// Number of expressions.
    pub(super) weight: usize,
    /// `true` if a call may take long: it has a loop, or many expressions.
    is_long: bool,
}

/// Describes all functions of a module. A function comes after its callees.
pub(super) fn traits(module: &naga::Module) -> Vec<Traits> {
    let mut all: Vec<Traits> = Vec::new();
    for (_, function) in module.functions.iter() {
        all.push(traits_of(function, &all));
    }
    all
}

/// Describes a function whose callees are known.
fn traits_of(function: &Function, callees: &[Traits]) -> Traits {
    let mut traits = Traits { weight: function.expressions.len(), is_long: false };
    visit(&function.body, &mut |statement| match statement {
        Statement::Loop { .. } => traits.is_long = true,
        Statement::Call { function, .. } => {
            let callee = callees.get(function.index()).copied().unwrap_or_default();
            traits.weight = traits.weight.saturating_add(callee.weight);
            traits.is_long |= callee.is_long;
        }
        _ => {}
    });
    traits.is_long |= traits.weight > MOST_WITHOUT_LOOK;
    traits
}
