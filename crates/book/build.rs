//! Makes an empty module for each rust block of the book, with the block as its documentation. rustdoc compiles and
//! runs the blocks.
//!
//! A block that is a whole program stays as it is. Any other block is the body of a program: definitions of its names
//! are put before it, which the book does not show.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

const BEFORE: &str = "# use fencepost::prelude::*;
# use fencepost_book::{Names, Saxpy};
# let Names { ctx, a, b, mut x, mut y, kernel } = Names::new()?;
";
const AFTER: &str = "# Ok::<(), fencepost::Error>(())
";

/// A fenced block: its first line, the text after its fence, and its content.
struct Block {
    line: usize,
    info: String,
    text: String,
}

fn main() -> io::Result<()> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    writeln!(io::stdout(), "cargo::rerun-if-changed={}", docs.display())?; // tells cargo
    let mut modules = String::new();
    for page in pages(&docs)? {
        let name = page.strip_prefix(&docs).expect("a page lies in docs").with_extension("");
        let name = name.to_string_lossy().to_lowercase().replace(|c: char| !c.is_alphanumeric(), "_");
        modules += &module(&name, &blocks(&fs::read_to_string(&page)?));
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("pages.rs"), modules)
}

/// Returns every page below a folder, sorted.
fn pages(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            pages.extend(self::pages(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "md") {
            pages.push(path);
        }
    }
    pages.sort();
    Ok(pages)
}

/// Returns the rust blocks of a page.
fn blocks(page: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut inside = false;
    for (event, range) in Parser::new(page).into_offset_iter() {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if info.starts_with("rust") => {
                let line = page[..range.start].matches('\n').count() + 1;
                blocks.push(Block { line, info: info.into_string(), text: String::new() });
                inside = true;
            }
            Event::Text(text) if inside => blocks.last_mut().expect("one is open").text += &text,
            Event::End(TagEnd::CodeBlock) => inside = false,
            _ => {}
        }
    }
    blocks
}

/// Writes a page as a module, and its blocks as modules in it: the names of the tests have the page and the line.
fn module(page: &str, blocks: &[Block]) -> String {
    let blocks: String = blocks.iter().map(Block::module).collect();
    format!("pub mod {page} {{\n//! A page.\n{blocks}}}\n")
}

impl Block {
    fn module(&self) -> String {
        let Self { line, info, text } = self;
        let is_program = text.contains("fn main()");
        let (before, after) = if is_program { ("", "") } else { (BEFORE, AFTER) };
        let documentation = format!("```{info}\n{before}{text}{after}```\n");
        format!("#[doc = {documentation:?}]\npub mod line_{line} {{}}\n")
    }
}
