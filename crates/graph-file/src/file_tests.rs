//! Tests of the codec of graph files, with damaged files and with hostile files whose checksums are correct.

use crate::container::{HEADER, MAY_BE_SKIPPED, ROW, assemble, open};
use crate::contents::{
    BlockContents, BoundValue, FileAxis, FileBlock, FileCommand, FileCounter, FileElement, FileFault,
    FileGate, FileInput, FileKernel, FileLaunch, FileLoop, FileNode, FileOutput, FilePattern, FileRange,
    FileRegion, FileTest, FileText, FileValue, FileWork, GraphFile, section,
};
use crate::decode::decode;
use crate::encode::encode;
use crate::order::check_gate_order;

fn range(block: u32, offset: u64, size: u64) -> FileRange {
    FileRange { block, offset, size }
}

fn element(name: &str, size: u32) -> FileElement {
    FileElement { name: name.into(), size }
}

fn block(label: &str, size: u64, contents: BlockContents) -> FileBlock {
    FileBlock { label: label.into(), size, contents }
}

/// Returns a graph with a node of each kind.
pub(super) fn example() -> GraphFile {
    let input = FileInput {
        name: "x".into(),
        element: element("f32", 4),
        offset: 8,
        shape: vec![3, 4],
        padded: vec![4, 4],
    };
    let launch = FileLaunch {
        kernel: 0,
        groups: [1, 2, 3],
        indirect: None,
        bindings: vec![range(0, 0, 64), range(2, 8, 64)],
        params: vec![0; 8],
        values: vec![BoundValue { value: 0, offset: 4 }],
    };
    let indirect =
        FileLaunch { groups: [0; 3], indirect: Some(range(1, 4, 12)), values: Vec::new(), ..launch.clone() };
    let axes = vec![FileAxis { count: 2, src: 32, dst: 16 }, FileAxis { count: 2, src: 8, dst: 4 }];
    let counter = |last| Some(FileCounter { index: 1, last });
    let gate = |test, counter| FileWork::Gate(FileGate { condition: range(1, 4, 4), test, counter });
    let works = [
        FileWork::Nothing,
        FileWork::Launch(launch),
        FileWork::Launch(indirect),
        FileWork::Copy { src: range(0, 0, 16), dst: range(0, 16, 16) },
        FileWork::Fill { dst: range(0, 0, 64), pattern: FilePattern::of(&[1, 2, 3, 4, 5, 6, 7, 8]).unwrap() },
        FileWork::Upload { dst: range(0, 4, 8), bytes: vec![7; 8] },
        FileWork::Region(FileRegion { src: 2, dst: 0, from: 10, to: 6, row: 2, axes }),
        FileWork::Read { src: range(0, 0, 64), output: 0 },
        gate(FileTest::Above, counter(false)),
        gate(FileTest::Above, counter(true)),
        gate(FileTest::NonZero, None),
        gate(FileTest::Zero, None),
    ];
    let label = |at| (at == 1).then(|| "scale".into());
    let command = |(at, work): (usize, FileWork)| FileCommand { label: label(at), work };
    let plain = |at: u32| FileNode {
        queue: at % 2,
        after: if at > 2 { vec![at - 3, 0] } else { Vec::new() },
        command: at,
        ..FileNode::default()
    };
    let mut nodes: Vec<FileNode> = (0..8).map(plain).collect();
    nodes.extend(bodies());
    GraphFile {
        creator: "fencepost".into(),
        label: "example".into(),
        adds_order: true,
        queues: vec!["main".into(), "side".into()],
        texts: vec![FileText { label: "k.wgsl".into(), wgsl: "fn k() {}".into() }],
        kernels: vec![FileKernel {
            text: 0,
            entry: "k".into(),
            overrides: vec![("W".into(), 2.5_f64.to_bits())],
            interface: 99,
        }],
        blocks: vec![
            block("y", 64, BlockContents::Owned),
            block("counts", 16, BlockContents::Constant((0..16).collect())),
            block("x", 72, BlockContents::Input(input)),
        ],
        values: vec![FileValue { name: "gain".into(), element: "f32".into(), default: vec![0; 4] }],
        outputs: vec![FileOutput { name: "y".into(), element: element("u32", 4), len: 16 }],
        commands: works.into_iter().enumerate().map(command).collect(),
        loops: vec![FileLoop::default(), FileLoop { label: Some("rounds".into()), chunks: None }],
        nodes,
    }
}

