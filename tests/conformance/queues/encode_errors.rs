//! Q13: mistakes with the caller's own commands.

use super::encode::copy;
use crate::common::program::{FOR_ARRAYS, beside};
use crate::common::{Case, NO_DEVICE, NO_UNWINDING, Subject, assert_error, case, hold, queues, raw};
use fencepost::prelude::*;
use wgpu::BufferUsages as Usages;

pub fn cases() -> Vec<Case> {
    vec![
        case("q13_encode_takes_shared_arrays_only", not_shared).gpu_only(NO_DEVICE),
        case("q13_encode_refuses_the_arrays_that_every_verb_refuses", refused).gpu_only(NO_DEVICE),
        case("q13_commands_that_wgpu_refuses_are_an_error_of_the_call", invalid).gpu_only(NO_DEVICE),
        case("q13_an_error_of_the_closure_enqueues_nothing", nothing).gpu_only(NO_DEVICE),
        case("q13_encode_on_a_failed_queue_does_not_call_its_closure", failed).gpu_only(NO_DEVICE),
        case("q13_a_refused_submission_fails_its_own_queue_only", own_queue).gpu_only(NO_DEVICE),
        case("q13_a_panic_in_the_closure_leaves_the_queue_working", panics)
            .not_in_a_page(NO_UNWINDING)
            .gpu_only(NO_DEVICE),
        case("q13_command_buffers_of_another_device_fail_their_queue", another_device).gpu_only(NO_DEVICE),
        case("q13_commands_on_a_destroyed_device_end_with_device_lost", gone).gpu_only(NO_DEVICE),
        case("q13_encode_is_an_error_on_the_cpu_recorder", cpu).cpu_only("an adapter has a wgpu device"),
    ]
}

const N: usize = 64;

fn shared(ctx: &Context) -> DeviceArray<u32> {
    ctx.shared_array([N], Usages::empty()).unwrap()
}

/// Checks that the queue completes work and has no error.
fn works(ctx: &Context, queue: &CommandQueue) {
    let [mut x, mut y] = [0; 2].map(|_| shared(ctx));
    queue.fill(&mut x, 8).unwrap();
    copy(queue, &x, &mut y).unwrap();
    assert_eq!(queue.read(&y).wait().unwrap(), [8; N]);
}

fn not_shared(subject: &Subject) {
    for (ctx, queue, _) in beside(subject) {
        let own = ctx.zeros::<u32, 1>([N]).unwrap();
        let error = assert_error!(
            copy(&queue, &own, &mut shared(&ctx)),
            ErrorDetail::NotShared { array } if array == own.label()
        );
        assert!(error.to_string().contains("Context::shared_array"), "{error}");
        assert_error!(copy(&queue, &shared(&ctx), &mut own.clone()), ErrorDetail::NotShared { .. });
        let declared = queue.submit_foreign([], |access| access.read(&own).map(drop));
        assert!(matches!(declared.unwrap_err().detail(), ErrorDetail::NotShared { .. }));
        works(&ctx, &queue);
    }
}

fn refused(subject: &Subject) {
    for (ctx, queue, _) in beside(subject) {
        let other = subject.ctx();
        let x = shared(&ctx);
        let theirs = shared(&other);
        assert_error!(copy(&queue, &theirs, &mut x.clone()), ErrorDetail::ForeignContext { .. });
        let map = x.map_read().wait().unwrap();
        assert_error!(copy(&queue, &x, &mut shared(&ctx)), ErrorDetail::Mapped { .. });
        drop(map);
        let halves = ctx.shared_array::<half::f16, 1>([N], Usages::empty()).unwrap();
        let encoded = queue.encode(|_, access| access.read(&halves.slice(1..4)?).map(drop));
        assert!(matches!(encoded.unwrap_err().detail(), ErrorDetail::Alignment { .. }));
        works(&ctx, &queue);
    }
}

/// Records a copy that is out of bounds.
fn out_of_bounds(queue: &CommandQueue, x: &DeviceArray<u32>) -> Result<()> {
    queue.encode(|encoder, access| {
        let from = access.read(x)?;
        encoder.copy_buffer_to_buffer(from.buffer(), 1 << 20, from.buffer(), 0, 4);
        Ok(())
    })
}

fn invalid(subject: &Subject) {
    for (ctx, queue, _) in beside(subject) {
        let x = shared(&ctx);
        if cfg!(target_arch = "wasm32") {
            // A browser reports the error after the call, so it is the queue's.
            out_of_bounds(&queue, &x).unwrap();
            assert_error!(queue.finish().wait(), ErrorDetail::Device { .. });
            queue.take_error().unwrap();
            works(&ctx, &queue);
            continue;
        }
        let error = out_of_bounds(&queue, &x).unwrap_err();
        let named = |object: &str| object == "commands for queue `main`";
        assert!(matches!(error.detail(), ErrorDetail::Device { object, .. } if named(object)), "{error}");
        assert!(queue.take_error().is_none());
        works(&ctx, &queue);
    }
}

