//! Rules on the text of a single file, one function each.

use super::code::{code_only, is_word, prose};

const MAX_FILE_LINES: usize = 900;
/// The file with the trait of the algorithms: more than half of its lines are documentation, and a trait is in one file.
const LONG_TRAIT: &str = "crates/algorithms/src/algorithms.rs";
const MAX_FUNCTION_LINES: usize = 80;
/// Limit for an example, which is read in one go; code that is not part of the lesson is in files next to it.
const MAX_EXAMPLE_LINES: usize = 120;

/// Macros that mark unfinished work.
const UNFINISHED: [&str; 3] = ["todo", "unimplemented", "dbg"];

/// Files that may contain unsafe code: they use native handles, compile kernels without runtime checks, or are tests
/// that leave out or count barriers, refuse calls, count heap memory, or block a device.
const UNSAFE_FILES: [&str; 26] = [
    "crates/sync/src/backend/hal.rs",
    "crates/sync/src/fork.rs",
    "crates/algorithms/src/trusted.rs",
    "crates/core/src/api/trusted_kernel.rs",
    "crates/core/src/driver/native_queue.rs",
    "crates/core/src/driver/reusable_encoders.rs",
    "crates/core/src/memory/native_memory.rs",
    "crates/core/src/device/hal_pipeline.rs",
    "crates/core/src/record/hal/encoder.rs",
    "crates/core/src/record/hal/direct.rs",
    "crates/core/src/record/hal/external.rs",
    "crates/core/src/memory/shared_memory.rs",
    "crates/core/src/record/cpu/side_by_side.rs",
    "crates/cpu/src/arith/wide.rs",
    "crates/cpu/src/compile/code.rs",
    "crates/cpu/src/compile/helper.rs",
    "crates/cpu/src/interpret/memory.rs",
    "crates/cpu/src/run.rs",
    "tests/barriers.rs",
    "tests/common/cached.rs",
    "tests/common/held.rs",
    "tests/common/refusing.rs",
    "tests/common/function_tables.rs",
    "tests/growth/heap.rs",
    "tests/planted_hazard.rs",
    "tests/process.rs",
];

/// Folders of the library, which must not choose kernels by driver name.
const LIBRARY: [&str; 5] = [
    "crates/algorithms/src/",
    "crates/core/src/",
    "crates/cpu/src/",
    "crates/kernels/src/",
    "crates/sync/src/",
];
/// Names of drivers. Only the file that selects an adapter may contain them: it may advise to install a driver.
const DRIVERS: [&str; 4] = ["lavapipe", "llvmpipe", "swiftshader", "subzero"];
const NAMES_DRIVERS: &str = "crates/core/src/device/adapter.rs";
/// Folders of the crates that hold locks.
const LOCKING: [&str; 7] = [
    "crates/algorithms/src/",
    "crates/core/src/",
    "crates/cpu/src/",
    "crates/graph-file/src/",
    "crates/kernels/src/",
    "crates/profile/src/",
    "crates/sync/src/",
];

/// One broken rule: its line, and a description.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Finding {
    pub(super) line: usize,
    pub(super) what: String,
}

/// Returns every broken rule of one file; `path` is relative to the root and has forward slashes.
pub(super) fn check(path: &str, source: &str) -> Vec<Finding> {
    let code = code_only(source);
    let mut findings = unfinished(&code);
    if !path.starts_with("benches/") {
        findings.extend(unsafe_code(path, &code));
    }
    findings.extend(logging(path, &code));
    if path.starts_with("crates/") && path.contains("/src/") {
        findings.extend(long_file(source, MAX_FILE_LINES).filter(|_| path != LONG_TRAIT));
        findings.extend(long_functions(&code));
        findings.extend(hidden_fields(&code));
        findings.extend(hidden_conditions(&code));
        findings.extend(driver_names(path, source, &code));
    }
    if path.strip_prefix("examples/").is_some_and(|name| !name.contains('/')) {
        findings.extend(long_file(source, MAX_EXAMPLE_LINES));
    }
    findings.sort_by_key(|finding| finding.line);
    findings
}

/// The only file that calls the logger.
const LOGS: &str = "crates/kernels/src/report.rs";

/// Finds calls of the logger, which is user code, in the crates that hold locks. `report!` may be called under a lock.
fn logging(path: &str, code: &str) -> Vec<Finding> {
    if path == LOGS || !LOCKING.iter().any(|folder| path.starts_with(folder)) {
        return Vec::new();
    }
    let what = "`log::` calls user code, perhaps under a lock: use `fencepost_kernels::report!`";
    let is_call = |at: &usize| {
        let name = code[at + 3..].strip_prefix("::").unwrap_or_default();
        ["error!", "warn!", "info!", "debug!", "trace!", "log!", "logger("]
            .iter()
            .any(|call| name.starts_with(call))
    };
    words(code, "log").filter(is_call).map(|at| finding(code, at, what.to_owned())).collect()
}

fn unsafe_code(path: &str, code: &str) -> Vec<Finding> {
    if UNSAFE_FILES.contains(&path) {
        return Vec::new();
    }
    let what = "`unsafe` outside the native files, which ARCHITECTURE.md lists";
    words(code, "unsafe").map(|at| finding(code, at, what.to_owned())).collect()
}

