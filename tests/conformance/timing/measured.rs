//! T04, T05: each row has a time, or a reason for the missing time, on every device.

use super::{refusing_on_the_cpu, timed};
use crate::common::full::full;
use crate::common::kernels::{Iota, Spin};
use crate::common::{Case, NO_DEVICE, Subject, case, raw};
use crate::devices::losing::{doomed, lost as noticed, own};
use fencepost::prelude::*;
use fencepost::profile::{Activity, Unmeasured};
use fencepost::{AdoptOptions, ErrorDetail, RecorderChoice};

pub fn cases() -> Vec<Case> {
    vec![
        case("t04_every_kind_of_command_is_timed_by_the_boundaries_of_passes", boundaries),
        case("t04_a_device_with_timestamps_at_passes_only_times_every_kind_of_command", boundaries_alone)
            .gpu_only(NO_DEVICE),
        case("t04_each_of_many_timed_commands_has_a_time", many),
        case("t05_a_transfer_that_the_host_makes_in_place_is_marked_in_place", in_place),
        case("t05_without_timestamps_each_row_has_a_reason_for_the_missing_time", no_timestamps)
            .gpu_only(NO_DEVICE),
        case("t05_failed_work_is_in_the_profile_without_a_time", failed)
            .cpu_only("only the CPU recorder refuses submissions by chance"),
        case("t05_a_profile_of_a_lost_device_is_the_error_device_lost", lost),
        case("t04_a_launch_of_no_workgroups_completes_and_its_time_is_not_zero", no_workgroups),
    ]
}

const N: usize = 1 << 14;

/// Lets the device do all work, because the host cannot access the memory.
fn boundaries(subject: &Subject) {
    each_kind(&subject.switched(|switches| switches.shared_memory = false));
}

fn boundaries_alone(subject: &Subject) {
    let (device, queue) = raw::open_timed(subject);
    assert!(!device.features().contains(wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS));
    for recorder in [RecorderChoice::Wgpu, RecorderChoice::Hal, RecorderChoice::Direct] {
        let options = AdoptOptions::default().recorder(recorder).exclusive(true);
        each_kind(&subject.adopt((device.clone(), queue.clone()), options));
    }
}

/// Checks the rows of a fill, an upload, a copy, a launch, a read and a fill with zeros, on a plain queue and on a
/// timed one.
fn each_kind(ctx: &Context) {
    for queue in [ctx.queue("plain"), timed(ctx, "timed")] {
        let elements = vec![5_u32; N];
        let [mut x, mut y] = [0; 2].map(|_| queue.zeros([N]).unwrap());
        let spin = ctx.kernel::<Spin>().unwrap();
        let profiler = ctx.profile();
        queue.fill(&mut x, 3).unwrap();
        queue.upload(&elements[..], &mut x).unwrap();
        queue.copy(&x, &mut y).unwrap();
        let args = Spin { rounds: 9, out: &mut y };
        queue.launch(&spin, Grid::threads([N]), args).unwrap();
        let read = queue.read(&x);
        queue.fill(&mut x, 0).unwrap(); // the bytes of the read are copied out first
        assert_eq!(read.wait().unwrap(), elements);
        let profile = profiler.finish().wait().unwrap();
        let activities: Vec<_> = profile.rows.iter().map(|row| row.activity).collect();
        let [fill, upload, copy, launch, read, clear] = &profile.rows[..] else { panic!("{activities:?}") };
        for row in [fill, copy, launch, clear] {
            assert!(row.time.unwrap().seconds() > 0.0, "{row:?}");
        }
        // If host and device share the memory, a read uses the array's memory until a later command writes there, and
        // an upload is written in place if the fill is already done.
        for row in [upload, read] {
            let in_place = row.time == Err(Unmeasured::InPlace);
            assert!(in_place || row.time.unwrap().seconds() > 0.0, "{row:?}");
        }
    }
}

fn many(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("queue");
    let mut x = queue.full([4], 0_u32).unwrap();
    let count: u32 = if subject.is_cpu() { 300 } else { 3000 };
    let profiler = ctx.profile();
    for turn in 0..count {
        queue.fill(&mut x, turn + 1).unwrap();
        if turn % 500 == 499 {
            queue.flush().unwrap();
        }
    }
    let profile = profiler.finish().wait().unwrap();
    let timed = profile.rows.iter().filter(|row| row.activity == Activity::Fill && row.time.is_ok());
    assert_eq!((timed.count(), profile.rows.len()), (count as usize, count as usize));
    assert_eq!(queue.read(&x).wait().unwrap(), [count; 4]);
}

