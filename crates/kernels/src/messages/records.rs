//! The records of a message buffer, as the host reads them.

use crate::messages::{MessageSite, Messages};

/// Number of words at the start of a message buffer.
pub(crate) const HEADER_WORDS: u32 = 6;
/// Number of records of failed assertions after the header, if the kernel has an `assert`. Each has the size of the
/// longest record.
pub(crate) const FAILURE_RECORDS: u32 = 128;
/// Number of words of a record before its values: the number of its statement and the invocation.
pub(crate) const RECORD_HEAD: u32 = 4;

/// Indices of the words of the header: the struct of the message buffer has them in this order.
mod header {
    pub(super) const STORED: usize = 1;
    pub(super) const LEFT_OUT: usize = 2;
    pub(super) const FAILED: usize = 3;
    pub(super) const FAILURES: usize = 5;
}

/// Messages of one launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageReport {
    /// Printed lines, ordered by invocation. The lines of one invocation have the order of its statements.
    pub lines: Vec<PrintedLine>,
    /// Number of lines that did not fit into the message buffer.
    pub left_out: u32,
    /// First failed assertion of the first failing invocation.
    pub failure: Option<AssertionFailure>,
}

/// A line that an invocation printed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PrintedLine {
    /// `global_invocation_id` of the invocation.
    pub invocation: [u32; 3],
    /// Printed text.
    pub text: String,
}

/// A failed assertion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssertionFailure {
    /// `global_invocation_id` of the invocation.
    pub invocation: [u32; 3],
    /// Place of the statement: the file or its label, with the line and the column.
    pub place: String,
    /// Condition as the shader has it.
    pub condition: String,
    /// Text of the statement with its values.
    pub text: String,
    /// Number of failures of all invocations.
    pub count: u32,
}

impl Messages {
    /// Returns the messages in the words of a message buffer.
    pub fn report(&self, words: &[u32]) -> MessageReport {
        let word = |at: usize| words.get(at).copied().unwrap_or(0);
        let records = words.get(HEADER_WORDS as usize..).unwrap_or_default();
        let (failed, printed) = records.split_at(records.len().min(self.failure_words() as usize));
        let mut lines: Vec<PrintedLine> = self.records(printed, word(header::STORED)).map(line).collect();
        // The sort is stable, and the records of one invocation are in the order of its statements.
        lines.sort_by_key(|line| order(line.invocation));
        let failures = failed.chunks_exact(self.assert_words.max(1) as usize);
        let failures = failures.take(word(header::FAILURES) as usize).flat_map(|slot| self.records(slot, 1));
        let first = failures.min_by_key(|record| order(record.invocation));
        let failure = first.map(|record| AssertionFailure {
            invocation: record.invocation,
            place: record.site.place.clone(),
            condition: record.site.condition.clone().unwrap_or_default(),
            text: record.site.text(record.values),
            count: word(header::FAILED),
        });
        MessageReport { lines, left_out: word(header::LEFT_OUT), failure }
    }

    /// Returns up to `count` records. The records that fit have no gaps between them.
    fn records<'w>(&'w self, words: &'w [u32], count: u32) -> impl Iterator<Item = Record<'w>> {
        let mut rest = words;
        (0..count).map_while(move |_| {
            // The numbers of the statements begin with 1, because a record that was not written is 0.
            let site = self.sites.get(rest.first()?.checked_sub(1)? as usize)?;
            let (record, after) = rest.split_at_checked(site.words() as usize)?;
            rest = after;
            let &[_, x, y, z, ref values @ ..] = record else { return None };
            Some(Record { site, invocation: [x, y, z], values })
        })
    }
}

/// A record of a message buffer.
struct Record<'w> {
    site: &'w MessageSite,
    invocation: [u32; 3],
    values: &'w [u32],
}

fn line(record: Record<'_>) -> PrintedLine {
    PrintedLine { invocation: record.invocation, text: record.site.text(record.values) }
}

/// Returns the sort key of an invocation: z, then y, then x.
fn order([x, y, z]: [u32; 3]) -> [u32; 3] {
    [z, y, x]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Module, ShaderSource};

    const TEXT: &str = "@compute @workgroup_size(1) fn k(@builtin(global_invocation_id) id: vec3<u32>) {
        print(\"at {}\", id.xy);
        print(\"{}, {}, {}\", -1, 1.0, id.x > 0u);
        assert(id.x > 1u, \"x = {}\", id.x);
    }";

    fn messages() -> Messages {
        let module = Module::parse(&ShaderSource::text("k.wgsl", TEXT)).unwrap();
        module.interface("k", &[]).unwrap().messages.unwrap()
    }

    /// Returns the words of a message buffer with these records, `failed` of which are failures.
    fn buffer(printed: &[&[u32]], failures: &[&[u32]]) -> Vec<u32> {
        let counts = [0, printed.len() as u32, 3, 9, 0, failures.len() as u32];
        let mut failed = failures.concat();
        failed.resize(messages().failure_words() as usize, 77);
        [&counts[..], &failed, &printed.concat(), &[77; 2]].concat()
    }

    #[test]
    fn lines_are_ordered_by_invocation_and_keep_the_order_of_the_statements() {
        let one = 1.0_f32.to_bits();
        let records: [&[u32]; 5] = [
            &[1, 2, 1, 0, 2, 1],
            &[2, 3, 0, 0, u32::MAX, one, 0],
            &[2, 2, 1, 0, 5, one, 1],
            &[1, 0, 0, 1, 0, 0],
            &[1, 3, 0, 0, 3, 0],
        ];
        let report = messages().report(&buffer(&records, &[]));
        let lines: Vec<_> = report.lines.iter().map(|line| (line.invocation, &*line.text)).collect();
        let expected = [
            ([3, 0, 0], "-1, 1.0, false"),
            ([3, 0, 0], "at (3, 0)"),
            ([2, 1, 0], "at (2, 1)"),
            ([2, 1, 0], "5, 1.0, true"),
            ([0, 0, 1], "at (0, 0)"),
        ];
        assert_eq!(lines, expected);
        assert_eq!((report.left_out, report.failure), (3, None));
    }

    #[test]
    fn the_failure_of_the_first_invocation_is_reported_with_the_number_of_failures() {
        let failures: [&[u32]; 4] = [&[3, 1, 1, 0, 1], &[0; 5], &[3, 1, 0, 0, 1], &[3, 0, 1, 0, 0]];
        let failure = messages().report(&buffer(&[], &failures)).failure.unwrap();
        assert_eq!((failure.invocation, failure.count), ([1, 0, 0], 9));
        let AssertionFailure { place, condition, text, .. } = failure;
        assert_eq!([&*place, &*condition, &*text], ["k.wgsl:4:9", "id.x > 1u", "x = 1"]);
    }

    #[test]
    fn words_that_are_no_records_end_the_report() {
        let records: [&[u32]; 3] = [&[1, 1, 0, 0, 1, 0], &[9, 0, 0, 0], &[1, 1, 0, 0, 1, 0]];
        assert_eq!(messages().report(&buffer(&records, &[])).lines.len(), 1);
        assert_eq!(messages().report(&[]), MessageReport::default());
    }
}
