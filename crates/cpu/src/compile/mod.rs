//! Compiles a program to machine code with Cranelift.
//!
//! The code executes one workgroup per call. It executes one invocation after the other, or 4, 8 or 16 together in the
//! lanes of vectors. A program with barriers is divided into regions between them: all invocations execute a region
//! before any executes the next. Programs that the compiler refuses run in the interpreter.

mod atomic;
mod call;
mod code;
mod constant;
mod context;
mod entry;
mod expression;
mod function;
mod half;
mod helper;
mod inline;
mod lanes;
mod layout;
mod listing;
mod locals;
mod math;
mod operator;
mod place;
mod plan;
mod refusal;
mod shared;
mod sizes;
mod statement;
mod translate;
mod uniform;
mod uses;
mod value;
mod whole;

#[cfg(test)]
mod tests;

pub(crate) use call::expanded;
pub(crate) use inline::without_barriers_in_calls;
pub(crate) use refusal::NotCompiled;

use crate::error::Fault;
use crate::program::Program;
use crate::run::GridRun;
use code::Code;
use context::{Buffer, Context};
use refusal::refuse;
use smallvec::SmallVec;
use std::sync::Arc;
use std::sync::atomic::Ordering;

/// Maximum of a program's number of expressions times its lanes. BLAKE3 in 4 lanes needs two thirds of this.
const MOST_EXPANDED: usize = 10_000;

/// Layout of a buffer's type, which gives the length of its runtime array.
#[derive(Clone, Copy)]
struct Form {
    /// Size of the smallest buffer that the code can access safely.
    least: usize,
    /// Offset and stride of the runtime array.
    array: Option<(usize, usize)>,
}

/// A program as machine code.
pub(crate) struct Compiled {
    code: Code,
    lanes: u32,
    /// Layout of each buffer that the code accesses.
    buffers: Vec<Option<Form>>,
    /// Bytes of the uniform block that the code reads.
    params: usize,
    workgroup_bytes: usize,
    /// Bytes of the memory of all invocations of a workgroup.
    invocation_bytes: usize,
    diverges: bool,
    #[cfg(test)]
    skipped: usize,
}

impl Compiled {
    /// Compiles a program for a number of invocations that execute together: 1, 4, 8 or 16.
    ///
    /// # Errors
    /// Returns the unsupported feature if the program cannot be compiled.
    pub(crate) fn new(program: &Arc<Program>, lanes: u32) -> Result<Self, NotCompiled> {
        assert!([1, 4, 8, 16].contains(&lanes), "bug: there are no vectors with {lanes} lanes");
        if !program.workgroup()[0].is_multiple_of(lanes) {
            return refuse(format!("a workgroup whose width is not a multiple of {lanes}"));
        }
        if lanes > 1 && expanded(program) > MOST_EXPANDED / lanes as usize {
            return refuse(format!("too many expressions for {lanes} lanes, where calls are expanded"));
        }
        sizes::check(program)?;
        let translation = translate::translate(program, lanes)?;
        let types = layout::Types::new(program);
        let form = |variable: naga::Handle<naga::GlobalVariable>| {
            let ty = program.module().global_variables[variable].ty;
            let array = types.runtime_array(types.inner(ty));
            let array = array.map(|(offset, stride)| (offset as usize, stride as usize));
            let least = array.map_or(types.size(ty) as usize, |(offset, stride)| offset + stride);
            Form { least, array }
        };
        let size = |variable: naga::Handle<naga::GlobalVariable>| {
            types.size(program.module().global_variables[variable].ty) as usize
        };
        Ok(Self {
            code: translation.code,
            lanes,
            buffers: program.buffers().iter().map(|variable| variable.map(form)).collect(),
            params: program.params().map_or(0, size),
            workgroup_bytes: translation.workgroup_bytes,
            invocation_bytes: translation.invocation_bytes,
            diverges: translation.diverges,
            #[cfg(test)]
            skipped: translation.skipped,
        })
    }

    /// Returns how many invocations the code executes together.
    pub(crate) fn lanes(&self) -> u32 {
        self.lanes
    }

    /// Returns `true` if invocations that execute together may leave a loop at different times.
    pub(crate) fn diverges(&self) -> bool {
        self.diverges
    }

    /// Returns `true` if the code can execute a run. The code has a fixed order of execution, and needs at least one
    /// element in each array.
    pub(crate) fn takes(&self, run: &GridRun<'_>) -> bool {
        let buffers = self.buffers.iter().zip(run.buffers);
        run.seed == 0
            && run.params.len() >= self.params
            && run.buffers.len() == self.buffers.len()
            && buffers.into_iter().all(|(form, cells)| form.is_none_or(|form| cells.len() >= form.least))
    }

    /// Executes the workgroups of a run that the code [takes](Self::takes).
    ///
    /// # Errors
    /// [`Fault::Stopped`] if the caller stopped the run.
    pub(crate) fn run(&self, run: &GridRun<'_>) -> Result<(), Fault> {
        assert!(self.takes(run), "bug: the code does not take this run");
        let buffers: SmallVec<[Buffer; 8]> = self.table(run);
        let params = words(run.params);
        let mut workgroup = vec![0_u128; self.workgroup_bytes.div_ceil(16)];
        let mut invocations = vec![0_u128; self.invocation_bytes.div_ceil(16)];
        let mut context = Context {
            stop: run.stop.as_ptr().cast_const().cast(),
            params: params.as_ptr().cast(),
            buffers: buffers.as_ptr(),
            workgroup: workgroup.as_mut_ptr().cast(),
            invocations: invocations.as_mut_ptr().cast(),
            groups: run.groups,
            group: [0; 3],
        };
        if !run.range.is_empty() {
            context.group = run.group(run.range.start);
        }
        for number in run.range.clone() {
            if run.stop.load(Ordering::Relaxed) {
                return Err(Fault::Stopped);
            }
            if number > run.range.start {
                // The pointer of an empty vector points to no mapped page. There, a masked store is slow even if it
                // stores nothing.
                if !workgroup.is_empty() {
                    workgroup.fill(0);
                    context.workgroup = workgroup.as_mut_ptr().cast();
                }
                context.group = next(context.group, run.groups);
            }
            if self.code.execute(&context) {
                return Err(Fault::Stopped);
            }
        }
        Ok(())
    }

    /// Returns the addresses of the buffers of a run and the lengths of their arrays.
    fn table(&self, run: &GridRun<'_>) -> SmallVec<[Buffer; 8]> {
        let buffers = self.buffers.iter().zip(run.buffers);
        buffers
            .map(|(form, cells)| {
                let array = form.and_then(|form| form.array);
                let length = array.map_or(0, |(offset, stride)| (cells.len() - offset) / stride);
                Buffer { start: cells.start(), length: u32::try_from(length).unwrap_or(u32::MAX) }
            })
            .collect()
    }
}

/// Returns the next workgroup. Computing it from a linear index needs divisions, which take as long as a small
/// workgroup.
fn next(group: [u32; 3], groups: [u32; 3]) -> [u32; 3] {
    let [x, y, z] = group;
    if x + 1 < groups[0] {
        [x + 1, y, z]
    } else if y + 1 < groups[1] {
        [0, y + 1, z]
    } else {
        [0, 0, z + 1]
    }
}

/// Returns a copy of bytes that is aligned to 16.
fn words(bytes: &[u8]) -> SmallVec<[u128; 8]> {
    let mut words: SmallVec<[u128; 8]> = SmallVec::from_elem(0, bytes.len().div_ceil(16));
    bytemuck::cast_slice_mut::<_, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
    words
}