/// Returns the nodes of a loop of three iterations, each with an `if_else`. All kinds of body commands occur.
fn bodies() -> Vec<FileNode> {
    let node = |command, gate, previous| FileNode { queue: 0, after: Vec::new(), command, gate, previous };
    let mut nodes = Vec::new();
    for iteration in 0..3_u32 {
        let own = 3 * iteration;
        nodes.push(node(8, None, (iteration > 0).then(|| own - 3)));
        let second = FileNode { queue: 1, after: vec![8 + 9 * iteration], ..node(2, Some(own), None) };
        let join = FileNode { after: vec![9 + 9 * iteration], ..node(1, Some(own), None) };
        nodes.extend([second, join, node(10, Some(own), None), node(11, Some(own), None)]);
        let halves = [(3, own + 1), (4, own + 1), (5, own + 2), (6, own + 2)];
        nodes.extend(halves.map(|(command, gate)| node(command, Some(gate), None)));
    }
    nodes.push(node(9, None, Some(6)));
    nodes
}

/// Returns a graph with a chunked loop: its part has two iterations, each with a gate of an inner loop and a fill on
/// the other queue. A condition follows the loop.
pub(super) fn chunked_example() -> GraphFile {
    let mut graph = example();
    let gate = |test, index| {
        FileWork::Gate(FileGate {
            condition: range(1, 4, 4),
            test,
            counter: Some(FileCounter { index, last: false }),
        })
    };
    let works = [gate(FileTest::Never, 0), gate(FileTest::NonZero, 1), gate(FileTest::NonZero, 0)];
    graph.commands.extend(works.map(|work| FileCommand { label: None, work }));
    let never = 12;
    let ring = 13;
    let inner = 14;
    let node = |command, gate, previous, after: &[u32]| FileNode {
        queue: 0,
        after: after.to_vec(),
        command,
        gate,
        previous,
    };
    let iteration = |first: u32, gate: u32| {
        let side = FileNode { queue: 1, ..node(4, Some(gate + 1), None, &[first + 1]) };
        let next = node(ring, None, Some(gate), &[first + 2]);
        [node(4, Some(gate), None, &[]), node(inner, Some(gate), None, &[]), side, next]
    };
    graph.nodes = vec![node(7, None, None, &[]), node(never, None, None, &[]), node(ring, None, None, &[])];
    graph.nodes.extend(iteration(3, 1).into_iter().chain(iteration(7, 3)));
    graph.nodes.extend([node(10, None, None, &[]), node(4, Some(6), None, &[])]);
    graph.loops[1].chunks = Some(1000);
    graph
}

pub(super) fn fault(file: &[u8]) -> FileFault {
    match decode(file) {
        Ok(_) => panic!("the file is valid"),
        Err(fault) => fault,
    }
}

/// Returns the sections of a file with their kinds and flags, to change and assemble them again.
pub(super) fn parts(file: &[u8]) -> Vec<(u32, u32, Vec<u8>)> {
    let flags = |kind| if kind == section::NAMES { MAY_BE_SKIPPED } else { 0 };
    let (_, sections) = open(file).expect("the file is valid");
    sections.iter().map(|section| (section.kind, flags(section.kind), section.bytes.to_vec())).collect()
}

/// Corrects the checksum of header and table.
pub(super) fn repair_table(file: &mut [u8]) {
    let count = u32::from_le_bytes(file[24..28].try_into().unwrap());
    let end = (HEADER + u64::from(count) * ROW) as usize;
    let sum = crc32c::crc32c(&file[..end]);
    file[end..end + 4].copy_from_slice(&sum.to_le_bytes());
}

