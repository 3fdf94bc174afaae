//! Replaces parts of a text, and maps places in the new text to the old one.

use std::ops::Range;
use std::sync::Arc;

use crate::splice::{SourceLocation, SplicedText};

/// Replacement of the bytes `at` of a text.
#[derive(Debug)]
pub(crate) struct Edit {
    pub(crate) at: Range<usize>,
    pub(crate) text: String,
}

/// Map from the bytes of an edited text to the original.
#[derive(Clone, Debug)]
pub(crate) struct EditMap {
    pub(crate) written: Arc<SplicedText>,
    /// Start of each kept part and each edit, in ascending order: in this text and in the original, and `true` if the
    /// part is kept.
    parts: Vec<(usize, usize, bool)>,
}

/// Returns `written` with edits, which must be in ascending order and not overlap. Line breaks in removed parts are
/// kept, so that line numbers do not change.
pub(crate) fn rewrite(written: &Arc<SplicedText>, edits: &[Edit]) -> (String, EditMap) {
    let old = &written.text;
    let mut text = String::new();
    let mut parts = Vec::new();
    let mut done = 0;
    for edit in edits {
        parts.push((text.len(), done, true));
        text.push_str(&old[done..edit.at.start]);
        parts.push((text.len(), edit.at.start, false));
        text.push_str(&edit.text);
        let removed = old[edit.at.clone()].matches('\n').count();
        text.push_str(&"\n".repeat(removed));
        done = edit.at.end;
    }
    parts.push((text.len(), done, true));
    text.push_str(&old[done..]);
    (text, EditMap { written: written.clone(), parts })
}

impl EditMap {
    /// Returns the place in its file of a byte of the new text. A byte in an edit maps to the start of the edit.
    pub(crate) fn origin(&self, byte: usize) -> SourceLocation<'_> {
        self.written.origin(self.written_byte(byte))
    }

    /// Returns the byte of the original text from which a byte of the new text comes.
    pub(crate) fn written_byte(&self, byte: usize) -> usize {
        let part = self.parts.partition_point(|(start, ..)| *start <= byte).saturating_sub(1);
        let (start, old, kept) = self.parts[part];
        if kept { old + (byte - start.min(byte)) } else { old }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_byte_has_its_place_in_the_written_text() {
        let old = "one\ntwo(\n x)\nthree";
        let written = Arc::new(SplicedText::new("a.wgsl", "", old, &[]).unwrap());
        let edits = [
            Edit { at: 4..8, text: "LONGER{".into() },
            Edit { at: 8..10, text: "y=".into() },
            Edit { at: 11..12, text: "}".into() },
            Edit { at: old.len()..old.len(), text: "\nfour\nfive".into() },
        ];
        let (text, places) = rewrite(&written, &edits);
        assert_eq!(text, "one\nLONGER{y=\nx}\nthree\nfour\nfive");
        let place = |part: &str| {
            let at = places.origin(text.find(part).unwrap());
            (at.line, at.column)
        };
        assert_eq!([place("one"), place("LONGER"), place("GER")], [(1, 1), (2, 1), (2, 1)]);
        assert_eq!(
            [place("x}"), place("}"), place("three"), place("hree")],
            [(3, 2), (3, 3), (4, 1), (4, 2)]
        );
        assert_eq!([place("four"), place("five")], [(4, 6); 2]);
        assert_eq!(places.origin(1000).line, 4);
    }
}
