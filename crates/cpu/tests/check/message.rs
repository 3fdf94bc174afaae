//! The text of findings.

use crate::harness::{Kernel, Launch, texts};

#[test]
fn r07_a_race_shows_both_accesses_with_their_lines() {
    let text = "@group(0) @binding(0) var<storage, read_write> out: array<vec2<u32>>;
var<workgroup> w: array<u32, 64>;
@compute @workgroup_size(8, 8) fn k(@builtin(local_invocation_index) i: u32) {
\tw[i] = i;
    out[i / 2u].y = w[63u - i];
    out[i / 2u].x = 0u;
}";
    let findings = Launch::new(Kernel::text(text)).check(0);
    let texts = texts(&findings);
    assert_eq!(
        texts[0],
        "kernel `k`: two invocations of a workgroup access `w[0]` without a `workgroupBarrier` between them
  invocation [0, 0, 0] of workgroup [0, 0, 0] writes at k.wgsl:4:2
    w[i] = i;
    ^
  invocation [7, 7, 0] of workgroup [0, 0, 0] reads at k.wgsl:5:21
    out[i / 2u].y = w[63u - i];
                    ^
  = 64 times in all"
    );
    assert_eq!(
        texts[1],
        "kernel `k`: two invocations of a workgroup access `out[0].y` without a `storageBarrier` between them, \
which orders accesses to buffers
  invocation [0, 0, 0] of workgroup [0, 0, 0] writes at k.wgsl:5:5
    out[i / 2u].y = w[63u - i];
    ^
  invocation [1, 0, 0] of workgroup [0, 0, 0] writes at k.wgsl:5:5
    out[i / 2u].y = w[63u - i];
    ^
  = 32 times in all"
    );
}

#[test]
fn r07_a_race_names_the_barrier_that_orders_its_memory() {
    let text = |barrier: &str| {
        format!(
            "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(4) fn k(@builtin(local_invocation_index) i: u32) {{
    out[i] = i;
    {barrier}();
    if out[3u - i] == 9u {{ return; }}
}}"
        )
    };
    let findings = Launch::new(Kernel::text(text("workgroupBarrier"))).check(0);
    let shown = findings[0].to_string();
    assert!(
        shown.contains("without a `storageBarrier` between them, which orders accesses to buffers"),
        "{shown}"
    );
    assert_eq!(Launch::new(Kernel::text(text("storageBarrier"))).check(0), []);
    let findings = Launch::new(Kernel::text(text("storageBarrier"))).groups(2).check(0);
    let shown = findings[0].to_string();
    assert!(shown.contains("two workgroups access `out[0]`, and no barrier orders workgroups"), "{shown}");
}

#[test]
fn r07_other_findings_show_one_line() {
    let text = "@group(0) @binding(0) var<storage, read_write> out: array<i32>;
@compute @workgroup_size(2) fn k(@builtin(global_invocation_id) id: vec3<u32>) {
    out[id.x] = 7 / out[id.x];
    out[i32(id.x) - 1] = 0;
    if id.x == 1u { return; }
    workgroupBarrier();
}";
    let findings = Launch::new(Kernel::text(text)).groups(2).check(0);
    let texts = texts(&findings);
    let expected = "kernel `k`: `7 / 0` divides an integer by zero
  invocation [0, 0, 0] of workgroup [0, 0, 0] computes this at k.wgsl:3:17
    out[id.x] = 7 / out[id.x];
                ^
kernel `k`: index -1 is out of range: `out` has 64 elements
  invocation [0, 0, 0] of workgroup [0, 0, 0] takes an element at k.wgsl:4:5
    out[i32(id.x) - 1] = 0;
    ^
kernel `k`: only some invocations of a workgroup come to a barrier
  invocation [0, 0, 0] of workgroup [0, 0, 0] waits at k.wgsl:6:5
    workgroupBarrier();
    ^
  invocation [1, 0, 0] of workgroup [0, 0, 0] has ended";
    let all = texts.join("\n");
    let race =
        "kernel `k`: two invocations of a workgroup access `out[0]` without a `storageBarrier` between them";
    assert!(all.contains(race), "{all}");
    let rest: Vec<&str> = texts.iter().filter(|text| !text.starts_with(race)).map(String::as_str).collect();
    assert_eq!(rest.join("\n"), expected);
}

