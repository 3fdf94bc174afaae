//! Checks that the library accepts the shaders in the book.

use crate::pages::book;
use fencepost::{Context, CpuOptions, Error, Kind};
use pulldown_cmark::{CodeBlockKind, Event, Tag, TagEnd};

/// Returns the texts of all blocks of WGSL.
fn shaders() -> Vec<String> {
    let (mut shaders, mut is_shader) = (Vec::<String>::new(), false);
    for page in book() {
        for event in page.events() {
            match event {
                Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if &*info == "wgsl" => {
                    shaders.push(String::new());
                    is_shader = true;
                }
                Event::End(TagEnd::CodeBlock) => is_shader = false,
                Event::Text(text) if is_shader => *shaders.last_mut().expect("one is open") += &text,
                _ => {}
            }
        }
    }
    shaders
}

/// Returns the first entry point of a text.
fn entry(shader: &str) -> &str {
    let attribute = shader.find("@compute").expect("a shader of the book has an entry point");
    let name = shader[attribute..].split_once("fn ").expect("it is a function").1;
    name.split('(').next().unwrap_or_default()
}

/// Returns the error of the CPU recorder for a text. The recorder checks last that it has a function for the kernel.
fn refusal(shader: &str) -> Error {
    let made = Context::on_cpu(CpuOptions::default()).kernel_from(shader, entry(shader));
    made.map(drop).expect_err("no function was given")
}

#[test]
fn every_shader_is_parsed_validated_and_reflected() {
    let shaders = shaders();
    assert!(!shaders.is_empty());
    for shader in &shaders {
        let error = refusal(shader);
        assert!(matches!(error.kind(), Kind::NoReference { .. }), "{error}\n{shader}");
    }
}

#[test]
fn a_wrong_shader_is_found() {
    let error = refusal("@compute @workgroup_size(1) fn f() { undeclared = 1; }");
    assert!(matches!(error.kind(), Kind::Kernel(_)), "{error}");
}
