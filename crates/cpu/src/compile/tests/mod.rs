//! Compiled kernels against plain Rust.

mod barriers;
mod builtins;
mod control;
mod functions;
mod lane_memory;
mod lanes;
mod memory;
mod numbers;
mod random;
mod refusals;
mod subgroups;
mod wide;

use super::{Compiled, NotCompiled, without_barriers_in_calls};
use crate::error::Fault;
use crate::interpret::Interpreter;
use crate::program::Program;
use crate::run::{Cells, GridRun};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A kernel and the bytes that it runs on.
struct Test {
    program: Arc<Program>,
    compiled: Compiled,
    /// Code for four invocations together, if the compiler supports that.
    vector: Result<Compiled, NotCompiled>,
    /// Code for 8 and for 16 invocations together, if the compiler supports that.
    wider: Vec<(u32, Compiled)>,
    params: Vec<u8>,
    buffers: Vec<Vec<u128>>,
    lens: Vec<usize>,
}

fn refused(wgsl: &str) -> NotCompiled {
    let program = Program::of_text(wgsl);
    Compiled::new(&without_barriers_in_calls(&program), 1).err().expect("the kernel is not compiled")
}

impl Test {
    fn new(wgsl: &str) -> Self {
        Self::of(Program::of_text(wgsl))
    }

    fn of(original: Arc<Program>) -> Self {
        let program = without_barriers_in_calls(&original);
        let compiled = Compiled::new(&program, 1).unwrap_or_else(|refused| {
            panic!("{:?}: {}", program.place(refused.span).map(|place| place.text), refused.reason)
        });
        let vector = Compiled::new(&program, 4);
        if let Err(refused) = &vector {
            assert!(!refused.reason.contains("Cranelift"), "{refused:?}");
        }
        let mut wider = Vec::new();
        for lanes in [8, 16] {
            match Compiled::new(&program, lanes) {
                Ok(compiled) => wider.push((lanes, compiled)),
                Err(refused) => assert!(!refused.reason.contains("Cranelift"), "{lanes}: {refused:?}"),
            }
        }
        Self {
            program: original,
            compiled,
            vector,
            wider,
            params: Vec::new(),
            buffers: Vec::new(),
            lens: Vec::new(),
        }
    }

    fn params<T: bytemuck::NoUninit>(mut self, params: &[T]) -> Self {
        self.params = bytemuck::cast_slice(params).to_vec();
        self
    }

    fn buffer<T: bytemuck::NoUninit>(mut self, values: &[T]) -> Self {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let mut words = vec![0_u128; bytes.len().div_ceil(16)];
        bytemuck::cast_slice_mut::<_, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
        self.buffers.push(words);
        self.lens.push(bytes.len());
        self
    }

    /// Runs the kernel as machine code.
    fn try_run(&mut self, groups: [u32; 3], stop: &AtomicBool) -> Result<(), Fault> {
        let compiled = &self.compiled;
        execute(&mut self.buffers, &self.lens, &self.params, groups, stop, |run| compiled.run(run))
    }

    /// Runs the kernel as machine code and in the interpreter, and compares the buffers.
    fn run(mut self, groups: [u32; 3]) -> Self {
        let stop = AtomicBool::new(false);
        let mut interpreted = self.buffers.clone();
        let interpreter = Interpreter::new(self.program.clone()).expect("the interpreter takes the kernel");
        let run = |run: &GridRun<'_>| interpreter.run(run);
        let done = execute(&mut interpreted, &self.lens, &self.params, groups, &stop, run);
        assert_eq!(done, Ok(()), "the interpreter runs kernel {}", self.program.name());
        let vector = self.vector.iter().map(|vector| (4, vector));
        let wider = self.wider.iter().map(|(lanes, vector)| (*lanes, vector));
        for (lanes, vector) in vector.chain(wider) {
            let mut buffers = self.buffers.clone();
            let run = |run: &GridRun<'_>| vector.run(run);
            let done = execute(&mut buffers, &self.lens, &self.params, groups, &stop, run);
            assert_eq!(done, Ok(()), "{lanes} lanes run kernel {}", self.program.name());
            compare(&buffers, &interpreted, &format!("{lanes} lanes"));
        }
        let done = self.try_run(groups, &stop);
        assert_eq!(done, Ok(()), "machine code runs kernel {}", self.program.name());
        compare(&self.buffers, &interpreted, "scalars");
        self
    }

    fn get<T: bytemuck::AnyBitPattern>(&self, buffer: usize) -> Vec<T> {
        let bytes: &[u8] = bytemuck::cast_slice(&self.buffers[buffer]);
        bytes[..self.lens[buffer]].chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned).collect()
    }
}

/// Splits a list of expressions that are separated by `;`.
fn expressions(list: &str) -> Vec<&str> {
    list.split(';').map(str::trim).collect()
}

/// Evaluates expressions of `a` and `b` for every pair of values of a type, in code of every width and in the
/// interpreter. The results of each expression are in the second buffer, followed by those of the next one.
fn pairs<T: bytemuck::NoUninit>(
    head: &str,
    [ty, result]: [&str; 2],
    values: &[T],
    expressions: &[&str],
) -> Test {
    let count = values.len();
    let pairs = (count * count).next_multiple_of(16);
    let stores = |(at, expression): (usize, &&str)| format!("out[{at}u * {pairs}u + i] = {expression};\n");
    let stores: String = expressions.iter().enumerate().map(stores).collect();
    let wgsl = format!(
        "{head}
        @group(0) @binding(0) var<storage, read> values: array<{ty}>;
        @group(0) @binding(1) var<storage, read_write> out: array<{result}>;
        @compute @workgroup_size(16)
        fn pairs(@builtin(global_invocation_id) id: vec3<u32>) {{
            let i = id.x;
            let a = values[i / {count}u];
            let b = values[i % {count}u];
            {stores}
        }}"
    );
    let test = Test::new(&wgsl).buffer(values).buffer(&vec![0_u64; expressions.len() * pairs]);
    assert!(test.vector.is_ok() && test.wider.len() == 2, "{expressions:?}: {:?}", test.vector.err());
    test.run([pairs as u32 / 16, 1, 1])
}

/// Runs a kernel on words.
fn execute(
    buffers: &mut [Vec<u128>],
    lens: &[usize],
    params: &[u8],
    groups: [u32; 3],
    stop: &AtomicBool,
    kernel: impl FnOnce(&GridRun<'_>) -> Result<(), Fault>,
) -> Result<(), Fault> {
    let cells: Vec<Cells<'_>> = buffers
        .iter_mut()
        .zip(lens)
        .map(|(words, &len)| Cells::new(&mut bytemuck::cast_slice_mut(words)[..len]))
        .collect();
    let range = 0..GridRun::all(groups);
    kernel(&GridRun { groups, range, params, buffers: &cells, seed: 0, stop })
}

/// Compares buffers with the interpreter's.
fn compare(buffers: &[Vec<u128>], interpreted: &[Vec<u128>], code: &str) {
    for (at, (found, expected)) in buffers.iter().zip(interpreted).enumerate() {
        let found: &[u32] = bytemuck::cast_slice(found);
        let expected: &[u32] = bytemuck::cast_slice(expected);
        for (word, (&found, &expected)) in found.iter().zip(expected).enumerate() {
            let both_nan = f32::from_bits(found).is_nan() && f32::from_bits(expected).is_nan();
            assert!(
                found == expected || both_nan,
                "word {word} of buffer {at} is {found:#x} with {code}, and the interpreter has {expected:#x}"
            );
        }
    }
}
