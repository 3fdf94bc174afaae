//! Checks that a verb with several commands makes before the first one, so that a refused call enqueues nothing.

use crate::elementwise::ConvertArgs;
use crate::trusted;
use crate::tuning::WIDE;
use crate::typed_kernel::{compiled, value};
use crate::verb_queue::{VerbQueue, argument_of, subject};
use fencepost_core::{DeviceArray, Error, ErrorDetail, IntoArg, Result};

/// An array of the caller, with the name of the verb's argument.
pub(crate) type Named<'a> = (&'a str, &'a DeviceArray<u32>);

/// Returns the error that a later launch that reads or writes the caller's arrays would give, but enqueues nothing. The
/// error names the verb and its arguments.
#[track_caller]
pub(crate) fn check(queue: &VerbQueue<'_>, reads: &[Named<'_>], writes: &[Named<'_>]) -> Result<()> {
    let one = compiled::<u32>(queue, "iota", &WIDE)?;
    let two = trusted::kernel::<ConvertArgs>(queue)?;
    for (at, &(name, written)) in writes.iter().enumerate() {
        let mut out = written.clone();
        for &(read, x) in reads.iter().chain(&writes[..at]) {
            let checked = queue.check_launch(&two, ConvertArgs { n: 0, x, out: &mut out });
            checked.map_err(|error| of_verb(error, queue.verb, [read, name]))?;
        }
        let args = [value("start", 0_u32), value("step", 0_u32), (Some("out".into()), (&mut out).into_arg())];
        queue.check_launch_dyn(&one, args).map_err(|error| of_verb(error, queue.verb, [name; 2]))?;
    }
    Ok(())
}

/// Replaces the argument names `x` and `out` in the error of a checked launch by those of the verb.
fn of_verb(error: Error, verb: &str, [x, out]: [&str; 2]) -> Error {
    let [x, out] = [x, out].map(|name| argument_of(verb, name));
    let name = |arg: &str| if arg == "x" { x } else { out }.to_owned();
    match error.detail() {
        ErrorDetail::Hazard { array, range, earlier, later, access, later_access, wait, gone } => {
            let array = array.clone();
            let range = range.clone();
            let earlier = earlier.clone();
            let wait = wait.clone();
            let argument = if *later_access == "read" { x } else { out };
            let mut later = later.clone();
            later.command = format!("{} with argument `{argument}`", subject(verb));
            let access = *access;
            let later_access = *later_access;
            let gone = *gone;
            ErrorDetail::Hazard { array, range, earlier, later, access, later_access, wait, gone }.into()
        }
        ErrorDetail::Aliased { node, array, .. } => {
            let node = node.clone();
            let array = array.clone();
            ErrorDetail::Aliased { subject: subject(verb), node, first: x.into(), second: out.into(), array }
                .into()
        }
        &ErrorDetail::BindingTooLarge { ref arg, found, limit, remedy, .. } => {
            ErrorDetail::BindingTooLarge { subject: subject(verb), arg: name(arg), found, limit, remedy }
                .into()
        }
        ErrorDetail::ForeignContext { arg, object, .. } => {
            let object = object.clone();
            ErrorDetail::ForeignContext { subject: subject(verb), arg: name(arg), object }.into()
        }
        _ => error,
    }
}
