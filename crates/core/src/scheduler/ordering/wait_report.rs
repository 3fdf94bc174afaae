//! Which waits were added, and which were not needed, for people.

use crate::error::site::Site;
use std::fmt;
use std::ops::Range;
use std::panic::Location;
use std::sync::Arc;

/// The waits that the policy added and those that the program asked for without need, the most frequent first:
/// [`Context::wait_report`](crate::Context::wait_report). `Display` shows it as tables.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct WaitReport {
    /// What [`Policy::Ordered`](crate::Policy::Ordered) added.
    pub added: Vec<AddedWait>,
    /// What the program could leave out.
    pub redundant: Vec<RedundantWait>,
}

/// A wait that the policy added: one line of the program, behind another.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AddedWait {
    /// The command that waits.
    pub later: Site,
    /// The command that it waits for.
    pub earlier: Site,
    /// The label of the array that both use.
    pub array: String,
    /// The bytes of its block that both use, from the first to the last of all times.
    pub range: Range<u64>,
    /// What the earlier command does to them: `read` or `write`.
    pub access: &'static str,
    /// How often.
    pub count: u64,
}

/// A wait that the program asked for, and that changed nothing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RedundantWait {
    /// The label of the queue that waits.
    pub queue: Arc<str>,
    /// The line that asks for it.
    pub location: &'static Location<'static>,
    /// The label of the queue that is waited for.
    pub waited_for: Arc<str>,
    /// Why it changed nothing.
    pub already: Already,
    /// How often.
    pub count: u64,
}

/// Why a wait changed nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Already {
    /// A queue is in order by itself.
    SameQueue,
    /// An earlier wait, one of the policy's perhaps, has ordered the two, or the queue was made later.
    Ordered,
    /// A wait of the host has told the program that it is done.
    Told,
}

impl fmt::Display for Already {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SameQueue => "a queue is in order by itself",
            Self::Ordered => "the queue comes after it anyhow",
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

/// Columns as wide as they have to be, below a line that is begun.
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
