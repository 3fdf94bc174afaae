//! The container of a graph file: a header, a table of sections with their checksums, and the sections.
//!
//! All numbers are little endian. The header has the magic bytes, the version of the format, the oldest reader version
//! that understands the file, the length of the file, and the number of sections. A row of the table has the kind of a
//! section, its flags, its offset, its length and its CRC-32C. The CRC-32C of header and table follows the table. The
//! sections follow each other without gaps up to the end of the file.
//!
//! Every read from a section is checked, and no read allocates more bytes than the section has.

use crate::contents::{FileFault, section};

/// First bytes of each file.
pub const GRAPH_MAGIC: [u8; 8] = *b"FPGRAPH\0";
/// Version of the format that this library writes, and the newest one that it reads. In version 1, each node has a
/// command of its own, and there are no gates.
pub const VERSION: u32 = 2;
/// Size of the header in bytes.
pub const HEADER: u64 = 28;
/// Size of a row of the table in bytes.
pub const ROW: u64 = 28;
/// Flag of a section that a reader may skip if it does not know the section.
pub const MAY_BE_SKIPPED: u32 = 1;
/// Maximum number of sections of a file.
const MOST_SECTIONS: u32 = 1024;

/// A section of a file.
#[derive(Clone, Copy, Debug)]
pub struct Section<'b> {
    /// Kind of the section.
    pub kind: u32,
    /// Contents of the section.
    pub bytes: &'b [u8],
    /// Number of bytes of the file before the section.
    pub offset: u64,
}

/// Returns a file of sections, each with its kind and its flags.
pub fn assemble(sections: &[(u32, u32, Vec<u8>)]) -> Vec<u8> {
    let start = HEADER + sections.len() as u64 * ROW + 4;
    let total = sections.iter().map(|(_, _, bytes)| bytes.len() as u64).sum::<u64>() + start;
    let mut head = ByteWriter { bytes: GRAPH_MAGIC.to_vec() };
    head.u32(VERSION).u32(VERSION).u64(total).u32(sections.len() as u32);
    let mut offset = start;
    for (kind, flags, bytes) in sections {
        let length = bytes.len() as u64;
        head.u32(*kind).u32(*flags).u64(offset).u64(length).u32(crc32c::crc32c(bytes));
        offset += length;
    }
    let check = crc32c::crc32c(&head.bytes);
    head.u32(check);
    let mut file = head.bytes;
    sections.iter().for_each(|(_, _, bytes)| file.extend_from_slice(bytes));
    file
}

/// Reads the start of a file and returns the length of the whole file.
///
/// # Errors
/// Returns the fault if the bytes are not the start of a file in a supported version.
pub fn length(head: &[u8]) -> Result<u64, FileFault> {
    let mut cursor = ByteCursor::new(head, 0);
    if cursor.take(8).ok() != Some(&GRAPH_MAGIC) {
        return Err(FileFault { offset: 0, reason: "the file does not begin as a graph file does".into() });
    }
    let offset = cursor.offset();
    let version = cursor.u32()?;
    let oldest = cursor.u32()?;
    if oldest > VERSION {
        let reason = format!(
            "the file has version {version} and needs a reader of version {oldest}; this library reads up to version \
             {VERSION}"
        );
        return Err(FileFault { offset, reason });
    }
    if oldest == 0 || version < oldest {
        let reason = format!("version {version} for readers from version {oldest} does not exist");
        return Err(FileFault { offset, reason });
    }
    cursor.u64()
}

/// Returns the version of the sections' layout, and the sections of known kinds. Each kind occurs at most once. The
/// layout version is that of the oldest reader that understands the file.
///
/// # Errors
/// Returns the first fault of the header or the table, or a wrong checksum.
pub fn open(file: &[u8]) -> Result<(u32, Vec<Section<'_>>), FileFault> {
    let total = length(file)?;
    if total != file.len() as u64 {
        let reason = format!("the header counts {total} bytes, and the file has {}", file.len());
        return Err(FileFault { offset: 16, reason });
    }
    let mut cursor = ByteCursor::new(file, 0);
    cursor.take(12)?;
    let format = cursor.u32()?;
    cursor.take(8)?;
    let count = cursor.u32()?;
    let end = HEADER + u64::from(count) * ROW;
    if count > MOST_SECTIONS || end + 4 > total {
        let reason = format!("a table of {count} sections does not fit into the file");
        return Err(FileFault { offset: HEADER - 4, reason });
    }
    check(&file[..end as usize], ByteCursor::new(&file[end as usize..], end).u32()?, end, "the table")?;
    let mut next = end + 4;
    let mut sections = Vec::new();
    for _ in 0..count {
        let row = cursor.offset();
        let section = read_row(&mut cursor, file, next)?;
        next += section.bytes.len() as u64;
        if section.kind != 0 {
            if sections.iter().any(|other: &Section<'_>| other.kind == section.kind) {
                let reason = format!("section kind {} occurs twice", section.kind);
                return Err(FileFault { offset: row, reason });
            }
            sections.push(section);
        }
    }
    if next != total {
        let reason = format!("{} bytes follow the last section", total - next);
        return Err(FileFault { offset: next, reason });
    }
    Ok((format, sections))
}

