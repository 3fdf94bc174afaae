//! G02, G03, G05, G08, G10: calls in a capture that make no node, results that do not exist yet, and the names in
//! errors.

use crate::common::{Calls, Case, NO_UNWINDING, Subject, assert_error, assert_says, case};
use fencepost::prelude::*;
use fencepost::{Bound, Capture, DeviceArray, Download, Error, ErrorDetail, HostArray, Replay, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

pub fn cases() -> Vec<Case> {
    vec![
        case("g10_an_array_of_a_capture_has_zeros_before_the_first_replay", zeros_at_first),
        case("g03_the_host_cannot_access_what_an_open_capture_writes", host_access),
        case("g03_the_host_accesses_other_arrays_during_a_capture", other_arrays),
        case("g02_a_function_that_panicked_is_called_by_later_replays", panicked_once)
            .not_in_a_page(NO_UNWINDING),
        case("g08_the_read_of_the_counters_is_no_output", hidden_output),
        case("g03_the_results_of_a_replay_inside_a_capture_are_refused", child_results),
        case("g05_a_label_and_a_value_concern_only_the_call_before_them", last_call),
        case("g03_an_error_names_the_captured_queue_and_the_call", ended_names),
        case("g05_an_overlap_names_the_node_and_its_line", overlap),
        case("g03_the_scope_of_an_ordinary_queue_in_that_of_a_captured_queue_is_refused", scope_in_scope),
    ]
}

const N: usize = 1024;

/// A call that needs the results of a replay.
type ResultCall<'a> = dyn Fn(&Replay) -> Result<()> + 'a;
/// A call on a captured queue.
type CaptureCall<'a> = dyn Fn(&Capture) -> Result<()> + 'a;

/// Captures a call that is refused, drops its error, and returns the error of the capture.
fn refused(queue: &CommandQueue, call: impl FnOnce(&Capture) -> Result<()>) -> Error {
    let mut own = None;
    let ended = queue.capture(|c| {
        own = call(c).err();
        Ok(())
    });
    let own = own.expect("the call is refused");
    let ended = ended.expect_err("the capture fails too");
    assert_eq!(own.to_string(), ended.to_string());
    ended
}

fn zeros_at_first(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    for _ in 0..3 {
        drop(queue.full([N], 0xdead_u32).unwrap());
        queue.finish().wait().unwrap();
        let (graph, (zeros, fives)) = queue.graph_of(|c| Ok((c.zeros::<u32, 1>([N])?, c.full([N], 5_u32)?)));
        assert_eq!(queue.read(&zeros).wait().unwrap(), [0; N]);
        assert_eq!(queue.read(&fives).wait().unwrap(), [0; N]);
        assert_eq!(queue.read_after(&graph, &fives), [5; N]);
    }
}

fn host_access(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let other = ctx.queue("other");
    let y = ctx.zeros::<u32, 1>([N]).unwrap();
    let fill = |c: &Capture| c.fill(&mut y.clone(), 7);
    let calls: [(&str, &dyn Fn() -> Result<()>); 4] = [
        ("map_read", &|| y.map_read().wait().map(drop)),
        ("map_write", &|| y.map_write().wait().map(drop)),
        ("read", &|| other.read(&y).wait().map(drop)),
        ("read", &|| ctx.to_vec(&y).map(drop)),
    ];
    for (name, access) in calls {
        let error = refused(&queue, |c| {
            fill(c)?;
            access()
        });
        let ErrorDetail::Captured { call, queue, location, .. } = error.detail() else { panic!("{error}") };
        assert_eq!((*call, queue.as_str()), (name, "main"), "{error}");
        assert!(location.file().ends_with("captured_access.rs"), "{error}");
        access().unwrap(); // the capture has ended
    }
    let mut down: HostArray<u32, Download> = ctx.pinned([N]).unwrap();
    let download = refused(&queue, |c| {
        fill(c)?;
        other.download(&y, &mut down)
    });
    assert!(matches!(download.detail(), ErrorDetail::Captured { call: "download", .. }), "{download}");
    let made = refused(&queue, |c| c.zeros::<u32, 1>([N])?.map_read().wait().map(drop));
    assert!(matches!(made.detail(), ErrorDetail::Captured { call: "map_read", .. }), "{made}");
    let mut back: HostArray<u32, Download> = ctx.pinned([N]).unwrap();
    let captured = queue.capture(|c| {
        c.download(&y, &mut back)?;
        back.host().map(|host| host.len())
    });
    assert!(matches!(captured.unwrap_err().detail(), ErrorDetail::Captured { .. }));
    assert_eq!(queue.read(&y).wait().unwrap(), [0; N]);
}

fn other_arrays(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let x = ctx.full([N], 3_u32).unwrap();
    let mut y = ctx.zeros::<u32, 1>([N]).unwrap();
    let (graph, ()) = queue.graph_of(|c| {
        c.copy(&x, &mut y)?;
        assert_eq!(*x.map_read().wait()?, [3; N]);
        assert_eq!(ctx.queue("other").read(&x).wait()?, [3; N]);
        Ok(())
    });
    queue.replay(&graph).unwrap();
    assert_eq!(*y.map_read().wait().unwrap(), [3; N]);
}

fn panicked_once(subject: &Subject) {
    let queue = subject.ctx().queue("main");
    let calls = Arc::new(AtomicU32::new(0));
    let counted = calls.clone();
    let call = move || assert!(counted.fetch_add(1, Ordering::SeqCst) > 0, "the first call");
    let (graph, ()) = queue.capture(|c| c.host(call)).unwrap();
    let (parent, ()) = queue.capture(|c| c.replay(&graph).map(drop)).unwrap();
    let error = queue.replay(&graph).unwrap().wait().unwrap_err();
    let ErrorDetail::CallbackPanicked { queue: failed, panic } = error.detail() else { panic!("{error}") };
    assert_eq!(failed, "main");
    assert!(panic.contains("graph `main`, captured at ") && panic.ends_with("the first call"), "{panic}");
    queue.take_error().expect("the queue has failed");
    queue.replay(&graph.clone()).unwrap().wait().unwrap();
    queue.replay(&parent).unwrap().wait().unwrap();
    assert_eq!(calls.load(Ordering::SeqCst), 3);
}

fn hidden_output(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let go = ctx.full([1], 1_u32).unwrap();
    let y = ctx.full([N], 42_u32).unwrap();
    let (graph, _) = queue.graph_of(|c| {
        c.read_as("counters of loops", &y)?;
        c.repeat(&go, Bound::AtMost(2), |body| body.fill(&mut y.clone(), 43))
    });
    let output = graph.output::<u32>("counters of loops").unwrap();
    assert_eq!(queue.replay(&graph).unwrap().read(&output).unwrap().wait().unwrap(), [42; N]);
    assert_eq!(graph.statistics().outputs, 1);
    let (alone, _) =
        queue.capture(|c| c.repeat(&go, Bound::AtMost(2), |body| body.fill(&mut y.clone(), 43))).unwrap();
    assert_says(alone.output::<u32>("counters of loops"), "it has no outputs");
}

fn child_results(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let go = ctx.full([1], 1_u32).unwrap();
    let y = ctx.full([N], 42_u32).unwrap();
    let (child, (output, steps, marker)) = queue.graph_of(|c| {
        let steps = c.repeat(&go, Bound::AtMost(2), |body| body.fill(&mut y.clone(), 43))?;
        Ok((c.read_as("y", &y)?, steps, c.marker()))
    });
    let calls: [(&str, &ResultCall<'_>); 4] = [
        ("Replay::read", &|run| run.read(&output).map(drop)),
        ("iterations", &|run| run.iterations(&steps).map(drop)),
        ("reached_bound", &|run| run.reached_bound(&steps).map(drop)),
        ("event_of", &|run| run.event_of(&marker).map(drop)),
    ];
    for (name, result) in calls {
        let error = refused(&queue, |c| result(&c.replay(&child)?));
        let ErrorDetail::Captured { call, location, .. } = error.detail() else { panic!("{error}") };
        assert_eq!(*call, name);
        assert!(location.file().ends_with("captured_access.rs"), "{error}");
    }
}

fn last_call(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let [x, y] = [(); 2].map(|()| ctx.zeros::<u32, 1>([N]).unwrap());
    let empty: [(&str, &CaptureCall<'_>); 5] = [
        ("a fill of no bytes", &|c| c.fill(&mut x.slice(0..0)?, 9)),
        ("a copy of no bytes", &|c| c.copy(&x.slice(0..0)?, &mut y.slice(0..0)?)),
        ("an empty array", &|c| c.zeros::<u32, 1>([0]).map(drop)),
        ("a marker", &|c| {
            c.marker();
            Ok(())
        }),
        ("a host callback", &|c| c.host(|| ())),
    ];
    for (what, call) in empty {
        let captured = queue.capture(|c| {
            let value = c.value("v", 7_u32)?;
            c.mix(1, 0, &x, &mut y.clone())?;
            c.label_node("step")?;
            c.parameter("b", &value)?;
            call(c)?;
            let label = c.label_node("other").expect_err(what);
            assert!(matches!(label.detail(), ErrorDetail::Graph { .. }), "{what}: {label}");
            c.parameter("b", &value).expect_err(what);
            Ok(())
        });
        let mut graph = captured.unwrap().0;
        graph.edit().unwrap().node("step").expect(what);
    }
}

fn ended_names(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let mut y = ctx.zeros::<u32, 1>([N]).unwrap();
    let (_, side) = queue.capture(|c| Ok(c.fork("side"))).unwrap();
    let filled = side.fill(&mut y, 1);
    assert_error!(filled, ErrorDetail::CaptureEnded { call: "fill", queue, .. } if queue == "side");
    let waited = ctx.queue("other").wait_for(&side);
    assert_error!(waited, ErrorDetail::CaptureEnded { call: "wait_for", queue, .. } if queue == "side");
}

fn overlap(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let [x, y] = [(); 2].map(|()| ctx.zeros::<u32, 1>([N]).unwrap());
    let (graph, ()) = queue.graph_of(|c| {
        let from = c.input("x", &x)?;
        let mut to = c.input("y", &y)?;
        c.mix(1, 0, &from, &mut to)?;
        c.label_node("the step")
    });
    let both: &DeviceArray<u32> = &x;
    let error = queue.replay(&graph.with().input("x", both).unwrap().input("y", both).unwrap()).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error.detail(), ErrorDetail::Aliased { .. }), "{text}");
    assert!(text.contains("node `the step` in graph `main`, captured at "), "{text}");
    assert!(text.contains("captured_access.rs"), "{text}");
}

fn scope_in_scope(subject: &Subject) {
    let (ctx, queue) = subject.with_queue("main");
    let other = ctx.queue("other");
    let mut y = ctx.zeros::<u32, 1>([N]).unwrap();
    let captured = queue.capture(|c| c.scope(|| other.scope(|| ctx.current_queue().fill(&mut y, 7))));
    assert_error!(captured, ErrorDetail::Captured { call: "scope", .. });
    queue.scope(|| other.scope(|| ctx.current_queue().fill(&mut y, 8))).unwrap();
    assert_eq!(other.read(&y).wait().unwrap(), [8; N]);
}
