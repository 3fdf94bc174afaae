//! M08: the tracker of allocations.

use crate::common::{Case, ONE_THREAD, Subject, case};
use fencepost::memory::AllocationReport;
use fencepost::{Context, HostArray, Upload};

pub fn cases() -> Vec<Case> {
    vec![
        case("m08_a_tracker_records_label_bytes_line_and_queue", knows),
        case("m08_a_tracker_counts_dropped_arrays_and_the_peak", goes),
        case("m08_scopes_nest_and_belong_to_their_thread", scopes).not_in_a_page(ONE_THREAD),
        case("m08_a_report_groups_arrays_by_line_and_prints_a_table", by_line),
        case("m08_the_last_report_lists_the_arrays_that_outlive_the_tracker", outlives),
        case("m08_no_array_is_recorded_without_a_tracker", inactive),
        case("m08_a_cleared_tracker_starts_again", cleared),
        case("m08_a_leaked_scope_names_no_array_of_a_later_tracker", leaked_scope),
        case("m08_two_trackers_count_separately", two),
        case("m08_threads_may_report_and_allocate_at_once", threads).not_in_a_page(ONE_THREAD),
        case("m08_pinned_arrays_are_recorded", pinned),
    ]
}

fn numbers(report: &AllocationReport) -> (u64, u64, u64, usize) {
    (report.live_bytes, report.peak_bytes, report.count, report.live.len())
}

fn knows(s: &Subject) {
    let ctx = s.ctx();
    let tracker = ctx.pool().track();
    let queue = ctx.queue("maker");
    let line = line!() + 1;
    let x = queue.full([100], 1.0_f32).unwrap();
    let _y = ctx.zeros::<u32, 2>([3, 5]).unwrap();
    let report = tracker.report();
    assert_eq!(numbers(&report), (460, 460, 2, 2));
    let [first, second] = &report.live[..] else { panic!("{report}") };
    assert_eq!((&*first.label, first.bytes, &*first.queue), (x.label(), 400, "maker"));
    assert_eq!((first.location.file(), first.location.line()), (file!(), line));
    assert_eq!((second.bytes, &*second.queue, second.location.line()), (60, "context", line + 1));
    assert!(first.to_string().contains("400 bytes, made by queue `maker` at"), "{first}");
}

fn goes(s: &Subject) {
    let ctx = s.ctx();
    let tracker = ctx.pool().track();
    let x = ctx.zeros::<u32, 1>([100]).unwrap();
    let y = ctx.zeros::<u32, 1>([10]).unwrap();
    let slice = x.slice(0..3).unwrap();
    drop(x);
    assert_eq!(numbers(&tracker.report()), (440, 440, 2, 2), "the slice keeps the array");
    drop(slice);
    assert_eq!(numbers(&tracker.report()), (40, 440, 2, 1));
    let z = ctx.zeros::<u32, 1>([20]).unwrap();
    assert_eq!(numbers(&tracker.report()), (120, 440, 3, 2));
    drop((y, z));
    assert_eq!(numbers(&tracker.report()), (0, 440, 3, 0));
}

fn make(ctx: &Context) -> fencepost::DeviceArray<u32> {
    ctx.zeros([4]).unwrap()
}

fn scopes(s: &Subject) {
    let ctx = s.ctx();
    let tracker = ctx.pool().track();
    let mut kept = vec![make(&ctx)];
    {
        let _outer = tracker.scope("outer");
        kept.push(make(&ctx));
        {
            let _inner = tracker.scope("inner");
            kept.push(make(&ctx));
            crate::common::thread::scope(|scope| {
                let elsewhere = scope.spawn(|| {
                    let _own = tracker.scope("own");
                    make(&ctx)
                });
                kept.push(elsewhere.join().unwrap());
                kept.push(scope.spawn(|| make(&ctx)).join().unwrap());
            });
        }
        kept.push(make(&ctx));
    }
    kept.push(make(&ctx));
    let report = tracker.finish();
    let names: Vec<&str> = report.live.iter().map(|entry| entry.scope.as_str()).collect();
    assert_eq!(names, ["", "outer", "outer/inner", "own", "", "outer", ""]);
    assert_eq!(report.sites.len(), 4, "one line, four scopes: {report}");
}

