//! The decoding of a graph file. Any bytes give a graph whose indices and ranges are valid, or a fault.

use crate::work::graph_data::byte_cursor::ByteCursor;
use crate::work::graph_data::encode_graph::ADDS_ORDER;
use crate::work::graph_data::file_checks::{check_block, check_names, check_outputs, check_work};
use crate::work::graph_data::file_container::{Section, open};
use crate::work::graph_data::graph_file::{
    BlockContents, BoundValue, FileBlock, FileElement, FileFault, FileInput, FileKernel, FileLaunch,
    FileNode, FileOutput, FileRange, FileRegion, FileText, FileValue, FileWork, GraphFile, contents_kind,
    node_kind, section,
};
use crate::work::region_copy::RowAxis;
use crate::work::span::Pattern;

type Decoded<T> = Result<T, FileFault>;

/// Holds the graph of a file, and the places of its parts in the file, for messages.
pub(crate) struct DecodedFile {
    pub(crate) graph: GraphFile,
    /// Holds the place of each kernel in the file.
    pub(crate) kernels: Vec<u64>,
    /// Holds the place of each node in the file.
    pub(crate) nodes: Vec<u64>,
}

/// Decodes a file.
///
/// # Errors
/// Returns the first fault.
pub(crate) fn decode(file: &[u8]) -> Decoded<DecodedFile> {
    let sections = open(file)?;
    let mut decoded = DecodedFile { graph: GraphFile::default(), kernels: Vec::new(), nodes: Vec::new() };
    needed(&sections, section::META, |cursor| meta(cursor, &mut decoded.graph))?;
    needed(&sections, section::KERNELS, |cursor| kernels(cursor, &mut decoded))?;
    needed(&sections, section::BLOCKS, |cursor| blocks(cursor, &mut decoded.graph))?;
    needed(&sections, section::VALUES, |cursor| values(cursor, &mut decoded.graph))?;
    needed(&sections, section::NODES, |cursor| nodes(cursor, &mut decoded))?;
    if let Some(names_section) = sections.iter().find(|section| section.kind == section::NAMES) {
        whole(names_section, |cursor| names(cursor, &mut decoded.graph))?;
    }
    Ok(decoded)
}

/// Reads a section that every file has.
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
        let (entry, interface) = (cursor.text()?, cursor.u64()?);
        let overrides = cursor.list(|cursor| Ok((cursor.text()?, cursor.u64()?)))?;
        Ok(FileKernel { text, entry, overrides, interface })
    })?;
    Ok(())
}

fn blocks(cursor: &mut ByteCursor<'_>, graph: &mut GraphFile) -> Decoded<()> {
    graph.blocks = cursor.list(|cursor| {
        let offset = cursor.offset();
        let (label, size) = (cursor.text()?, cursor.u64()?);
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
    let (name, element, offset) = (cursor.text()?, element(cursor)?, cursor.u64()?);
    let (shape, padded) = (cursor.list(ByteCursor::u64)?, cursor.list(ByteCursor::u64)?);
    Ok(FileInput { name, element, offset, shape, padded })
}

fn element(cursor: &mut ByteCursor<'_>) -> Decoded<FileElement> {
    Ok(FileElement { name: cursor.text()?, size: cursor.u32()? })
}

fn values(cursor: &mut ByteCursor<'_>, graph: &mut GraphFile) -> Decoded<()> {
    graph.values = cursor.list(|cursor| {
        let (name, element) = (cursor.text()?, cursor.text()?);
        Ok(FileValue { name, element, default: cursor.blob()?.to_vec() })
    })?;
    graph.outputs = cursor.list(|cursor| {
        let (name, element) = (cursor.text()?, element(cursor)?);
        Ok(FileOutput { name, element, len: cursor.u64()? })
    })?;
    check_names(graph).map_err(|reason| cursor.fault(reason))
}

fn nodes(cursor: &mut ByteCursor<'_>, decoded: &mut DecodedFile) -> Decoded<()> {
    let DecodedFile { graph, nodes: places, .. } = decoded;
    let nodes = cursor.list(|cursor| {
        let offset = cursor.offset();
        let queue = cursor.index("queue", graph.queues.len())?;
        let earlier = places.len();
        let after = cursor.list(|cursor| cursor.index("earlier node", earlier))?;
        let kind = cursor.u32()?;
        let mut body = cursor.inner()?;
        let work = work(&mut body, kind)?;
        body.end()?;
        check_work(graph, &work).map_err(|reason| FileFault { offset, reason })?;
        places.push(offset);
        Ok(FileNode { queue, after, label: None, work })
    })?;
    graph.nodes = nodes;
    check_outputs(graph).map_err(|reason| cursor.fault(reason))
}

/// Reads the body of a node.
fn work(body: &mut ByteCursor<'_>, kind: u32) -> Decoded<FileWork> {
    Ok(match kind {
        node_kind::NOTHING => FileWork::Nothing,
        node_kind::LAUNCH => FileWork::Launch(launch(body)?),
        node_kind::COPY => FileWork::Copy { src: range(body)?, dst: range(body)? },
        node_kind::FILL => FileWork::Fill { dst: range(body)?, pattern: pattern(body)? },
        node_kind::UPLOAD => FileWork::Upload { dst: range(body)?, bytes: body.blob()?.to_vec() },
        node_kind::REGION => FileWork::Region(region(body)?),
        node_kind::READ_OUTPUT => FileWork::Read { src: range(body)?, output: body.u32()? },
        _ => return Err(body.fault(format!("a node of kind {kind} is unknown"))),
    })
}

fn launch(body: &mut ByteCursor<'_>) -> Decoded<FileLaunch> {
    let (kernel, groups) = (body.u32()?, [body.u32()?, body.u32()?, body.u32()?]);
    let mut indirect = body.list(range)?;
    if indirect.len() > 1 {
        return Err(body.fault("a launch has the group counts of one place"));
    }
    let (bindings, params) = (body.list(range)?, body.blob()?.to_vec());
    let values = body.list(|body| Ok(BoundValue { value: body.u32()?, offset: body.u32()? }))?;
    Ok(FileLaunch { kernel, groups, indirect: indirect.pop(), bindings, params, values })
}

fn pattern(body: &mut ByteCursor<'_>) -> Decoded<Pattern> {
    let bytes = body.blob()?;
    let known = matches!(bytes.len(), 4 | 8 | 16).then(|| Pattern::of(bytes)).flatten();
    known.ok_or_else(|| body.fault(format!("a pattern of {} bytes does not exist", bytes.len())))
}

fn region(body: &mut ByteCursor<'_>) -> Decoded<FileRegion> {
    let (src, dst, from, to, row) = (body.u32()?, body.u32()?, body.u64()?, body.u64()?, body.u64()?);
    let axes = body.list(|body| Ok(RowAxis { count: body.u64()?, src: body.u64()?, dst: body.u64()? }))?;
    Ok(FileRegion { src, dst, from, to, row, axes })
}

fn range(cursor: &mut ByteCursor<'_>) -> Decoded<FileRange> {
    Ok(FileRange { block: cursor.u32()?, offset: cursor.u64()?, size: cursor.u64()? })
}

fn names(cursor: &mut ByteCursor<'_>, graph: &mut GraphFile) -> Decoded<()> {
    let count = graph.nodes.len();
    let labels = cursor.list(|cursor| Ok((cursor.index("node", count)?, cursor.text()?)))?;
    for (node, label) in labels {
        graph.nodes[node as usize].label = Some(label);
    }
    Ok(())
}
