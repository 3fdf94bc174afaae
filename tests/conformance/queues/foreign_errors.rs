//! Q13, arrays on the caller's wgpu buffers: the errors.

use crate::common::program::{FOR_ARRAYS, Program, beside};
use crate::common::{Case, ONE_THREAD, Subject, assert_error, case, queues, raw, wgpu_only};
use fencepost::prelude::*;
use fencepost::{AdoptOptions, Error, ErrorDetail, RecorderChoice, SimulatorOptions};
use std::sync::atomic::{AtomicBool, Ordering};
use wgpu::BufferUsages as Usages;

pub fn cases() -> Vec<Case> {
    wgpu_only(vec![
        case("q13_a_buffer_that_is_too_small_is_refused", too_small),
        case("q13_a_buffer_without_the_needed_usages_is_refused", usages),
        case("q13_a_write_of_half_a_word_of_the_caller_is_refused", half_a_word),
        case("q13_a_buffer_of_another_device_is_refused", another_device),
        case("q13_the_cpu_recorder_takes_no_buffers", cpu_recorder),
        case("q13_work_on_a_destroyed_buffer_fails_its_queue", destroyed),
        case("q13_a_buffer_destroyed_between_two_submissions_fails_the_second", destroyed_later),
        case("q13_destroying_a_buffer_under_running_work_changes_no_result", destroyed_meanwhile),
        case("q13_another_thread_may_destroy_other_buffers", destroyed_beside).not_in_a_page(ONE_THREAD),
        case("q13_work_on_a_mapped_buffer_fails_its_queue", mapped),
    ])
}

fn refused(ctx: &Context, buffer: &wgpu::Buffer, len: usize) -> Error {
    ctx.array_on::<u32, 1>(buffer, [len]).expect_err("the buffer does not fit the array")
}

fn too_small(subject: &Subject) {
    let ctx = subject.ctx();
    let buffer = Program::of(&ctx).buffer(16);
    let message = refused(&ctx, &buffer, 17).to_string();
    assert!(message.contains("array `u32 [17] on a buffer"), "{message}");
    assert!(message.ends_with("has 64 bytes; 68 bytes is needed"), "{message}");
    assert_eq!(ctx.array_on::<u32, 1>(&buffer, [16]).unwrap().len(), 16);
    assert!(matches!(refused(&ctx, &buffer, usize::MAX / 4).detail(), ErrorDetail::Uncountable { .. }));
}

fn usages(subject: &Subject) {
    let ctx = subject.ctx();
    for missing in [Usages::STORAGE, Usages::COPY_SRC, Usages::COPY_DST] {
        let buffer = Program::of(&ctx).buffer_for(16, FOR_ARRAYS - missing);
        let error = refused(&ctx, &buffer, 16);
        let ErrorDetail::Buffer { needed, .. } = error.detail() else { panic!("{error}") };
        assert_eq!(*needed, missing.iter_names().next().unwrap().0);
    }
}

fn half_a_word(subject: &Subject) {
    let ctx = subject.ctx();
    let program = Program::of(&ctx);
    let queue = ctx.queue("main");
    let buffer = program.buffer(2);
    program.submit(&[0x0101_0101; 2], &buffer);
    let mut x = ctx.array_on::<half::f16, 1>(&buffer, [3]).unwrap();
    assert_error!(queue.fill(&mut x, half::f16::ZERO), ErrorDetail::Alignment { .. });
    queue.fill(&mut x.slice(0..2).unwrap(), half::f16::ZERO).unwrap();
    queue.finish().wait().unwrap();
    assert_eq!(program.read(&buffer, 2), [0, 0x0101_0101]);
}

fn another_device(subject: &Subject) {
    let [opened, (device, queue)] = raw::open_two(subject);
    let ctx = subject.adopt(opened, AdoptOptions::default());
    let other = Program { device, queue };
    let error = match ctx.array_on::<u32, 1>(&other.buffer(16), [16]) {
        // A browser reports the error late.
        Ok(mut x) if cfg!(target_arch = "wasm32") => {
            let queue = ctx.queue("q");
            queue.fill(&mut x, 1).unwrap();
            queue.finish().wait().expect_err("the buffer is another device's")
        }
        given => given.expect_err("the buffer is another device's"),
    };
    assert!(matches!(error.detail(), ErrorDetail::Device { .. }), "{error}");
}

fn cpu_recorder(subject: &Subject) {
    let (device, queue) = raw::open(subject);
    let buffer = Program { device, queue }.buffer(16);
    let error = refused(&Context::simulated(SimulatorOptions::default()), &buffer, 16);
    assert!(matches!(error.detail(), ErrorDetail::Device { .. }), "{error}");
}