/// Finds assignments that a search for `.field = ` or `field: ` would miss: of several fields with a tuple, and of
/// several variables with one `Default::default()`.
fn hidden_fields(code: &str) -> Vec<Finding> {
    let what = |line: &str| {
        let fields = line.split_once(") = (").map(|(fields, _)| fields);
        if line.starts_with('(') && fields.is_some_and(|fields| fields.contains('.')) {
            Some("one tuple assigns several fields: write an assignment for each")
        } else if line.starts_with("let (") && line.ends_with("= Default::default();") {
            Some("one `Default::default()` makes several values: write the value of each")
        } else {
            None
        }
    };
    let found = code.lines().enumerate().filter_map(|(at, line)| Some((at, what(line.trim())?)));
    found.map(|(at, what)| Finding { line: at + 1, what: what.to_owned() }).collect()
}

/// Finds driver names in strings of the library, and uses of the graphics API's or the driver's name in the algorithms.
/// The library must decide by kinds, limits and features.
fn driver_names(path: &str, source: &str, code: &str) -> Vec<Finding> {
    if !LIBRARY.iter().any(|folder| path.starts_with(folder)) || path == NAMES_DRIVERS {
        return Vec::new();
    }
    let names = |text: &str| DRIVERS.iter().any(|name| text.to_lowercase().contains(name));
    let strings = prose(source).into_iter().filter(|prose| !prose.is_comment && names(prose.text));
    let what = "the name of a driver: choose by a kind, a limit or an ability";
    let mut found: Vec<_> =
        strings.map(|prose| Finding { line: prose.line, what: what.to_owned() }).collect();
    if path.starts_with("crates/algorithms/") {
        let asked = ["backend", "driver", "vendor_id"].into_iter().flat_map(|name| words(code, name));
        found.extend(asked.map(|at| finding(code, at, what.to_owned())));
    }
    found
}

/// Methods that return an option.
const OPTION_METHODS: [&str; 10] =
    ["take", "upgrade", "ok", "err", "then", "then_some", "pop", "first", "last", "as_ref"];

/// Finds loops over an option, which run once or never.
fn hidden_conditions(code: &str) -> Vec<Finding> {
    let loops = code.match_indices(".for_each(").filter(|(at, _)| {
        let before = code[..*at].trim_end();
        let source = [".into_iter()", ".iter()"].iter().find_map(|call| before.strip_suffix(call));
        source.and_then(last_method).is_some_and(|method| OPTION_METHODS.contains(&method))
    });
    let what = "`for_each` on an option hides a condition: write `if let`";
    loops.map(|(at, _)| finding(code, at, what.to_owned())).collect()
}

/// Returns the name of the method call with which `code` ends.
fn last_method(code: &str) -> Option<&str> {
    let mut open = 0_usize;
    let call = code.trim_end().strip_suffix(')')?;
    let start = call.char_indices().rev().find(|&(_, c)| {
        open += usize::from(c == ')');
        let is_start = c == '(' && open == 0;
        open -= usize::from(c == '(' && open > 0);
        is_start
    });
    let (path, method) = call[..start?.0].rsplit_once('.')?;
    (!path.is_empty() && method.chars().all(is_word)).then_some(method)
}

fn unfinished(code: &str) -> Vec<Finding> {
    let of = |name: &'static str| {
        let is_macro = move |at: &usize| code[at + name.len()..].starts_with("!(");
        words(code, name)
            .filter(is_macro)
            .map(move |at| finding(code, at, format!("`{name}!` left in the code")))
    };
    UNFINISHED.into_iter().flat_map(of).collect()
}

fn long_file(source: &str, limit: usize) -> Option<Finding> {
    let lines = source.lines().count();
    let what = format!("{lines} lines in a file, the limit is {limit}");
    (lines > limit).then_some(Finding { line: 1, what })
}

fn long_functions(code: &str) -> Vec<Finding> {
    let lengths = words(code, "fn").filter_map(|at| Some((at, function_lines(&code[at..])?)));
    let long = lengths.filter(|(_, lines)| *lines > MAX_FUNCTION_LINES);
    let what = |lines| format!("{lines} lines in a function, the limit is {MAX_FUNCTION_LINES}");
    long.map(|(at, lines)| finding(code, at, what(lines))).collect()
}

/// Returns the number of lines from `fn` to the brace that closes its body; `None` without a body.
fn function_lines(from_fn: &str) -> Option<usize> {
    let mut round = 0_usize;
    let mut curly = 0_usize;
    let mut lines = 1;
    for c in from_fn.chars() {
        match c {
            '(' | '[' => round += 1,
            ')' | ']' => round = round.saturating_sub(1),
            '{' => curly += 1,
            '}' if curly <= 1 => return (curly == 1).then_some(lines),
            '}' => curly -= 1,
            ';' if round == 0 && curly == 0 => return None,
            '\n' => lines += 1,
            _ => {}
        }
    }
    None
}

