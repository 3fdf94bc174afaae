//! Tests of graph files that no writer makes: containers, commands and nodes of version 1, byte by byte. The checksums
//! are correct.

use crate::container::{ByteCursor, ByteWriter, HEADER, MAY_BE_SKIPPED, ROW, assemble};
use crate::contents::{FileLoop, GraphFile, contents_kind, node_kind, test};
use crate::decode::decode;
use crate::encode::encode;
use crate::file_tests::{example, fault, parts, repair_table};

/// Returns the reason why the example is refused after a change of the bytes of a section.
fn refused_section(at: usize, change: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut parts = parts(&encode(&example()));
    change(&mut parts[at].2);
    fault(&assemble(&parts)).reason
}

/// Returns the file of the example after a change of its bytes outside of the sections.
fn with_head(change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut file = encode(&example());
    change(&mut file);
    repair_table(&mut file);
    file
}

/// Returns the reason why the example is refused with another kind and other bytes of a command.
fn refused_command(number: usize, kind: u32, write: impl FnOnce(&mut ByteWriter)) -> String {
    refused_section(4, |section| {
        let mut cursor = ByteCursor::new(section, 0);
        let mut commands =
            cursor.list(|cursor| Ok((cursor.u32()?, cursor.blob()?.to_vec()))).expect("the file is valid");
        let rest = section[cursor.offset() as usize..].to_vec();
        let mut body = ByteWriter::default();
        write(&mut body);
        commands[number] = (kind, body.bytes);
        let mut out = ByteWriter::default();
        out.list(&commands, |out, (kind, body)| {
            out.u32(*kind).blob(body);
        });
        *section = [out.bytes, rest].concat();
    })
}

/// Writes a range of the first block.
fn range(out: &mut ByteWriter, size: u64) -> &mut ByteWriter {
    out.u32(0).u64(0).u64(size)
}

#[test]
fn a_header_that_contradicts_itself_is_an_error() {
    let other = fault(&with_head(|file| file[0] = b'f')).reason;
    assert!(other.contains("does not begin as a graph file"), "{other}");
    for (version, oldest) in [(2, 0), (1, 2)] {
        let reason = fault(&with_head(|file| (file[8], file[12]) = (version, oldest))).reason;
        let expected = format!("version {version} for readers from version {oldest} does not exist");
        assert!(reason.contains(&expected), "{reason}");
    }
}

#[test]
fn a_file_of_too_many_sections_is_an_error() {
    let with_sections = |more: u32| {
        let mut parts = parts(&encode(&example()));
        parts.extend((0..more).map(|at| (100 + at, MAY_BE_SKIPPED, Vec::new())));
        assemble(&parts)
    };
    assert!(decode(&with_sections(1018)).is_ok());
    let reason = fault(&with_sections(1019)).reason;
    assert!(reason.contains("a table of 1025 sections"), "{reason}");
}

#[test]
fn a_section_that_does_not_follow_the_section_before_is_an_error() {
    // The skipped section has the same bytes as the next one, so the checksum is right for both places.
    let mut parts = parts(&encode(&example()));
    parts.insert(0, (77, MAY_BE_SKIPPED, parts[0].2.clone()));
    let mut file = assemble(&parts);
    assert!(decode(&file).is_ok());
    let first = (HEADER + 8) as usize;
    let second = (HEADER + ROW + 8) as usize;
    file.copy_within(first..first + 8, second);
    repair_table(&mut file);
    let reason = fault(&file).reason;
    assert!(reason.contains("section kind 1") && reason.contains("out of place"), "{reason}");
    // A section that begins at the right place but is longer than the file.
    let longer = with_head(|file| file[(HEADER + 16) as usize + 4] = 1);
    assert!(fault(&longer).reason.contains("out of place"));
}

#[test]
fn an_unknown_flag_of_a_graph_is_an_error() {
    let strings = |creator: &str, label: &str| 8 + creator.len() + 8 + label.len();
    let at = strings("fencepost", "example");
    let reason = refused_section(0, |meta| meta[at] |= 2);
    assert!(reason.contains("graph flags 0x3 have a flag that this library does not know"), "{reason}");
}

#[test]
fn unknown_contents_of_a_block_are_an_error() {
    // The first block follows the number of blocks: its label `y`, its size and the kind of its contents.
    let at = 4 + 8 + 1 + 8;
    let reason = refused_section(2, |blocks| {
        assert_eq!(blocks[at], contents_kind::OWNED as u8);
        blocks[at] = 3;
    });
    assert!(reason.contains("block contents of kind 3 are unknown"), "{reason}");
}

