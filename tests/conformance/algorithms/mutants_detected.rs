//! A mistake in a built-in kernel of the verbs changes a result of a verb, or is a finding of the checks of the CPU.
//!
//! The mistakes are the mutants of each text, which `mutants` makes. A verb runs with the changed text in place of the
//! built-in one. Its results are compared with those of the unchanged text, which the cases of the verb compare with the
//! host. `mutants.txt` lists the mutants that change no result, with the reasons. A plain run takes some mutants of
//! each text, and the full suite takes all of them.

use super::mutant_calls::{Call, Group, N, ROUNDS, begin, calls};
use super::mutants::{Mutant, mutants};
use super::verb_table::Arrays;
use crate::common::full::full;
use crate::common::{Case, Subject, case};
use fencepost::algorithms::{Forced, with_forced};
use fencepost::prelude::*;
use fencepost::trusted_kernel::with_edited_kernels;
use fencepost::{AdapterChoice, CheckOptions, ErrorDetail, ShaderSource};
use fencepost_kernels::{Module, builtins, reference, snippets, trust_of};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::OnceLock;
use std::time::Duration;

pub fn cases() -> Vec<Case> {
    let cases = vec![
        case("a18_each_text_of_the_verbs_has_mutants_that_a_case_detects", |_| each_text_has_a_case()),
        case("a02_each_mistake_in_the_kernels_of_reductions_is_detected", |s| {
            detected(s, Group::Table, REDUCTIONS)
        }),
        case("a03_each_mistake_in_the_kernels_of_searches_and_counts_is_detected", |s| {
            detected(s, Group::Table, SEARCHES)
        }),
        case("a05_each_mistake_in_the_kernels_along_an_axis_is_detected", |s| {
            detected(s, Group::Table, AXES)
        }),
        case("a06_each_mistake_in_the_kernels_of_elementwise_verbs_is_detected", |s| {
            detected(s, Group::Table, ELEMENTWISE)
        }),
        case("a08_each_mistake_in_the_kernels_of_scans_is_detected", |s| detected(s, Group::Table, SCANS)),
        case("a09_each_mistake_in_the_kernel_of_selections_is_detected", |s| {
            detected(s, Group::Table, SELECTIONS)
        }),
        case("a10_each_mistake_in_the_kernels_of_verbs_by_key_is_detected", |s| {
            detected(s, Group::Table, BY_KEY)
        }),
        case("a11_each_mistake_in_the_kernels_of_segments_is_detected", |s| {
            detected(s, Group::Table, SEGMENTS)
        }),
        case("a12_each_mistake_in_the_kernels_of_histograms_is_detected", |s| {
            detected(s, Group::Table, HISTOGRAMS)
        }),
        case("a13_each_mistake_in_the_kernels_of_sorts_is_detected", |s| detected(s, Group::Table, SORTS)),
        case("a14_each_mistake_in_the_kernels_of_ranks_and_merges_is_detected", |s| {
            detected(s, Group::Table, RANKS)
        }),
        case("a14_each_mistake_in_the_kernels_of_quantiles_is_detected", |s| {
            detected(s, Group::Ranks, QUANTILES)
        }),
        case("a22_each_mistake_in_the_kernels_of_windows_is_detected", |s| {
            detected(s, Group::Ranks, WINDOWS)
        }),
        case("a22_each_mistake_in_the_kernels_of_the_flagger_is_detected", |s| {
            detected(s, Group::Interference, INTERFERENCE)
        }),
        case("a15_each_mistake_in_the_kernels_that_move_elements_is_detected", |s| {
            detected(s, Group::Table, MOVES)
        }),
        case("a16_each_mistake_in_the_kernel_of_random_numbers_is_detected", |s| {
            detected(s, Group::Table, RANDOM)
        }),
        case("a19_each_mistake_in_the_kernels_that_keep_the_order_is_detected", |s| {
            detected(s, Group::Table, FOLDS)
        }),
        case("a20_each_mistake_in_the_kernels_of_products_of_matrices_is_detected", |s| {
            detected(s, Group::Matrices, MATRICES)
        }),
        case("a21_each_mistake_in_the_kernels_of_transforms_is_detected", |s| {
            detected(s, Group::Transforms, TRANSFORMS)
        }),
        case("a23_each_mistake_in_the_kernels_of_linear_algebra_is_detected", |s| {
            detected(s, Group::Algebra, ALGEBRA)
        }),
        case("a24_each_mistake_in_the_kernels_of_sparse_matrices_is_detected", |s| {
            detected(s, Group::Sparse, SPARSE)
        }),
        case("a24_each_mistake_in_the_kernels_of_filters_is_detected", |s| {
            detected(s, Group::Filters, FILTERS)
        }),
        case("a25_each_mistake_in_the_kernels_of_exact_sums_is_detected", |s| {
            detected(s, Group::Exact, EXACT)
        }),
    ];
    // The full suite takes all mutants, of which some end at the limit of a launch only.
    let limit = Duration::from_secs(if full() { 1200 } else { 120 });
    cases.into_iter().map(|case| case.within(limit)).collect()
}

