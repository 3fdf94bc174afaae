//! Texts of other projects and of this one: the CPU runs each entry point, or refuses it with a reason.
#![allow(missing_docs, reason = "the names of the tests say what they test")]

mod attempt;
mod reasons;
mod renumber;

use attempt::{Attempt, attempt};
use std::path::Path;

/// Names the environment variable with the folder of the texts.
const FOLDER: &str = "FENCEPOST_CORPUS";

/// Attempts each compute entry point of a text, and prints what comes of it. Returns the texts of panics.
fn report(name: &str, text: &str) -> Vec<String> {
    let mut panics = Vec::new();
    for Attempt { entry, outcome } in attempt(name, &renumber::in_one_group(text)) {
        let outcome = outcome.unwrap_or_else(|panic| {
            panics.push(format!("{name}, {entry}: {panic}"));
            format!("PANICS: {panic}")
        });
        println!("{name}, {entry}: {outcome}");
    }
    panics
}

#[test]
fn each_built_in_kernel_is_compiled() {
    for (name, _) in fencepost_kernels::builtins() {
        let source = fencepost_kernels::ShaderSource::builtin(name).expect("there is one");
        for Attempt { entry, outcome } in attempt::attempt_source(name, &source) {
            let outcome = outcome.unwrap_or_else(|panic| panic!("{name}, {entry}: {panic}"));
            assert!(outcome.starts_with("compiled"), "{name}, {entry}: {outcome}");
        }
    }
}

#[test]
fn a_text_that_does_not_run_is_refused_by_name() {
    let texture = "@group(1) @binding(0) var image: texture_2d<f32>; @group(1) @binding(1) var<storage, read_write> x: array<f32>;
        @compute @workgroup_size(1) fn reads() { x[0] = textureLoad(image, vec2(0, 0), 0).x; }";
    let attempts = attempt("texture.wgsl", &renumber::in_one_group(texture));
    let [Attempt { entry, outcome: Ok(outcome) }] = &attempts[..] else { panic!("one entry point") };
    assert_eq!(entry, "reads");
    assert!(outcome.starts_with("refused: ") && outcome.contains("image"), "{outcome}");
}

#[test]
#[ignore = "the folder of the texts is not in the repository: FENCEPOST_CORPUS names it"]
fn each_text_of_a_folder_runs_or_is_refused_by_name() {
    let folder =
        std::env::var(FOLDER).unwrap_or_else(|_| panic!("{FOLDER} names no folder with .wgsl files"));
    let files = std::fs::read_dir(Path::new(&folder)).unwrap_or_else(|error| panic!("{folder}: {error}"));
    let mut paths: Vec<_> = files.map(|file| file.expect("an entry of the folder").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "wgsl"));
    paths.sort();
    assert!(!paths.is_empty(), "{folder} has no .wgsl file");
    let panics: Vec<String> = paths
        .iter()
        .flat_map(|path| {
            let name = path.file_name().expect("a file has a name").to_string_lossy();
            println!("{name}"); // a stack overflow ends the process, and this line names its text
            report(&name, &std::fs::read_to_string(path).expect("a text"))
        })
        .collect();
    assert!(panics.is_empty(), "{panics:#?}");
}
