//! Tests of the rules of graphs.

mod bindings;
mod built_in;
mod captured_access;
mod capturing;
mod chunked;
mod contexts;
mod control;
mod control_changes;
mod control_files;
mod control_programs;
mod dot_parser;
mod dumped;
mod dumps;
mod edited_files;
mod edits;
mod faults;
mod files;
mod flight;
mod host_turns;
mod named_values;
mod native;
mod peers_tests;
mod pinned;
mod random_edits;
mod replaying;
mod scratch;
mod stopped;
mod structure;
mod temporaries;
mod times;
mod transfers;
mod untouched;
mod verb_table;
mod verbs;
mod xml_checker;

use crate::common::Case;

pub fn cases() -> Vec<Case> {
    [
        bindings::cases(),
        built_in::cases(),
        captured_access::cases(),
        capturing::cases(),
        chunked::cases(),
        contexts::cases(),
        control::cases(),
        control_changes::cases(),
        control_files::cases(),
        control_programs::cases(),
        dumps::cases(),
        edited_files::cases(),
        edits::cases(),
        faults::cases(),
        files::cases(),
        flight::cases(),
        host_turns::cases(),
        named_values::cases(),
        native::cases(),
        peers_tests::cases(),
        pinned::cases(),
        random_edits::cases(),
        replaying::cases(),
        scratch::cases(),
        stopped::cases(),
        structure::cases(),
        temporaries::cases(),
        times::cases(),
        transfers::cases(),
        untouched::cases(),
        verbs::cases(),
    ]
    .concat()
}