const REDUCTIONS: &[&str] =
    &["reduce", "extreme", "finish", "number_keys", "reduce_groups", "reduce_share", "reduce_vectors"];
const SEARCHES: &[&str] = &["arg_extreme", "inner_product", "nonzero", "place_keys"];
const AXES: &[&str] = &["arg_columns", "arg_rows", "reduce_columns", "reduce_rows"];
const ELEMENTWISE: &[&str] = &["choose", "convert", "iota", "limit", "linear", "saxpy"];
const SCANS: &[&str] = &["lanes", "operation", "scan", "scan_in_place", "scan_share", "staged_tile"];
const SELECTIONS: &[&str] = &["compact", "fold_partials", "run_stage"];
const BY_KEY: &[&str] = &["keyed", "reduce_by_key", "scan_by_key"];
const SEGMENTS: &[&str] =
    &["arg_segments", "reduce_segments", "segment_heads", "segment_of", "segment_stages"];
const HISTOGRAMS: &[&str] = &["bin_counts", "bin_exact", "bin_weights", "bins", "round_exact"];
const SORTS: &[&str] =
    &["order_keys", "places_in_segments", "radix_count", "radix_scatter", "sort_small", "tile_ranks"];
const RANKS: &[&str] = &["merge", "rank_count", "rank_digit", "search_sorted", "take_ranked", "take_rows"];
const QUANTILES: &[&str] = &[
    "between",
    "deviation",
    "element_keys",
    "key_at_rank",
    "quantile",
    "rank_quantile",
    "rank_rows",
    "select_columns",
    "select_rows",
];
const WINDOWS: &[&str] = &["rolling", "sum_threshold"];
const INTERFERENCE: &[&str] = &["bridge_gaps", "flag_windows"];
const MOVES: &[&str] = &["gather", "permute", "scatter", "scatter_add", "strided", "transpose"];
const RANDOM: &[&str] = &["high_product", "philox", "random"];
const FOLDS: &[&str] = &["fold", "fold_columns", "fold_share"];
const MATRICES: &[&str] = &[
    "activation",
    "matmul_bytes",
    "matmul_columns",
    "matmul_rows",
    "matmul_sums",
    "matmul_tiles",
    "matrix_block",
    "matrix_index",
    "matrix_params",
    "matrix_result",
    "matrix_tile",
];
const TRANSFORMS: &[&str] = &[
    "butterflies",
    "convolve",
    "fft",
    "fft_halves",
    "fft_in_place",
    "fft_memory",
    "fft_real",
    "fft_spectra",
    "fft_tile",
    "fft_to_real",
    "overlap_add",
];
const ALGEBRA: &[&str] = &[
    "cholesky",
    "determinant",
    "elimination",
    "jacobi",
    "log_determinant",
    "lu",
    "matrix_work",
    "pivot_product",
    "power_of_two",
    "qr",
    "quotient",
    "solve",
    "substitution",
    "triangular",
];
const SPARSE: &[&str] = &[
    "sparse_division",
    "sparse_lanes",
    "sparse_product",
    "sparse_result",
    "sparse_row",
    "sparse_rows",
    "sparse_shares",
    "sparse_sums",
];
const FILTERS: &[&str] = &["beside", "convolve_channels", "filter_direct", "filter_separable"];
const EXACT: &[&str] = &[
    "exact_carries",
    "exact_column_products",
    "exact_column_share",
    "exact_columns",
    "exact_finish",
    "exact_group",
    "exact_matmul",
    "exact_memory",
    "exact_product",
    "exact_product_range",
    "exact_products",
    "exact_range",
    "exact_results",
    "exact_rounding",
    "exact_row_products",
    "exact_row_share",
    "exact_rows",
    "exact_segment_products",
    "exact_segment_share",
    "exact_segments",
    "exact_sum",
    "exact_vectors",
    "exact_window",
    "exact_words",
];

