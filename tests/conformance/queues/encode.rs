//! Q13, the caller's own commands: they run in the order of a queue, and the policy orders them.

use crate::common::busy::{Setup, Verb, each_returns};
use crate::common::kernels::{Iota, Mix, mix};
use crate::common::program::{Program, beside};
use crate::common::{Case, Subject, TOO_MANY, assert_error, case, dump, hold, queues, raw, wgpu_only};
use fencepost::prelude::*;
use std::time::Duration;
use wgpu::{BufferSlice, BufferUsages as Usages, CommandEncoder};

pub fn cases() -> Vec<Case> {
    wgpu_only(vec![
        case("q13_encoded_commands_are_in_the_order_of_their_queue", in_order),
        case("q13_an_encoded_pass_works_on_arrays", pass),
        case("q13_finished_command_buffers_are_in_the_order_of_their_queue", finished),
        case("q13_a_shared_array_starts_as_zeros_and_works_in_every_verb", shared),
        case("q13_a_shared_array_has_the_requested_usages", usages),
        case("q13_the_policy_orders_encoded_commands", policy),
        case("q13_unordered_encoded_commands_are_a_hazard", hazard),
        case("q13_events_and_waits_cover_encoded_commands", events),
        case("q13_encoding_returns_while_a_kernel_is_busy", busy),
        case("q13_encode_returns_the_result_of_its_closure", given),
        case("q13_the_time_around_encoded_commands_of_a_timed_queue_is_measured", timed),
        case("q13_encoded_commands_and_verbs_run_in_the_order_of_the_calls", random),
    ])
}

const N: usize = 2000;

fn shared_by(ctx: &Context) -> DeviceArray<u32> {
    ctx.shared_array([N], Usages::empty()).unwrap()
}

fn record(encoder: &mut CommandEncoder, from: BufferSlice<'_>, to: BufferSlice<'_>) {
    encoder.copy_buffer_to_buffer(from.buffer(), from.offset(), to.buffer(), to.offset(), from.size());
}

/// Enqueues a copy as a command of the caller.
pub fn copy(queue: &CommandQueue, x: &DeviceArray<u32>, y: &mut DeviceArray<u32>) -> fencepost::Result<()> {
    queue.encode(|encoder, access| {
        record(encoder, access.read(x)?, access.write(y)?);
        Ok(())
    })
}

fn in_order(subject: &Subject) {
    for (ctx, queue, program) in beside(subject) {
        let buffer = program.buffer(N);
        let mut x = shared_by(&ctx);
        let mut y = ctx.array_on::<u32, 1>(&buffer, [N]).unwrap();
        let ones = ctx.full([N], 1_u32).unwrap();
        let mut expected = 0;
        let mut reads = Vec::new();
        for turn in 0..20 {
            mix(&queue, 3, turn, &ones, &mut x);
            copy(&queue, &x, &mut y).unwrap();
            mix(&queue, 5, turn, &ones, &mut y);
            copy(&queue, &y, &mut x).unwrap();
            expected = Mix::of(5, turn, 1, Mix::of(3, turn, 1, expected));
            reads.push((queue.read(&x), expected));
        }
        for (read, expected) in reads {
            assert_eq!(read.wait().unwrap(), [expected; N]);
        }
        assert_eq!(program.read(&buffer, N), [expected; N]);
    }
}

/// Makes a pipeline of the caller: `y[i] += x[i]`.
fn pipeline(program: &Program) -> wgpu::ComputePipeline {
    const ADD: &str = "@group(0) @binding(0) var<storage, read> x: array<u32>;
        @group(0) @binding(1) var<storage, read_write> y: array<u32>;
        @compute @workgroup_size(64) fn add(@builtin(global_invocation_id) id: vec3<u32>) {
            if id.x < arrayLength(&y) { y[id.x] += x[id.x]; }
        }";
    let source = wgpu::ShaderSource::Wgsl(ADD.into());
    let module =
        program.device.create_shader_module(wgpu::ShaderModuleDescriptor { label: Some("add"), source });
    program.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some("add"),
        layout: None,
        module: &module,
        entry_point: Some("add"),
        compilation_options: Default::default(),
        cache: None,
    })
}