/// Returns each position at which `word` stands in `code` as a whole word.
fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let is_whole = move |at: &usize| {
        let before = code[..*at].chars().next_back().is_some_and(is_word);
        let after = code[at + word.len()..].chars().next().is_some_and(is_word);
        !before && !after
    };
    code.match_indices(word).map(|(at, _)| at).filter(is_whole)
}

fn finding(code: &str, at: usize, what: String) -> Finding {
    Finding { line: code[..at].matches('\n').count() + 1, what }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_the_logger_are_found_where_locks_are_held() {
        let code = "fn f() { log::error!(\"a\"); catalog::error!(); let log = 1; log::logger().flush(); }";
        assert_eq!(logging("crates/core/src/a.rs", code).len(), 2);
        assert_eq!(logging("crates/cli/src/a.rs", code).len() + logging(LOGS, code).len(), 0);
    }

    #[test]
    fn a_loop_over_an_option_is_found_and_a_loop_over_a_list_is_not() {
        let options = [
            "self.thread.take().into_iter().for_each(drop);",
            "(a > b).then(|| f(a, (b)))\n    .iter()\n    .for_each(g);",
            "weak.upgrade().iter().for_each(|engine| engine.run());",
        ];
        let lists = [
            "list.iter().for_each(f);",
            "std::mem::take(&mut list).into_iter().for_each(f);",
            "x.take(3).for_each(f);",
        ];
        for (code, count) in options.map(|code| (code, 1)).into_iter().chain(lists.map(|code| (code, 0))) {
            assert_eq!(hidden_conditions(code).len(), count, "{code}");
        }
    }

    #[test]
    fn an_example_is_short_and_a_file_beside_it_is_a_file() {
        let long = "// a line\n".repeat(MAX_EXAMPLE_LINES + 1);
        assert_eq!(lines_of("examples/01_saxpy.rs", &long), [1]);
        assert!(lines_of("examples/01_saxpy.rs", &long[10..]).is_empty());
        assert!(lines_of("examples/nbody/galaxies.rs", &long).is_empty());
    }

    fn lines_of(path: &str, source: &str) -> Vec<usize> {
        check(path, source).iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn unsafe_is_found_in_code_only_and_only_outside_the_native_files() {
        let source = "#![allow(unsafe_code)]\n// unsafe\nlet a = \"unsafe\";\nunsafe { x() }\n";
        assert_eq!(lines_of("crates/core/src/queue.rs", source), [4]);
        assert_eq!(lines_of("crates/fencepost/tests/a.rs", source), [4]);
        assert!(lines_of("crates/core/src/memory/native_memory.rs", source).is_empty());
    }

    #[test]
    fn a_choice_by_the_name_of_a_driver_is_found_in_the_library() {
        let source = "// On lavapipe.\nif info.name.contains(\"SwiftShader\") {}\nif info.backend == V {}\n";
        assert_eq!(lines_of("crates/algorithms/src/tuning.rs", source), [2, 3]);
        assert_eq!(lines_of("crates/core/src/record/own_kernels.rs", source), [2]);
        assert!(lines_of("crates/core/src/device/adapter.rs", source).is_empty());
        assert!(lines_of("crates/xtask/src/adapters.rs", source).is_empty());
    }

    #[test]
    fn a_tuple_that_assigns_fields_or_defaults_is_found() {
        let source =
            "(self.a, b.c) = (1, 2);\nlet (a, b) = Default::default();\n(a, b) = (b, a);\nself.a = 1;\n";
        assert_eq!(lines_of("crates/core/src/queue.rs", source), [1, 2]);
    }

    #[test]
    fn unfinished_work_is_found_everywhere() {
        let name = ["to", "do"].concat();
        assert_eq!(lines_of("benches/src/main.rs", &format!("fn f() {{\n    {name}!()\n}}")), [2]);
        assert!(lines_of("benches/src/main.rs", &format!("let {name} = 1; my_{name}!()")).is_empty());
    }

    #[test]
    fn a_file_over_the_limit_is_found() {
        assert!(lines_of("crates/core/src/a.rs", &"\n".repeat(MAX_FILE_LINES)).is_empty());
        assert_eq!(lines_of("crates/core/src/a.rs", &"\n".repeat(MAX_FILE_LINES + 1)), [1]);
        assert!(lines_of("crates/core/tests/a.rs", &"\n".repeat(MAX_FILE_LINES + 1)).is_empty());
    }

    #[test]
    fn the_81st_line_of_a_function_is_one_too_many() {
        let function =
            |lines: usize| format!("struct A;\nfn f(a: [u8; 3]) {{{}}}\nfn g();\n", "\n".repeat(lines - 1));
        assert!(lines_of("crates/core/src/a.rs", &function(80)).is_empty());
        assert_eq!(lines_of("crates/core/src/a.rs", &function(81)), [2]);
    }

    #[test]
    fn a_function_ends_at_its_own_brace() {
        assert_eq!(function_lines("fn a() {\n if x { y }\n}\nfn b() {}"), Some(3));
        assert_eq!(function_lines("fn a(x: [u8; 2]);\nfn b() {}"), None);
        assert_eq!(function_lines("fn(u8) -> u8, }"), None);
    }
}