#[test]
fn a_decoded_graph_equals_the_encoded_one_and_has_the_same_bytes() {
    let file = encode(&example());
    let decoded = decode(&file).expect("the file is valid");
    assert_eq!(decoded.graph, example());
    assert_eq!(encode(&decoded.graph), file);
    assert_eq!((decoded.kernels.len(), decoded.commands.len(), decoded.nodes.len()), (1, 12, 36));
    assert_eq!(check_gate_order(&decoded), Ok(()));
    assert!(decode(&encode(&GraphFile::default())).is_ok());
}

#[test]
fn a_file_with_any_bit_flipped_is_an_error() {
    let file = encode(&example());
    for at in 0..file.len() * 8 {
        let mut damaged = file.clone();
        damaged[at / 8] ^= 1 << (at % 8);
        // A larger version number alone would be valid for the reader, but the checksum is then wrong.
        assert!(decode(&damaged).is_err(), "bit {} of byte {}", at % 8, at / 8);
    }
}

#[test]
fn a_file_of_any_shorter_length_is_an_error() {
    let file = encode(&example());
    for len in 0..file.len() {
        assert!(decode(&file[..len]).is_err(), "{len} bytes");
    }
}

#[test]
fn a_file_with_more_bytes_is_an_error() {
    let mut file = encode(&example());
    file.push(0);
    assert!(fault(&file).reason.contains("bytes, and the file has"));
    // The length in the header includes the byte.
    let total = file.len() as u64;
    file[16..24].copy_from_slice(&total.to_le_bytes());
    repair_table(&mut file);
    assert!(fault(&file).reason.contains("1 bytes follow the last section"));
}

#[test]
fn a_section_with_bytes_left_over_is_an_error() {
    for at in 0..6 {
        let mut parts = parts(&encode(&example()));
        parts[at].2.push(0);
        assert!(fault(&assemble(&parts)).reason.contains("left over"), "section {at}");
    }
}

#[test]
fn a_newer_file_is_an_error_unless_it_names_this_reader() {
    let mut file = encode(&example());
    file[8] = 9;
    repair_table(&mut file);
    assert!(decode(&file).is_ok(), "version 9 that a reader of version 2 understands");
    file[12] = 3;
    repair_table(&mut file);
    let newer = fault(&file);
    assert_eq!(newer.offset, 8);
    assert!(newer.reason.contains("needs a reader of version 3"), "{}", newer.reason);
    // In another version, these nodes are encoded differently.
    file[12] = 1;
    repair_table(&mut file);
    assert!(decode(&file).is_err());
}

#[test]
fn an_unknown_section_is_skipped_only_if_it_may_be_skipped() {
    let mut parts = parts(&encode(&example()));
    parts.insert(2, (77, MAY_BE_SKIPPED, vec![1, 2, 3]));
    assert_eq!(decode(&assemble(&parts)).expect("the section is skipped").graph, example());
    parts[2].1 = 0;
    assert!(fault(&assemble(&parts)).reason.contains("kind 77 is unknown and must not be skipped"));
    parts[2].1 = MAY_BE_SKIPPED | 2;
    assert!(fault(&assemble(&parts)).reason.contains("a flag that this library does not know"));
}

#[test]
fn a_missing_or_repeated_section_is_an_error() {
    for at in 0..6 {
        let mut without = parts(&encode(&example()));
        without.remove(at);
        let found = decode(&assemble(&without));
        assert_eq!(found.is_ok(), at == 5, "only names may be missing");
        let mut twice = parts(&encode(&example()));
        twice.push(twice[at].clone());
        assert!(fault(&assemble(&twice)).reason.contains("occurs twice"));
    }
}

/// Applies `change`, and returns the reason why the graph is then refused. Its checksums are correct.
pub(super) fn refused(change: impl FnOnce(&mut GraphFile)) -> String {
    refused_in(example(), change)
}

/// Applies `change` to `graph`, and returns the reason why it is then refused. Its checksums are correct.
pub(super) fn refused_in(mut graph: GraphFile, change: impl FnOnce(&mut GraphFile)) -> String {
    change(&mut graph);
    fault(&encode(&graph)).reason
}

