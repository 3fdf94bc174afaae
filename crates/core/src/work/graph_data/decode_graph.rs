//! The decoding of a graph file. Any bytes give a graph whose indices and ranges are valid, or a fault.

use crate::work::graph_data::byte_cursor::ByteCursor;
use crate::work::graph_data::decoded_file::DecodedFile;
use crate::work::graph_data::decoded_nodes::{nodes, old_nodes};
use crate::work::graph_data::encode_graph::ADDS_ORDER;
use crate::work::graph_data::file_checks::{check_block, check_names, check_outputs};
use crate::work::graph_data::file_container::{Section, open};
use crate::work::graph_data::graph_file::{
    BlockContents, Decoded, FileBlock, FileElement, FileFault, FileInput, FileKernel, FileOutput, FileText,
    FileValue, GraphFile, contents_kind, section,
};

/// Decodes a file.
///
/// # Errors
/// Returns the first fault.
pub(crate) fn decode(file: &[u8]) -> Decoded<DecodedFile> {
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

fn names(cursor: &mut ByteCursor<'_>, graph: &mut GraphFile) -> Decoded<()> {
    let count = graph.commands.len();
    let labels = cursor.list(|cursor| Ok((cursor.index("command", count)?, cursor.text()?)))?;
    for (command, label) in labels {
        graph.commands[command as usize].label = Some(label);
    }
    Ok(())
}
