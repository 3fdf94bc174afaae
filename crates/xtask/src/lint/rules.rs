//! Rules on the text of a single Rust file.

use super::Found;
use super::code::{Source, line_at, prose, whole};

const MAX_FILE_LINES: usize = 900;
/// The file with the trait of the algorithms: more than half of its lines are documentation, and a trait is in one file.
const LONG_TRAIT: &str = "crates/algorithms/src/algorithms.rs";
/// Limit for an example, which is read in one go; code that is not part of the lesson is in files next to it.
const MAX_EXAMPLE_LINES: usize = 120;

/// Files that may contain unsafe code: they use native handles, compile kernels without runtime checks, or are tests
/// that leave out or count barriers, refuse calls, count heap memory, or block a device.
const UNSAFE_FILES: [&str; 32] = [
    "crates/sync/src/backend/dx12.rs",
    "crates/sync/src/backend/hal.rs",
    "crates/sync/src/backend/metal.rs",
    "crates/sync/src/fork.rs",
    "crates/sync/src/loader.rs",
    "crates/algorithms/src/trusted.rs",
    "crates/core/src/api/trusted_kernel.rs",
    "crates/core/src/driver/native_queue.rs",
    "crates/core/src/driver/reusable_encoders.rs",
    "crates/core/src/memory/host_view.rs",
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
    "crates/cpu/src/twin/fft.rs",
    "crates/cpu/src/twin/matmul.rs",
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

/// Texts that the code of some files must not contain.
struct Refused {
    texts: &'static [&'static str],
    /// Starts of the paths of the files.
    folders: &'static [&'static str],
    /// Files of these folders that may contain the texts.
    except: &'static [&'static str],
    what: &'static str,
}

static REFUSED: [Refused; 5] = [
    Refused {
        texts: &["unsafe"],
        folders: &["crates/", "examples/", "fuzz/", "tests/"],
        except: &UNSAFE_FILES,
        what: "`unsafe` outside the native files, which ARCHITECTURE.md lists",
    },
    // `report!` may be called under a lock.
    Refused {
        texts: &[
            "log::error!",
            "log::warn!",
            "log::info!",
            "log::debug!",
            "log::trace!",
            "log::log!",
            "log::logger(",
        ],
        folders: &LOCKING,
        except: &["crates/kernels/src/report.rs"],
        what: "`log::` calls user code, perhaps under a lock: use `fencepost_kernels::report!`",
    },
    Refused {
        texts: &["backend", "driver", "vendor_id"],
        folders: &["crates/algorithms/src/"],
        except: &[],
        what: NAMED_DRIVER,
    },
    Refused {
        texts: &["include!(", "extern crate self", "{super::"],
        folders: &["crates/core/src/"],
        except: &[],
        what: "the imports of this code are not read: write a module, and `crate`",
    },
    // Clippy does not read these files on every system.
    Refused {
        texts: &["todo!(", "unimplemented!(", "dbg!("],
        folders: &["crates/core/src/", "crates/sync/src/", "crates/xtask/outside/", "fuzz/"],
        except: &[],
        what: "unfinished work left in the code",
    },
];

const NAMED_DRIVER: &str = "the name of a driver: choose by a kind, a limit or an ability";

/// Returns every broken rule of one file.
pub(super) fn check(source: &Source) -> Vec<Found> {
    let Source { path, text, code } = source;
    let is_in = |folders: &[&str]| folders.iter().any(|folder| path.starts_with(folder));
    let mut found = Vec::new();
    for rule in &REFUSED {
        if is_in(rule.folders) && !rule.except.contains(&path.as_str()) {
            let places = rule.texts.iter().flat_map(|text| whole(code, text));
            found.extend(places.map(|at| (line_at(code, at), rule.what.to_owned())));
        }
    }
    if path.starts_with("crates/") && path.contains("/src/") {
        found.extend(long_file(text, MAX_FILE_LINES).filter(|_| path != LONG_TRAIT));
        found.extend(hidden_fields(code));
    }
    if is_in(&LIBRARY) && path != NAMES_DRIVERS {
        let strings = prose(text).into_iter().filter(|prose| !prose.is_comment && names_driver(prose.text));
        found.extend(strings.map(|prose| (prose.line, NAMED_DRIVER.to_owned())));
    }
    if path.strip_prefix("examples/").is_some_and(|name| !name.contains('/')) {
        found.extend(long_file(text, MAX_EXAMPLE_LINES));
    }
    found.sort();
    found
}

/// Returns `true` for the names of drivers. The library must decide by kinds, limits and features.
fn names_driver(text: &str) -> bool {
    DRIVERS.iter().any(|name| text.to_lowercase().contains(name))
}

/// Finds assignments that a search for `.field = ` or `field: ` would miss: of several fields with a tuple, and of
/// several variables with one `Default::default()`.
fn hidden_fields(code: &str) -> Vec<Found> {
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
    let found = code.lines().enumerate().filter_map(|(at, line)| Some((at + 1, what(line.trim())?)));
    found.map(|(line, what)| (line, what.to_owned())).collect()
}

fn long_file(text: &str, limit: usize) -> Option<Found> {
    let lines = text.lines().count();
    (lines > limit).then(|| (1, format!("{lines} lines in a file, the limit is {limit}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines_of(path: &str, text: &str) -> Vec<usize> {
        let found = check(&Source::new(path.to_owned(), text.to_owned()));
        found.into_iter().map(|(line, _)| line).collect()
    }

    #[test]
    fn calls_of_the_logger_are_found_where_locks_are_held() {
        let code = "fn f() { log::error!(\"a\"); catalog::error!(); let log = 1; log::logger().flush(); }";
        assert_eq!(lines_of("crates/core/src/a.rs", code), [1, 1]);
        assert!(lines_of("crates/cli/src/a.rs", code).is_empty());
        assert!(lines_of("crates/kernels/src/report.rs", code).is_empty());
    }

    #[test]
    fn code_that_cannot_be_followed_is_refused() {
        for code in
            ["extern crate self as this;", "include!(\"a.rs\");", "fn f() { std::include!(\"a.rs\") }"]
        {
            assert_eq!(lines_of("crates/core/src/memory/heap.rs", code), [1], "{code}");
        }
        for code in ["extern crate alloc;", "const A: &str = include_str!(\"a\");"] {
            assert!(lines_of("crates/core/src/memory/heap.rs", code).is_empty(), "{code}");
        }
    }

    #[test]
    fn an_example_is_short_and_a_file_beside_it_is_a_file() {
        let long = "// a line\n".repeat(MAX_EXAMPLE_LINES + 1);
        assert_eq!(lines_of("examples/01_saxpy.rs", &long), [1]);
        assert!(lines_of("examples/01_saxpy.rs", &long[10..]).is_empty());
        assert!(lines_of("examples/nbody/galaxies.rs", &long).is_empty());
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
    fn a_file_over_the_limit_is_found() {
        assert!(lines_of("crates/core/src/a.rs", &"\n".repeat(MAX_FILE_LINES)).is_empty());
        assert_eq!(lines_of("crates/core/src/a.rs", &"\n".repeat(MAX_FILE_LINES + 1)), [1]);
        assert!(lines_of("crates/core/tests/a.rs", &"\n".repeat(MAX_FILE_LINES + 1)).is_empty());
    }
}
