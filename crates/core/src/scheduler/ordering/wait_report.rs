//! The readable report of added and redundant waits.

use crate::error::site::Site;
use std::fmt;
use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

/// Waits that the policy added, and waits of the program that were not needed, the most frequent first.
/// [`Context::wait_report`](crate::Context::wait_report) returns the report, and `Display` prints it as tables.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WaitReport {
    /// Waits that [`Policy::Ordered`](crate::Policy::Ordered) added.
    pub added: Vec<AddedWait>,
    /// Waits that the program could leave out.
    pub redundant: Vec<RedundantWait>,
}

/// A wait that the policy added, of one line of the program for another.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AddedWait {
    /// Command that waits.
    pub later: Site,
    /// Command that is waited for.
    pub earlier: Site,
    /// Label of the array that both commands use.
    pub array: String,
    /// Smallest range of the array's block that contains the bytes in conflict, over all counted waits.
    pub range: Range<u64>,
    /// Access of the earlier command: `read` or `write`.
    pub access: &'static str,
    /// Number of times that the policy added the wait.
    pub count: u64,
}

/// A wait of the program that changed no order.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RedundantWait {
    /// Queue that waits.
    pub queue: Arc<str>,
    /// Line of the program that enqueues the wait.
    pub location: &'static Location<'static>,
    /// Queue that is waited for.
    pub waited_for: Arc<str>,
    /// Reason why the wait changed no order.
    pub already: Already,
    /// Number of times that the program enqueued the wait.
    pub count: u64,
}

/// Reason why a wait changed no order.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Already {
    /// The wait is for a point of the same queue, which executes in order.
    SameQueue,
    /// The queues are ordered already: by an earlier wait of the program or of the policy, or because the waiting
    /// queue was made later.
    Ordered,
    /// A wait of the host has reported the point as complete to the program.
    Told,
}

impl fmt::Display for Already {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SameQueue => "a queue executes in order",
            Self::Ordered => "the queue is already ordered after it",
            Self::Told => "the host has waited for it",
        })
    }
}

impl fmt::Display for WaitReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let added = self.added.iter().map(|wait| {
            let bytes = format!("bytes {:?} of array `{}`", wait.range, wait.array);
            [wait.count.to_string(), wait.later.to_string(), wait.earlier.to_string(), bytes]
        });
        let redundant = self.redundant.iter().map(|wait| {
            let line = format!("queue `{}` at {}", wait.queue, wait.location);
            [wait.count.to_string(), line, format!("queue `{}`", wait.waited_for), wait.already.to_string()]
        });
        f.write_str("waits that the policy added")?;
        table(f, ["times", "later", "earlier", "both use"], added.collect())?;
        f.write_str("waits that were not needed")?;
        table(f, ["times", "wait", "for", "because"], redundant.collect())
    }
}

/// Writes a table after the title on the current line. Each column is as wide as its longest entry.
fn table(f: &mut fmt::Formatter<'_>, heads: [&str; 4], rows: Vec<[String; 4]>) -> fmt::Result {
    if rows.is_empty() {
        return writeln!(f, ": none");
    }
    writeln!(f)?;
    let rows: Vec<[String; 4]> = std::iter::once(heads.map(str::to_owned)).chain(rows).collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 3] = [width(0), width(1), width(2)];
    for [times, first, second, last] in &rows {
        let [a, b, c] = widths;
        writeln!(f, "  {times:>a$}  {first:b$}  {second:c$}  {last}")?;
    }
    Ok(())
}