/// Checks that work on the buffer fails its queue with an error that names the array or its buffer, and fails no other queue.
fn fails(ctx: &Context, buffer: &wgpu::Buffer) {
    let [good, bad] = queues(ctx, ["good", "bad"]);
    let mut x = ctx.array_on::<u32, 1>(buffer, [16]).unwrap();
    let mut y = good.zeros::<u32, 1>([16]).unwrap();
    good.fill(&mut y, 4).unwrap();
    bad.wait_for(&good.marker()).unwrap(); // the wait puts the work of both queues into one submission
    bad.fill(&mut x, 5).unwrap();
    let error = assert_error!(bad.finish().wait(), ErrorDetail::Device { .. });
    // A browser refuses the submission late, and names the buffer by its own label.
    let name = if cfg!(target_arch = "wasm32") { "the program's" } else { "on a buffer" };
    assert!(error.to_string().contains(name), "{error}");
    bad.fill(&mut y, 6).unwrap_err();
    bad.take_error().unwrap();
    bad.fill(&mut y.slice(0..1).unwrap(), 7).unwrap();
    bad.finish().wait().unwrap();
    assert_eq!(good.read(&y).wait().unwrap(), [[7].as_slice(), &[4; 15]].concat());
}

fn destroyed(subject: &Subject) {
    for (ctx, _, program) in beside(subject) {
        let buffer = program.buffer(16);
        program.destroy(&buffer);
        fails(&ctx, &buffer);
    }
}

fn destroyed_later(subject: &Subject) {
    for (ctx, queue, program) in beside(subject) {
        let buffer = program.buffer(16);
        let mut x = ctx.array_on::<u32, 1>(&buffer, [16]).unwrap();
        for value in 0..2 {
            queue.fill(&mut x, value + 1).unwrap(); // at the second fill, the recorder has already used the buffer
            queue.finish().wait().unwrap();
        }
        program.destroy(&buffer);
        fails(&ctx, &buffer);
        queue.fill(&mut x, 1).unwrap();
        queue.finish().wait().unwrap_err();
    }
}

fn destroyed_meanwhile(subject: &Subject) {
    // The contexts have no threads, so a read has submitted when it returns. On GL, a lane submits one batch at a time.
    // If the previous batch is not done, the read leaves the fill to a later call, so there the test waits for the
    // fill.
    let of_the_variable = AdoptOptions::default().threads(false);
    let direct = AdoptOptions::default().exclusive(true).recorder(RecorderChoice::Direct).threads(false);
    for options in [of_the_variable, direct] {
        let ctx = subject.adopt(raw::open(subject), options);
        let program = Program::of(&ctx);
        let queue = ctx.queue("main");
        let mut out = queue.zeros::<u32, 1>([1 << 16]).unwrap();
        for value in 1..6 {
            let buffer = program.buffer(1 << 16);
            let mut x = ctx.array_on::<u32, 1>(&buffer, [1 << 16]).unwrap();
            subject.spin(&ctx, &queue, 5);
            queue.fill(&mut x, value).unwrap();
            queue.copy(&x, &mut out).unwrap();
            let read = queue.read(&out);
            if subject.place().is_gl() {
                queue.marker().wait().unwrap();
            }
            program.destroy(&buffer);
            program.device.poll(wgpu::PollType::Poll).unwrap();
            let next = program.buffer(1 << 16); // `next` may get the memory of the destroyed buffer
            program.put(&[9; 1 << 16], &next);
            program.queue.submit([]);
            assert_eq!(read.wait().unwrap(), [value; 1 << 16]);
        }
    }
}

/// Copies between several buffers while another thread keeps destroying other buffers. Neither thread waits forever.
fn destroyed_beside(subject: &Subject) {
    for (ctx, queue, program) in beside(subject) {
        let over = AtomicBool::new(false);
        let buffers: [wgpu::Buffer; 3] = std::array::from_fn(|_| program.buffer(16));
        let mut arrays = buffers.each_ref().map(|buffer| ctx.array_on::<u32, 1>(buffer, [16]).unwrap());
        crate::common::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    program.destroy(&program.buffer(16));
                }
            });
            let [first, second, third] = &mut arrays;
            for value in 0..50 {
                queue.fill(first, value).unwrap();
                queue.copy(first, second).unwrap();
                queue.copy(second, third).unwrap();
                assert_eq!(queue.read(third).wait().unwrap(), [value; 16]);
            }
            over.store(true, Ordering::Relaxed);
        });
    }
}

fn mapped(subject: &Subject) {
    for (ctx, _, program) in beside(subject) {
        let buffer = program.mapped(16, FOR_ARRAYS);
        buffer.get_mapped_range_mut(..).unwrap().copy_from_slice(&[3; 64]);
        fails(&ctx, &buffer);
        buffer.unmap();
        let queue = ctx.queue("after");
        let x = ctx.array_on::<u32, 1>(&buffer, [16]).unwrap();
        queue.fill(&mut x.slice(0..1).unwrap(), 1).unwrap();
        queue.finish().wait().unwrap();
        assert_eq!(program.read(&buffer, 16)[..2], [1, 0x0303_0303]);
    }
}