/// Reads a row of the table, for the section that starts at byte `next`. A skipped section gets kind 0.
fn read_row<'b>(cursor: &mut ByteCursor<'_>, file: &'b [u8], next: u64) -> Result<Section<'b>, FileFault> {
    let row = cursor.offset();
    let wrong = |reason: String| FileFault { offset: row, reason };
    let kind = cursor.u32()?;
    let flags = cursor.u32()?;
    let offset = cursor.u64()?;
    let length = cursor.u64()?;
    let sum = cursor.u32()?;
    if flags & !MAY_BE_SKIPPED != 0 {
        return Err(wrong(format!("section flags {flags:#x} have a flag that this library does not know")));
    }
    let end = offset.checked_add(length).filter(|&end| offset == next && end <= file.len() as u64);
    let Some(end) = end else {
        return Err(wrong(format!(
            "section kind {kind} at byte {offset} with {length} bytes is out of place"
        )));
    };
    let bytes = &file[offset as usize..end as usize];
    check(bytes, sum, offset, "a section")?;
    let known = (section::META..=section::NAMES).contains(&kind);
    if !known && flags & MAY_BE_SKIPPED == 0 {
        return Err(wrong(format!("section kind {kind} is unknown and must not be skipped")));
    }
    Ok(Section { kind: if known { kind } else { 0 }, bytes, offset })
}

fn check(bytes: &[u8], expected: u32, offset: u64, object: &str) -> Result<(), FileFault> {
    let found = crc32c::crc32c(bytes);
    if found == expected {
        return Ok(());
    }
    let reason = format!("the checksum of {object} is {found:#010x} and should be {expected:#010x}");
    Err(FileFault { offset, reason })
}

/// Reader of a section's bytes, from the first to the last.
pub(crate) struct ByteCursor<'b> {
    bytes: &'b [u8],
    /// Number of bytes of the file before the section.
    base: u64,
    at: usize,
}

impl<'b> ByteCursor<'b> {
    pub(crate) fn new(bytes: &'b [u8], base: u64) -> Self {
        Self { bytes, base, at: 0 }
    }

    /// Returns the offset of the next byte in the file.
    pub(crate) fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    /// Returns a fault at the next byte.
    pub(crate) fn fault(&self, reason: impl Into<String>) -> FileFault {
        FileFault { offset: self.offset(), reason: reason.into() }
    }

    /// Returns the next `count` bytes.
    ///
    /// # Errors
    /// Returns the fault if fewer bytes are left.
    pub(crate) fn take(&mut self, count: u64) -> Result<&'b [u8], FileFault> {
        let left = &self.bytes[self.at..];
        let Some(taken) = usize::try_from(count).ok().and_then(|count| left.get(..count)) else {
            return Err(self.fault(format!("{count} bytes are needed here, and {} are left", left.len())));
        };
        self.at += taken.len();
        Ok(taken)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, FileFault> {
        let bytes = self.take(4)?;
        Ok(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
    }

    pub(crate) fn u64(&mut self) -> Result<u64, FileFault> {
        let low = self.u32()?;
        let high = self.u32()?;
        Ok(u64::from(low) | u64::from(high) << 32)
    }

    pub(crate) fn blob(&mut self) -> Result<&'b [u8], FileFault> {
        let count = self.u64()?;
        self.take(count)
    }

    pub(crate) fn text(&mut self) -> Result<String, FileFault> {
        let offset = self.offset();
        let text = std::str::from_utf8(self.blob()?);
        let not_text = |error| FileFault { offset, reason: format!("the text is not UTF-8: {error}") };
        text.map(str::to_owned).map_err(not_text)
    }

    /// Reads a count, then that many items. Each item has at least one byte, so the remaining bytes limit the count.
    ///
    /// # Errors
    /// Returns the first fault of `read`.
    pub(crate) fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Self) -> Result<T, FileFault>,
    ) -> Result<Vec<T>, FileFault> {
        let count = self.u32()?;
        let left = self.bytes.len() - self.at;
        if count as usize > left {
            return Err(self.fault(format!("a list of {count} items does not fit into {left} bytes")));
        }
        let mut items = Vec::new();
        for _ in 0..count {
            items.push(read(self)?);
        }
        Ok(items)
    }

    /// Reads an index below `limit`. `item` names the indexed thing in messages.
    pub(crate) fn index(&mut self, item: &str, limit: usize) -> Result<u32, FileFault> {
        let offset = self.offset();
        let index = self.u32()?;
        if index as usize >= limit {
            return Err(FileFault {
                offset,
                reason: format!("{item} {index} does not exist: there are {limit}"),
            });
        }
        Ok(index)
    }

    /// Reads a byte count, and returns a cursor over that many bytes.
    pub(crate) fn inner(&mut self) -> Result<Self, FileFault> {
        let count = self.u64()?;
        let base = self.offset();
        Ok(Self::new(self.take(count)?, base))
    }

    /// Checks that no byte is left.
    pub(crate) fn end(&self) -> Result<(), FileFault> {
        match self.bytes.len() - self.at {
            0 => Ok(()),
            left => Err(self.fault(format!("{left} bytes are left over"))),
        }
    }
}

/// Writer of a section's bytes.
#[derive(Clone, Debug, Default)]
pub struct ByteWriter {
    /// Bytes so far.
    pub bytes: Vec<u8>,
}

impl ByteWriter {
    /// Writes a number of 4 bytes.
    pub fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Writes a number of 8 bytes.
    pub fn u64(&mut self, value: u64) -> &mut Self {
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Writes the length of a text, then the text.
    pub fn text(&mut self, text: &str) -> &mut Self {
        self.blob(text.as_bytes())
    }

    /// Writes the number of bytes, then the bytes.
    pub fn blob(&mut self, bytes: &[u8]) -> &mut Self {
        self.u64(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Writes the number of items, then the items.
    pub fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) -> &mut Self {
        self.u32(items.len() as u32);
        items.iter().for_each(|item| write(self, item));
        self
    }
}
