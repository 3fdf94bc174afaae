//! G05: random edits and random bindings of a graph equal its commands in the order of their capture.

use crate::common::kernels::Mix;
use crate::common::seeds::asked;
use crate::common::{Case, Subject, case};
use fencepost::Graph;
use fencepost::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![case("g05_random_edits_equal_the_commands_in_their_order", random_edits)]
}

/// A generator of numbers from a seed.
struct Draw(u64);

impl Draw {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % limit
    }
}

/// A part of a block, in elements.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Place {
    block: usize,
    start: usize,
}

/// An array argument of a node: a part of a block, or an input.
#[derive(Clone, Copy, Debug)]
enum Operand {
    Fixed(Place),
    Input(usize),
}

/// A node of the random graph: `y = a y + x + b` on the first `threads` elements.
#[derive(Clone, Debug)]
struct Node {
    a: u32,
    /// `None` if the parameter is the value of the graph.
    b: Option<u32>,
    x: Operand,
    y: Operand,
    threads: usize,
}

/// The result of a graph as the host computes it: its nodes in the order of their capture.
#[derive(Clone, Debug)]
struct Model {
    nodes: Vec<Node>,
    inputs: [Place; 2],
    value: u32,
    len: usize,
    /// Number of invocations of a group, which always runs all of them.
    group: usize,
}

impl Model {
    fn place(&self, operand: Operand) -> Place {
        match operand {
            Operand::Fixed(place) => place,
            Operand::Input(at) => self.inputs[at],
        }
    }

    /// Returns `true` if two arguments of one node overlap.
    fn is_aliased(&self) -> bool {
        self.nodes.iter().any(|node| {
            let x = self.place(node.x);
            let y = self.place(node.y);
            x.block == y.block && x.start.abs_diff(y.start) < self.len
        })
    }

    fn run(&self, blocks: &mut [Vec<u32>]) {
        for node in &self.nodes {
            let x = self.place(node.x);
            let y = self.place(node.y);
            let b = node.b.unwrap_or(self.value);
            for at in 0..node.threads.next_multiple_of(self.group).min(self.len) {
                let from = blocks[x.block][x.start + at];
                let to = &mut blocks[y.block][y.start + at];
                *to = Mix::of(node.a, b, from, *to);
            }
        }
    }
}

/// A random graph with its model.
struct Random {
    draw: Draw,
    queue: CommandQueue,
    blocks: Vec<DeviceArray<u32>>,
    contents: Vec<Vec<u32>>,
    unit: usize,
    model: Model,
    graph: Graph,
}

const BLOCKS: usize = 5;

fn random_place(draw: &mut Draw, unit: usize) -> Place {
    // Nodes use the first three blocks, in partly overlapping places.
    Place { block: draw.below(3), start: draw.below(3) * unit }
}

fn array_at(blocks: &[DeviceArray<u32>], place: Place, len: usize) -> DeviceArray<u32> {
    blocks[place.block].slice(place.start..place.start + len).unwrap()
}

fn random_node(draw: &mut Draw, unit: usize) -> Node {
    let operand = |draw: &mut Draw| match draw.below(4) {
        0 => Operand::Input(draw.below(2)),
        _ => Operand::Fixed(random_place(draw, unit)),
    };
    let b = (draw.below(3) > 0).then(|| draw.below(100) as u32);
    let a = draw.below(7) as u32;
    let x = operand(draw);
    let y = operand(draw);
    Node { a, b, x, y, threads: 2 * unit }
}

