//! Tests wrong usage: it gives code 2, before any adapter is opened.

use anyhow::{Result, ensure};

use crate::Once;
use crate::program::fencepost;

pub(crate) const ONCE: [Once; 3] = [
    ("arguments_without_a_known_form_are_wrong_usage", forms),
    ("conflicting_options_are_wrong_usage", options),
    ("no_command_is_wrong_usage_and_shows_the_help", nothing),
];

fn forms() -> Result<()> {
    let wrong: [(&str, &str); 14] = [
        ("x", "NAME=VALUE"),
        ("=1", "NAME=VALUE"),
        ("x=", "NAME=VALUE"),
        ("x=hello", "zeros:SHAPE"),
        ("x=ones:4", "zeros:SHAPE"),
        ("x=zeros:4y4", "`4y4`"),
        ("x=iota:-1", "`-1`"),
        ("x=random:4:seed", "`seed`"),
        ("x=full:4", "full:SHAPE:NUMBER"),
        ("x=a.npz:", "FILE.npz[:ARRAY]"),
        ("x=a.csv:", "FILE.csv[:COLUMN]"),
        ("x=raw:u8:file", "`u8`"),
        ("x=raw:f32", "raw:TYPE:FILE"),
        ("x=zeros:4294967296x4294967296", "counted"),
    ];
    wrong.iter().try_for_each(|(argument, part)| {
        fencepost(["run", "k.wgsl", argument])?.refused(2, &[part, argument])
    })
}

fn options() -> Result<()> {
    let wrong: [(&[&str], &str); 12] = [
        (&["--grid", "1x1x1x1"], "one to three"),
        (&["--grid", "8", "--groups", "8"], "--groups"),
        (&["--repeat", "3"], "--time"),
        (&["--repeat", "0", "--time"], "--repeat"),
        (&["--set", "W"], "NAME=NUMBER"),
        (&["--set", "W=wide"], "`wide`"),
        (&["--save", "y"], "NAME=FILE.npy"),
        (&["--save", "y=y.txt"], ".npy"),
        (&["--trace", "t.txt"], ".html"),
        (&["--check=maybe"], "never"),
        (&["--json=yes"], "--json"),
        (&["--bogus"], "--bogus"),
    ];
    for (args, part) in wrong {
        fencepost(["run", "k.wgsl"].iter().chain(args))?.refused(2, &[part])?;
    }
    let shaders = &["shaders", "saxpy", "--markdown"][..];
    for args in [&["bogus"][..], &["completions", "tcsh"], &["doctor", "--limit", "0"], &["run"], shaders] {
        fencepost(args)?.refused(2, &["--help"])?;
    }
    Ok(())
}

fn nothing() -> Result<()> {
    let ran = fencepost::<&str>([])?;
    ensure!(ran.code == Some(2) && ran.err.contains("doctor"), "{ran:?}");
    Ok(())
}
