//! The decoding of a graph file. Any bytes give a graph whose indices and ranges are valid, or a fault.

use crate::checks::{BodyChecks, check_block, check_names, check_outputs, check_work};
use crate::container::{ByteCursor, Section, open};
use crate::contents::{
    BlockContents, BoundValue, Decoded, FileAxis, FileBlock, FileCommand, FileCounter, FileElement,
    FileFault, FileGate, FileInput, FileKernel, FileLaunch, FileLoop, FileNode, FileOutput, FilePattern,
    FileRange, FileRegion, FileTest, FileText, FileValue, FileWork, GraphFile, contents_kind, entry_kind,
    loop_kind, node_kind, section, test,
};
use crate::encode::ADDS_ORDER;
use crate::packing::{MOST_REPEATED, RelativeNode, weight};
use crate::rings::check_chunked_loops;

/// Graph of a file, with the places of its parts in the file for messages.
#[derive(Clone, Debug, Default)]
pub struct DecodedFile {
    /// Graph whose indices and ranges are valid.
    pub graph: GraphFile,
    /// Place of each kernel in the file.
    pub kernels: Vec<u64>,
    /// Place of each command in the file.
    pub commands: Vec<u64>,
    /// Place of each node in the file.
    pub nodes: Vec<u64>,
}

/// Decodes a file, and checks everything but the order of the gates.
///
/// # Errors
/// Returns the first fault.
pub fn decode(file: &[u8]) -> Result<DecodedFile, FileFault> {
    let (format, sections) = open(file)?;
    let mut decoded = DecodedFile::default();
    needed(&sections, section::META, |cursor| meta(cursor, &mut decoded.graph))?;
    needed(&sections, section::KERNELS, |cursor| kernels(cursor, &mut decoded))?;
    needed(&sections, section::BLOCKS, |cursor| blocks(cursor, &mut decoded.graph))?;
    needed(&sections, section::VALUES, |cursor| values(cursor, &mut decoded.graph))?;
    match format {
        1 => needed(&sections, section::NODES, |cursor| old_nodes(cursor, &mut decoded))?,
        _ => needed(&sections, section::NODES, |cursor| nodes(cursor, &mut decoded))?,
    }
    check_outputs(&decoded.graph).map_err(|reason| FileFault { offset: 0, reason })?;
    if let Some(names_section) = sections.iter().find(|section| section.kind == section::NAMES) {
        whole(names_section, |cursor| names(cursor, &mut decoded.graph))?;
    }
    Ok(decoded)
}

