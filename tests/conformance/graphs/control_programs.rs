//! G06: random programs with conditions and loops, compared with a host that reads each condition.

use crate::common::partners::partners;
use crate::common::{Calls, Case, Subject, case, seeds};
use crate::graphs::control::ended;
use fencepost::graph::{Contents, Loop};
use fencepost::prelude::*;
use fencepost::{Bound, Capture, Result};

pub fn cases() -> Vec<Case> {
    vec![
        case("g06_random_programs_equal_a_host_that_reads_each_condition", random_programs),
        case("g09_random_programs_give_equal_results_after_a_load_in_every_context", loaded_programs),
    ]
}

/// Number of elements of a data array; `ARRAYS` is the number of arrays.
const N: usize = 96;
const ARRAYS: usize = 3;
const CONDITIONS: usize = 4;
/// Maximum nesting depth of bodies.
const DEPTH: usize = 3;

/// A command of a random program. Numbers refer to arrays, conditions and loops. `Take` copies an element of an array
/// to a condition.
#[derive(Debug)]
enum Command {
    Mix { a: u32, b: u32, x: usize, y: usize },
    Copy { from: (usize, usize), to: (usize, usize), len: usize },
    Fill { array: usize, start: usize, len: usize, value: u32 },
    Upload { array: usize, start: usize, values: Vec<u32> },
    Region { from: usize, to: usize, at: (usize, usize) },
    SetCondition { condition: usize, value: u32 },
    Lower { condition: usize },
    Take { condition: usize, array: usize, at: usize },
    Forked { first: Vec<Command>, second: Vec<Command> },
    If { condition: usize, then: Vec<Command> },
    IfElse { condition: usize, then: Vec<Command>, otherwise: Vec<Command> },
    Loop { kind: LoopKind, number: usize, condition: usize, bound: u32, body: Vec<Command> },
}

#[derive(Clone, Copy, Debug)]
enum LoopKind {
    While,
    DoWhile,
    Repeat,
}

struct Generator {
    rng: fastrand::Rng,
    loops: usize,
}

impl Generator {
    fn commands(&mut self, depth: usize, most: usize) -> Vec<Command> {
        (0..self.rng.usize(1..=most)).map(|_| self.command(depth)).collect()
    }

    fn command(&mut self, depth: usize) -> Command {
        let kinds = if depth == 0 { 9 } else { 16 };
        let condition = self.rng.usize(..CONDITIONS);
        match self.rng.usize(..kinds) {
            0 => {
                let x = self.rng.usize(..ARRAYS);
                let y = (x + self.rng.usize(1..ARRAYS)) % ARRAYS;
                Command::Mix { a: self.rng.u32(0..5), b: self.rng.u32(..), x, y }
            }
            1 => {
                let len = self.rng.usize(1..N);
                let mut place = || (self.rng.usize(..ARRAYS), self.rng.usize(..=N - len));
                let from = place();
                let to = place();
                Command::Copy { from, to, len }
            }
            2 => {
                let len = self.rng.usize(1..N);
                let array = self.rng.usize(..ARRAYS);
                let start = self.rng.usize(..=N - len);
                Command::Fill { array, start, len, value: self.rng.u32(0..3) }
            }
            3 => {
                let len = self.rng.usize(1..N);
                let array = self.rng.usize(..ARRAYS);
                let start = self.rng.usize(..=N - len);
                Command::Upload { array, start, values: (0..len).map(|_| self.rng.u32(..)).collect() }
            }
            4 => {
                let from = self.rng.usize(..ARRAYS);
                let to = (from + self.rng.usize(1..ARRAYS)) % ARRAYS;
                Command::Region { from, to, at: (self.rng.usize(..4), self.rng.usize(..4)) }
            }
            5 => Command::SetCondition { condition, value: self.rng.u32(0..4) },
            6 | 7 => Command::Lower { condition },
            8 => Command::Take { condition, array: self.rng.usize(..ARRAYS), at: self.rng.usize(..N) },
            9 => Command::Forked { first: self.on_arrays(0), second: self.on_arrays(1) },
            10 => Command::If { condition, then: self.commands(depth - 1, 4) },
            11 | 12 => {
                let then = self.commands(depth - 1, 3);
                let otherwise = self.commands(depth - 1, 3);
                Command::IfElse { condition, then, otherwise }
            }
            13 => self.looped(LoopKind::While, condition, depth),
            14 => self.looped(LoopKind::DoWhile, condition, depth),
            _ => self.looped(LoopKind::Repeat, condition, depth),
        }
    }

