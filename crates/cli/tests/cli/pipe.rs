//! Tests output into a pipe without a reader.

use std::process::Stdio;

use anyhow::{Result, ensure};

use crate::Once;
use crate::program::{command, within};

pub(crate) const ONCE: [Once; 1] = [("a_closed_pipe_is_no_error_and_no_panic", closed)];

fn closed() -> Result<()> {
    for args in [&["completions", "bash"][..], &["man"], &["--help"], &["info"], &["shaders"]] {
        let (reader, writer) = std::io::pipe()?;
        drop(reader);
        let mut ran = command(args);
        ran.stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped());
        let mut child = ran.spawn()?;
        drop(ran); // it holds the writer's end
        let code = within(&mut child)?;
        let err = std::io::read_to_string(child.stderr.take().expect("it is a pipe"))?;
        ensure!(!err.contains("panicked"), "{args:?} panicked: {err}");
        ensure!(code == Some(0) || args == ["info"], "{args:?}: code {code:?}, {err}");
    }
    Ok(())
}