/// Reads a required section.
fn needed(
    sections: &[Section<'_>],
    kind: u32,
    read: impl FnOnce(&mut ByteCursor<'_>) -> Decoded<()>,
) -> Decoded<()> {
    let Some(found) = sections.iter().find(|section| section.kind == kind) else {
        return Err(FileFault { offset: 0, reason: format!("section kind {kind} is missing") });
    };
    whole(found, read)
}

fn whole(section: &Section<'_>, read: impl FnOnce(&mut ByteCursor<'_>) -> Decoded<()>) -> Decoded<()> {
    let mut cursor = ByteCursor::new(section.bytes, section.offset);
    read(&mut cursor)?;
    cursor.end()
}

fn meta(cursor: &mut ByteCursor<'_>, graph: &mut GraphFile) -> Decoded<()> {
    graph.creator = cursor.text()?;
    graph.label = cursor.text()?;
    let flags = cursor.u32()?;
    if flags & !ADDS_ORDER != 0 {
        return Err(
            cursor.fault(format!("graph flags {flags:#x} have a flag that this library does not know"))
        );
    }
    graph.adds_order = flags & ADDS_ORDER != 0;
    graph.queues = cursor.list(ByteCursor::text)?;
    Ok(())
}

fn kernels(cursor: &mut ByteCursor<'_>, decoded: &mut DecodedFile) -> Decoded<()> {
    let text = |cursor: &mut ByteCursor<'_>| Ok(FileText { label: cursor.text()?, wgsl: cursor.text()? });
    decoded.graph.texts = cursor.list(text)?;
    let texts = decoded.graph.texts.len();
    let places = &mut decoded.kernels;
    decoded.graph.kernels = cursor.list(|cursor| {
        places.push(cursor.offset());
        let text = cursor.index("text", texts)?;
        let entry = cursor.text()?;
        let interface = cursor.u64()?;
        let overrides = cursor.list(|cursor| Ok((cursor.text()?, cursor.u64()?)))?;
        Ok(FileKernel { text, entry, overrides, interface })
    })?;
    Ok(())
}

fn blocks(cursor: &mut ByteCursor<'_>, graph: &mut GraphFile) -> Decoded<()> {
    graph.blocks = cursor.list(|cursor| {
        let offset = cursor.offset();
        let label = cursor.text()?;
        let size = cursor.u64()?;
        let contents = match cursor.u32()? {
            contents_kind::OWNED => BlockContents::Owned,
            contents_kind::CONSTANT => BlockContents::Constant(cursor.blob()?.to_vec()),
            contents_kind::INPUT => BlockContents::Input(input(cursor)?),
            kind => return Err(cursor.fault(format!("block contents of kind {kind} are unknown"))),
        };
        let block = FileBlock { label, size, contents };
        check_block(&block).map_err(|reason| FileFault { offset, reason })?;
        Ok(block)
    })?;
    Ok(())
}

fn input(cursor: &mut ByteCursor<'_>) -> Decoded<FileInput> {
    let name = cursor.text()?;
    let element = element(cursor)?;
    let offset = cursor.u64()?;
    let shape = cursor.list(ByteCursor::u64)?;
    let padded = cursor.list(ByteCursor::u64)?;
    Ok(FileInput { name, element, offset, shape, padded })
}

fn element(cursor: &mut ByteCursor<'_>) -> Decoded<FileElement> {
    Ok(FileElement { name: cursor.text()?, size: cursor.u32()? })
}

fn values(cursor: &mut ByteCursor<'_>, graph: &mut GraphFile) -> Decoded<()> {
    graph.values = cursor.list(|cursor| {
        let name = cursor.text()?;
        let element = cursor.text()?;
        Ok(FileValue { name, element, default: cursor.blob()?.to_vec() })
    })?;
    graph.outputs = cursor.list(|cursor| {
        let name = cursor.text()?;
        let element = element(cursor)?;
        Ok(FileOutput { name, element, len: cursor.u64()? })
    })?;
    check_names(graph).map_err(|reason| cursor.fault(reason))
}

fn names(cursor: &mut ByteCursor<'_>, graph: &mut GraphFile) -> Decoded<()> {
    let count = graph.commands.len();
    let labels = cursor.list(|cursor| Ok((cursor.index("command", count)?, cursor.text()?)))?;
    for (command, label) in labels {
        graph.commands[command as usize].label = Some(label);
    }
    Ok(())
}

/// Reads the section of the nodes.
///
/// # Errors
/// Returns the first fault.
fn nodes(cursor: &mut ByteCursor<'_>, decoded: &mut DecodedFile) -> Decoded<()> {
    let DecodedFile { graph, commands: places, .. } = decoded;
    let found = cursor.list(|cursor| {
        places.push(cursor.offset());
        command(cursor)
    })?;
    graph.commands = found;
    graph.loops = cursor.list(|cursor| {
        let chunks = match cursor.u32()? {
            loop_kind::UNROLLED => None,
            loop_kind::CHUNKED => Some(cursor.u32()?),
            kind => return Err(cursor.fault(format!("a loop of kind {kind} is unknown"))),
        };
        let mut labels = cursor.list(ByteCursor::text)?;
        match labels.len() {
            0 | 1 => Ok(FileLoop { label: labels.pop(), chunks }),
            many => Err(cursor.fault(format!("a loop has {many} labels"))),
        }
    })?;
    for (command, &offset) in graph.commands.iter().zip(&*places) {
        check_work(graph, &command.work).map_err(|reason| FileFault { offset, reason })?;
    }
    let mut nodes = NodeReader { decoded, relative: Vec::new(), repeated: 0, checks: BodyChecks::default() };
    cursor.list(|cursor| nodes.entry(cursor))?;
    check_chunked_loops(decoded)
}

/// Reads a command.
fn command(cursor: &mut ByteCursor<'_>) -> Decoded<FileCommand> {
    let kind = cursor.u32()?;
    let mut body = cursor.inner()?;
    let work = work(&mut body, kind)?;
    body.end()?;
    Ok(FileCommand { label: None, work })
}

/// Reads the body of a command.
fn work(body: &mut ByteCursor<'_>, kind: u32) -> Decoded<FileWork> {
    Ok(match kind {
        node_kind::NOTHING => FileWork::Nothing,
        node_kind::LAUNCH => FileWork::Launch(launch(body)?),
        node_kind::COPY => FileWork::Copy { src: range(body)?, dst: range(body)? },
        node_kind::FILL => FileWork::Fill { dst: range(body)?, pattern: pattern(body)? },
        node_kind::UPLOAD => FileWork::Upload { dst: range(body)?, bytes: body.blob()?.to_vec() },
        node_kind::REGION => FileWork::Region(region(body)?),
        node_kind::READ_OUTPUT => FileWork::Read { src: range(body)?, output: body.u32()? },
        node_kind::GATE => FileWork::Gate(gate(body)?),
        _ => return Err(body.fault(format!("a node of kind {kind} is unknown"))),
    })
}

fn launch(body: &mut ByteCursor<'_>) -> Decoded<FileLaunch> {
    let kernel = body.u32()?;
    let groups = [body.u32()?, body.u32()?, body.u32()?];
    let mut indirect = body.list(range)?;
    if indirect.len() > 1 {
        return Err(body.fault("a launch has the group counts of one place"));
    }
    let bindings = body.list(range)?;
    let params = body.blob()?.to_vec();
    let values = body.list(|body| Ok(BoundValue { value: body.u32()?, offset: body.u32()? }))?;
    Ok(FileLaunch { kernel, groups, indirect: indirect.pop(), bindings, params, values })
}

fn pattern(body: &mut ByteCursor<'_>) -> Decoded<FilePattern> {
    let bytes = body.blob()?;
    FilePattern::of(bytes)
        .ok_or_else(|| body.fault(format!("a pattern of {} bytes does not exist", bytes.len())))
}

fn region(body: &mut ByteCursor<'_>) -> Decoded<FileRegion> {
    let src = body.u32()?;
    let dst = body.u32()?;
    let from = body.u64()?;
    let to = body.u64()?;
    let row = body.u64()?;
    let axes = body.list(|body| Ok(FileAxis { count: body.u64()?, src: body.u64()?, dst: body.u64()? }))?;
    Ok(FileRegion { src, dst, from, to, row, axes })
}

fn gate(body: &mut ByteCursor<'_>) -> Decoded<FileGate> {
    let condition = range(body)?;
    let test = match body.u32()? {
        test::ALWAYS => FileTest::Always,
        test::NON_ZERO => FileTest::NonZero,
        test::IS_ZERO => FileTest::Zero,
        test::ABOVE => FileTest::Above,
        test::SIGNED_ABOVE => FileTest::SignedAbove,
        test::NEVER => FileTest::Never,
        other => return Err(body.fault(format!("a gate with test {other} is unknown"))),
    };
    let mut counters = body.list(|body| Ok((body.u32()?, body.u32()?)))?;
    let counter = match (counters.pop(), counters.is_empty()) {
        (None, _) => None,
        (Some((index, last @ (0 | 1))), true) => Some(FileCounter { index, last: last == 1 }),
        _ => return Err(body.fault("a gate must count at most one loop, and mark its last gate by 0 or 1")),
    };
    Ok(FileGate { condition, test, counter })
}

fn range(cursor: &mut ByteCursor<'_>) -> Decoded<FileRange> {
    Ok(FileRange { block: cursor.u32()?, offset: cursor.u64()?, size: cursor.u64()? })
}

/// Reads the section of the nodes of a file of version 1, in which each node has a command of its own.
///
/// # Errors
/// Returns the first fault.
fn old_nodes(cursor: &mut ByteCursor<'_>, decoded: &mut DecodedFile) -> Decoded<()> {
    let DecodedFile { graph, nodes: places, commands, .. } = decoded;
    let queues = graph.queues.len();
    let nodes = cursor.list(|cursor| {
        let offset = cursor.offset();
        let queue = cursor.index("queue", queues)?;
        let earlier = places.len();
        let after = cursor.list(|cursor| cursor.index("earlier node", earlier))?;
        let command = command(cursor)?;
        if let FileWork::Gate(_) = command.work {
            return Err(FileFault { offset, reason: "a gate in a file of version 1 is unknown".into() });
        }
        check_work(graph, &command.work).map_err(|reason| FileFault { offset, reason })?;
        graph.commands.push(command);
        places.push(offset);
        Ok(FileNode { queue, after, command: earlier as u32, ..FileNode::default() })
    })?;
    graph.nodes = nodes;
    *commands = places.clone();
    Ok(())
}

/// Reader of the entries of nodes, one after the other.
struct NodeReader<'d> {
    decoded: &'d mut DecodedFile,
    /// Nodes so far.
    relative: Vec<RelativeNode>,
    /// Number of repeated nodes so far, plus the number of earlier nodes to which they refer.
    repeated: u64,
    checks: BodyChecks,
}