fn launch_of(graph: &mut GraphFile) -> &mut FileLaunch {
    match &mut graph.commands[1].work {
        FileWork::Launch(launch) => launch,
        work => panic!("{work:?} is not a launch"),
    }
}

fn region_of(graph: &mut GraphFile) -> &mut FileRegion {
    match &mut graph.commands[6].work {
        FileWork::Region(region) => region,
        work => panic!("{work:?} is not a region"),
    }
}

#[test]
fn an_index_that_does_not_exist_is_an_error() {
    assert!(refused(|graph| graph.nodes[2].queue = 2).contains("queue 2 does not exist"));
    assert!(refused(|graph| graph.nodes[2].after.push(2)).contains("the node 0 nodes before does not exist"));
    assert!(refused(|graph| launch_of(graph).kernel = 1).contains("kernel 1 does not exist"));
    assert!(refused(|graph| launch_of(graph).bindings[1].block = 3).contains("block 3 does not exist"));
    assert!(refused(|graph| launch_of(graph).values[0].value = 1).contains("value 1 does not exist"));
    assert!(refused(|graph| graph.kernels[0].text = 1).contains("text 1 does not exist"));
    assert!(refused(|graph| graph.outputs.clear()).contains("output 0 does not exist"));
    assert!(refused(|graph| region_of(graph).src = u32::MAX).contains("does not exist"));
}

#[test]
fn a_range_outside_of_its_block_is_an_error() {
    for (offset, size) in [(0, 68), (64, 4), (u64::MAX - 3, 4), (4, u64::MAX - 3), (u64::MAX, u64::MAX)] {
        let reason = refused(|graph| launch_of(graph).bindings[0] = range(0, offset, size));
        assert!(reason.contains("outside block 0 of 64 bytes"), "{reason}");
    }
    assert!(refused(|graph| launch_of(graph).bindings[0].size = 0).contains("is empty"));
    assert!(refused(|graph| launch_of(graph).bindings[0].size = 6).contains("not whole words"));
    assert!(refused(|graph| graph.blocks[0].size = 60).contains("outside block 0 of 60 bytes"));
    assert!(refused(|graph| graph.blocks[0].size = 63).contains("not whole words"));
    assert!(refused(|graph| graph.blocks[1].size = 20).contains("has 16 constant bytes"));
    assert!(refused(|graph| graph.blocks[2].size = 68).contains("does not have 68 bytes"));
    assert!(refused(|graph| launch_of(graph).bindings[1].offset = 4).contains("outside block 2"));
    assert!(refused(|graph| region_of(graph).from = 7).contains("outside block 2"));
}

#[test]
fn a_command_that_contradicts_itself_is_an_error() {
    assert!(refused(|graph| launch_of(graph).groups[1] = 0).contains("does not exist"));
    assert!(refused(|graph| launch_of(graph).values[0].offset = 5).contains("ends at byte 9"));
    assert!(refused(|graph| launch_of(graph).values[0].offset = u32::MAX).contains("of parameters"));
    let both = |graph: &mut GraphFile| launch_of(graph).indirect = Some(range(1, 0, 12));
    assert!(refused(both).contains("two group counts"));
    let larger = |graph: &mut GraphFile| match &mut graph.commands[2].work {
        FileWork::Launch(launch) => launch.indirect = Some(range(1, 0, 16)),
        work => panic!("{work:?} is not a launch"),
    };
    assert!(refused(larger).contains("the group counts of a launch have 16 bytes"));
    assert!(refused(|graph| graph.outputs[0].len = u64::MAX).contains("is read from 64 bytes"));
    assert!(refused(|graph| graph.outputs[0].len += 1 << 62).contains("is read from 64 bytes"));
    assert!(refused(|graph| graph.outputs.push(graph.outputs[0].clone())).contains("read by 0 nodes"));
    let twice = |graph: &mut GraphFile| graph.nodes.push(graph.nodes[7].clone());
    assert!(refused(twice).contains("read by 2 nodes"));
    let shorter = |graph: &mut GraphFile| {
        graph.commands[3].work = FileWork::Copy { src: range(0, 0, 16), dst: range(0, 16, 8) };
    };
    assert!(refused(shorter).contains("16 bytes are copied to 8"));
    let ragged = |graph: &mut GraphFile| {
        graph.commands[4].work =
            FileWork::Fill { dst: range(0, 0, 12), pattern: FilePattern::of(&[1; 16]).unwrap() };
    };
    assert!(refused(ragged).contains("16 bytes do not fill 12"));
    let longer = |graph: &mut GraphFile| {
        graph.commands[5].work = FileWork::Upload { dst: range(0, 0, 12), bytes: vec![0; 16] };
    };
    assert!(refused(longer).contains("16 bytes are uploaded to 12"));
}

