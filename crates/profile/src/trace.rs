//! Writes the Trace Event format, which Perfetto and chrome://tracing open.

use crate::profile::Profile;
use crate::row::Row;
use serde_json::{Value, json};
use std::io::{self, Write};

/// Number of the process for host activity.
const HOST: usize = 0;

// Repeats the `cfg` of the module, because the documentation of `fencepost` shows only a `cfg` on the item itself.
#[cfg(feature = "profile")]
impl Profile {
    /// Writes the profile as JSON in the Trace Event format, for Perfetto and `chrome://tracing`.
    ///
    /// A hardware queue is a process, and a queue is a thread of that process. A row with a time is a complete event
    /// with its [`Activity`](crate::Activity) as the category. A row without a time is an instant event at the time of
    /// its enqueueing. Waits for other queues are also arrows, and the submissions are spans of the process `host`.
    ///
    /// # Errors
    /// The errors of `out`.
    ///
    /// # Example
    /// ```
    /// # let (ctx, queue) = fencepost::doctest();
    /// let profiler = ctx.profile();
    /// queue.full::<u32, 1>([1024], 7)?;
    /// let mut trace = Vec::new();
    /// profiler.finish().wait()?.write_chrome_trace(&mut trace).expect("memory takes everything");
    /// assert!(String::from_utf8(trace).unwrap().contains("\"cat\":\"fill\""));
    /// # drop(ctx);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn write_chrome_trace(&self, mut out: impl Write) -> io::Result<()> {
        out.write_all(b"{\"displayTimeUnit\":\"ns\",\"otherData\":")?;
        let error = self.clock_error.map(micro);
        serde_json::to_writer(&mut out, &json!({ "adapter": self.adapter, "clock_error_us": error }))?;
        out.write_all(b",\"traceEvents\":[\n")?;
        let mut first = true;
        let mut event = |event: Value| {
            if !std::mem::take(&mut first) {
                out.write_all(b",\n")?;
            }
            serde_json::to_writer(&mut out, &event).map_err(io::Error::from)
        };
        self.names().try_for_each(&mut event)?;
        self.submissions().try_for_each(&mut event)?;
        for (at, row) in self.rows.iter().enumerate() {
            event(row_event(at, row))?;
            self.arrow(at, row).into_iter().flatten().try_for_each(&mut event)?;
        }
        out.write_all(b"\n]}\n")
    }

    /// Returns the events that name the processes and threads.
    fn names(&self) -> impl Iterator<Item = Value> {
        let queues = self.queues();
        let lanes = queues.iter().map(|(_, lane)| lane + 1).max().unwrap_or(0);
        let name = |what: &str, pid: usize, tid: usize, name: String| json!({ "ph": "M", "name": what, "pid": pid, "tid": tid, "args": { "name": name } });
        let mut names = vec![name("process_name", HOST, 0, "host".into())];
        names.extend((0..lanes).map(|lane| name("process_name", lane + 1, 0, format!("lane {lane}"))));
        let threads = queues.iter().enumerate();
        names.extend(threads.map(|(at, (label, lane))| name("thread_name", lane + 1, at, (*label).into())));
        names.into_iter()
    }

    /// Returns the spans of the batches, from submission to completion. The spans are asynchronous events, because they
    /// may overlap, which events of one thread must not.
    fn submissions(&self) -> impl Iterator<Item = Value> {
        self.batches.iter().enumerate().flat_map(|(at, batch)| {
            let name = format!("batch {at}: {} rows", batch.rows);
            let event = |ph: &str, ts: f64| json!({ "ph": ph, "cat": "batch", "id": at, "name": name, "pid": HOST, "tid": 0, "ts": micro(ts) });
            let end = batch.completed.map(|completed| event("e", completed));
            end.into_iter().flat_map(move |end| [event("b", batch.submitted), end]).collect::<Vec<_>>()
        })
    }

    /// Returns the arrow from the end of the awaited row to the end of the wait.
    fn arrow(&self, at: usize, row: &Row) -> Option<[Value; 2]> {
        let from = &self.rows[row.awaited_row()?];
        let wait = row.time.ok()?;
        let awaited = from.time.unwrap_or(wait); // if the awaited row has no time, it ended no later than the wait
        let end = |ph: &str, row: &Row, ts: f64| json!({ "ph": ph, "cat": "wait", "id": at, "name": "wait", "bp": "e", "pid": row.lane + 1, "tid": row.queue_number, "ts": micro(ts) });
        Some([end("s", from, awaited.end), end("f", row, wait.end)])
    }
}

fn row_event(at: usize, row: &Row) -> Value {
    let mut args = json!({
        "row": at,
        "line": row.location.to_string(),
        "enqueued_us": micro(row.enqueued),
        "submitted_us": row.submitted.map(micro),
        "batch": row.batch,
        "bytes": row.bytes,
        "level_peers": row.level_peers,
        "replay": row.replay,
    });
    let name = &*row.name;
    let cat = row.activity.word();
    let pid = row.lane + 1;
    let tid = row.queue_number;
    match row.time {
        Ok(time) => {
            let ts = micro(time.start);
            let dur = micro(time.seconds());
            json!({ "ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args })
        }
        Err(reason) => {
            args["not_measured"] = reason.to_string().into();
            let ts = micro(row.enqueued);
            json!({ "ph": "i", "s": "t", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "args": args })
        }
    }
}

/// Converts seconds to microseconds, rounded to nanoseconds.
fn micro(seconds: f64) -> f64 {
    (seconds * 1e9).round() / 1e3
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::Activity;
    use crate::test_profiles::{profile, row, unmeasured, wait};

    fn events(profile: &Profile) -> Vec<Value> {
        let mut out = Vec::new();
        profile.write_chrome_trace(&mut out).expect("memory takes everything");
        let trace: Value = serde_json::from_slice(&out).expect("it is JSON");
        trace["traceEvents"].as_array().expect("a list").clone()
    }

    #[test]
    fn every_row_is_an_event_and_every_wait_for_a_row_is_an_arrow() {
        let rows = vec![
            row(0, Activity::Launch, "k", (1.0, 3.0)),
            wait(1, Some(0), (0.5, 3.0)),
            unmeasured(row(1, Activity::Fill, "x", (0.0, 0.0))),
        ];
        let events = events(&profile(rows));
        let of = |ph: &str| events.iter().filter(|event| event["ph"] == ph).collect::<Vec<_>>();
        assert_eq!((of("X").len(), of("i").len(), of("s").len(), of("f").len()), (2, 1, 1, 1));
        let launch = of("X")[0];
        assert_eq!((&launch["ts"], &launch["dur"]), (&json!(1e6), &json!(2e6)));
        assert_eq!(
            (&launch["cat"], &launch["pid"], &launch["tid"]),
            (&json!("launch"), &json!(1), &json!(0))
        );
        assert_eq!(of("s")[0]["ts"], of("f")[0]["ts"]);
        assert_eq!(
            of("i")[0]["args"]["not_measured"],
            "it completed before the next tick of the device's clock"
        );
        let threads: Vec<_> = events.iter().filter(|event| event["name"] == "thread_name").collect();
        assert_eq!(threads.len(), 2);
    }

    #[test]
    fn the_trace_of_an_empty_profile_has_one_event() {
        assert_eq!(events(&profile(Vec::new())).len(), 1);
    }
}