impl NodeReader<'_> {
    fn entry(&mut self, cursor: &mut ByteCursor<'_>) -> Decoded<()> {
        let offset = cursor.offset();
        match cursor.u32()? {
            entry_kind::ONE => {
                let [command, queue] = [cursor.u32()?, cursor.u32()?];
                let [gate, previous] = [cursor.u32()?, cursor.u32()?];
                let after = cursor.list(ByteCursor::u32)?;
                self.add(RelativeNode { command, queue, gate, previous, after }, offset)
            }
            entry_kind::AGAIN => self.repeat(cursor.u32()?, cursor.u32()?, offset),
            kind => Err(FileFault { offset, reason: format!("an entry of kind {kind} is unknown") }),
        }
    }

    fn repeat(&mut self, distance: u32, count: u32, offset: u64) -> Decoded<()> {
        for _ in 0..count {
            let known = self.relative.len();
            let Some(node) = known.checked_sub(distance as usize).and_then(|at| self.relative.get(at)) else {
                let reason = format!("the node {distance} nodes before does not exist: there are {known}");
                return Err(FileFault { offset, reason });
            };
            self.repeated += weight(node);
            if self.repeated > MOST_REPEATED {
                let reason = format!("the nodes are repeated more than {MOST_REPEATED} times");
                return Err(FileFault { offset, reason });
            }
            self.add(node.clone(), offset)?;
        }
        Ok(())
    }

    /// Adds the next node.
    fn add(&mut self, relative: RelativeNode, offset: u64) -> Decoded<()> {
        let node = self.node(&relative).map_err(|reason| FileFault { offset, reason })?;
        let DecodedFile { graph, nodes: places, .. } = &mut *self.decoded;
        self.checks.add(graph, &node).map_err(|reason| FileFault { offset, reason })?;
        self.relative.push(relative);
        graph.nodes.push(node);
        places.push(offset);
        Ok(())
    }

    /// Converts the distances in a node to numbers of nodes and gates.
    fn node(&self, relative: &RelativeNode) -> Result<FileNode, String> {
        let graph = &self.decoded.graph;
        let below = |item: &str, index: u32, limit: usize| match (index as usize) < limit {
            true => Ok(index),
            false => Err(format!("{item} {index} does not exist: there are {limit}")),
        };
        let nodes = self.relative.len() as u32;
        let gates = self.checks.gates();
        let earlier = |item: &str, distance: u32, known: u32| match (1..=known).contains(&distance) {
            true => Ok(known - distance),
            false => {
                Err(format!("the {item} {distance} {item}s before does not exist: there are {known} before"))
            }
        };
        let gate = |distance: u32| (distance > 0).then(|| earlier("gate", distance, gates)).transpose();
        Ok(FileNode {
            queue: below("queue", relative.queue, graph.queues.len())?,
            after: relative
                .after
                .iter()
                .map(|&after| earlier("node", after, nodes))
                .collect::<Result<_, _>>()?,
            command: below("command", relative.command, graph.commands.len())?,
            gate: gate(relative.gate)?,
            previous: gate(relative.previous)?,
        })
    }
}
