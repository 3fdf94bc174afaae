//! The bytes of a section, read value by value in little endian. Every read is checked, and no read allocates more
//! bytes than the section has.

use crate::work::graph_data::graph_file::FileFault;

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
        let (low, high) = (self.u32()?, self.u32()?);
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

    /// Reads a count, then that many items. Each item has at least one byte, so the bytes limit the count.
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
