//! The words of a text, as columns of numbers that a device sorts.

/// The words of a text, in small letters.
pub(crate) struct Words(Vec<String>);

impl Words {
    /// Finds the words of a text: runs of letters and digits.
    pub(crate) fn of(text: &str) -> Self {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        Self(words.map(str::to_lowercase).collect())
    }

    pub(crate) fn list(&self) -> &[String] {
        &self.0
    }

    /// Counts the columns of the longest word.
    pub(crate) fn columns(&self) -> usize {
        self.0.iter().map(|word| word.len().div_ceil(4)).max().unwrap_or(0)
    }

    /// Returns four bytes of each word as a number. The numbers have the order of the bytes, and bytes past a word's
    /// end are zeros.
    pub(crate) fn column(&self, at: usize) -> Vec<u32> {
        let bytes = |word: &String| {
            let byte = |i: usize| word.as_bytes().get(4 * at + i).copied().unwrap_or(0);
            u32::from_be_bytes([byte(0), byte(1), byte(2), byte(3)])
        };
        self.0.iter().map(bytes).collect()
    }
}
