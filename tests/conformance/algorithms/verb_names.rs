//! A01: messages and profiles contain the name of the verb that the program calls.

use super::verb_table::{Arrays, table};
use super::*;
use crate::common::{DEFAULT_LIMITS, raw};
use fencepost_kernels::builtins;

pub fn cases() -> Vec<Case> {
    let reason = "the messages do not depend on the adapter";
    vec![
        case("a01_a_verb_with_overlapping_arrays_is_refused_by_its_name", overlaps).native_only(reason),
        case("a01_a_verb_with_arrays_of_wrong_shapes_names_itself_and_the_argument", shapes)
            .native_only(reason),
        case("a01_a_verb_with_an_array_of_another_context_names_itself_and_the_argument", foreign)
            .native_only(reason),
        case("a01_a_hazard_of_each_verb_names_the_verb", hazards).native_only(reason),
        case("a01_the_remedy_for_an_array_over_the_limit_of_a_binding_fits_the_verb", too_large)
            .gpu_only("the case limits a wgpu device")
            .not_in_a_page(DEFAULT_LIMITS),
        case("a01_a_profile_names_the_verb_and_the_kernel_of_each_launch", profiled),
    ]
}

/// Length of an array for one workgroup, and length of an array for several workgroups.
const SIZES: [usize; 2] = [320, 20_480];
/// Verbs that only write one array, or return a value.
const NEVER_OVERLAP: [&str; 16] = [
    "scan_in_place",
    "sort_in_place",
    "iota",
    "fill_random",
    "random_permutation",
    "fft_in_place",
    "ifft_in_place",
    "value_of sum",
    "value_of count_nonzero",
    "value_of any",
    "value_of all",
    "value_of argmin",
    "value_of argmax",
    "value_of dot",
    "value_of norm",
    "value_of mean",
];

/// Checks that a message names the verb in quotes, and no built-in kernel.
fn check_names(verb: &str, error: &Error) {
    let text = error.to_string();
    assert!(text.contains(&format!("`{verb}`")), "{verb}: {text}");
    let kernels = builtins().iter().map(|(file, _)| file.trim_end_matches(".wgsl")).chain(["map_elements"]);
    for kernel in kernels.filter(|&kernel| kernel != verb) {
        assert!(!text.contains(&format!("`{kernel}`")), "{verb}: {text}");
    }
}

fn overlaps(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    for n in SIZES {
        let mut arrays = Arrays::overlapping(&ctx, n);
        for verb in table().into_iter().filter(|verb| verb.name != "warm_up") {
            let Err(error) = (verb.alone)(&queue, &mut arrays) else {
                assert!(NEVER_OVERLAP.contains(&verb.id), "{} is not refused", verb.id);
                continue;
            };
            assert!(matches!(error.detail(), ErrorDetail::Aliased { .. }), "{}: {error}", verb.name);
            assert!(error.to_string().starts_with(&format!("verb `{}`: arguments `", verb.name)), "{error}");
            check_names(verb.name, &error);
        }
    }
}

/// Verbs that accept arrays of any lengths, and verbs that always get fitting arrays in the table.
const ANY_SHAPES: [&str; 36] = [
    "sum axis",
    "prod axis",
    "min axis skip_nan",
    "reduce axis",
    "mean axis",
    "norm axis",
    "count_nonzero axis",
    "any axis",
    "all axis",
    "argmin axis",
    "argmax axis",
    "argmin axis skip_nan",
    "argmax axis skip_nan",
    "median axis",
    "quantile axis",
    "mad axis",
    "sum axis everywhere",
    "norm axis everywhere",
    "matmul everywhere",
    "iota",
    "scan_in_place",
    "sort_in_place",
    "histogram",
    "copy_strided",
    "matmul",
    "matmul vector",
    "qr",
    "fill_random",
    "random_permutation",
    "fft_in_place",
    "ifft_in_place",
    "irfft",
    "correlate",
    "stft",
    "istft",
    "welch",
];
/// Verbs whose result is reshaped in the table before the call.
const RESHAPED: [&str; 7] =
    ["transpose", "permute", "scan axis", "sort axis", "argsort axis", "top_k segments", "top_k axis"];