#[test]
fn an_input_or_a_value_that_contradicts_itself_is_an_error() {
    let input_of = |graph: &mut GraphFile, change: fn(&mut FileInput)| match &mut graph.blocks[2].contents {
        BlockContents::Input(input) => change(input),
        contents => panic!("{contents:?} is not an input"),
    };
    type Change = (u64, fn(&mut FileInput), &'static str);
    let changes: [Change; 8] = [
        (72, |input| input.padded = vec![u64::MAX, u64::MAX], "does not have 72 bytes"),
        ((1 << 63) + 8, |input| input.padded = vec![1 << 59, 4], "does not have 9223372036854775816 bytes"),
        (72, |input| input.element.size = u32::MAX, "does not have 72 bytes"),
        (8, |input| input.element.size = 0, "does not have 8 bytes"),
        (320, |input| input.offset = 256, "from byte 256 on does not have 320 bytes"),
        (72, |input| input.offset = u64::MAX, "does not have 72 bytes"),
        (72, |input| input.padded = vec![2, 8], "has padded shape [2, 8]"),
        (72, |input| input.padded = vec![16], "has padded shape [16]"),
    ];
    for (size, change, expected) in changes {
        let found = refused(|graph| {
            graph.blocks[2].size = size;
            input_of(graph, change);
        });
        assert!(found.contains(expected), "{found}");
    }
    let second = |graph: &mut GraphFile| graph.blocks.push(graph.blocks[2].clone());
    assert!(refused(second).contains("two inputs have the name `x`"));
    let second = |graph: &mut GraphFile| graph.values.push(graph.values[0].clone());
    assert!(refused(second).contains("two values have the name `gain`"));
    let empty = |graph: &mut GraphFile| {
        graph.outputs[0].len = 0;
        graph.commands[7].work = FileWork::Read { src: range(2, 8, 0), output: 0 };
    };
    assert!(refused(empty).contains("no bytes of an input"));
}

#[test]
fn a_region_that_overlaps_or_leaves_its_block_is_an_error() {
    assert!(refused(|graph| region_of(graph).row = 0).contains("does not exist"));
    assert!(refused(|graph| region_of(graph).axes[0].count = 0).contains("overlap"));
    assert!(refused(|graph| region_of(graph).axes[1].dst = 1).contains("overlap"));
    assert!(refused(|graph| region_of(graph).axes[0].count = u64::MAX).contains("larger than any block"));
    assert!(refused(|graph| region_of(graph).axes[0].dst = u64::MAX).contains("larger than any block"));
    assert!(refused(|graph| region_of(graph).from = 70).contains("outside block 2"));
    assert!(refused(|graph| region_of(graph).to = u64::MAX - 1).contains("outside block 0"));
    assert!(refused(|graph| region_of(graph).src = 0).contains("shares words"));
    let axis = FileAxis { count: 1, src: 0, dst: 0 };
    assert!(refused(|graph| region_of(graph).axes = vec![axis; 65]).contains("on 65 axes"));
}

#[test]
fn an_empty_grid_and_a_region_on_one_block_are_valid() {
    let accept = |change: fn(&mut GraphFile)| {
        let mut graph = example();
        change(&mut graph);
        let decoded = decode(&encode(&graph)).map_err(|fault| fault.reason).expect("the file is valid");
        assert_eq!(decoded.graph, graph);
    };
    // An edit may give a launch an empty grid.
    accept(|graph| launch_of(graph).groups = [0; 3]);
    accept(|graph| region_of(graph).axes = vec![FileAxis { count: 1, src: 0, dst: 0 }]);
    accept(|graph| {
        *region_of(graph) = FileRegion { src: 0, dst: 0, from: 0, to: 32, row: 32, axes: Vec::new() };
    });
}

#[test]
fn a_number_of_items_that_the_file_cannot_hold_is_an_error() {
    for at in 0..6 {
        let mut parts = parts(&encode(&example()));
        let start = if at == 0 { 8 + 9 + 8 + 7 + 4 } else { 0 };
        parts[at].2[start..start + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        let reason = fault(&assemble(&parts)).reason;
        assert!(reason.contains("a list of 4294967295 items"), "section {at}: {reason}");
    }
    let mut parts = parts(&encode(&example()));
    parts[0].2[..8].copy_from_slice(&u64::MAX.to_le_bytes());
    assert!(fault(&assemble(&parts)).reason.contains("18446744073709551615 bytes are needed"));
    parts[0].2[..8].copy_from_slice(&9_u64.to_le_bytes());
    parts[0].2[8] = 0xff;
    assert!(fault(&assemble(&parts)).reason.contains("not UTF-8"));
}

#[test]
fn a_section_out_of_place_is_an_error() {
    let file = encode(&example());
    for (field, value) in [(8, 0_u64), (8, 1 << 60), (16, u64::MAX), (16, 0)] {
        let mut moved = file.clone();
        let at = (HEADER + ROW) as usize + field;
        moved[at..at + 8].copy_from_slice(&value.to_le_bytes());
        repair_table(&mut moved);
        assert!(decode(&moved).is_err(), "{value} at byte {at}");
    }
    let mut many = file;
    many[24..28].copy_from_slice(&u32::MAX.to_le_bytes());
    assert!(fault(&many).reason.contains("a table of 4294967295 sections"));
}

#[test]
fn the_memory_of_a_graph_counts_blocks_and_clocks_and_saturates() {
    let mut graph = example();
    assert_eq!(graph.memory(), 64 + 16 + (36 + 2) * 2 * 8, "an input takes no memory");
    graph.blocks[0].size = u64::MAX - 3;
    graph.queues = vec![String::new(); 1 << 16];
    assert_eq!(graph.memory(), u64::MAX);
}

/// Changes some bytes of the sections, with values that are likely to cause errors.
fn mutate(rng: &mut fastrand::Rng, parts: &mut [(u32, u32, Vec<u8>)]) {
    for _ in 0..rng.usize(1..4) {
        let part = rng.choice(&mut *parts).expect("there are sections");
        let bytes = &mut part.2;
        let at = rng.usize(0..bytes.len());
        match rng.u32(0..6) {
            0 => bytes[at] ^= 1 << rng.u32(0..8),
            1 => bytes[at] = rng.u8(..),
            2 => bytes[at] = *rng.choice([0, 1, 2, 4, 0x7f, 0x80, 0xff].iter()).expect("there are values"),
            3 => bytes.truncate(at.max(1)),
            4 => bytes.insert(at, rng.u8(..)),
            _ => {
                let end = (at + 8).min(bytes.len());
                bytes[at..end].fill(if rng.bool() { 0xff } else { 0 });
            }
        }
    }
}

#[test]
fn random_bytes_after_correct_checksums_never_panic() {
    let mut rng = fastrand::Rng::with_seed(15);
    let original = parts(&encode(&example()));
    let mut valid = 0;
    let mut refused = 0;
    for _ in 0..5000 {
        let mut parts = original.clone();
        mutate(&mut rng, &mut parts);
        match decode(&assemble(&parts)) {
            Ok(decoded) => {
                // A graph that is accepted can be written and read again.
                let again = decode(&encode(&decoded.graph)).expect("the graph is valid");
                assert_eq!(again.graph, decoded.graph);
                valid += 1;
            }
            Err(_) => refused += 1,
        }
    }
    assert!(valid > 100 && refused > 1000, "both ways are taken: {valid} and {refused}");
}
