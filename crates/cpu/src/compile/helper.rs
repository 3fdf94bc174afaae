//! The functions of the host that compiled code calls.
#![allow(unsafe_code, reason = "compiled code passes addresses")]

use super::function::Lower;
use super::layout::Kind;
use super::refusal::{Result, refuse};
use super::value::Components;
use crate::arith::{Operand, Outcome, Scalar, math};
use cranelift_codegen::ir::{self, AbiParam, InstBuilder, types};
use cranelift_module::Module as _;
use naga::{Expression, Handle, MathFunction, TypeInner};
use smallvec::SmallVec;
use std::sync::Arc;

/// Is the form of an argument.
#[derive(Clone, Copy)]
enum Form {
    Scalar,
    Vector(usize),
    Matrix { columns: usize, rows: usize },
}

impl Form {
    fn count(self) -> usize {
        match self {
            Self::Scalar => 1,
            Self::Vector(count) => count,
            Self::Matrix { columns, rows } => columns * rows,
        }
    }
}

/// Describes a call of a built-in function.
pub(super) struct Call {
    fun: MathFunction,
    arguments: SmallVec<[(Kind, Form); 4]>,
    /// Counts the words of the arguments or of the result, whichever has more.
    words: usize,
}

/// Calls a built-in function. Its arguments are in `words`, and its result is written there, a word a component.
extern "C" fn call_math(call: *const Call, words: *mut u32) {
    // SAFETY: compiled code passes a call that its `Code` keeps.
    let call = unsafe { &*call };
    // SAFETY: compiled code passes a slot of its stack with this number of words, all of which it wrote.
    let words = unsafe { std::slice::from_raw_parts_mut(words, call.words) };
    let mut at = 0;
    let mut scalars: SmallVec<[SmallVec<[Scalar; 16]>; 4]> = SmallVec::new();
    for &(kind, form) in &call.arguments {
        let end = at + form.count();
        scalars.push(words[at..end].iter().map(|&bits| kind.value(bits)).collect());
        at = end;
    }
    let forms = call.arguments.iter().zip(&scalars);
    let operands: SmallVec<[Operand<'_>; 4]> = forms
        .map(|(&(_, form), values)| match form {
            Form::Scalar => Operand::Scalar(values[0]),
            Form::Vector(_) => Operand::Vector(values),
            Form::Matrix { columns, rows } => Operand::Matrix { columns, rows, values },
        })
        .collect();
    write(&math(call.fun, &operands), &mut words.iter_mut());
}

fn write<'a>(outcome: &Outcome, words: &mut impl Iterator<Item = &'a mut u32>) {
    let mut put = |value: &Scalar| {
        if let Some(word) = words.next() {
            *word = value.bits() as u32;
        }
    };
    match outcome {
        Outcome::Scalar(value) => put(value),
        Outcome::Vector(values) | Outcome::Matrix { values, .. } => values.iter().for_each(put),
        Outcome::Pair(members) => members.iter().for_each(|member| write(member, words)),
    }
}

/// Sets bytes to zero.
extern "C" fn clear(start: *mut u8, bytes: u64) {
    // SAFETY: compiled code passes a variable of this size, which only this thread accesses.
    unsafe { start.write_bytes(0, bytes as usize) };
}

impl Lower<'_, '_> {
    /// Calls a function of the host with two words and no result.
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
        let mut forms = SmallVec::new();
        for &argument in arguments {
            let form = match self.ty(argument) {
                TypeInner::Scalar(_) => Form::Scalar,
                TypeInner::Vector { size, .. } => Form::Vector(*size as usize),
                TypeInner::Matrix { columns, rows, .. } => {
                    Form::Matrix { columns: *columns as usize, rows: *rows as usize }
                }
                other => return refuse(format!("{fun:?} of {other:?}")),
            };
            forms.push((self.kind(argument)?, form));
        }
        let leaves = self.types().leaves(self.ty(result))?;
        let taken: usize = values.iter().map(SmallVec::len).sum();
        let words = taken.max(leaves.len());
        let slot = self.stack(4 * words as u32)?;
        for (at, &value) in values.iter().flatten().enumerate() {
            self.builder.ins().stack_store(value, slot, 4 * at as i32);
        }
        let zero = self.word(0);
        for at in taken..words {
            self.builder.ins().stack_store(zero, slot, 4 * at as i32);
        }
        let call = Arc::new(Call { fun, arguments: forms, words });
        let address = std::ptr::from_ref(&*call) as i64;
        self.shared.calls.push(call);
        let call = self.builder.ins().iconst(types::I64, address);
        let start = self.builder.ins().stack_addr(types::I64, slot, 0);
        self.call_host(call_math as *const () as usize, call, start);
        Ok(leaves
            .iter()
            .enumerate()
            .map(|(at, leaf)| self.builder.ins().stack_load(leaf.kind.ir(), slot, 4 * at as i32))
            .collect())
    }
}
