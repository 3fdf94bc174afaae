//! Tests of body nodes and of repeated nodes in graph files.

use crate::container::assemble;
use crate::contents::entry_kind::{AGAIN, ONE};
use crate::contents::{FileGate, FileNode, FileWork, GraphFile};
use crate::decode::decode;
use crate::encode::encode;
use crate::file_tests::{example, fault, parts, refused};
use crate::order::check_gate_order;
use crate::packing::MOST_REPEATED;

/// Entry of the node that reads the output.
const READ: &[u32] = &[ONE, 7, 0, 0, 0, 0];
/// Entry of a gate outside any body.
const GATE: &[u32] = &[ONE, 10, 0, 0, 0, 0];
/// Entry of a fill in the body of the gate before it.
const FILL: &[u32] = &[ONE, 4, 0, 1, 0, 0];

/// Returns the example's file with other entries after its commands and loops.
fn with_entries(entries: &[&[u32]]) -> Vec<u8> {
    let mut parts = parts(&encode(&GraphFile { nodes: Vec::new(), ..example() }));
    let bytes = &mut parts[4].2;
    bytes.truncate(bytes.len() - 4); // the number of entries
    bytes.extend((entries.len() as u32).to_le_bytes());
    bytes.extend(entries.iter().flat_map(|entry| entry.iter().flat_map(|word| word.to_le_bytes())));
    assemble(&parts)
}

fn reason(entries: &[&[u32]]) -> String {
    fault(&with_entries(entries)).reason
}

/// Applies `change`, and returns the reason why the order of the gates is then refused.
fn unordered(change: impl FnOnce(&mut GraphFile)) -> Option<String> {
    let mut graph = example();
    change(&mut graph);
    let decoded = decode(&encode(&graph)).expect("the file is valid but for its order");
    check_gate_order(&decoded).err().map(|fault| fault.reason)
}

fn gate_of(graph: &mut GraphFile) -> &mut FileGate {
    match &mut graph.commands[8].work {
        FileWork::Gate(gate) => gate,
        work => panic!("{work:?} is not a gate"),
    }
}

#[test]
fn repeated_nodes_name_the_gates_and_nodes_before_them() {
    let second = &[ONE, 10, 0, 0, 1, 1, 2][..]; // a later gate, whose previous gate is the one before
    let file = with_entries(&[READ, GATE, FILL, second, FILL, &[AGAIN, 2, 5]]);
    let graph = decode(&file).expect("the file is valid").graph;
    assert_eq!(graph.nodes.len(), 10);
    let gates = [None, None, Some(0), None, Some(1), None, Some(2), None, Some(3), None];
    assert_eq!(graph.nodes.iter().map(|node| node.gate).collect::<Vec<_>>(), gates);
    let previous: Vec<_> = graph.nodes.iter().filter_map(|node| node.previous).collect();
    assert_eq!(previous, [0, 1, 2, 3]);
    assert_eq!(graph.nodes[9].after, [7]);
    assert_eq!(graph.past_iterations(), [0, 1, 2, 3, 4]);
    assert_eq!(decode(&encode(&graph)).expect("the file is valid").graph, graph);
}

#[test]
fn an_entry_that_names_what_does_not_exist_is_an_error() {
    let cases: [(&[&[u32]], &str); 9] = [
        (&[READ, &[2, 0, 0, 0, 0, 0]], "an entry of kind 2 is unknown"),
        (&[READ, &[ONE, 12, 0, 0, 0, 0]], "command 12 does not exist: there are 12"),
        (&[READ, &[ONE, 4, 2, 0, 0, 0]], "queue 2 does not exist"),
        (&[READ, &[ONE, 4, 0, 0, 0, 1, 2]], "the node 2 nodes before does not exist: there are 1 before"),
        (&[READ, GATE, &[ONE, 4, 0, 2, 0, 0]], "the gate 2 gates before does not exist: there are 1 before"),
        (&[READ, &[ONE, 8, 0, 0, 1, 0]], "the gate 1 gates before does not exist: there are 0 before"),
        (&[READ, &[AGAIN, 2, 1]], "the node 2 nodes before does not exist: there are 1"),
        (&[READ, &[AGAIN, 0, 1]], "the node 0 nodes before does not exist: there are 1"),
        (&[READ, &[AGAIN, u32::MAX, u32::MAX]], "nodes before does not exist: there are 1"),
    ];
    for (entries, expected) in cases {
        let found = reason(entries);
        assert!(found.contains(expected), "{found}");
    }
}

#[test]
fn a_short_file_does_not_become_a_long_list() {
    // Fills outside bodies do not count towards the limit of dispatches in bodies.
    let fill = &[ONE, 4, 0, 0, 0, 0][..];
    let most = MOST_REPEATED as u32;
    let longest = with_entries(&[READ, fill, &[AGAIN, 1, most]]);
    assert_eq!(decode(&longest).expect("the file is valid").graph.nodes.len() as u64, MOST_REPEATED + 2);
    let found = reason(&[READ, fill, &[AGAIN, 1, u32::MAX]]);
    assert!(found.contains("repeated more than 262144 times"), "{found}");
    // The earlier nodes to which a repeated node refers count too.
    let many = [&[ONE, 4, 1, 0, 0, 9][..], &[1; 9]].concat();
    let found = reason(&[READ, fill, &many, &[AGAIN, 1, most / 10 + 1]]);
    assert!(found.contains("repeated more than 262144 times"), "{found}");
    assert!(decode(&with_entries(&[READ, fill, &many, &[AGAIN, 1, most / 10]])).is_ok());
    let found = reason(&[READ, GATE, FILL, &[AGAIN, 2, 2 * 32_768]]);
    assert!(found.contains("more than 65536 gates and nodes in bodies"), "{found}");
    assert!(decode(&with_entries(&[READ, GATE, FILL, &[AGAIN, 2, 2 * 32_767]])).is_ok());
}