fn pass(subject: &Subject) {
    for (ctx, queue, program) in beside(subject) {
        let add = pipeline(&program);
        let iota = ctx.kernel::<Iota>().unwrap();
        let [mut x, mut y] = [0; 2].map(|_| shared_by(&ctx));
        for start in 0..3 {
            queue.launch(&iota, Grid::threads([N]), Iota { start, step: 1, out: &mut x }).unwrap();
            let encoded = queue.encode(|encoder, access| {
                let bindings = [access.read(&x)?, access.write(&mut y)?];
                let entries = [0, 1].map(|at| wgpu::BindGroupEntry {
                    binding: at as u32,
                    resource: bindings[at].try_into().expect("the array has elements"),
                });
                let layout = &add.get_bind_group_layout(0);
                let desc = wgpu::BindGroupDescriptor { label: None, layout, entries: &entries };
                let group = program.device.create_bind_group(&desc);
                let mut pass = encoder.begin_compute_pass(&Default::default());
                pass.set_pipeline(&add);
                pass.set_bind_group(0, &group, &[]);
                pass.dispatch_workgroups(N.div_ceil(64) as u32, 1, 1);
                Ok(())
            });
            encoded.unwrap();
        }
        let expected: Vec<u32> = (0..N as u32).map(|i| 3 * i + 3).collect();
        assert_eq!(queue.read(&y).wait().unwrap(), expected);
    }
}

fn finished(subject: &Subject) {
    for (ctx, queue, program) in beside(subject) {
        let [from, to] = [0; 2].map(|_| program.buffer(N));
        let [mut x, mut y] = [&from, &to].map(|buffer| ctx.array_on::<u32, 1>(buffer, [N]).unwrap());
        let mut encoders = [0; 2].map(|_| program.device.create_command_encoder(&Default::default()));
        for encoder in &mut encoders {
            record(encoder, from.slice(..), to.slice(..));
        }
        let [first, second] = encoders.map(CommandEncoder::finish);
        let gate = hold(&queue);
        let mut reads = Vec::new();
        for (value, commands) in [(1, first), (2, second)] {
            queue.fill(&mut x, value).unwrap();
            let declare = |access: &mut fencepost::AccessList<'_>| {
                access.read(&x)?;
                access.write(&mut y).map(drop)
            };
            queue.submit_foreign([commands], declare).unwrap();
            reads.push(queue.read(&y));
        }
        gate.signal();
        for (value, read) in [1, 2].into_iter().zip(reads) {
            assert_eq!(read.wait().unwrap(), [value; N]);
        }
    }
}

fn shared(subject: &Subject) {
    for (ctx, queue, _) in beside(subject) {
        let stats = ctx.pool().stats();
        let mut x = ctx.shared_array::<u32, 2>([3, 5], Usages::empty()).unwrap();
        assert_eq!(ctx.pool().stats(), stats);
        assert_eq!(x.shape(), [3, 5]);
        assert_eq!(queue.read(&x).wait().unwrap(), [0; 15]);
        queue.fill(&mut x, 2).unwrap();
        queue.upload(&[7; 5], &mut x.slice(1..2).unwrap()).unwrap();
        x.map_write().wait().unwrap()[0] = 9;
        let mut host: HostArray<u32, Download> = ctx.pinned([15]).unwrap();
        queue.download(&x, &mut host).unwrap();
        let expected = [vec![9; 1], vec![2; 4], vec![7; 5], vec![2; 5]].concat();
        assert_eq!(host.host().unwrap().to_vec(), expected);
        // The half word at the end of a shared array belongs to no other array.
        let odd = ctx.shared_array::<half::f16, 1>([3], Usages::empty()).unwrap();
        queue.upload(&[half::f16::ONE; 3], &mut odd.clone()).unwrap();
        assert_eq!(queue.read(&odd).wait().unwrap(), [half::f16::ONE; 3]);
        let mut empty = ctx.shared_array::<u32, 1>([0], Usages::empty()).unwrap();
        queue.encode(|_, access| access.write(&mut empty).map(|slice| assert_eq!(slice.size(), 0))).unwrap();
        assert!(queue.read(&empty).wait().unwrap().is_empty());
    }
}

fn usages(subject: &Subject) {
    for (ctx, queue, _) in beside(subject) {
        let asked = Usages::VERTEX | Usages::UNIFORM;
        let x = ctx.shared_array::<u32, 1>([4], asked).unwrap();
        let has = queue.encode(|_, access| Ok(access.read(&x)?.buffer().usage())).unwrap();
        assert!(has.contains(asked | Usages::STORAGE | Usages::COPY_SRC | Usages::COPY_DST), "{has:?}");
        let mappable = ctx.shared_array::<u32, 1>([4], Usages::MAP_READ);
        if cfg!(target_arch = "wasm32") {
            // A browser reports the error after the call, so it is that of the first use.
            queue.fill(&mut mappable.unwrap(), 1).unwrap();
            assert_error!(queue.finish().wait(), ErrorDetail::Device { .. });
            queue.take_error().unwrap();
        } else {
            assert_error!(mappable, ErrorDetail::Device { .. });
        }
        assert_error!(ctx.shared_array::<u32, 1>([TOO_MANY], Usages::empty()), ErrorDetail::TooLarge { .. });
    }
}