#[test]
fn r07_the_list_has_a_limit() {
    let text = "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(2) fn k() {
    out[0] = 1u;
    out[1] = 1u;
    out[2] = 1u;
}";
    let mut launch = Launch::new(Kernel::text(text));
    assert_eq!(launch.check(0).len(), 3);
    for most in 0..3 {
        launch.options.most = most;
        let lines: Vec<usize> =
            launch.check(0).iter().filter_map(|finding| Some(finding.place()?.line)).collect();
        assert_eq!(lines, [3, 4, 5][..most], "the first places are kept");
    }
}

#[test]
fn r07_the_limit_keeps_the_findings_that_come_first_in_the_full_list() {
    let body = (0..12).map(|line| format!("out[{}] = {line}u;\n", line % 3)).collect::<String>();
    let text = format!(
        "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(2) fn k() {{
{body}}}"
    );
    let mut launch = Launch::new(Kernel::text(text));
    let all = launch.check(0);
    assert_eq!(all.len(), 3 * (4 * 5 / 2));
    for most in 1..all.len() {
        launch.options.most = most;
        assert_eq!(launch.check(0), all[..most]);
    }
}

#[test]
fn r07_a_finding_names_the_line_of_its_launch() {
    let text = "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@compute @workgroup_size(1) fn k() { out[0] = 1u / out[0]; }";
    let mut findings = Launch::new(Kernel::text(text)).check(0);
    assert_eq!(findings[0].launch, None, "a run has no line of its own");
    let same = findings[0].clone();
    let line = std::panic::Location::caller();
    findings[0].launch = Some(line);
    let shown = findings[0].to_string();
    assert!(shown.ends_with(&format!("\n  = launched at {line}")), "{shown}");
    assert!(
        !findings[0].is_same_mistake(&same) && same.is_same_mistake(&same),
        "launches of two lines differ"
    );
}

#[test]
fn r07_findings_at_the_same_lines_are_the_same_mistake_whatever_the_element() {
    let text = "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
@group(0) @binding(1) var<storage, read_write> other: array<u32>;
@compute @workgroup_size(4) fn k(@builtin(local_invocation_index) i: u32) {
    if i >= other[1] { out[i / 2u] = i; }
    if i >= other[1] { out[i / 2u] = i; other[i / 2u + 8u] = i; }
}";
    let mut launch = Launch::new(Kernel::text(text));
    launch.buffers[1][1] = 0;
    let first = launch.check(0);
    launch.buffers[1][1] = 2;
    let second = launch.check(0);
    assert_eq!((first.len(), second.len()), (4, 4), "{first:?}");
    for (at, one) in first.iter().enumerate() {
        let same: Vec<bool> = second.iter().map(|other| one.is_same_mistake(other)).collect();
        let expected: Vec<bool> = (0..4).map(|other| other == at).collect();
        assert_eq!(same, expected, "{one}");
        assert_ne!(one, &second[at], "the elements differ");
    }
}

#[test]
fn r07_an_index_out_of_range_names_members_and_components() {
    let text = "struct Inner { v: array<u32, 4>, w: array<vec2<u32>, 2> }
struct Outer { head: u32, a: array<Inner, 2> }
@group(0) @binding(0) var<storage, read_write> o: Outer;
fn last(inner: ptr<function, Inner>, i: u32) { (*inner).v[i] = 1u; }
@compute @workgroup_size(1) fn k(@builtin(num_workgroups) groups: vec3<u32>) {
    let past = groups.x + 4u;
    o.a[0].v[past] = 1u;
    o.a[groups.y].w[1][past] = 1u;
    var inner: Inner;
    last(&inner, past);
}";
    let findings = Launch::new(Kernel::text(text)).check(0);
    let texts = texts(&findings);
    for (text, named) in texts.iter().zip(["`inner.v` has 4", "`o.a[0].v` has 4", "`o.a[..].w[1]` has 2"]) {
        assert!(text.contains(named), "{text}");
    }
    assert_eq!(texts.len(), 3, "{texts:?}");
}