const FAMILIES: [&[&str]; 23] = [
    REDUCTIONS,
    SEARCHES,
    AXES,
    ELEMENTWISE,
    SCANS,
    SELECTIONS,
    BY_KEY,
    SEGMENTS,
    HISTOGRAMS,
    SORTS,
    RANKS,
    QUANTILES,
    WINDOWS,
    INTERFERENCE,
    MOVES,
    RANDOM,
    FOLDS,
    MATRICES,
    TRANSFORMS,
    ALGEBRA,
    SPARSE,
    FILTERS,
    EXACT,
];

/// Variable that selects mutants by a part of their lines.
const SELECTED: &str = "FENCEPOST_TEST_MUTANT";
/// Number of mutants of a text in a plain run.
const SOME: usize = 1;
/// Maximum number of calls that a mutant is tried with, apart from one for each set of kernels.
const MOST_TRIALS: usize = 100;
/// Longest time of a launch with a mutant, of which some never end: a busy machine may need it for one that ends.
fn limit() -> Duration {
    Duration::from_secs(if full() { 10 } else { 2 })
}

/// Mutants that change no result. A line is `text: line => changed line`, and a line with `#` has the reason of those
/// after it.
const LISTED: &str = include_str!("mutants.txt");

fn each_text_has_a_case() {
    let is_of_a_verb = |kernel: &str| reference(kernel).is_none() || trust_of(kernel).is_some();
    let texts = builtins().iter().map(|(file, _)| file.strip_suffix(".wgsl").unwrap());
    let shaders: BTreeSet<&str> = texts.filter(|shader| is_of_a_verb(shader)).collect();
    let listed: BTreeSet<&str> = FAMILIES.into_iter().flatten().copied().collect();
    let whole: Vec<String> = shaders.iter().map(|shader| source(shader).whole_text().unwrap()).collect();
    let used = snippets().filter(|(_, text)| whole.iter().any(|whole| whole.contains(text.trim_end())));
    let missing: Vec<&str> = shaders
        .iter()
        .copied()
        .chain(used.map(|(name, _)| name))
        .filter(|text| !listed.contains(text))
        .collect();
    assert!(missing.is_empty(), "add the texts to a family: {missing:?}");
    let known: BTreeSet<&str> = LISTED
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(": "))
        .map(|(text, _)| text)
        .collect();
    assert!(known.is_subset(&listed), "the list names other texts: {:?}", known.difference(&listed));
}

fn source(shader: &str) -> ShaderSource {
    ShaderSource::builtin(&format!("{shader}.wgsl")).unwrap()
}

/// Returns the text of a shader or of a snippet.
fn text_of(name: &str) -> &'static str {
    let file = format!("{name}.wgsl");
    let shader = builtins().iter().copied().find(|(known, _)| *known == file);
    shader.or_else(|| snippets().find(|(known, _)| *known == name)).expect("a built-in text").1
}

/// A text in place of a built-in one.
#[derive(Clone)]
struct Change {
    name: String,
    text: String,
}

/// Kinds of devices and sizes of shares for which the verbs choose their kernels. In the last two, elements pass through the
/// memory of a workgroup.
const SETTINGS: [Forced; 4] = [
    Forced { card: false, small: true },
    Forced { card: false, small: false },
    Forced { card: true, small: true },
    Forced { card: true, small: false },
];

/// Lines whose numbers are smaller for a card: elements pass through the memory of each workgroup.
const STAGED: (&str, &str) = ("const STAGED_FROM: u32 = 64;", "const STAGED_FROM: u32 = 1;");
/// The same for a processor with one share: a block has fewer elements than the share.
const BLOCKS: (&str, &str) = ("const PER: u32 = 16u;", "const PER: u32 = 2u;");