fn policy(subject: &Subject) {
    for (ctx, _, _) in beside(subject) {
        let [one, two] = queues(&ctx, ["one", "two"]);
        let [mut x, mut y] = [0; 2].map(|_| shared_by(&ctx));
        let ones = ctx.full([N], 1_u32).unwrap();
        let mut expected = 0;
        for turn in 0..20 {
            mix(&one, 3, turn, &ones, &mut x);
            copy(&two, &x, &mut y).unwrap();
            mix(&one, 2, 1, &ones, &mut y);
            copy(&two, &y, &mut x).unwrap();
            expected = Mix::of(2, 1, 1, Mix::of(3, turn, 1, expected));
        }
        assert_eq!(one.read(&x).wait().unwrap(), [expected; N]);
    }
}

fn hazard(subject: &Subject) {
    let (ctx, [one, two]) = subject.with_queues_under(Policy::Checked, ["one", "two"]);
    let [x, mut y] = [0; 2].map(|_| shared_by(&ctx));
    copy(&one, &x.slice(0..N / 2).unwrap(), &mut y.slice(0..N / 2).unwrap()).unwrap();
    // These calls read `x` and write the other half of `y`, so they need no order.
    copy(&two, &x, &mut shared_by(&ctx)).unwrap();
    two.fill(&mut y.slice(N / 2..N).unwrap(), 1).unwrap();
    let text = two.fill(&mut y, 1).unwrap_err().to_string();
    assert!(text.contains("commands of the program on queue `one` at "), "{text}");
    assert!(text.contains("encode.rs"), "{text}");
    assert_error!(two.fill(&mut x.clone(), 1), ErrorDetail::Hazard { access: "read", .. });
    let error = copy(&two, &shared_by(&ctx), &mut y).unwrap_err();
    assert!(
        matches!(error.detail(), ErrorDetail::Hazard { later, .. } if later.command == "commands of the program")
    );
    two.wait_for(&one.marker()).unwrap();
    copy(&two, &shared_by(&ctx), &mut y).unwrap();
    two.finish().wait().unwrap();
}

fn events(subject: &Subject) {
    for (ctx, _, _) in beside(subject) {
        let [one, two] = queues(&ctx, ["one", "two"]);
        let [mut x, mut y] = [0; 2].map(|_| shared_by(&ctx));
        one.fill(&mut x, 4).unwrap();
        let gate = hold(&one);
        copy(&one, &x, &mut y).unwrap();
        let encoded = one.marker();
        two.wait_for(&encoded).unwrap();
        let mut read = two.read(&y);
        assert!(encoded.done().wait_timeout(Duration::ZERO).unwrap().is_none());
        assert!(read.wait_timeout(Duration::ZERO).unwrap().is_none());
        assert!(dump::is_held(&ctx, "one") && dump::is_held(&ctx, "two"));
        // A map waits for encoded commands as it waits for a launch.
        assert!(y.map_read().wait_timeout(Duration::ZERO).unwrap().is_none());
        gate.signal();
        encoded.wait().unwrap();
        assert_eq!(read.wait().unwrap(), [4; N]);
        assert_eq!(*y.map_read().wait().unwrap(), [4; N]);
    }
}

/// Objects of the commands that are encoded while a kernel is busy.
struct Encodes {
    queue: CommandQueue,
    program: Program,
    other: wgpu::Buffer,
    x: DeviceArray<u32>,
    y: DeviceArray<u32>,
    turn: u32,
}

impl Encodes {
    fn new(ctx: &Context, queue: &CommandQueue, turn: u32) -> Self {
        let [x, y] = [0; 2].map(|_| shared_by(ctx));
        let program = Program::of(ctx);
        Self { queue: queue.clone(), other: program.buffer(4), program, x, y, turn }
    }

    /// Submits a finished command buffer of the caller.
    fn submit(&mut self) {
        let mut encoder = self.program.device.create_command_encoder(&Default::default());
        encoder.clear_buffer(&self.other, 0, None);
        self.queue.submit_foreign([encoder.finish()], |_| Ok(())).unwrap();
    }
}

const ENCODING: &[Verb<Encodes>] = &[
    ("fill of a shared array", |e| e.queue.fill(&mut e.x, e.turn).unwrap()),
    ("encode", |e| copy(&e.queue, &e.x, &mut e.y).unwrap()),
    ("submit_foreign", Encodes::submit),
    ("flush", |e| e.queue.flush().unwrap()),
];

