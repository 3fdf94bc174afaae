//! The decoding of commands: the body of a command becomes plain data.

use crate::work::graph_data::byte_cursor::ByteCursor;
use crate::work::graph_data::graph_file::{
    BoundValue, Decoded, FileCounter, FileGate, FileLaunch, FileRange, FileRegion, FileTest, FileWork,
    node_kind, test,
};
use crate::work::region_copy::RowAxis;
use crate::work::span::Pattern;

/// Reads the body of a command.
pub(crate) fn work(body: &mut ByteCursor<'_>, kind: u32) -> Decoded<FileWork> {
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
        _ => return Err(body.fault("a gate counts one loop and is its last gate or is not")),
    };
    Ok(FileGate { condition, test, counter })
}

fn range(cursor: &mut ByteCursor<'_>) -> Decoded<FileRange> {
    Ok(FileRange { block: cursor.u32()?, offset: cursor.u64()?, size: cursor.u64()? })
}
