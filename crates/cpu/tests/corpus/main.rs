//! Runs shaders of other projects and of this one: the CPU runs each entry point, or refuses it with a reason.
#![allow(missing_docs, reason = "the names of the tests say what they test")]

mod attempt;
mod reasons;
mod renumber;

use attempt::{Attempt, attempt};
use std::path::{Path, PathBuf};

/// Environment variable that names the folder of the texts.
const FOLDER: &str = "FENCEPOST_CORPUS";

/// Attempts each compute entry point of a text, and prints its outcome. Returns the texts of panics.
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

/// Returns the paths of the texts of a folder, in the order of their names.
fn texts(folder: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<_> = files.map(|file| file.expect("an entry of the folder").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "wgsl"));
    paths.sort();
    assert!(!paths.is_empty(), "{} has no .wgsl file", folder.display());
    paths
}

/// Returns the name of a text's file, and the text.
fn read(path: &Path) -> (String, String) {
    let name = path.file_name().expect("a file has a name").to_string_lossy();
    (name.into_owned(), std::fs::read_to_string(path).expect("a text"))
}

/// Each shader begins with the expected outcome of its entry points: `compiled`, `runs` if it may be interpreted, or
/// `refused` with the message. Compiled and interpreted results must be equal.
#[test]
fn each_text_of_this_project_has_the_outcome_that_its_first_line_expects() {
    let mut wrong = Vec::new();
    for path in texts(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus/texts")) {
        let (name, text) = read(&path);
        let first = text.lines().next().unwrap_or_default();
        let expected = first.strip_prefix("// expect: ").unwrap_or_else(|| panic!("{name}: {first}"));
        let attempts = attempt(&name, &renumber::in_one_group(&text));
        assert!(!attempts.is_empty(), "{name} has no entry point");
        for Attempt { entry, outcome } in attempts {
            let outcome = outcome.unwrap_or_else(|panic| format!("panics: {panic}"));
            let runs = outcome.starts_with("compiled") || outcome.starts_with("interpreted");
            let is_expected = if expected == "runs" { runs } else { outcome.starts_with(expected) };
            if !is_expected || outcome.contains("; the ") {
                wrong.push(format!("{name}, {entry}: {outcome}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn results_that_depend_on_the_order_of_workgroups_are_noted() {
    let text = "@group(0) @binding(0) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(1) fn last(@builtin(workgroup_id) id: vec3<u32>) { out[0] = id.x + 1u; }";
    let [Attempt { outcome: Ok(outcome), .. }] = &attempt("last.wgsl", text)[..] else {
        panic!("one entry point")
    };
    assert!(outcome.contains("the results of the runs differ"), "{outcome}");
}

#[test]
#[ignore = "the folder of the texts is not in the repository: FENCEPOST_CORPUS names it"]
fn each_text_of_a_folder_runs_or_is_refused_by_name() {
    let folder =
        std::env::var(FOLDER).unwrap_or_else(|_| panic!("{FOLDER} names no folder with .wgsl files"));
    let panics: Vec<String> = texts(Path::new(&folder))
        .iter()
        .flat_map(|path| {
            let (name, text) = read(path);
            println!("{name}"); // a stack overflow ends the process; this line then names the shader
            report(&name, &text)
        })
        .collect();
    assert!(panics.is_empty(), "{panics:#?}");
}
