//! Runs of calls in the interpreter and as machine code.

use super::Call;
use super::types::Width;
use crate::compile::tests::execute;
use crate::compile::{Compiled, without_barriers_in_calls};
use crate::error::Fault;
use crate::interpret::Interpreter;
use crate::program::Program;
use crate::run::GridRun;
use std::sync::atomic::AtomicBool;

const NAMES: [&str; 4] = ["a", "b", "c", "d"];
/// Numbers of invocations that machine code executes together.
const LANES: [u32; 4] = [1, 4, 8, 16];

/// Returns the text of a kernel that evaluates an expression in each invocation. The components of each argument are in
/// a separate buffer.
fn kernel(call: &Call<'_>) -> String {
    let mut text = if call.width == Width::Half { "enable f16;\n".to_owned() } else { String::new() };
    let mut body = String::new();
    let result = call.result;
    for (at, (name, argument)) in NAMES.iter().zip(&call.arguments).enumerate() {
        let count = argument.components();
        let scalar = argument.scalar();
        text += &format!("@group(0) @binding({at}) var<storage, read> of_{name}: array<{scalar}>;\n");
        let component = |component| format!("of_{name}[i * {count}u + {component}u]");
        let components: Vec<String> = (0..count).map(component).collect();
        body += &format!("    let {name} = {}({});\n", argument.wgsl(), components.join(", "));
    }
    body += &format!("    let result: {} = {};\n", result.wgsl(), call.row.text);
    for component in 0..result.components() {
        let count = result.components();
        let index = result.index(component);
        body += &format!("    out[i * {count}u + {component}u] = result{index};\n");
    }
    let binding = call.arguments.len();
    let scalar = result.scalar();
    text + &format!(
        "@group(0) @binding({binding}) var<storage, read_write> out: array<{scalar}>;
@compute @workgroup_size(32)
fn calls(@builtin(global_invocation_id) id: vec3<u32>) {{\n    let i = id.x;\n{body}}}\n"
    )
}

/// Buffers for a run.
#[derive(Clone)]
struct Buffers {
    words: Vec<Vec<u128>>,
    lens: Vec<usize>,
}

impl Buffers {
    fn new(call: &Call<'_>, inputs: &[Vec<u64>], calls: usize) -> Self {
        let mut buffers = Self { words: Vec::new(), lens: Vec::new() };
        for (argument, input) in call.arguments.iter().zip(inputs) {
            buffers.push(input, argument.bytes());
        }
        buffers.push(&vec![0; calls * call.result.components()], call.result.bytes());
        buffers
    }

    /// Adds a buffer of numbers of `size` bytes.
    fn push(&mut self, numbers: &[u64], size: usize) {
        let bytes: Vec<u8> = numbers.iter().flat_map(|bits| bits.to_le_bytes()[..size].to_vec()).collect();
        let mut words = vec![0_u128; bytes.len().div_ceil(16)];
        bytemuck::cast_slice_mut::<_, u8>(&mut words)[..bytes.len()].copy_from_slice(&bytes);
        self.words.push(words);
        self.lens.push(bytes.len());
    }

    /// Runs a kernel, and returns the numbers of the last buffer.
    fn run(
        mut self,
        call: &Call<'_>,
        calls: usize,
        kernel: impl FnOnce(&GridRun<'_>) -> Result<(), Fault>,
    ) -> Vec<u64> {
        let groups = [(calls / 32) as u32, 1, 1];
        let stop = AtomicBool::new(false);
        let done = execute(&mut self.words, &self.lens, &[], groups, &stop, kernel);
        assert_eq!(done, Ok(()), "{}", call.what);
        let bytes: &[u8] = bytemuck::cast_slice(&self.words[call.arguments.len()]);
        let number = |bytes: &[u8]| {
            let mut bits = [0; 8];
            bits[..bytes.len()].copy_from_slice(bytes);
            u64::from_le_bytes(bits)
        };
        bytes[..self.lens[call.arguments.len()]].chunks(call.result.bytes()).map(number).collect()
    }
}

/// Runs calls in the interpreter and as machine code of each width, compares the results, and returns their bits.
pub(super) fn results(call: &Call<'_>, inputs: &[Vec<u64>], calls: usize) -> Vec<u64> {
    let original = Program::of_text(kernel(call));
    let buffers = Buffers::new(call, inputs, calls);
    let interpreter = Interpreter::new(original.clone());
    let interpreter = interpreter.unwrap_or_else(|error| panic!("{}: {error}", call.what));
    let expected = buffers.clone().run(call, calls, |run| interpreter.run(run));
    let simple = without_barriers_in_calls(&original);
    for lanes in LANES {
        match Compiled::new(&simple, lanes) {
            Ok(compiled) => {
                let found = buffers.clone().run(call, calls, |run| compiled.run(run));
                for (at, pair) in found.into_iter().zip(&expected).enumerate() {
                    let found = pair.0;
                    let expected = *pair.1;
                    assert!(
                        call.result.equal([found, expected]),
                        "{}: component {at} is {found:#x} with {lanes} lanes, and the interpreter has {expected:#x}",
                        call.what
                    );
                }
            }
            Err(refused) => {
                let is_other = refused.reason.contains("a number of kind") && call.width != Width::Word;
                assert!(is_other, "{} has no machine code of width {lanes}: {refused:?}", call.what);
            }
        }
    }
    expected
}