    /// Returns commands for a forked queue, which use only one array.
    fn on_arrays(&mut self, array: usize) -> Vec<Command> {
        let fill = |value| Command::Fill { array, start: 3, len: 7, value };
        vec![fill(self.rng.u32(..)), Command::Upload { array, start: 1, values: vec![self.rng.u32(..); 2] }]
    }

    fn looped(&mut self, kind: LoopKind, condition: usize, depth: usize) -> Command {
        self.loops += 1;
        let number = self.loops - 1;
        // The bound of a `while_` may be 0.
        let least = if matches!(kind, LoopKind::While) { 0 } else { 1 };
        let bound = least + self.rng.u32(0..4);
        Command::Loop { kind, number, condition, bound, body: self.commands(depth - 1, 3) }
    }
}

/// Arrays of a program.
struct Arrays {
    data: Vec<DeviceArray<u32>>,
    conditions: Vec<DeviceArray<u32>>,
    nothing: DeviceArray<u32>,
}

impl Arrays {
    fn new(ctx: &Context, queue: &CommandQueue) -> Self {
        let data = (0..ARRAYS as u32).map(|at| queue.full([N], at + 1).unwrap()).collect();
        // The conditions are slices, except the first one.
        let words = ctx.zeros::<u32, 1>([CONDITIONS]).unwrap();
        let slices = (1..CONDITIONS).map(|at| words.slice(at..at + 1).unwrap());
        let conditions = std::iter::once(ctx.zeros([1]).unwrap()).chain(slices).collect();
        let nothing = ctx.zeros::<u32, 1>([N]).unwrap();
        Self { data, conditions, nothing }
    }

    /// Sets all elements for a new program.
    fn reset(&self, queue: &CommandQueue, values: &[u32; CONDITIONS]) {
        for (at, array) in self.data.iter().enumerate() {
            let elements: Vec<u32> = (0..N as u32).map(|index| index % 3 + at as u32).collect();
            queue.upload(&elements, &mut array.clone()).unwrap();
        }
        for (condition, &value) in self.conditions.iter().zip(values) {
            queue.fill(&mut condition.clone(), value).unwrap();
        }
    }

    fn read(&self, queue: &CommandQueue) -> Vec<Vec<u32>> {
        self.data.iter().chain(&self.conditions).map(|array| queue.read(array).wait().unwrap()).collect()
    }

