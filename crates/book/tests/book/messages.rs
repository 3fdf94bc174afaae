//! Checks that the compiler prints the messages that the book shows.

use crate::pages::{book, root};
use pulldown_cmark::{CodeBlockKind, Event, Tag, TagEnd};
use std::fs;
use std::path::Path;

/// Returns the messages in blocks of text on the page of messages.
fn shown() -> Vec<String> {
    let mut messages = Vec::<String>::new();
    let mut is_message = false;
    for page in book().iter().filter(|page| page.name() == "docs/errors.md") {
        for event in page.events() {
            match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if &*info == "text" => {
                    messages.push(String::new());
                    is_message = true;
                }
                Event::End(TagEnd::CodeBlock) => is_message = false,
                Event::Text(text) if is_message => *messages.last_mut().expect("one is open") += &text,
                _ => {}
            }
        }
    }
    messages
}

/// Collects the first lines of the compiler's recorded messages.
fn known(folder: &Path, into: &mut Vec<String>) {
    for entry in fs::read_dir(folder).expect("the programs that do not compile are there") {
        let path = entry.expect("a folder can be listed").path();
        if path.is_dir() {
            known(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "stderr") {
            let text = fs::read_to_string(&path).expect("it is text");
            into.extend(text.lines().filter(|line| line.starts_with("error")).map(str::to_owned));
        }
    }
}

#[test]
fn the_book_shows_messages_that_the_compiler_prints() {
    let mut all = Vec::new();
    known(&root().join("tests/compile_fail"), &mut all);
    let shown = shown();
    assert!(shown.len() >= 15, "the page shows {} messages", shown.len());
    for message in shown {
        assert!(all.iter().any(|known| known == message.trim_end()), "nothing says {message}");
    }
}