#[test]
fn a_body_with_work_that_cannot_be_in_one_is_an_error() {
    let in_body = |command: u32| reason(&[READ, GATE, &[ONE, command, 0, 1, 0, 0]]);
    assert!(in_body(0).contains("a body has a marker"));
    assert!(in_body(7).contains("a body has an output"));
    let overlap = |graph: &mut GraphFile| match &mut graph.commands[3].work {
        FileWork::Copy { dst, .. } => dst.offset = 8,
        work => panic!("{work:?} is not a copy"),
    };
    assert!(refused(overlap).contains("shares bytes with its target"));
    let previous = |graph: &mut GraphFile| graph.nodes[9].previous = Some(0);
    assert!(refused(previous).contains("not a gate has a previous gate"));
}

#[test]
fn a_gate_that_contradicts_itself_is_an_error() {
    assert!(refused(|graph| gate_of(graph).condition.size = 8).contains("a gate has 8 bytes"));
    assert!(refused(|graph| gate_of(graph).condition.size = 0).contains("is empty"));
    assert!(refused(|graph| gate_of(graph).condition.offset = 16).contains("outside block 1"));
    assert!(refused(|graph| gate_of(graph).condition.offset = 2).contains("not whole words"));
    assert!(refused(|graph| graph.loops.truncate(1)).contains("loop 1 does not exist: there are 1"));
}

#[test]
fn a_node_that_does_not_come_after_its_gate_is_an_error() {
    assert_eq!(unordered(|_| ()), None);
    // Node 9 is on the side queue, in the body of the gate that is node 8.
    let apart = |graph: &mut GraphFile| graph.nodes[9].after.clear();
    assert!(unordered(apart).is_some_and(|reason| reason.contains("node 9 does not come after the gate")));
    // An inner gate on the side queue, which is not ordered after the gate around it.
    let inner = |graph: &mut GraphFile| {
        graph.nodes.truncate(9);
        graph.nodes.push(FileNode { queue: 1, command: 10, gate: Some(0), ..FileNode::default() });
    };
    assert!(unordered(inner).is_some());
    // A gate on the side queue, which is not ordered after the gate of the previous iteration.
    let previous = |graph: &mut GraphFile| {
        graph.nodes.truncate(9);
        graph.nodes.push(FileNode { queue: 1, command: 10, previous: Some(0), ..FileNode::default() });
    };
    assert!(unordered(previous).is_some());
    // Node 9 comes after the node before the gate, on the queue of the gate.
    let before = |graph: &mut GraphFile| {
        graph.nodes[7].queue = 0;
        graph.nodes[9].after = vec![7];
    };
    assert!(unordered(before).is_some());
    // Two gates of one loop on two queues.
    let counted = |graph: &mut GraphFile| {
        graph.nodes.truncate(9);
        graph.nodes.push(FileNode { queue: 1, command: 9, ..FileNode::default() });
    };
    assert!(unordered(counted).is_some());
    let ordered = |graph: &mut GraphFile| {
        counted(graph);
        graph.nodes[9].after.push(8);
    };
    assert_eq!(unordered(ordered), None);
    // The order may pass through other queues and nodes.
    let indirect = |graph: &mut GraphFile| {
        graph.nodes.truncate(9);
        let node = |queue, after, command, gate| FileNode { queue, after, command, gate, previous: None };
        graph.nodes.push(node(1, vec![8], 0, None));
        graph.nodes.push(node(1, vec![], 4, Some(0)));
    };
    assert_eq!(unordered(indirect), None);
}

#[test]
fn an_unknown_kind_of_loop_and_of_test_is_an_error() {
    let file = encode(&example());
    let parts = parts(&file);
    let nodes = &parts[4].2;
    // The two loops follow the commands: kind 0 without a label, then kind 0 with the label `rounds`.
    let loops = [2_u32, 0, 0, 0, 1].map(u32::to_le_bytes).concat();
    let at = nodes.windows(loops.len()).position(|window| window == loops).expect("the loops are there");
    let mut other = parts.clone();
    other[4].2[at + 4] = 2;
    assert!(fault(&assemble(&other)).reason.contains("a loop of kind 2 is unknown"));
    let mut other = parts.clone();
    other[4].2[at + 8] = 2;
    assert!(decode(&assemble(&other)).is_err(), "a loop with two labels");
    // The body of a gate: the condition in block 1 at byte 4 with 4 bytes, and the test 3 with one counter.
    let gate = [1_u32, 4, 0, 4, 0, 3, 1, 1, 0].map(u32::to_le_bytes).concat();
    let at = nodes.windows(gate.len()).position(|window| window == gate).expect("the gate is there");
    for (place, value, expected) in [
        (20, 9, "a gate with test 9 is unknown"),
        (32, 7, "a gate must count at most one loop"),
        (24, 2, "a list of 2 items"),
    ] {
        let mut other = parts.clone();
        other[4].2[at + place] = value;
        let found = fault(&assemble(&other)).reason;
        assert!(found.contains(expected) || place == 24, "{found}");
    }
}
