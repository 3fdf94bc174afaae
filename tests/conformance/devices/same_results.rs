//! D04: one program gives the same bytes on every device.

use super::lanes::on_lanes;
use crate::common::kernels::{Iota, Mix, Spin};
use crate::common::{Case, Subject, case};
use fencepost::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("d04_a_mixed_program_gives_the_same_bytes_on_every_device", |s| same(&s.ctx())),
        case("d04_without_native_fences_and_memory_the_bytes_are_the_same", |s| {
            same(&s.switched(|switches| switches.native = false));
        })
        .gpu_only("the CPU recorder has neither"),
        case("d04_without_immediates_the_bytes_are_the_same", |s| {
            same(&s.switched(|switches| switches.immediates = false));
        })
        .gpu_only("the CPU recorder has none"),
        case("d04_without_native_fences_and_immediates_the_bytes_are_the_same", |s| {
            same(&s.switched(|switches| (switches.native, switches.immediates) = (false, false)));
        })
        .gpu_only("the CPU recorder has neither"),
        case("d04_twenty_seeds_of_the_cpu_recorder_give_the_same_bytes", seeds)
            .cpu_only("an adapter has no seed"),
    ]
}

fn seeds(subject: &Subject) {
    for seed in 0..20 {
        same(&on_lanes(subject, seed as usize % 4 + 1, seed, Policy::Ordered));
    }
}

const N: usize = 1003;
const ARRAYS: usize = 4;

/// Queues, kernels and arrays of a random program, and the values that the host expects.
struct Program {
    queues: Vec<CommandQueue>,
    mix: Kernel<Mix<'static>>,
    iota: Kernel<Iota<'static>>,
    spin: Kernel<Spin<'static>>,
    arrays: Vec<DeviceArray<u32>>,
    host: Vec<Vec<u32>>,
    pinned: HostArray<u32, Upload>,
    reads: Vec<(Pending<Vec<u32>>, Vec<u32>)>,
}

/// Runs 300 random steps with a fixed seed and checks all reads and arrays.
pub fn same(ctx: &Context) {
    let mut program = Program {
        queues: (0..3).map(|i| ctx.queue(&format!("queue {i}"))).collect(),
        mix: ctx.kernel::<Mix>().unwrap(),
        iota: ctx.kernel::<Iota>().unwrap(),
        spin: ctx.kernel_with::<Spin>(&[("WORKGROUP", 32.0)]).unwrap(),
        arrays: (0..ARRAYS).map(|_| ctx.zeros([N]).unwrap()).collect(),
        host: vec![vec![0; N]; ARRAYS],
        pinned: ctx.pinned([N]).unwrap(),
        reads: Vec::new(),
    };
    let mut rng = fastrand::Rng::with_seed(4);
    (0..300).for_each(|turn| program.step(turn, &mut rng));
    program.check();
}

impl Program {
    fn step(&mut self, turn: u32, rng: &mut fastrand::Rng) {
        let queue = self.queues[rng.usize(..3)].clone();
        let from = rng.usize(..ARRAYS);
        let to = rng.usize(..ARRAYS - 1);
        let to = if to >= from { to + 1 } else { to };
        match rng.u32(..9) {
            0 | 1 => self.mix(&queue, turn, from, to),
            2 => self.iota(&queue, turn, to),
            3 => self.spin(&queue, turn % 50, to),
            4 => {
                queue.copy(&self.arrays[from].clone(), &mut self.arrays[to]).unwrap();
                self.host[to] = self.host[from].clone();
            }
            5 => self.part(&queue, turn, to, rng),
            6 => {
                self.pinned.host_mut().unwrap().fill(turn);
                queue.upload(&self.pinned, &mut self.arrays[to]).unwrap();
                self.host[to].fill(turn);
            }
            7 => self.within(&queue, to, rng),
            _ => self.reads.push((queue.read(&self.arrays[to]), self.host[to].clone())),
        }
    }

    fn mix(&mut self, queue: &CommandQueue, turn: u32, from: usize, to: usize) {
        let x = self.arrays[from].clone();
        let mut y = self.arrays[to].clone();
        queue
            .launch(&self.mix, Grid::threads([N]), Mix { a: 2 * turn + 1, b: turn, x: &x, y: &mut y })
            .unwrap();
        for i in 0..N {
            self.host[to][i] = Mix::of(2 * turn + 1, turn, self.host[from][i], self.host[to][i]);
        }
    }

    /// Launches two workgroups, which write the first 128 elements.
    fn iota(&mut self, queue: &CommandQueue, turn: u32, to: usize) {
        let args = Iota { start: turn, step: 3, out: &mut self.arrays[to] };
        queue.launch(&self.iota, Grid::groups([2]), args).unwrap();
        (0..128).for_each(|i| self.host[to][i] = turn + 3 * i as u32);
    }

    fn spin(&mut self, queue: &CommandQueue, rounds: u32, to: usize) {
        queue.launch(&self.spin, Grid::threads([N]), Spin { rounds, out: &mut self.arrays[to] }).unwrap();
        for (i, value) in self.host[to].iter_mut().enumerate() {
            let step = |state: u32, _| state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            *value = (0..rounds).fold(value.wrapping_add(i as u32), step);
        }
    }

    /// Fills or uploads a part of an array.
    fn part(&mut self, queue: &CommandQueue, turn: u32, to: usize, rng: &mut fastrand::Rng) {
        let start = rng.usize(..N - 100);
        let part = start..start + rng.usize(1..100);
        let mut slice = self.arrays[to].slice(part.clone()).unwrap();
        if rng.bool() {
            queue.fill(&mut slice, turn).unwrap();
        } else {
            queue.upload(&vec![turn; part.len()], &mut slice).unwrap();
        }
        self.host[to][part].fill(turn);
    }

    /// Copies a part of an array to an overlapping part.
    fn within(&mut self, queue: &CommandQueue, at: usize, rng: &mut fastrand::Rng) {
        let from = rng.usize(..N / 2);
        let to = rng.usize(..N / 2);
        let src = self.arrays[at].slice(from..from + N / 2).unwrap();
        queue.copy(&src, &mut self.arrays[at].slice(to..to + N / 2).unwrap()).unwrap();
        self.host[at].copy_within(from..from + N / 2, to);
    }

    fn check(self) {
        for (turn, (read, expected)) in self.reads.into_iter().enumerate() {
            assert!(read.wait().unwrap() == expected, "read {turn} differs");
        }
        for (i, (array, expected)) in self.arrays.iter().zip(&self.host).enumerate() {
            assert!(self.queues[0].read(array).wait().unwrap() == *expected, "array {i} differs");
        }
    }
}