    /// Enqueues or captures a command without a body. Returns `false` for a command with one.
    fn simple(&self, queue: &CommandQueue, command: &Command) -> Result<bool> {
        match command {
            Command::Mix { a, b, x, y } => {
                queue.mix(*a, *b, &self.data[*x], &mut self.data[*y].clone())?;
            }
            Command::Copy { from, to, len } => {
                let src = self.data[from.0].slice(from.1..from.1 + len)?;
                queue.copy(&src, &mut self.data[to.0].slice(to.1..to.1 + len)?)?;
            }
            Command::Fill { array, start, len, value } => {
                queue.fill(&mut self.data[*array].slice(*start..start + len)?, *value)?;
            }
            Command::Upload { array, start, values } => {
                queue.upload(values, &mut self.data[*array].slice(*start..start + values.len())?)?;
            }
            Command::Region { from, to, at } => {
                let src = self.data[*from].reshape([8, 12])?;
                let mut dst = self.data[*to].reshape([8, 12])?;
                let (row, column) = *at;
                queue.copy_region(
                    &src,
                    region![row..row + 4, column..column + 5],
                    &mut dst,
                    region![4 - row..8 - row, 1 + column..6 + column],
                )?;
            }
            Command::SetCondition { condition, value } => {
                queue.fill(&mut self.conditions[*condition].clone(), *value)?;
            }
            Command::Lower { condition } => {
                // A slice cannot be an argument of a launch, so a copy of the condition is decremented.
                let word = self.nothing.slice(0..1)?;
                let condition = &self.conditions[*condition];
                let first = &self.conditions[0];
                if condition.label() == first.label() {
                    queue.mix(1, u32::MAX, &word, &mut first.clone())?;
                } else {
                    queue.fill(&mut condition.clone(), 0)?;
                }
            }
            Command::Take { condition, array, at } => {
                queue
                    .copy(&self.data[*array].slice(*at..at + 1)?, &mut self.conditions[*condition].clone())?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Captures a program. `loops` receives each loop. `bounded` returns the bounds of the loops that are in no body.
fn capture(
    arrays: &Arrays,
    queue: &CommandQueue,
    all: &[Command],
    loops: &mut [Option<Loop>],
    bounded: fn(u32) -> Bound,
) -> Result<()> {
    for command in all {
        if arrays.simple(queue, command)? {
            continue;
        }
        let of = |condition: &usize| &arrays.conditions[*condition];
        match command {
            Command::Forked { first, second } => {
                let side = queue.fork("side");
                capture(arrays, queue, first, loops, bounded)?;
                capture(arrays, &side, second, loops, bounded)?;
                queue.wait_for(&side)?;
            }
            Command::If { condition, then } => {
                queue.if_(of(condition), |body| capture(arrays, body, then, loops, Bound::AtMost))?;
            }
            Command::IfElse { condition, then, otherwise } => {
                let shared = std::cell::RefCell::new(loops.to_vec());
                queue.if_else(
                    of(condition),
                    |body| capture(arrays, body, then, &mut shared.borrow_mut(), Bound::AtMost),
                    |body| capture(arrays, body, otherwise, &mut shared.borrow_mut(), Bound::AtMost),
                )?;
                loops.clone_from_slice(&shared.into_inner());
            }
            Command::Loop { kind, number, condition, bound, body } => {
                let inside = |inner: &Capture| capture(arrays, inner, body, loops, Bound::AtMost);
                let made = match kind {
                    LoopKind::While => queue.while_(of(condition), bounded(*bound), inside),
                    LoopKind::DoWhile => queue.do_while(of(condition), bounded(*bound), inside),
                    LoopKind::Repeat => queue.repeat(of(condition), bounded(*bound), inside),
                };
                loops[*number] = Some(made?);
            }
            _ => unreachable!(),
        }
    }
    Ok(())
}

/// Executes a program with decisions by the host. `counts` receives the iterations of each loop, and `true` if it
/// reached its bound.
fn execute(arrays: &Arrays, queue: &CommandQueue, all: &[Command], counts: &mut [(u32, bool)]) {
    let value = |condition: &usize| queue.read(&arrays.conditions[*condition]).wait().unwrap()[0];
    for command in all {
        if arrays.simple(queue, command).unwrap() {
            continue;
        }
        match command {
            Command::Forked { first, second } => {
                execute(arrays, queue, first, counts);
                execute(arrays, queue, second, counts);
            }
            Command::If { condition, then } => {
                if value(condition) != 0 {
                    execute(arrays, queue, then, counts);
                }
            }
            Command::IfElse { condition, then, otherwise } => {
                let chosen = if value(condition) != 0 { then } else { otherwise };
                execute(arrays, queue, chosen, counts);
            }
            Command::Loop { kind, number, condition, bound, body } => {
                for iteration in 0.. {
                    let goes = match kind {
                        LoopKind::DoWhile if iteration == 0 => true,
                        LoopKind::Repeat => value(condition) > iteration,
                        _ => value(condition) != 0,
                    };
                    if !goes {
                        break;
                    }
                    if iteration == *bound {
                        counts[*number].1 = true;
                        break;
                    }
                    counts[*number].0 += 1;
                    execute(arrays, queue, body, counts);
                }
            }
            _ => unreachable!(),
        }
    }
}

fn random_programs(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let arrays = Arrays::new(&ctx, &queue);
    for seed in seeds::asked().unwrap_or(0..12) {
        let mut generator = Generator { rng: fastrand::Rng::with_seed(seed), loops: 0 };
        let program = generator.commands(DEPTH, 5);
        let captured = [Bound::AtMost, Bound::Chunked].map(|bounded: fn(u32) -> Bound| {
            let mut loops = vec![None; generator.loops];
            let captured = queue.capture(|c| capture(&arrays, c, &program, &mut loops, bounded));
            let (graph, ()) = captured.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            (graph, loops)
        });
        for _ in 0..3 {
            let values: [u32; CONDITIONS] = std::array::from_fn(|_| generator.rng.u32(0..4));
            arrays.reset(&queue, &values);
            let mut counts = vec![(0, false); generator.loops];
            execute(&arrays, &queue, &program, &mut counts);
            let expected = arrays.read(&queue);
            for (graph, loops) in &captured {
                arrays.reset(&queue, &values);
                let run = queue.replay(graph).unwrap();
                assert_eq!(arrays.read(&queue), expected, "seed {seed} {values:?} {program:#?}");
                for (made, &expected) in loops.iter().zip(&counts) {
                    let found = ended(&run, made.as_ref().unwrap());
                    assert_eq!(found, expected, "seed {seed} {values:?} {program:#?}");
                }
            }
        }
    }
}

/// Saves the graphs of random programs with the contents of their arrays, and loads them in other contexts.
fn loaded_programs(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let arrays = Arrays::new(&ctx, &queue);
    for seed in seeds::asked().unwrap_or(20..26) {
        let mut generator = Generator { rng: fastrand::Rng::with_seed(seed), loops: 0 };
        let program = generator.commands(DEPTH, 5);
        let values: [u32; CONDITIONS] = std::array::from_fn(|_| generator.rng.u32(0..4));
        let mut counts = vec![(0, false); generator.loops];
        arrays.reset(&queue, &values);
        execute(&arrays, &queue, &program, &mut counts);
        let expected = arrays.read(&queue);
        arrays.reset(&queue, &values);
        let mut loops = vec![None; generator.loops];
        let bounded = if seed % 2 == 0 { Bound::AtMost } else { Bound::Chunked };
        let captured = queue.capture(|c| {
            capture(&arrays, c, &program, &mut loops, bounded)?;
            for (number, made) in loops.iter().enumerate() {
                c.label_loop(&number.to_string(), made.as_ref().unwrap())?;
            }
            let all = arrays.data.iter().chain(&arrays.conditions).enumerate();
            all.map(|(at, array)| c.read_as(&format!("array {at}"), array)).collect::<Result<Vec<_>>>()
        });
        let (graph, outputs) = captured.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let bytes = graph.to_bytes_with(Contents::Included).unwrap();
        for (name, partner) in partners(subject, Policy::Ordered) {
            let loaded =
                Graph::from_bytes(&partner, &bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
            let run = partner.queue("loaded").replay(&loaded).unwrap();
            for (at, expected) in expected.iter().enumerate() {
                let output = loaded.output::<u32>(&format!("array {at}")).unwrap();
                let found = run.read(&output).unwrap().wait().unwrap();
                assert_eq!(found, *expected, "{name}, seed {seed}, array {at}: {program:#?}");
            }
            for (number, &expected) in counts.iter().enumerate() {
                let found = ended(&run, &loaded.loop_(&number.to_string()).unwrap());
                assert_eq!(found, expected, "{name}, seed {seed}, loop {number}");
            }
        }
        assert_eq!(outputs.len(), expected.len());
    }
}
