//! The decoding of nodes, with the loops and the commands that they share.

use crate::work::graph_data::body_checks::BodyChecks;
use crate::work::graph_data::byte_cursor::ByteCursor;
use crate::work::graph_data::chunked_checks::check_chunked_loops;
use crate::work::graph_data::command_body::work;
use crate::work::graph_data::decoded_file::DecodedFile;
use crate::work::graph_data::file_checks::check_work;
use crate::work::graph_data::graph_file::{Decoded, FileCommand, FileFault, FileLoop, FileNode, FileWork};
use crate::work::graph_data::node_entries::{
    AGAIN, CHUNKED, MOST_REPEATED, ONE, RelativeNode, UNROLLED, weight,
};

/// Reads the section of the nodes.
///
/// # Errors
/// Returns the first fault.
pub(crate) fn nodes(cursor: &mut ByteCursor<'_>, decoded: &mut DecodedFile) -> Decoded<()> {
    let DecodedFile { graph, commands: places, .. } = decoded;
    let found = cursor.list(|cursor| {
        places.push(cursor.offset());
        command(cursor)
    })?;
    graph.commands = found;
    graph.loops = cursor.list(|cursor| {
        let chunks = match cursor.u32()? {
            UNROLLED => None,
            CHUNKED => Some(cursor.u32()?),
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

/// Reads the section of the nodes of a file of version 1, in which each node has a command of its own.
///
/// # Errors
/// Returns the first fault.
pub(crate) fn old_nodes(cursor: &mut ByteCursor<'_>, decoded: &mut DecodedFile) -> Decoded<()> {
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
    /// Number of nodes that entries have repeated, plus the earlier nodes that these name.
    repeated: u64,
    checks: BodyChecks,
}

impl NodeReader<'_> {
    fn entry(&mut self, cursor: &mut ByteCursor<'_>) -> Decoded<()> {
        let offset = cursor.offset();
        match cursor.u32()? {
            ONE => {
                let [command, queue] = [cursor.u32()?, cursor.u32()?];
                let [gate, previous] = [cursor.u32()?, cursor.u32()?];
                let after = cursor.list(ByteCursor::u32)?;
                self.add(RelativeNode { command, queue, gate, previous, after }, offset)
            }
            AGAIN => self.repeat(cursor.u32()?, cursor.u32()?, offset),
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

    /// Returns a node with the numbers of the nodes and gates that it names.
    fn node(&self, relative: &RelativeNode) -> Result<FileNode, String> {
        let graph = &self.decoded.graph;
        let below = |item: &str, index: u32, limit: usize| match (index as usize) < limit {
            true => Ok(index),
            false => Err(format!("{item} {index} does not exist: there are {limit}")),
        };
        let (nodes, gates) = (self.relative.len() as u32, self.checks.gates());
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
