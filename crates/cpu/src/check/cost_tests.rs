//! Tests that the cost of a check does not grow with accesses that cannot race, and that a check ends when the launch
//! must end.

use super::checker::Checker;
use super::memory::Memories;
use super::names::Names;
use super::{Bound, CheckOptions, Finding, Shadow, Sites, fault_of};
use crate::error::Fault;
use crate::interpret::Interpreter;
use crate::program::Program;
use crate::run::{Cells, GridRun};
use std::ops::Range;
use std::sync::atomic::AtomicBool;

/// Outcome and cost of a check.
struct Checked {
    findings: Vec<Finding>,
    pairs: u64,
    complete: bool,
    tables: Vec<Range<u64>>,
    fault: Option<Fault>,
}

/// Checks one launch of two workgroups of 64 invocations. Only the analysis sees `stop`, not the interpreter.
fn check(body: &str, offset: u64, shadow: &mut Shadow, stop: bool) -> Checked {
    let text = format!(
        "@group(0) @binding(0) var<storage, read_write> x: array<u32>;
         @compute @workgroup_size(64) fn k(@builtin(global_invocation_id) id: vec3<u32>) {{
             let i = id.x; {body}
         }}"
    );
    check_text(text, offset, shadow, stop)
}

fn check_text(text: String, offset: u64, shadow: &mut Shadow, stop: bool) -> Checked {
    let program = Program::of_text(text);
    let interpreter = Interpreter::new(program.clone()).unwrap();
    let sites = Sites::new(&program, &interpreter);
    let mut words = [0_u128; 32];
    let buffers = [Cells::new(bytemuck::cast_slice_mut(&mut words))];
    let groups = [2, 1, 1];
    let range = 0..2;
    let go = AtomicBool::new(false);
    let stop = AtomicBool::new(stop);
    let run = GridRun { groups, range, params: &[], buffers: &buffers, seed: 0, stop: &go };
    let memories = Memories::new(&program, &interpreter, &run, &[Bound { buffer: 7, offset }], shadow, false);
    let tables = memories.words(true);
    let names = Names::new(&program, &interpreter, &sites, groups);
    let mut checker = Checker::new(names, memories, CheckOptions::default(), &stop);
    let result = interpreter.run_observed(&run, &mut checker);
    let complete = checker.finish(result.is_ok());
    let pairs = checker.work.pairs;
    checker.memories.give_back(shadow);
    let findings = checker.list.finish("k", 100);
    Checked { findings, pairs, complete, tables, fault: fault_of(result, complete) }
}

fn written() -> Shadow {
    let mut shadow = Shadow::new();
    shadow.write(7, 0..4096);
    shadow
}

#[test]
fn words_of_one_invocation_each_have_no_pairs() {
    let checked = check(&"x[i] = x[i] * 3u + 1u;".repeat(300), 0, &mut written(), false);
    assert_eq!((checked.pairs, checked.findings.len(), checked.fault), (0, 0, None));
}

#[test]
fn words_that_are_only_read_or_only_atomic_have_no_pairs() {
    let read = check(&"if x[3] == 999u { x[i] = 1u; }".repeat(50), 0, &mut written(), false);
    assert_eq!((read.pairs, read.findings.len()), (0, 0));
    let text = format!(
        "@group(0) @binding(0) var<storage, read_write> x: array<atomic<u32>>;
         @compute @workgroup_size(64) fn k() {{ {} }}",
        "atomicAdd(&x[5], 1u);".repeat(50)
    );
    let atomic = check_text(text, 0, &mut written(), false);
    assert_eq!((atomic.pairs, atomic.findings.len()), (0, 0));
}

#[test]
fn words_with_the_same_accesses_are_compared_once_and_all_count() {
    let checked = check("x[i / 2u] = 1u; x[i / 2u] = 2u;", 0, &mut written(), false);
    // Each workgroup has one class of 32 words, with two instructions: each is compared with itself and with the other
    // one.
    assert_eq!(checked.pairs, 2 * 3);
    let counts: Vec<u64> = checked.findings.iter().map(|finding| finding.count).collect();
    assert_eq!(counts, [2 * 32 * 3]);
    assert!(checked.findings[0].to_string().contains("`x[0]`"), "{}", checked.findings[0]);
}

#[test]
fn an_instruction_beyond_the_few_is_one_set_for_all_its_invocations() {
    let checked = check(&"x[0] = i;".repeat(20), 0, &mut written(), false);
    // Both workgroups, and the pass between them, compare 20 instructions in pairs.
    assert_eq!(checked.pairs, 3 * (20 * 21 / 2));
}

#[test]
fn a_stopped_analysis_ends_with_what_it_found() {
    let checked = check(&"x[0] = i;".repeat(300), 0, &mut written(), true);
    assert!(!checked.complete && checked.fault == Some(Fault::Stopped));
    assert!(checked.pairs < 300 * 301 / 2, "{} pairs", checked.pairs);
    assert!(!checked.findings.is_empty(), "the races before the end are kept");
}

#[test]
fn the_tables_of_a_launch_have_the_words_of_its_bound_part() {
    let mut shadow = written();
    let mark = 0x80;
    let mut words = shadow.take(7, 4096);
    words[3] |= mark;
    shadow.put(7, words);
    let checked = check("x[i] = i;", 1024, &mut shadow, false);
    assert_eq!(checked.tables, [256..256 + 128, 0..0]);
    assert_eq!(shadow.take(7, 4096)[3] & mark, mark, "a word outside the bound part is not rewritten");
}

#[test]
fn a_word_that_atomic_changes_wrote_is_written_after_the_launch() {
    let text = "@group(0) @binding(0) var<storage, read_write> x: array<atomic<u32>>;
         @compute @workgroup_size(64) fn k() { atomicAdd(&x[5], 1u); }";
    let mut shadow = Shadow::new();
    assert_eq!(check_text(text.into(), 256, &mut shadow, false).findings[0].count, 128);
    assert!(shadow.is_written(7, 256 + 20) && !shadow.is_written(7, 256 + 24));
    assert_eq!(check_text(text.into(), 256, &mut shadow, false).findings, []);
}
