//! `print` and `assert` in WGSL: parses these additional statements, replaces them with WGSL, and reads the records
//! that the kernel writes.
//!
//! WGSL has no strings and no functions that accept several types. So the statements are found in the tokens of the
//! shader. In a first form of the shader, each value becomes a variable; naga parses this form and determines the
//! types. The second form writes records with values of these types into a separate storage buffer, the *message
//! buffer*. Both forms map each byte to its place in the original shader.

pub(crate) mod format;
pub(crate) mod instrument;
pub(crate) mod message_wgsl;
pub(crate) mod records;
pub(crate) mod rewrite;
pub(crate) mod statement;
mod value_type;

use std::sync::Arc;

use self::value_type::ValueType;

/// Messages of a kernel: its statements `print` and `assert`. A clone is cheap.
#[derive(Clone, Debug, PartialEq)]
pub struct Messages {
    pub(crate) sites: Arc<[MessageSite]>,
    /// `true` if one of the statements is `print`.
    prints: bool,
    /// Number of words of the longest record of an `assert`; 0 without one.
    assert_words: u32,
}

/// A statement `print` or `assert`.
#[derive(Debug, PartialEq)]
pub(crate) struct MessageSite {
    /// Condition of an `assert`, as written in the shader.
    pub(crate) condition: Option<String>,
    /// Texts before, between and after the values.
    pub(crate) pieces: Vec<String>,
    pub(crate) types: Vec<ValueType>,
    /// Place of the statement: the file or its label, with the line and the column.
    pub(crate) place: String,
}

impl Messages {
    pub(crate) fn new(sites: Vec<MessageSite>) -> Self {
        let prints = sites.iter().any(|site| site.condition.is_none());
        let asserts = sites.iter().filter(|site| site.condition.is_some());
        let assert_words = asserts.map(MessageSite::words).max().unwrap_or(0);
        Self { sites: sites.into(), prints, assert_words }
    }

    /// Returns `true` if the kernel has a `print`.
    pub fn prints(&self) -> bool {
        self.prints
    }

    /// Returns `true` if the kernel has an `assert`.
    pub fn asserts(&self) -> bool {
        self.assert_words > 0
    }

    /// Returns the number of words for the records of failed assertions.
    pub(crate) fn failure_words(&self) -> u32 {
        records::FAILURE_RECORDS * self.assert_words
    }

    /// Size in bytes of the header of a message buffer.
    const HEADER: u32 = 4 * records::HEADER_WORDS;

    /// Returns the number of bytes at the start of a message buffer that must be zero before a launch.
    pub fn zeros(&self) -> u32 {
        Self::HEADER + 4 * self.failure_words()
    }

    /// Returns the capacity in bytes for printed records of a message buffer of `size` bytes.
    pub fn capacity(&self, size: u32) -> u32 {
        size.saturating_sub(self.zeros())
    }

    /// Returns the size in bytes of a message buffer with space for `capacity` bytes of printed records.
    pub fn buffer_size(&self, capacity: u32) -> u32 {
        let prints = if self.prints { capacity / 4 } else { 0 };
        // A binding has at least one word after the header.
        4 * (records::HEADER_WORDS + self.failure_words()).saturating_add(prints.max(1)).min(u32::MAX / 4)
    }
}

impl MessageSite {
    /// Returns the number of words of a record.
    pub(crate) fn words(&self) -> u32 {
        records::RECORD_HEAD + self.types.iter().map(|of| of.len).sum::<u32>()
    }

    /// Returns the text with the values inserted.
    fn text(&self, mut values: &[u32]) -> String {
        let mut text = String::new();
        for (at, piece) in self.pieces.iter().enumerate() {
            text.push_str(piece);
            if let Some(of) = self.types.get(at) {
                let (own, rest) = values.split_at((of.len as usize).min(values.len()));
                of.write(own, &mut text);
                values = rest;
            }
        }
        text
    }
}