#[test]
fn a_loop_with_two_labels_is_an_error() {
    let graph = GraphFile { nodes: Vec::new(), loops: vec![FileLoop::default()], ..example() };
    let mut parts = parts(&encode(&graph));
    let bytes = &mut parts[4].2;
    // The section ends with the label count of the only loop, and the number of entries.
    bytes.truncate(bytes.len() - 8);
    let mut labels = ByteWriter::default();
    labels.list(&["one", "two"], |out, label| _ = out.text(label)).u32(0);
    bytes.extend(labels.bytes);
    let reason = fault(&assemble(&parts)).reason;
    assert!(reason.contains("a loop has 2 labels"), "{reason}");
}

#[test]
fn the_bytes_of_a_command_that_no_writer_makes_are_an_error() {
    let reason = refused_command(0, 8, |_| ());
    assert!(reason.contains("a node of kind 8 is unknown"), "{reason}");
    let reason = refused_command(0, node_kind::NOTHING, |out| _ = out.u32(0));
    assert!(reason.contains("4 bytes are left over"), "{reason}");
    let reason = refused_command(2, node_kind::LAUNCH, |out| {
        out.u32(0).u32(0).u32(0).u32(0);
        out.list(&[12, 12], |out, size| _ = range(out, *size));
        out.list(&[64, 64], |out, size| _ = range(out, *size)).blob(&[0; 8]).u32(0);
    });
    assert!(reason.contains("group counts of one place"), "{reason}");
    for len in [0, 1, 2, 3, 12, 32] {
        let reason =
            refused_command(4, node_kind::FILL, |out| _ = range(out, 64).blob(&[1, 0].repeat(len)[..len]));
        assert!(reason.contains(&format!("a pattern of {len} bytes")), "{reason}");
        let zeros = refused_command(4, node_kind::FILL, |out| _ = range(out, 64).blob(&vec![0; len]));
        assert_eq!(zeros, reason);
    }
    let reason = refused_command(8, node_kind::GATE, |out| {
        range(out, 4).u32(test::NON_ZERO).list(&[0, 1], |out, index| _ = out.u32(*index).u32(0));
    });
    assert!(reason.contains("a gate must count at most one loop"), "{reason}");
}

/// A node of version 1: its queue, the nodes before it, and the kind and the bytes of its command.
struct OldNode {
    queue: u32,
    after: Vec<u32>,
    kind: u32,
    body: Vec<u8>,
}

impl OldNode {
    fn fill(queue: u32, after: &[u32], size: u64) -> Self {
        let mut body = ByteWriter::default();
        range(&mut body, size).blob(&[1; 4]);
        Self { queue, after: after.to_vec(), kind: node_kind::FILL, body: body.bytes }
    }
}

/// Returns the file of version 1 of a graph with these nodes, and with the queues and blocks of the example.
fn old_file(nodes: &[OldNode]) -> Vec<u8> {
    let graph = GraphFile {
        outputs: Vec::new(),
        commands: Vec::new(),
        loops: Vec::new(),
        nodes: Vec::new(),
        ..example()
    };
    let mut parts = parts(&encode(&graph));
    let mut out = ByteWriter::default();
    out.list(nodes, |out, node| {
        out.u32(node.queue).list(&node.after, |out, after| _ = out.u32(*after));
        out.u32(node.kind).blob(&node.body);
    });
    parts[4].2 = out.bytes;
    let mut file = assemble(&parts);
    file[12] = 1;
    repair_table(&mut file);
    file
}

#[test]
fn the_nodes_of_a_file_of_version_1_are_checked() {
    let first = || OldNode::fill(0, &[], 64);
    let decoded = decode(&old_file(&[first(), OldNode::fill(1, &[0], 4)])).expect("the file is valid");
    assert_eq!((decoded.graph.nodes.len(), decoded.commands.len()), (2, 2));
    assert_eq!((decoded.graph.nodes[1].queue, &decoded.graph.nodes[1].after[..]), (1, &[0][..]));
    let mut gate = ByteWriter::default();
    range(&mut gate, 4).u32(test::NON_ZERO).u32(0);
    let gate = OldNode { queue: 0, after: Vec::new(), kind: node_kind::GATE, body: gate.bytes };
    let cases = [
        (OldNode::fill(2, &[], 4), "queue 2 does not exist: there are 2"),
        (OldNode::fill(1, &[1], 4), "earlier node 1 does not exist: there are 1"),
        (OldNode::fill(1, &[0], 68), "outside block 0 of 64 bytes"),
        (gate, "a gate in a file of version 1 is unknown"),
    ];
    for (node, expected) in cases {
        let found = fault(&old_file(&[first(), node])).reason;
        assert!(found.contains(expected), "{found}");
    }
}
