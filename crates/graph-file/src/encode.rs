//! The encoding of a graph as the bytes of a file.

use crate::container::{ByteWriter, MAY_BE_SKIPPED, assemble};
use crate::contents::{
    BlockContents, FileBlock, FileCommand, FileElement, FileGate, FileLaunch, FileRange, FileRegion,
    FileTest, FileWork, GraphFile, contents_kind, entry_kind, loop_kind, node_kind, section, test,
};
use crate::packing::{NodeEntry, packed, relative};

/// Flag in META for a graph whose order includes waits that the program left out.
pub(crate) const ADDS_ORDER: u32 = 1;

/// Returns the bytes of a file. Equal graphs have equal bytes.
///
/// # Panics
/// Panics if a node refers to a command that does not exist, or to a node or a gate that does not come before it.
pub fn encode(graph: &GraphFile) -> Vec<u8> {
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
    out.list(&graph.commands, |out, command| {
        let mut body = ByteWriter::default();
        let kind = work(&mut body, &command.work);
        out.u32(kind).blob(&body.bytes);
    });
    out.list(&graph.loops, |out, of| {
        match of.chunks {
            Some(bound) => out.u32(loop_kind::CHUNKED).u32(bound),
            None => out.u32(loop_kind::UNROLLED),
        };
        out.list(of.label.as_slice(), |out, label| {
            out.text(label);
        });
    });
    let is_gate = |command: u32| matches!(graph.commands[command as usize].work, FileWork::Gate(_));
    out.list(&packed(&relative(&graph.nodes, is_gate)), entry);
}

fn entry(out: &mut ByteWriter, entry: &NodeEntry) {
    match entry {
        NodeEntry::One(node) => {
            out.u32(entry_kind::ONE).u32(node.command).u32(node.queue).u32(node.gate).u32(node.previous);
            out.list(&node.after, |out, after| {
                out.u32(*after);
            });
        }
        NodeEntry::Again { distance, count } => {
            out.u32(entry_kind::AGAIN).u32(*distance).u32(*count);
        }
    }
}

/// Writes the body of a command and returns its kind.
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
        FileWork::Gate(of) => {
            gate(out, of);
            node_kind::GATE
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

fn gate(out: &mut ByteWriter, of: &FileGate) {
    range(out, &of.condition);
    out.u32(match of.test {
        FileTest::Always => test::ALWAYS,
        FileTest::NonZero => test::NON_ZERO,
        FileTest::Zero => test::IS_ZERO,
        FileTest::Above => test::ABOVE,
        FileTest::SignedAbove => test::SIGNED_ABOVE,
        FileTest::Never => test::NEVER,
    });
    out.list(of.counter.as_slice(), |out, counter| {
        out.u32(counter.index).u32(counter.last.into());
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

/// Writes the labels of the commands that have one.
fn names(out: &mut ByteWriter, graph: &GraphFile) {
    let labelled =
        |(at, command): (usize, &FileCommand)| command.label.clone().map(|label| (at as u32, label));
    let labels: Vec<(u32, String)> = graph.commands.iter().enumerate().filter_map(labelled).collect();
    out.list(&labels, |out, (command, label)| {
        out.u32(*command).text(label);
    });
}
