//! The encoding of a graph as the bytes of a file.

use crate::work::graph_data::byte_writer::ByteWriter;
use crate::work::graph_data::file_container::{MAY_BE_SKIPPED, assemble};
use crate::work::graph_data::graph_file::{
    BlockContents, FileBlock, FileElement, FileLaunch, FileNode, FileRange, FileRegion, FileWork, GraphFile,
    contents_kind, node_kind, section,
};

/// Marks in META a graph that orders uses which the program left unordered.
pub(crate) const ADDS_ORDER: u32 = 1;

/// Returns the bytes of a file. Equal graphs have equal bytes.
pub(crate) fn encode(graph: &GraphFile) -> Vec<u8> {
    let section = |kind, flags, write: fn(&mut ByteWriter, &GraphFile)| {
        let mut out = ByteWriter::default();
        write(&mut out, graph);
        (kind, flags, out.bytes)
    };
    assemble(&[
        section(section::META, 0, meta),
        section(section::KERNELS, 0, kernels),
        section(section::BLOCKS, 0, blocks),
        section(section::VALUES, 0, values),
        section(section::NODES, 0, nodes),
        section(section::NAMES, MAY_BE_SKIPPED, names),
    ])
}

fn meta(out: &mut ByteWriter, graph: &GraphFile) {
    out.text(&graph.creator).text(&graph.label).u32(if graph.adds_order { ADDS_ORDER } else { 0 });
    out.list(&graph.queues, |out, queue| {
        out.text(queue);
    });
}

fn kernels(out: &mut ByteWriter, graph: &GraphFile) {
    out.list(&graph.texts, |out, text| {
        out.text(&text.label).text(&text.wgsl);
    });
    out.list(&graph.kernels, |out, kernel| {
        out.u32(kernel.text).text(&kernel.entry).u64(kernel.interface);
        out.list(&kernel.overrides, |out, (name, bits)| {
            out.text(name).u64(*bits);
        });
    });
}

fn blocks(out: &mut ByteWriter, graph: &GraphFile) {
    out.list(&graph.blocks, |out, FileBlock { label, size, contents }| {
        out.text(label).u64(*size);
        match contents {
            BlockContents::Owned => {
                out.u32(contents_kind::OWNED);
            }
            BlockContents::Constant(bytes) => {
                out.u32(contents_kind::CONSTANT).blob(bytes);
            }
            BlockContents::Input(input) => {
                out.u32(contents_kind::INPUT).text(&input.name);
                element(out, &input.element);
                out.u64(input.offset);
                let count = |out: &mut ByteWriter, count: &u64| {
                    out.u64(*count);
                };
                out.list(&input.shape, count).list(&input.padded, count);
            }
        }
    });
}

fn element(out: &mut ByteWriter, element: &FileElement) {
    out.text(&element.name).u32(element.size);
}

fn values(out: &mut ByteWriter, graph: &GraphFile) {
    out.list(&graph.values, |out, value| {
        out.text(&value.name).text(&value.element).blob(&value.default);
    });
    out.list(&graph.outputs, |out, output| {
        out.text(&output.name);
        element(out, &output.element);
        out.u64(output.len);
    });
}

fn nodes(out: &mut ByteWriter, graph: &GraphFile) {
    out.list(&graph.nodes, |out, node| {
        out.u32(node.queue).list(&node.after, |out, after| {
            out.u32(*after);
        });
        let mut body = ByteWriter::default();
        let kind = work(&mut body, &node.work);
        out.u32(kind).blob(&body.bytes);
    });
}

/// Writes the body of a node and returns its kind.
fn work(out: &mut ByteWriter, work: &FileWork) -> u32 {
    match work {
        FileWork::Nothing => node_kind::NOTHING,
        FileWork::Launch(of) => {
            launch(out, of);
            node_kind::LAUNCH
        }
        FileWork::Copy { src, dst } => {
            range(out, src);
            range(out, dst);
            node_kind::COPY
        }
        FileWork::Fill { dst, pattern } => {
            range(out, dst);
            out.blob(pattern.bytes());
            node_kind::FILL
        }
        FileWork::Upload { dst, bytes } => {
            range(out, dst);
            out.blob(bytes);
            node_kind::UPLOAD
        }
        FileWork::Region(of) => {
            region(out, of);
            node_kind::REGION
        }
        FileWork::Read { src, output } => {
            range(out, src);
            out.u32(*output);
            node_kind::READ_OUTPUT
        }
    }
}

fn launch(out: &mut ByteWriter, launch: &FileLaunch) {
    out.u32(launch.kernel);
    launch.groups.iter().for_each(|&groups| {
        out.u32(groups);
    });
    out.list(launch.indirect.as_slice(), range).list(&launch.bindings, range).blob(&launch.params);
    out.list(&launch.values, |out, bound| {
        out.u32(bound.value).u32(bound.offset);
    });
}

fn region(out: &mut ByteWriter, of: &FileRegion) {
    out.u32(of.src).u32(of.dst).u64(of.from).u64(of.to).u64(of.row);
    out.list(&of.axes, |out, axis| {
        out.u64(axis.count).u64(axis.src).u64(axis.dst);
    });
}

fn range(out: &mut ByteWriter, range: &FileRange) {
    out.u32(range.block).u64(range.offset).u64(range.size);
}

/// Writes the labels of the nodes that have one.
fn names(out: &mut ByteWriter, graph: &GraphFile) {
    let labelled = |(at, node): (usize, &FileNode)| node.label.clone().map(|label| (at as u32, label));
    let labels: Vec<(u32, String)> = graph.nodes.iter().enumerate().filter_map(labelled).collect();
    out.list(&labels, |out, (node, label)| {
        out.u32(*node).text(label);
    });
}