fn in_place(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("queue");
    let mut x = queue.zeros([N]).unwrap();
    queue.finish().wait().unwrap();
    let profiler = ctx.profile();
    queue.upload(&vec![1_u32; N], &mut x).unwrap();
    assert_eq!(queue.read(&x).wait().unwrap(), vec![1; N]);
    let profile = profiler.finish().wait().unwrap();
    let activities: Vec<_> = profile.rows.iter().map(|row| row.activity).collect();
    assert_eq!(activities, [Activity::Upload, Activity::Read]);
    for row in &profile.rows {
        let by_host = row.time == Err(Unmeasured::InPlace);
        assert!(by_host == row.batch.is_none() && by_host == row.time.is_err(), "{row:?}");
    }
    let other = ctx.queue("other");
    let profiler = ctx.profile();
    queue.fill(&mut x, 2).unwrap();
    let read = queue.read(&x);
    other.wait_for(&queue).unwrap();
    let profile = profiler.finish().wait().unwrap();
    assert_eq!(read.wait().unwrap()[0], 2);
    let [fill, _, wait] = &profile.rows[..] else { panic!("{:?}", profile.rows) };
    assert_eq!(wait.awaited.as_ref().unwrap().row, Some(1));
    assert!(wait.time.unwrap().end >= fill.time.unwrap().end, "the read was over when the fill ended");
}

fn no_timestamps(subject: &Subject) {
    let (device, queue) = raw::open(subject);
    for recorder in [RecorderChoice::Wgpu, RecorderChoice::Hal] {
        let options = AdoptOptions::default().recorder(recorder);
        let ctx = subject.adopt((device.clone(), queue.clone()), options);
        let queue = ctx.queue("q");
        let profiler = ctx.profile();
        queue.full([N], 1_u32).unwrap();
        let profile = profiler.finish().wait().unwrap();
        let row = &profile.rows[0];
        assert!(row.time == Err(Unmeasured::NoClock) && row.batch == Some(0), "{row:?}");
        assert!(row.submitted.unwrap() >= row.enqueued && profile.batches[0].completed.is_some());
        assert!(profile.clock_error.is_none() && profile.summary().rows[0].total.is_none());
        let overlap = profile.overlap();
        let path = profile.critical_path();
        assert!(
            overlap.share.is_none() && overlap.unmeasured == 1 && path.unmeasured == 1,
            "{overlap} {path:?}"
        );
    }
}

fn failed(subject: &Subject) {
    let ctx = refusing_on_the_cpu(subject);
    let queue = ctx.queue("q");
    let profiler = ctx.profile();
    queue.full([N], 1_u32).unwrap();
    assert!(queue.finish().wait().is_err());
    let profile = profiler.finish().wait().unwrap();
    assert_eq!(profile.rows.len(), 1);
    assert_eq!(profile.rows[0].time, Err(Unmeasured::NeverRan));
    assert!(ctx.take_error().is_none(), "reading the clock is not work of a queue");
}

fn lost(subject: &Subject) {
    let contexts = if full() { doomed(subject) } else { vec![own(subject)] };
    for doomed in contexts {
        let profiler = doomed.ctx.profile();
        doomed.ctx.queue("q").full([N], 1_u32).unwrap();
        noticed(&doomed);
        let error = profiler.finish().wait().unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::DeviceLost { .. }), "{}: {error}", doomed.name);
    }
}

/// Covers two bugs of wgpu-native: in #624 a submission with timestamps never completes, and in #625 a pass without a
/// dispatch gives zeros.
fn no_workgroups(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("queue");
    let iota = ctx.kernel::<Iota>().unwrap();
    let groups = queue.array(&[0_u32; 3]).unwrap();
    let mut out = queue.full([64], 1_u32).unwrap();
    let profiler = ctx.profile();
    queue.launch(&iota, Grid::indirect(&groups, 0), Iota { start: 5, step: 1, out: &mut out }).unwrap();
    let profile = profiler.finish().wait().unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), [1; 64]);
    match profile.rows[0].time {
        Ok(time) => assert!(time.seconds() > 0.0),
        Err(reason) => assert_eq!(reason, Unmeasured::TooShort),
    }
}
