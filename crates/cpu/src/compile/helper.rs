//! The host functions that compiled code calls.
#![allow(unsafe_code, reason = "compiled code passes addresses")]

use super::function::Lower;
use super::layout::{Kind, Leaf};
use super::refusal::{Result, refuse};
use super::value::Components;
use super::whole::Whole;
use crate::arith::{Each, builtin};
use cranelift_codegen::ir::{self, AbiParam, InstBuilder, StackSlot, types};
use cranelift_module::Module as _;
use naga::{Expression, Handle, MathFunction};
use std::sync::Arc;

/// A call of a built-in function.
pub(super) struct Call {
    function: Function,
    /// Number of words of the arguments or of the result, whichever is larger.
    words: usize,
}

/// A built-in function that the host computes.
enum Function {
    /// Function for this many lanes.
    Each(Each, usize),
    Whole(Whole),
}

/// Calls a built-in function. Its arguments are in `words`, and its result is written there: one word per component and
/// lane, or two words per component.
extern "C" fn call_math(call: *const Call, words: *mut u32) {
    // SAFETY: compiled code passes a call that its `Code` keeps.
    let call = unsafe { &*call };
    // SAFETY: compiled code passes a stack slot with this number of words, all of which are initialised.
    let words = unsafe { std::slice::from_raw_parts_mut(words, call.words) };
    match &call.function {
        Function::Each(each, lanes) => each.run(words, *lanes),
        Function::Whole(whole) => whole.run(words),
    }
}

/// Sets bytes to zero.
extern "C" fn clear(start: *mut u8, bytes: u64) {
    // SAFETY: compiled code passes a variable of this size, which only this thread accesses.
    unsafe { start.write_bytes(0, bytes as usize) };
}

impl Lower<'_, '_> {
    /// Calls a host function with two words and no result.
    fn call_host(&mut self, function: usize, first: ir::Value, second: ir::Value) {
        let mut signature = self.shared.jit.make_signature();
        signature.params.extend([AbiParam::new(types::I64); 2]);
        let signature = self.builder.import_signature(signature);
        let target = self.builder.ins().iconst(types::I64, function as i64);
        self.builder.ins().call_indirect(signature, target, &[first, second]);
    }

    /// Sets the bytes of a variable to zero by a call.
    pub(super) fn call_clear(&mut self, start: ir::Value, bytes: u32) {
        let bytes = self.builder.ins().iconst(types::I64, i64::from(bytes));
        self.call_host(clear as *const () as usize, start, bytes);
    }

    /// Computes a built-in function by a call.
    pub(super) fn call_math(
        &mut self,
        fun: MathFunction,
        arguments: &[Handle<Expression>],
        values: &[Components],
        result: Handle<Expression>,
    ) -> Result<Components> {
        let kind = self.kind(arguments[0])?;
        let leaves = self.types().leaves(self.ty(result))?;
        let values: Components = values.iter().flatten().copied().collect();
        if kind.is_wide() || kind == Kind::F16 {
            return self.call_whole(fun, arguments, &values, &leaves);
        }
        let Some(each) = builtin(fun).each(kind.scalar().kind) else {
            return refuse(format!("the function {fun:?}"));
        };
        let slot = self.call_each(each, 1, &values, leaves.len())?;
        Ok(leaves
            .iter()
            .enumerate()
            .map(|(at, leaf)| self.builder.ins().stack_load(leaf.kind.ir(), slot, 4 * at as i32))
            .collect())
    }

    /// Computes a built-in function of numbers that are not 32 bits wide by a call.
    fn call_whole(
        &mut self,
        fun: MathFunction,
        arguments: &[Handle<Expression>],
        values: &[ir::Value],
        leaves: &[Leaf],
    ) -> Result<Components> {
        let reference = builtin(fun).reference;
        let Some(whole) = Whole::new(reference, arguments.iter().map(|&argument| self.ty(argument))) else {
            return refuse(format!("the function {fun:?}"));
        };
        let count = values.len().max(leaves.len());
        let slot = self.stack(8 * count as u32)?;
        let zero = self.builder.ins().iconst(types::I64, 0);
        for at in 0..count {
            self.builder.ins().stack_store(zero, slot, 8 * at as i32);
        }
        let mut kinds = Vec::new();
        for &argument in arguments {
            kinds.extend(self.types().leaves(self.ty(argument))?.iter().map(|leaf| leaf.kind));
        }
        for (at, (&value, kind)) in values.iter().zip(kinds).enumerate() {
            let value = if kind == Kind::F16 { self.half_bits(value) } else { value };
            self.builder.ins().stack_store(value, slot, 8 * at as i32);
        }
        self.call_function_of_host(Function::Whole(whole), 2 * count, slot);
        let load = |(at, leaf): (usize, &Leaf)| {
            if leaf.kind == Kind::F16 {
                let bits = self.builder.ins().stack_load(types::I32, slot, 8 * at as i32);
                return self.half_number(bits);
            }
            self.builder.ins().stack_load(leaf.kind.ir(), slot, 8 * at as i32)
        };
        Ok(leaves.iter().enumerate().map(load).collect())
    }

    /// Calls a built-in function, whose words are on the stack.
    fn call_function_of_host(&mut self, function: Function, words: usize, slot: StackSlot) {
        let call = Arc::new(Call { function, words });
        let address = std::ptr::from_ref(&*call) as i64;
        self.shared.calls.push(call);
        let call = self.builder.ins().iconst(types::I64, address);
        let start = self.builder.ins().stack_addr(types::I64, slot, 0);
        self.call_host(call_math as *const () as usize, call, start);
    }

    /// Computes a built-in function for some lanes by a call. `values` and `results` are components of one lane, or
    /// vectors with a component of four lanes. Returns the stack slot with the results.
    pub(super) fn call_each(
        &mut self,
        each: Each,
        lanes: usize,
        values: &[ir::Value],
        results: usize,
    ) -> Result<StackSlot> {
        let bytes = 4 * lanes.min(4);
        let count = values.len().max(results);
        let slot = self.stack((bytes * count) as u32)?;
        for (at, &value) in values.iter().enumerate() {
            self.builder.ins().stack_store(value, slot, (bytes * at) as i32);
        }
        // The function also gets the words after its arguments.
        let mut zero = self.word(0);
        if lanes > 1 {
            zero = self.builder.ins().splat(types::I32X4, zero);
        }
        for at in values.len()..count {
            self.builder.ins().stack_store(zero, slot, (bytes * at) as i32);
        }
        self.call_function_of_host(Function::Each(each, lanes), bytes * count / 4, slot);
        Ok(slot)
    }
}