fn by_line(s: &Subject) {
    let ctx = s.ctx();
    let tracker = ctx.pool().track();
    let _small: Vec<_> = (0..3).map(|_| make(&ctx)).collect();
    for _ in 0..5 {
        drop(ctx.zeros::<u32, 1>([1000]).unwrap());
    }
    let _large = ctx.zeros::<u32, 1>([500]).unwrap();
    let report = tracker.report();
    let sites: Vec<_> =
        report.sites.iter().map(|site| (site.count, site.live, site.live_bytes, site.peak_bytes)).collect();
    assert_eq!(sites, [(1, 1, 2000, 2000), (3, 3, 48, 48), (5, 0, 0, 4000)]);
    let table = report.to_string();
    assert!(table.starts_with("2048 bytes in 4 arrays, 4048 at the peak, 9 arrays made\n"), "{table}");
    assert_eq!(table.lines().filter(|line| line.contains(file!())).count(), 3, "{table}");
}

fn outlives(s: &Subject) {
    let ctx = s.ctx();
    let tracker = ctx.pool().track();
    let leaked = ctx.zeros::<u32, 1>([7]).unwrap();
    drop(make(&ctx));
    let report = tracker.finish();
    assert_eq!(report.live.iter().map(|entry| entry.bytes).collect::<Vec<_>>(), [28]);
    assert_eq!(&*report.live[0].label, leaked.label());
    drop(leaked);
    assert_eq!(report.live.len(), 1, "a report does not change later");
}

fn inactive(s: &Subject) {
    let ctx = s.ctx();
    let before = make(&ctx);
    let tracker = ctx.pool().track();
    drop(before);
    assert_eq!(numbers(&tracker.report()), (0, 0, 0, 0));
    drop(tracker);
    let after = make(&ctx);
    assert_eq!(numbers(&ctx.pool().track().report()), (0, 0, 0, 0));
    drop(after);
}

fn cleared(s: &Subject) {
    let ctx = s.ctx();
    let tracker = ctx.pool().track();
    let before = make(&ctx);
    tracker.clear();
    assert_eq!(numbers(&tracker.report()), (0, 0, 0, 0));
    let after = make(&ctx);
    drop(before);
    assert_eq!(numbers(&tracker.report()), (16, 16, 1, 1));
    drop(after);
}

fn leaked_scope(s: &Subject) {
    let ctx = s.ctx();
    for _ in 0..20 {
        let tracker = ctx.pool().track();
        let x = make(&ctx);
        assert_eq!(&*tracker.report().live[0].scope, "");
        std::mem::forget(tracker.scope("leaked"));
        drop(x);
    }
}

fn two(s: &Subject) {
    let ctx = s.ctx();
    let first = ctx.pool().track();
    let x = make(&ctx);
    let second = ctx.pool().track();
    let _scope = second.scope("of the second");
    let y = make(&ctx);
    assert_eq!((numbers(&first.report()), numbers(&second.report())), ((32, 32, 2, 2), (16, 16, 1, 1)));
    assert_eq!((&*first.report().live[1].scope, &*second.report().live[0].scope), ("", "of the second"));
    drop(x);
    assert_eq!((numbers(&first.report()), numbers(&second.report())), ((16, 32, 2, 1), (16, 16, 1, 1)));
    // A tracker does not record arrays of another context.
    drop(make(&s.ctx()));
    assert_eq!(first.report().count, 2);
    drop(y);
}

fn threads(s: &Subject) {
    let ctx = s.ctx();
    let tracker = ctx.pool().track();
    crate::common::thread::scope(|scope| {
        for at in 0..4 {
            let ctx = &ctx;
            let tracker = &tracker;
            scope.spawn(move || {
                for round in 0..25 {
                    let _scope = tracker.scope(&format!("thread {at}"));
                    let array = make(ctx);
                    let report = tracker.report();
                    assert!(
                        report.live_bytes >= 16 && report.peak_bytes >= report.live_bytes,
                        "round {round}"
                    );
                    drop(array);
                }
            });
        }
    });
    let report = tracker.finish();
    assert_eq!((report.live_bytes, report.count, report.sites.len()), (0, 100, 4));
    assert!(report.sites.iter().all(|site| site.count == 25));
}

fn pinned(s: &Subject) {
    let ctx = s.ctx();
    let tracker = ctx.pool().track();
    let line = line!() + 1;
    let array: HostArray<u32, Upload> = ctx.pinned([64]).unwrap();
    let report = tracker.report();
    // On a context without mapped pinned memory the array is ordinary memory, which the tracker does not record.
    if ctx.pool().stats().pinned > 0 {
        let [entry] = &report.live[..] else { panic!("{report}") };
        assert!(entry.pinned && entry.bytes == 256 && entry.location.line() == line, "{entry}");
    } else {
        assert!(report.live.is_empty());
    }
    drop(array);
    assert!(tracker.finish().live.is_empty());
}
