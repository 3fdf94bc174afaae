//! A01: the launches and the scratch memory of each verb match a stored file. If the file changes, the documented costs
//! of the verbs change too.
//!
//! `FENCEPOST_LAUNCHES=write cargo test --test conformance a01_each_verb_has` writes the file.

use super::verb_table::{Arrays, table};
use super::*;
use crate::common::Needs;
use std::fmt::Write as _;
use std::fs;

pub fn cases() -> Vec<Case> {
    let costs = case("a01_each_verb_has_its_kept_launches_and_scratch_memory", costs);
    vec![
        Case {
            needs: Needs::Native(
                "the file has the costs on the CPU device, and few of them depend on the adapter",
            ),
            ..costs
        },
        case("a01_a_refused_verb_adds_no_node_to_a_capture", refused),
    ]
}

/// Length of an array for one workgroup, and length of an array for several workgroups.
const SIZES: [usize; 2] = [320, 20_480];
/// The stored file.
const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/conformance/algorithms/launches.txt");

fn costs(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut found = String::new();
    for n in SIZES {
        let mut arrays = Arrays::new(&ctx, n);
        for verb in table().into_iter().filter(|verb| !verb.returns) {
            let (graph, ()) = queue.capture(|c| verb.call(c, &mut arrays)).unwrap();
            let all = graph.statistics();
            let launches = all.launches;
            let fills = all.fills;
            let copies = all.copies;
            let uploads = all.uploads;
            let bytes = all.owned_bytes;
            writeln!(
                found,
                "{} of {n}: {launches} launches, {fills} fills, {copies} copies, {uploads} uploads, {bytes} bytes",
                verb.id
            )
            .unwrap();
        }
    }
    if std::env::var("FENCEPOST_LAUNCHES").is_ok_and(|value| value == "write") {
        fs::write(FILE, &found).unwrap();
    }
    let kept = fs::read_to_string(FILE).unwrap_or_default();
    let other =
        found.lines().zip(kept.lines().chain([""].into_iter().cycle())).find(|(found, kept)| found != kept);
    assert!(
        found == kept,
        "a verb has other costs than those in launches.txt: found and kept are {other:?}; if the change is meant, correct the \
         documentation of the verb, and run this test with `FENCEPOST_LAUNCHES=write`"
    );
}

fn refused(s: &Subject) {
    let queue = s.ctx().queue("q");
    for n in [100, 20_000] {
        let x = queue.full([n], 1_u32).unwrap();
        let own = || x.slice(0..1).unwrap();
        let verb_refuses = |refused: Result<()>| {
            assert_refused!(refused, Aliased);
        };
        let (graph, ()) = queue
            .capture(|c| {
                verb_refuses(c.sum(&x, &mut own()));
                verb_refuses(c.scan(&x, &mut x.clone(), Scan::inclusive(Operation::Sum)));
                verb_refuses(c.sort(&x, &mut x.clone(), Sort::ascending()));
                Ok(())
            })
            .unwrap();
        assert_eq!(graph.statistics().launches, 0, "{n} elements");
    }
}