fn nothing(subject: &Subject) {
    let (ctx, [queue, other]) = subject.with_queues_under(Policy::Checked, ["main", "other"]);
    let mut x = shared(&ctx);
    let own = ctx.zeros::<u32, 1>([N]).unwrap();
    let encoded = queue.encode(|encoder, access| {
        let to = access.write(&mut x)?;
        encoder.clear_buffer(to.buffer(), 0, None);
        access.read(&own).map(drop)
    });
    assert!(matches!(encoded.unwrap_err().detail(), ErrorDetail::NotShared { .. }));
    other.fill(&mut x, 3).unwrap(); // not a hazard, because nothing was enqueued
    assert_eq!(other.read(&x).wait().unwrap(), [3; N]);
}

fn failed(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    queue.wait_for(&ctx.user_event("gate").event()).unwrap();
    queue.finish().wait().unwrap_err();
    let ran = std::cell::Cell::new(false);
    let encoded = queue.encode(|_, _| {
        ran.set(true);
        Ok(())
    });
    assert!(matches!(encoded.unwrap_err().detail(), ErrorDetail::Abandoned { .. }) && !ran.get());
    assert!(queue.submit_foreign([], |_| Ok(())).is_err());
    queue.take_error().unwrap();
    works(&ctx, &queue);
}

/// Submits the work of two queues together; the commands of one queue use a mapped buffer.
fn own_queue(subject: &Subject) {
    for (ctx, _, program) in beside(subject) {
        let [wrong, right] = queues(&ctx, ["wrong", "right"]);
        let buffer = program.mapped(N, FOR_ARRAYS);
        let on = ctx.array_on::<u32, 1>(&buffer, [N]).unwrap();
        let [x, mut y] = [0; 2].map(|_| shared(&ctx));
        let gate = hold(&wrong);
        right.wait_for(&gate.event()).unwrap();
        copy(&wrong, &x, &mut on.clone()).unwrap();
        right.fill(&mut x.clone(), 5).unwrap();
        copy(&right, &x, &mut y).unwrap();
        gate.signal();
        assert_eq!(right.read(&y).wait().unwrap(), [5; N]);
        let error = wrong.finish().wait().unwrap_err();
        // A browser refuses the submission late, and names the buffer by its own label.
        let name = if cfg!(target_arch = "wasm32") { "the program's" } else { on.label() };
        assert!(
            matches!(error.detail(), ErrorDetail::Device { .. }) && error.to_string().contains(name),
            "{error}"
        );
        wrong.take_error().unwrap();
        buffer.unmap();
        copy(&wrong, &x, &mut on.clone()).unwrap();
        assert_eq!(wrong.read(&on).wait().unwrap(), [5; N]);
    }
}

fn panics(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut x = shared(&ctx);
    let panic = std::panic::AssertUnwindSafe(|| {
        queue.encode(|encoder, access| -> Result<()> {
            encoder.clear_buffer(access.write(&mut x)?.buffer(), 0, None);
            std::panic::resume_unwind(Box::new("on purpose"))
        })
    });
    assert!(std::panic::catch_unwind(panic).is_err());
    works(&ctx, &queue);
    assert_eq!(queue.read(&x).wait().unwrap(), [0; N]);
}

fn another_device(subject: &Subject) {
    let [opened, (other, _other_queue)] = raw::open_two(subject);
    let (another_instance, _another_queue) = raw::open(subject);
    let ctx = subject.adopt(opened, AdoptOptions::default());
    for theirs in [other, another_instance] {
        let [wrong, right] = queues(&ctx, ["wrong", "right"]);
        let commands = theirs.create_command_encoder(&Default::default()).finish();
        wrong.submit_foreign([commands], |_| Ok(())).unwrap();
        assert_error!(wrong.finish().wait(), ErrorDetail::Device { .. });
        wrong.take_error().unwrap();
        works(&ctx, &wrong);
        works(&ctx, &right);
    }
}

fn gone(subject: &Subject) {
    for _ in 0..5 {
        let (ctx, queue) = subject.with_queue("main");
        let [x, mut y] = [0; 2].map(|_| shared(&ctx));
        copy(&queue, &x, &mut y).unwrap();
        ctx.wgpu().unwrap().0.destroy();
        let ended = copy(&queue, &x, &mut y).and_then(|()| queue.finish().wait());
        assert_error!(ended, ErrorDetail::DeviceLost { .. });
        assert_error!(copy(&queue, &x, &mut y), ErrorDetail::DeviceLost { .. });
    }
}

fn cpu(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let results = [
        queue.encode(|_, _| Ok(())),
        queue.submit_foreign([], |_| Ok(())),
        ctx.shared_array::<u32, 1>([N], Usages::empty()).map(|_| ()),
    ];
    for result in results {
        assert_error!(result, ErrorDetail::Device { .. });
    }
}