fn shapes(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut arrays = Arrays::misfitting(&ctx, SIZES[0]);
    for verb in table().into_iter().filter(|verb| !verb.returns && !RESHAPED.contains(&verb.id)) {
        let Err(error) = (verb.alone)(&queue, &mut arrays) else {
            assert!(ANY_SHAPES.contains(&verb.id), "{} is not refused", verb.id);
            continue;
        };
        assert!(matches!(error.detail(), ErrorDetail::Shape { .. }), "{}: {error}", verb.name);
        assert!(error.to_string().starts_with(&format!("verb `{}`, argument `", verb.name)), "{error}");
        check_names(verb.name, &error);
    }
}

fn foreign(s: &Subject) {
    let ctx = s.ctx();
    let other = s.ctx();
    let queue = ctx.queue("q");
    let mut arrays = Arrays::new(&other, SIZES[0]);
    for verb in table().into_iter().filter(|verb| verb.name != "warm_up") {
        let error = (verb.alone)(&queue, &mut arrays).unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::ForeignContext { .. }), "{}: {error}", verb.name);
        let said = error.to_string();
        let argument = format!("verb `{}`, argument `", verb.name);
        assert!(said.starts_with(&argument), "{error}");
        assert!(
            said.contains("`: array `") && said.contains("` belongs to another context: pass"),
            "{error}"
        );
        // The kernels name the arguments `keys` and `x`.
        for (name, of_verb) in [("run_lengths", "x`"), ("sort_pairs", "keys`")] {
            assert!(verb.name != name || said.starts_with(&format!("{argument}{of_verb}")), "{error}");
        }
        check_names(verb.name, &error);
    }
}

fn hazards(s: &Subject) {
    let ctx = s.ctx_with(Policy::Checked);
    let one = ctx.queue("one");
    let two = ctx.queue("two");
    for n in SIZES {
        let mut arrays = Arrays::new(&ctx, n);
        arrays.begin(&one, 0);
        for verb in table().into_iter().filter(|verb| verb.name != "warm_up") {
            let Err(error) = (verb.alone)(&two, &mut arrays) else { panic!("{} is not refused", verb.name) };
            assert!(matches!(error.detail(), ErrorDetail::Hazard { .. }), "{}: {error}", verb.name);
            check_names(verb.name, &error);
        }
    }
}

/// Remedy for verbs whose partial results the program can combine.
const COMBINE: &str =
    ": call it for parts of the array, which `slice` returns, and combine their results, or use a device";
/// Remedy for scans.
const SCAN: &str = ": scan parts of the array, which `slice` returns, one after the other, each from the total of the one \
                    before it (`scan_and_total` writes it, `Scan::from` takes it), or use a device";

fn too_large(s: &Subject) {
    let (device, wgpu_queue) = raw::open_with(s, |limits| limits.max_storage_buffer_binding_size = 1 << 16);
    let ctx = Context::adopt(device, wgpu_queue, AdoptOptions::default()).unwrap();
    let queue = ctx.queue("q");
    let mut arrays = Arrays::new(&ctx, (1 << 14) + 320);
    let refused = [
        "sum",
        "argmin",
        "scan",
        "scan_in_place",
        "scan_by_key",
        "scan first",
        "sort",
        "sort first",
        "map",
        "axpy",
    ];
    for verb in table().into_iter().filter(|verb| refused.contains(&verb.id)) {
        let error = (verb.alone)(&queue, &mut arrays).unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::BindingTooLarge { .. }), "{}: {error}", verb.name);
        assert!(error.to_string().starts_with(&format!("verb `{}`, argument `", verb.name)), "{error}");
        let remedy = if verb.name.starts_with("scan") && verb.name != "scan_by_key" { SCAN } else { COMBINE };
        assert!(error.to_string().contains(remedy), "{error}");
        check_names(verb.name, &error);
    }
}

fn profiled(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let x = queue.array(&[1.0_f32, 2.0]).unwrap();
    let mut y = ctx.zeros([2]).unwrap();
    let (graph, ()) = queue.capture(|c| c.axpy(2.0, &x, &mut y)).unwrap();
    let profiler = ctx.profile();
    queue.axpy(1.0, &x, &mut y).unwrap();
    queue.replay(&graph).unwrap();
    queue.finish().wait().unwrap();
    let profile = profiler.finish().wait().unwrap();
    let launches = profile.rows.iter().filter(|row| &*row.name == "axpy/saxpy").count();
    assert_eq!(launches, 2, "{}", profile.summary());
}
