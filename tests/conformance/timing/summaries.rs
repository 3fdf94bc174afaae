//! T05: the counts and times of a profile's summary, and profilers that are dropped.

use crate::common::kernels::{Iota, Spin, mix};
use crate::common::{Case, Subject, case};
use fencepost::prelude::*;
use fencepost::profile::{Activity, SummaryRow};

pub fn cases() -> Vec<Case> {
    vec![
        case("t05_the_profile_of_one_copy_has_one_row_with_its_name_and_the_adapter", one_copy),
        case("t05_a_profile_counts_each_kernel_and_a_new_profile_starts_at_zero", each_kernel),
        case("t05_a_summary_adds_up_the_times_of_one_kernel", one_kernel),
        case("t05_a_profiler_that_is_dropped_leaves_other_profiles_complete", dropped),
    ]
}

const N: usize = 1 << 14;

/// Follows Warp's `test_scoped_timer_cuda_timing`.
fn one_copy(subject: &Subject) {
    let ctx = subject.switched(|switches| switches.shared_memory = false);
    let queue = ctx.queue("queue");
    let x = queue.full([N], 1_u32).unwrap();
    let mut y = queue.zeros([N]).unwrap();
    let profiler = ctx.profile();
    queue.copy(&x, &mut y).unwrap();
    let profile = profiler.finish().wait().unwrap();
    let [row] = &profile.rows[..] else { panic!("{:?}", profile.rows) };
    assert_eq!((row.activity, &*row.name, row.bytes), (Activity::Copy, "65536 bytes", Some(65536)));
    assert!(row.time.unwrap().seconds() > 0.0);
    let name = if subject.is_cpu() { "simulator" } else { &ctx.info().name };
    assert!(profile.adapter.contains(name), "{}", profile.adapter);
    let table = profile.summary().to_string();
    assert!(table.lines().count() == 2 && table.lines().last().unwrap().starts_with("copy"), "{table}");
}

/// Follows Taichi's `print_kernel_profiler_info`, `query_kernel_profiler_info` and `clear_kernel_profiler_info`.
fn each_kernel(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("queue");
    let iota = ctx.kernel::<Iota>().unwrap();
    let x = queue.full([N], 1_u32).unwrap();
    let mut y = queue.full([N], 2_u32).unwrap();
    for turns in [3, 2] {
        let profiler = ctx.profile();
        for _ in 0..turns {
            mix(&queue, 1, 1, &x, &mut y);
        }
        queue.launch(&iota, Grid::threads([N]), Iota { start: 0, step: 1, out: &mut y }).unwrap();
        let summary = profiler.finish().wait().unwrap().summary();
        let of = |name: &str| summary.rows.iter().find(|row| &*row.name == name).unwrap();
        assert_eq!((of("mix").count, of("iota").count, summary.rows.len()), (turns, 1, 2));
        summary.rows.iter().for_each(extremes);
        let shares: f64 = summary.rows.iter().map(|row| row.share.unwrap()).sum();
        assert!((shares - 1.0).abs() < 1e-9, "{shares}");
    }
}

fn extremes(row: &SummaryRow) {
    let [min, mean, max, total] = [row.min, row.mean, row.max, row.total].map(Option::unwrap);
    assert!(0.0 < min && min <= mean && mean <= max && max <= total, "{row:?}");
    assert!((mean * row.measured as f64 - total).abs() <= total * 1e-9, "{row:?}");
}

/// Follows katsdpsigproc's `start_tuning` and `stop_tuning`.
fn one_kernel(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("queue");
    let spin = ctx.kernel::<Spin>().unwrap();
    let mut out = queue.full([64], 1_u32).unwrap();
    let mut tune = |launches: u32| {
        let profiler = ctx.profile();
        for _ in 0..launches {
            queue.launch(&spin, Grid::threads([64]), Spin { rounds: 50, out: &mut out }).unwrap();
        }
        profiler.finish().wait().unwrap()
    };
    for launches in [1, 5] {
        let profile = tune(launches);
        let total = profile.summary().rows[0].total.unwrap();
        let times: Vec<_> = profile.rows.iter().map(|row| row.time.unwrap()).collect();
        let span = times[times.len() - 1].end - times[0].start;
        assert!(total > 0.0 && total <= span * (1.0 + 1e-6), "{total} {span}");
        assert!((profile.critical_path().seconds - total).abs() <= total * 1e-6);
    }
}

/// Follows wgpu-profiler's tests of dropped scopes and of frames that are never resolved.
fn dropped(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("queue");
    let mut x = queue.full([64], 1_u32).unwrap();
    let outer = ctx.profile();
    for turn in 0..10 {
        let inner = ctx.profile();
        queue.fill(&mut x, turn).unwrap();
        match turn % 3 {
            0 => drop(inner),
            1 => drop(inner.finish()),
            _ => assert_eq!(inner.finish().wait().unwrap().rows.len(), 1),
        }
    }
    let profile = outer.finish().wait().unwrap();
    assert!(profile.rows.len() == 10 && profile.rows.iter().all(|row| row.time.is_ok()));
    drop(ctx.profile());
    assert_eq!(queue.read(&x).wait().unwrap(), [9; 64]);
}