/// Changes a source and its overrides: fewer invocations than usual, because the checks take time for each of them.
fn edit(
    change: Option<&Change>,
    forced: Forced,
    source: &mut ShaderSource,
    overrides: &mut Vec<(String, f64)>,
) {
    let stem = source.label().strip_suffix(".wgsl").unwrap_or_default().to_owned();
    let whole = source.whole_text().unwrap();
    let uses =
        |name: &str| whole.contains(&format!("\n// {name}: ")) || whole.contains(&format!("\nfn {name}("));
    // More invocations than digits, and as many as pass elements through the memory of the workgroup.
    let has_many = whole.contains("DIGITS") && (forced.card || !forced.small);
    let staged = |text: &str| match forced {
        Forced { card: true, .. } if has_many => text.to_owned(),
        Forced { card: true, .. } => text.replace(STAGED.0, STAGED.1),
        Forced { small: false, .. } => text.replace(BLOCKS.0, BLOCKS.1),
        Forced { .. } => text.to_owned(),
    };
    let changed = |name: &str, text: &str| match change {
        Some(change) if change.name == name => with_alias(&change.text, text),
        _ => text.to_owned(),
    };
    let mut edited = source.clone().edited(|text| staged(&changed(&stem, text)));
    for (name, text) in snippets() {
        let path = format!("lib/{name}.wgsl");
        let text_changed = staged(&changed(name, text));
        if text_changed != text && uses(name) && !source.files().any(|file| file == path) {
            edited = edited.with_file(path, text_changed);
        }
    }
    *source = edited;
    if whole.contains("override WORKGROUP") {
        overrides.retain(|(name, _)| name != "WORKGROUP");
        // Kernels without shares have workgroups that do not divide the number of elements.
        let large_tiles = whole.contains("STAGED_FROM") && forced.card && !forced.small;
        let needs_sixteen = large_tiles || whole.contains("DIGITS") || whole.contains("COUNTERS");
        let workgroup = if has_many {
            64.0
        } else if needs_sixteen {
            16.0
        } else if whole.contains("params.share") {
            4.0
        } else {
            5.0
        };
        overrides.push(("WORKGROUP".into(), workgroup));
    }
    // A share of few elements has several tiles of one element for each invocation. In a tile of two, an invocation loads
    // elements for others.
    let per = match forced {
        _ if !has_many => 3.0,
        Forced { small: true, .. } => 1.0,
        Forced { .. } => 2.0,
    };
    for (name, value) in overrides {
        if name == "PER" {
            *value = per;
        }
    }
}

/// Returns the text with the types and the snippets that another form of it names.
fn with_alias(text: &str, typed: &str) -> String {
    let is_named = |line: &&str| line.starts_with("alias ") || line.starts_with("//#use ");
    let named = |text: &str| text.lines().filter(is_named).map(str::to_owned).collect::<Vec<_>>();
    named(text).iter().zip(named(typed)).fold(text.to_owned(), |text, (own, typed)| text.replace(own, &typed))
}

/// Results of all rounds of a call; `None` if a check of the CPU found a mistake, or the queue failed.
type Results = Option<Vec<Vec<u32>>>;

/// Calls a verb for each round, until a result differs from the expected one.
fn run(
    ctx: &Context,
    call: &Call,
    forced: Forced,
    change: Option<Change>,
    expected: Option<&Results>,
) -> (Results, bool) {
    let queue = ctx.queue("q");
    let mut arrays = Arrays::new(ctx, N);
    let mut all = Vec::new();
    for round in 0..ROUNDS {
        begin(&queue, &mut arrays, round);
        let change = change.clone();
        let edit = move |source: &mut ShaderSource, overrides: &mut Vec<(String, f64)>| {
            edit(change.as_ref(), forced, source, overrides);
        };
        let called = with_edited_kernels(edit, || with_forced(forced, || call.call(&queue, &mut arrays)));
        let refused = |error: &fencepost::Error| {
            matches!(
                error.detail(),
                ErrorDetail::Kernel(_) | ErrorDetail::Compile { .. } | ErrorDetail::WorkgroupMemory { .. }
            )
        };
        let read = called.and_then(|()| {
            arrays
                .results()
                .into_iter()
                .map(|result| queue.read(result).wait())
                .collect::<fencepost::Result<Vec<_>>>()
        });
        // Work that is left has its findings before the next mutant begins.
        let ended = ctx.synchronize().wait();
        let findings = ctx.diagnostics().take_findings();
        match read.and_then(|read| ended.map(|()| read)) {
            Err(error) => return (None, refused(&error)),
            Ok(_) if !findings.is_empty() => return (None, false),
            Ok(read) => all.extend(read),
        }
        if expected.is_some_and(|expected| expected.as_ref().unwrap()[..all.len()] != all) {
            return (None, false);
        }
    }
    (Some(all), false)
}