fn busy(subject: &Subject) {
    for adopted in [false, true] {
        let make = || {
            let adopt = || subject.adopt(raw::open(subject), AdoptOptions::default());
            let ctx = if adopted { adopt() } else { subject.ctx() };
            let busy = ctx.queue("busy");
            // Each verb is used once, because its first use allocates.
            let mut things = Encodes::new(&ctx, &busy, 1);
            ENCODING.iter().for_each(|(_, verb)| verb(&mut things));
            things.queue.finish().wait().unwrap();
            things.turn = 2;
            Setup { ctx, busy, things }
        };
        each_returns(subject, make, ENCODING, |things| {
            assert_eq!(things.queue.read(&things.y).wait().unwrap(), [2; N]);
        });
    }
}

fn given(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let x = shared_by(&ctx);
    let part = queue.encode(|_, access| {
        let part = x.slice(64..128)?;
        let slice = access.read(&part)?;
        Ok((slice.offset(), slice.size()))
    });
    assert_eq!(part.unwrap(), (256, 256));
}

fn timed(subject: &Subject) {
    let ctx = subject.ctx();
    let timed = QueueOptions::default().label("timed").timing(true);
    let queue = ctx.queue_with(timed);
    let [mut x, mut y] = [0; 2].map(|_| shared_by(&ctx));
    queue.fill(&mut x, 1).unwrap();
    let start = queue.marker();
    copy(&queue, &x, &mut y).unwrap();
    let end = queue.marker();
    if queue.options().timing {
        assert!(
            end.seconds_since(&start).wait().unwrap() > 0.0,
            "the marker after the copy has a later time than the marker after the fill"
        );
    }
    assert_eq!(queue.read(&y).wait().unwrap(), [1; N]);
}

/// Three arrays on the device, and their expected elements on the host.
struct Machine<'a> {
    ctx: &'a Context,
    queues: [CommandQueue; 2],
    mix: Kernel<Mix<'static>>,
    arrays: [DeviceArray<u32>; 3],
    expected: [Vec<u32>; 3],
}

impl Machine<'_> {
    /// Runs a random command on a range of one array, with another array as the source.
    fn step(&mut self, rng: &mut fastrand::Rng) {
        let queue = &self.queues[rng.usize(..2)];
        let (from, to) = *rng.choice(&[(0, 1), (1, 2), (2, 0), (1, 0)]).unwrap();
        let start = 64 * rng.usize(..N / 64);
        let range = start..start + 4 * rng.usize(1..=(N - start) / 4);
        let x = &self.arrays[from];
        let y = &mut self.arrays[to].slice(range.clone()).unwrap();
        let x = &x.slice(range.clone()).unwrap();
        let value = rng.u32(1..);
        let old = self.expected[from][range.clone()].to_vec();
        let new = &mut self.expected[to][range.clone()];
        match rng.u32(..6) {
            0 => {
                queue.launch(&self.mix, Grid::threads([x.len()]), Mix { a: 3, b: value, x, y }).unwrap();
                new.iter_mut().zip(&old).for_each(|(y, &x)| *y = Mix::of(3, value, x, *y));
            }
            1 => {
                queue.fill(y, value).unwrap();
                new.fill(value);
            }
            2 => {
                queue.upload(&vec![value; x.len()], y).unwrap();
                new.fill(value);
            }
            3 => {
                queue.copy(x, y).unwrap();
                new.copy_from_slice(&old);
            }
            4 => {
                copy(queue, x, y).unwrap();
                new.copy_from_slice(&old);
            }
            _ => {
                let clear = queue.encode(|encoder, access| {
                    let y = access.write(y)?;
                    encoder.clear_buffer(y.buffer(), y.offset(), Some(y.size()));
                    Ok(())
                });
                clear.unwrap();
                new.fill(0);
            }
        }
    }

    fn check(&self, seed: u64) {
        for (at, (array, expected)) in self.arrays.iter().zip(&self.expected).enumerate() {
            let found = self.ctx.current_queue().read(array).wait().unwrap();
            assert_eq!(&found, expected, "array {at}, seed {seed}");
        }
    }
}

fn random(subject: &Subject) {
    for (ctx, _, program) in beside(subject) {
        for seed in 0..4 {
            let mut rng = fastrand::Rng::with_seed(seed);
            let mut machine = Machine {
                ctx: &ctx,
                queues: [ctx.queue("one"), ctx.queue("two")],
                mix: ctx.kernel::<Mix>().unwrap(),
                arrays: [shared_by(&ctx), ctx.array_on(&program.buffer(N), [N]).unwrap(), shared_by(&ctx)],
                expected: [vec![0; N], vec![0; N], vec![0; N]],
            };
            for _ in 0..5 {
                (0..20).for_each(|_| machine.step(&mut rng));
                machine.check(seed);
            }
        }
    }
}