impl Random {
    fn new(subject: &Subject, seed: u64) -> Self {
        let mut draw = Draw(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let (ctx, queue) = subject.with_queue("main");
        let unit = (ctx.binding_alignment() as usize / 4).max(64);
        let contents: Vec<Vec<u32>> =
            (0..BLOCKS).map(|block| (0..4 * unit).map(|at| (block * 1000 + at) as u32).collect()).collect();
        let blocks: Vec<_> = contents.iter().map(|block| queue.array(block).unwrap()).collect();
        let inputs = [Place { block: 3, start: 0 }, Place { block: 4, start: unit }];
        let mut model = Model { nodes: Vec::new(), inputs, value: 9, len: 2 * unit, group: 64 };
        while model.nodes.len() < 12 {
            model.nodes.push(random_node(&mut draw, unit));
            if model.is_aliased() {
                model.nodes.pop();
            }
        }
        queue.finish().wait().unwrap();
        let graph = Self::capture(&ctx, &queue, &mut draw, &blocks, &model);
        Self { draw, queue, blocks, contents, unit, model, graph }
    }

    fn capture(
        ctx: &Context,
        queue: &CommandQueue,
        draw: &mut Draw,
        blocks: &[DeviceArray<u32>],
        model: &Model,
    ) -> Graph {
        let mix = ctx.kernel::<Mix>().unwrap();
        let captured = queue.capture(|c| {
            let sides: Vec<_> = (0..4).map(|at| c.fork(&format!("side {at}"))).collect();
            for at in 0..2 {
                let _ = c.input(&format!("input {at}"), &array_at(blocks, model.inputs[at], model.len))?;
            }
            let value = c.value("value", model.value)?;
            for (at, node) in model.nodes.iter().enumerate() {
                let side = &sides[draw.below(4)];
                let x = array_at(blocks, model.place(node.x), model.len);
                let mut y = array_at(blocks, model.place(node.y), model.len);
                let args = Mix { a: node.a, b: node.b.unwrap_or(0), x: &x, y: &mut y };
                side.launch(&mix, Grid::threads([node.threads]), args)?;
                let on = c.on(side)?;
                on.label_node(&format!("node {at}"))?;
                if node.b.is_none() {
                    on.parameter("b", &value)?;
                }
            }
            sides.iter().try_for_each(|side| c.wait_for(side))
        });
        captured.unwrap().0
    }

    /// Makes random changes to the graph and to the model.
    fn edit(&mut self) {
        let mut model = self.model.clone();
        let mut edit = self.graph.edit().unwrap();
        for _ in 0..=self.draw.below(3) {
            let at = self.draw.below(model.nodes.len());
            let place = random_place(&mut self.draw, self.unit);
            let array = array_at(&self.blocks, place, model.len);
            let number = self.draw.below(50) as u32;
            let node = &mut model.nodes[at];
            edit = edit.node(&format!("node {at}")).unwrap();
            edit = match self.draw.below(8) {
                0 | 1 if matches!(node.x, Operand::Fixed(_)) => {
                    node.x = Operand::Fixed(place);
                    edit.argument("x", &array)
                }
                2 | 3 if matches!(node.y, Operand::Fixed(_)) => {
                    node.y = Operand::Fixed(place);
                    edit.argument("y", &array)
                }
                4 if node.b.is_some() => {
                    node.b = Some(number);
                    edit.parameter("b", number)
                }
                5 => {
                    node.threads = self.draw.below(3) * self.unit;
                    edit.grid(Grid::threads([node.threads]))
                }
                6 => {
                    let input = self.draw.below(2);
                    model.inputs[input] = place;
                    edit.input(&format!("input {input}"), &array)
                }
                _ => {
                    model.value = number;
                    edit.value("value", number)
                }
            }
            .unwrap();
        }
        match edit.apply() {
            Ok(()) => self.model = model,
            Err(error) => {
                assert!(
                    matches!(error.detail(), ErrorDetail::Aliased { .. }) && model.is_aliased(),
                    "{error}"
                )
            }
        }
    }

    /// Replays the graph, sometimes with other inputs and another value.
    fn replay(&mut self) {
        let mut model = self.model.clone();
        let mut with = self.graph.with();
        if self.draw.below(2) == 0 {
            for at in 0..2 {
                let place = random_place(&mut self.draw, self.unit);
                let place = if self.draw.below(3) == 0 { model.inputs[1 - at] } else { place };
                model.inputs[at] = place;
                with = with.input(&format!("input {at}"), &array_at(&self.blocks, place, model.len)).unwrap();
            }
            model.value = self.draw.below(90) as u32;
            with = with.value("value", model.value).unwrap();
        }
        match self.queue.replay(&with) {
            Ok(_) => model.run(&mut self.contents),
            Err(error) => {
                assert!(
                    matches!(error.detail(), ErrorDetail::Aliased { .. }) && model.is_aliased(),
                    "{error}"
                );
            }
        }
        for (block, expected) in self.blocks.iter().zip(&self.contents) {
            let found = self.queue.read(block).wait().unwrap();
            assert!(found == *expected, "another result of {model:?}");
        }
    }
}

fn random_edits(subject: &Subject) {
    for seed in asked().unwrap_or(0..if subject.is_cpu() { 20 } else { 6 }) {
        let mut random = Random::new(subject, seed);
        for _ in 0..20 {
            random.edit();
            random.replay();
        }
    }
}