fn context(limit: Option<Duration>) -> Context {
    let options = ContextOptions::default().adapter(AdapterChoice::Cpu).check(Some(CheckOptions::default()));
    let options = limit.map_or(options.clone(), |limit| options.launch_limit(limit));
    Context::with_options(options).wait().unwrap()
}

/// Returns the context of the unchanged texts, whose launches may take long.
fn unchanged() -> &'static Context {
    static CONTEXT: OnceLock<Context> = OnceLock::new();
    CONTEXT.get_or_init(|| context(None))
}

/// A call with a setting, and the texts that it uses.
struct Trial {
    call: &'static Call,
    forced: Forced,
    texts: BTreeSet<String>,
    /// The kernels with their overrides.
    kernels: BTreeSet<String>,
    results: OnceLock<Results>,
}

impl Trial {
    /// Returns the results of the unchanged texts.
    fn results(&self) -> &Results {
        self.results.get_or_init(|| {
            let (results, _) = run(unchanged(), self.call, self.forced, None, None);
            assert!(results.is_some(), "`{}` with {:?}, without a mistake", self.call.name, self.forced);
            results
        })
    }
}

/// Returns the calls of a group with the settings that concern them.
fn trials(group: Group) -> &'static [Trial] {
    static TRIALS: [OnceLock<Vec<Trial>>; Group::COUNT] = [const { OnceLock::new() }; Group::COUNT];
    TRIALS[group as usize].get_or_init(|| {
        let mut trials = Vec::new();
        for call in calls(group) {
            for forced in SETTINGS {
                let (texts, kernels) = texts(unchanged(), call, forced);
                let divides = kernels.iter().any(|kernel| kernel.starts_with('!'));
                trials.push(Trial { call, forced, texts, kernels, results: OnceLock::new() });
                if !divides {
                    break;
                }
            }
        }
        trials
    })
}

/// Returns the texts that a call uses, and its kernels with their overrides. A kernel that depends on the setting begins
/// with `!`.
fn texts(ctx: &Context, call: &Call, forced: Forced) -> (BTreeSet<String>, BTreeSet<String>) {
    let queue = ctx.queue("q");
    let mut arrays = Arrays::new(ctx, N);
    begin(&queue, &mut arrays, 0);
    let seen = Rc::new(RefCell::new(BTreeSet::new()));
    let kernels = Rc::new(RefCell::new(BTreeSet::new()));
    let of_edit = seen.clone();
    let of_kernels = kernels.clone();
    let list = move |source: &mut ShaderSource, overrides: &mut Vec<(String, f64)>| {
        let whole = source.whole_text().unwrap();
        let divides = ["params.share", "DIGITS", "BOUNDARY"].iter().any(|part| whole.contains(part));
        let mark = if divides { "!" } else { "" };
        of_kernels.borrow_mut().insert(format!("{mark}{} {overrides:?}", source.label()));
        let used = snippets().filter(|(_, text)| whole.contains(text.lines().next().unwrap()));
        let mut seen = of_edit.borrow_mut();
        seen.extend(used.map(|(name, _)| name.to_owned()));
        seen.insert(source.label().trim_end_matches(".wgsl").to_owned());
        drop(seen);
        edit(None, forced, source, overrides);
    };
    with_edited_kernels(list, || with_forced(forced, || call.call(&queue, &mut arrays).unwrap()));
    queue.finish().wait().unwrap();
    (seen.take(), kernels.take())
}

