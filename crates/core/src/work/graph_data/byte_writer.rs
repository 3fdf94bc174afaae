//! The bytes of a section, written value by value in little endian.

/// Bytes of a section, as they are written.
#[derive(Default)]
pub(crate) struct ByteWriter {
    pub(crate) bytes: Vec<u8>,
}

impl ByteWriter {
    pub(crate) fn u32(&mut self, value: u32) -> &mut Self {
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    pub(crate) fn u64(&mut self, value: u64) -> &mut Self {
        self.bytes.extend_from_slice(&value.to_le_bytes());
        self
    }

    /// Writes the length of a text, then the text.
    pub(crate) fn text(&mut self, text: &str) -> &mut Self {
        self.blob(text.as_bytes())
    }

    /// Writes the number of bytes, then the bytes.
    pub(crate) fn blob(&mut self, bytes: &[u8]) -> &mut Self {
        self.u64(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
        self
    }

    /// Writes the number of items, then the items.
    pub(crate) fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) -> &mut Self {
        self.u32(items.len() as u32);
        items.iter().for_each(|item| write(self, item));
        self
    }
}
