//! Checks that the library accepts the shaders in the book, and has those that the guide lists.

use crate::pages::book;
use fencepost::{Context, ErrorDetail, Result, SimulatorOptions};
use pulldown_cmark::{CodeBlockKind, Event, Tag, TagEnd};

/// Returns the texts of all blocks of WGSL.
fn shaders() -> Vec<String> {
    let mut shaders = Vec::<String>::new();
    let mut is_shader = false;
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

/// Compiles a text for the CPU.
fn compile(shader: &str) -> Result<()> {
    Context::simulated(SimulatorOptions::default()).kernel_from(shader, entry(shader)).map(drop)
}

#[test]
fn every_shader_runs_on_the_cpu() {
    let shaders = shaders();
    assert!(!shaders.is_empty());
    for shader in &shaders {
        if let Err(error) = compile(shader) {
            panic!("{error}\n{shader}");
        }
    }
}

#[test]
fn a_wrong_shader_is_found() {
    let text = "@compute @workgroup_size(1) fn f() { undeclared = 1; }";
    let error = compile(text).expect_err("the name is not declared");
    assert!(matches!(error.detail(), ErrorDetail::Kernel(_)), "{error}");
}

#[test]
fn each_built_in_shader_that_the_guide_lists_exists() {
    let page = book().into_iter().find(|page| page.name() == "docs/guide/kernels.md").expect("it is there");
    let rows = page.text.lines().filter(|line| line.starts_with("| `"));
    let names: Vec<&str> =
        rows.flat_map(|row| row.split('`')).filter(|name| name.ends_with(".wgsl")).collect();
    assert!(names.len() > 8, "{names:?}");
    for name in names {
        assert!(fencepost::builtin_shader(name).is_some(), "{name}");
        assert!(
            fencepost::reference(name.trim_end_matches(".wgsl")).is_some(),
            "{name} is a kernel of a verb"
        );
    }
}
