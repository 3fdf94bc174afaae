//! `cargo xtask book`: builds `docs/` as a book for a browser, with mdBook.

use anyhow::{Result, bail};

use crate::shell::line;
use crate::tool::Tool;
use crate::workspace::Workspace;

const MDBOOK: Tool = Tool { name: "mdbook", version: "0.5.4" };

/// Arguments of the command `book`.
pub(crate) struct Options {
    pub(crate) serve: bool,
    pub(crate) open: bool,
    pub(crate) may_install: bool,
}

/// Builds the book, or serves it until it is interrupted.
pub(crate) fn book(workspace: &Workspace, options: &Options) -> Result<()> {
    let Some(mdbook) = MDBOOK.find(workspace, options.may_install)? else {
        bail!("mdbook is missing: run without --no-install, or run `cargo install mdbook`");
    };
    let command = if options.serve { "serve" } else { "build" };
    let open = options.open.then_some("--open");
    line(mdbook).arg(command).args(open).arg(workspace.path("docs")).run()?;
    eprintln!("xtask: the book is in {}", workspace.path("target/book").display());
    Ok(())
}
