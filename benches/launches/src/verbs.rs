//! Calls each verb of the algorithms on the noop back end, for a program that counts instructions.

#[path = "../../../tests/conformance/algorithms/verb_table.rs"]
#[allow(dead_code, reason = "tests upload the inputs of the calls and read the results")]
mod verb_table;

use std::{hint::black_box, io::Write};

use anyhow::{Context as _, Result};
use fencepost::{CommandQueue, Context};

use crate::instructions::{Counted, row_is_counted};
use verb_table::{Arrays, Verb, table};

/// The contestant whose rows are the verbs.
pub(crate) const VERBS: &str = "fencepost direct verbs";
/// Elements of an array: enough for several chunks, so that a verb has all its launches.
const ELEMENTS: usize = 20_480;
/// Number of calls that warm the caches, before the counted calls.
const FIRST: usize = 4;
/// Number of counted calls. In some runs malloc searches its lists; over this many calls the search hardly shows.
const CALLS: usize = 12;

/// Calls each verb, and writes one JSON line to `out` after each, as [`launch_on_noop`](crate::launch_on_noop) does.
pub(crate) fn call_on_noop(ctx: &Context, out: &mut dyn Write) -> Result<()> {
    let queue = ctx.queue("verbs");
    let mut arrays = Arrays::new(ctx, ELEMENTS);
    for verb in table().iter().filter(|verb| !verb.returns) {
        let done = |arrays: &mut Arrays| verb_count_until_done(&queue, verb, arrays);
        for _ in 0..FIRST {
            call(&queue, verb, &mut arrays)?;
        }
        for _ in 0..CALLS {
            done(&mut arrays).with_context(|| format!("the verb `{}`", verb.id))?;
        }
        row_is_counted(&Counted { row: verb.id, launches: CALLS }, out)?;
    }
    Ok(())
}

fn call(queue: &CommandQueue, verb: &Verb, arrays: &mut Arrays) -> Result<()> {
    verb.call(queue, arrays)?;
    Ok(queue.finish().wait()?)
}

/// Makes a call whose instructions callgrind counts, which it finds by the name of this function.
#[inline(never)]
fn verb_count_until_done(queue: &CommandQueue, verb: &Verb, arrays: &mut Arrays) -> Result<()> {
    black_box(call(queue, verb, arrays)) // prevents a tail call: the function must return itself
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verb_reports_its_calls() {
        let mut out = Vec::new();
        call_on_noop(&crate::noop::direct().expect("a context"), &mut out).expect("each verb succeeds");
        let text = String::from_utf8(out).expect("text");
        let verbs: Vec<_> = table().into_iter().filter(|verb| !verb.returns).collect();
        assert_eq!(text.lines().count(), verbs.len());
        for (line, verb) in text.lines().zip(&verbs) {
            assert_eq!(line, format!(r#"{{"row":"{}","launches":{CALLS}}}"#, verb.id));
        }
    }
}
