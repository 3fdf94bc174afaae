//! The timeline: a self-contained HTML page.

use crate::profile::Profile;
use crate::row::Row;
use serde_json::{Value, json};
use std::io::{self, Write};

/// The page, with the placeholder `DATA` for the data.
const TIMELINE_PAGE: &str = include_str!("timeline.html");
const DATA: &str = "{{data}}";

// Repeats the `cfg` of the module, because the documentation of `fencepost` shows only a `cfg` on the item itself.
#[cfg(feature = "profile")]
impl Profile {
    /// Writes the profile as one self-contained HTML file. Queues are rows, commands are bars, and waits are arrows.
    /// Below them are the tables of [`summary`](Self::summary), [`overlap`](Self::overlap) and
    /// [`critical_path`](Self::critical_path).
    ///
    /// # Errors
    /// The errors of `out`.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let profiler = ctx.profile();
    /// queue.full::<u32, 1>([1024], 7)?;
    /// let mut page = Vec::new();
    /// profiler.finish().wait()?.write_html(&mut page).expect("memory takes everything");
    /// assert!(page.starts_with(b"<!doctype html>"));
    /// # drop(ctx);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn write_html(&self, mut out: impl Write) -> io::Result<()> {
        let (head, tail) =
            TIMELINE_PAGE.split_once(DATA).expect("bug: the page has no placeholder for the data");
        out.write_all(head.as_bytes())?;
        out.write_all(escaped(&self.data().to_string()).as_bytes())?;
        out.write_all(tail.as_bytes())
    }

    fn data(&self) -> Value {
        let overlap = self.overlap();
        let path = self.critical_path();
        let queues = self.queues().into_iter().map(|(label, lane)| json!({ "label": label, "lane": lane }));
        let batches = self.batches.iter();
        let batches = batches.map(|batch| json!([batch.lane, batch.submitted, batch.completed, batch.rows]));
        let summary = self.summary().rows.into_iter().map(|row| {
            json!({
                "kind": row.activity.word(), "name": &*row.name, "count": row.count, "measured": row.measured,
                "min": row.min, "mean": row.mean, "max": row.max, "total": row.total, "share": row.share,
            })
        });
        let busy = overlap.lanes.iter().chain(&overlap.queues);
        let busy = busy.map(|busy| json!([&*busy.label, busy.seconds, busy.share]));
        json!({
            "adapter": self.adapter,
            "seconds": self.seconds,
            "clock_error": self.clock_error,
            "queues": queues.collect::<Vec<_>>(),
            "rows": self.rows.iter().map(row).collect::<Vec<_>>(),
            "batches": batches.collect::<Vec<_>>(),
            "summary": summary.collect::<Vec<_>>(),
            "overlap": {
                "compute": overlap.compute, "copy": overlap.copy, "both": overlap.both, "share": overlap.share,
                "busy": busy.collect::<Vec<_>>(),
                "idle": overlap.idle(),
                "gaps": overlap.gaps.len(),
                "unmeasured": overlap.unmeasured,
            },
            "path": { "rows": path.rows, "seconds": path.seconds, "wall": path.wall, "unmeasured": path.unmeasured },
        })
    }
}

/// Returns the values of a row as an array without names, because a profile may have many rows.
fn row(row: &Row) -> Value {
    let (time, why) = match row.time {
        Ok(time) => (json!([nano(time.start), nano(time.end)]), Value::Null),
        Err(reason) => (Value::Null, reason.to_string().into()),
    };
    let awaited = row.awaited.as_ref().map(|awaited| json!([awaited.row, format!("{:?}", awaited.cause)]));
    json!([
        row.queue_number,
        row.activity.word(),
        &*row.name,
        time,
        nano(row.enqueued),
        row.submitted.map(nano),
        row.batch,
        row.location.to_string(),
        awaited,
        why,
        row.level_peers,
        row.replay,
    ])
}

/// Rounds seconds to nanoseconds.
fn nano(seconds: f64) -> f64 {
    (seconds * 1e9).round() / 1e9
}

/// Escapes `<`, so that no label in the JSON text can end the HTML element that contains it.
fn escaped(json: &str) -> String {
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_label_can_end_the_html_element_of_the_data() {
        let text = escaped(&json!("</script><!--").to_string());
        assert!(!text.contains('<'), "{text}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), json!("</script><!--"));
    }
}