/// A mutant of a text, with what the verbs show of it.
#[derive(PartialEq, Eq, Debug)]
enum Outcome {
    /// The text does not compile.
    Refused,
    /// A call with this name detects the change.
    Detected(&'static str),
    Survived,
}

/// Runs the calls that use a text. `order` has the trials; one that detects a change moves to the front.
fn outcome(ctx: &Context, change: &Change, trials: &'static [Trial], order: &mut [usize]) -> Outcome {
    for at in 0..order.len() {
        let trial = &trials[order[at]];
        let expected = trial.results();
        let (results, refused) = run(ctx, trial.call, trial.forced, Some(change.clone()), Some(expected));
        if refused {
            return Outcome::Refused;
        }
        if results.is_none() {
            order[..=at].rotate_right(1);
            return Outcome::Detected(&trial.call.name);
        }
    }
    Outcome::Survived
}

/// Returns trials that use a text: one with each set of kernels, small sets first, and then more with each set.
fn order_of(name: &str, all: &[Trial]) -> Vec<usize> {
    let using = (0..all.len()).filter(|&at| all[at].texts.contains(name));
    let mut equal: BTreeMap<&BTreeSet<String>, usize> = BTreeMap::new();
    let mut order: Vec<(usize, usize, usize)> = Vec::new();
    for at in using {
        let rank = equal.entry(&all[at].kernels).or_default();
        order.push((*rank, all[at].kernels.len(), at));
        *rank += 1;
    }
    order.sort();
    order.into_iter().map(|(.., at)| at).take(equal.len() + MOST_TRIALS).collect()
}

/// Returns `true` if naga accepts each shader that has the changed text.
fn compiles(change: &Change) -> bool {
    let shader = builtins().iter().find_map(|(file, text)| {
        let stem = file.strip_suffix(".wgsl").unwrap();
        let uses = |text: &str| text.contains(&format!("//#use {}\n", change.name));
        let through =
            |text: &str| snippets().any(|(name, of)| uses(of) && text.contains(&format!("//#use {name}\n")));
        (stem == change.name || uses(text) || through(text)).then_some(stem)
    });
    let mut source = source(shader.expect("a shader uses the text"));
    edit(Some(change), SETTINGS[0], &mut source, &mut Vec::new());
    Module::parse(&source).is_ok()
}

fn detected(s: &Subject, group: Group, names: &[&str]) {
    let trials = trials(group);
    let ctx = context(Some(limit()));
    s.watch(&ctx);
    let selected = std::env::var(SELECTED).ok();
    let mut wrong = Vec::new();
    for &name in names {
        let text = text_of(name);
        let prefix = format!("{name}: ");
        let listed: BTreeSet<&str> = LISTED.lines().filter_map(|line| line.strip_prefix(&prefix)).collect();
        let mut order = order_of(name, trials);
        assert!(!order.is_empty(), "no call uses `{name}`");
        let mut all = mutants(text);
        let shown: BTreeSet<String> = all.iter().map(Mutant::shown).collect();
        wrong.extend(
            listed
                .iter()
                .filter(|line| !shown.contains(**line))
                .map(|line| format!("no mutant is {prefix}{line}")),
        );
        let mut survived = BTreeSet::new();
        fastrand::Rng::with_seed(7).shuffle(&mut all);
        if let Some(selected) = &selected {
            all.retain(|mutant| mutant.shown().contains(selected));
        }
        let mut count = 0;
        for mutant in all {
            if !full() && count >= SOME {
                break;
            }
            let change = Change { name: name.into(), text: mutant.applied(text) };
            // The full suite proves that the listed ones survive.
            if !full() && listed.contains(&*mutant.shown()) || !compiles(&change) {
                continue;
            }
            match outcome(&ctx, &change, trials, &mut order) {
                Outcome::Refused => {}
                Outcome::Detected(call) => {
                    count += 1;
                    if selected.is_some() {
                        println!("`{call}` detects {prefix}{}", mutant.shown());
                    }
                }
                Outcome::Survived => {
                    count += 1;
                    if !listed.contains(&*mutant.shown()) {
                        wrong.push(format!("{prefix}{}", mutant.shown()));
                    }
                    survived.insert(mutant.shown());
                }
            }
        }
        if full() && selected.is_none() {
            wrong.extend(
                listed
                    .iter()
                    .filter(|line| !survived.contains(**line))
                    .map(|line| format!("listed and detected: {prefix}{line}")),
            );
        }
    }
    assert!(
        wrong.is_empty(),
        "mutants that no call detects, or lines of the list that are wrong:\n{}",
        wrong.join("\n")
    );
}
