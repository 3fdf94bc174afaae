//! A18: the kernels of sorts and scans stay inside their arrays while another queue changes the elements or their
//! number.

use crate::common::{Case, Subject, case};
use fencepost::kernel_check::Mistake;
use fencepost::prelude::*;
use fencepost::{AdapterChoice, CheckOptions, ShaderSource};

pub fn cases() -> Vec<Case> {
    vec![
        case("a18_a_sort_in_one_workgroup_stays_in_its_arrays_if_keys_change_between_two_reads", small),
        case("a18_a_pass_of_a_sort_stays_in_its_arrays_if_keys_change_after_they_are_counted", pass),
        case("a18_a_reversed_scan_stays_in_its_arrays_if_the_number_of_a_part_changes", scan),
        case("a18_a_reversed_scan_by_key_stays_in_its_arrays_if_the_number_of_a_part_changes", scan_by_key),
        case("a18_a_pass_of_a_sort_stays_in_its_tile_if_the_number_of_a_part_changes", tile),
    ]
}

/// Number of elements of the arrays.
const ELEMENTS: usize = 100;
/// Word after the last element of the results.
const AFTER: u32 = 77;

/// Returns a text whose elements pass through the memory of workgroups of any size.
fn staged(text: &str) -> String {
    let staged = text.replace("const STAGED_FROM: u32 = 64;", "const STAGED_FROM: u32 = 1;");
    assert_ne!(text, staged, "the shader names the size of the workgroups");
    staged
}

/// Launches a shader, and once more without its guard; only then may it write outside its arrays.
fn guarded(s: &Subject, text: &str, guard: (&str, &str), launch: impl Fn(&Context, &str) -> Vec<u32>) {
    let check = Some(CheckOptions::default());
    let options = ContextOptions::default().adapter(AdapterChoice::Cpu).check(check);
    let ctx = Context::with_options(options).wait().unwrap();
    s.watch(&ctx);
    let is_inside = |text: &str| {
        let out = launch(&ctx, text);
        let outside = |mistake: &Mistake| matches!(mistake, Mistake::IndexOutOfRange { .. });
        !ctx.diagnostics().take_findings().iter().any(|finding| outside(&finding.mistake))
            && out.last() == Some(&AFTER)
    };
    assert!(is_inside(text), "with the guard");
    assert!(!is_inside(&changed(text, guard)), "without the guard `{}`", guard.0);
}

fn changed(text: &str, (find, with): (&str, &str)) -> String {
    assert!(text.contains(find), "the kernel has no `{find}`");
    text.replacen(find, with, 1)
}

fn builtin(name: &str) -> String {
    ShaderSource::builtin(name).unwrap().whole_text().unwrap()
}

fn small(s: &Subject) {
    // Simulates that another queue writes the key of the first invocation after its digit was counted and before the
    // key is read again.
    let moves =
        "        for (var i = own_first(0u, params.n, lane); i < own_end; i++) { move_element(i, lane); }";
    let written = format!("        if lane == 0u {{ out_keys[0] = 15u; }}\n{moves}");
    let text = changed(&builtin("sort_small.wgsl"), (moves, &written));
    guarded(s, &text, ("if place >= params.n { return; }", ""), |ctx, text| {
        let kernel = ctx.kernel_from_with(text, "sort_small", &[("WORKGROUP", 16.0)]).unwrap();
        let queue = ctx.queue("q");
        let array = |word: u32| queue.full([ELEMENTS], word).unwrap();
        let unused = array(0);
        let values = array(0);
        let mut keys = array(0);
        let mut of_keys = array(0);
        let mut of_scratch = array(0);
        let mut scratch = queue.array(&[vec![0; ELEMENTS], vec![AFTER]].concat()).unwrap();
        let result = scratch.clone();
        let args = args![
            n = ELEMENTS as u32,
            low = 0_u32,
            high = 8_u32,
            flip_clear = 0_u32,
            flip_set = 0_u32,
            payload = 0_u32,
            passes = 2_u32,
            in_place = 1_u32,
            keys = &unused,
            values = &values,
            out_keys = &mut keys,
            out_values = &mut of_keys,
            scratch_keys = &mut scratch,
            scratch_values = &mut of_scratch
        ];
        queue.launch_dyn(&kernel, Grid::groups([1]), args).unwrap();
        queue.read(&result).wait().unwrap()
    });
}

/// Moves keys with positions that were computed for keys of digit 0 only, before the keys changed.
fn scattered(ctx: &Context, text: &str, keys: &[u32]) -> Vec<u32> {
    let overrides = [("WORKGROUP", 16.0), ("PER", 4.0)];
    let kernel = ctx.kernel_from_with(text, "radix_scatter", &overrides).unwrap();
    let queue = ctx.queue("q");
    let n = keys.len();
    let keys = queue.array(keys).unwrap();
    let values = queue.zeros::<u32, 1>([n]).unwrap();
    let mut starts = vec![n as u32; 16];
    starts[0] = 0;
    let starts = queue.array(&starts).unwrap();
    let all = queue.array(&[vec![0; n], vec![AFTER]].concat()).unwrap();
    let mut out = all.slice(0..n).unwrap();
    let mut of_out = queue.zeros::<u32, 1>([n]).unwrap();
    let args = args![
        n = n as u32,
        share = n as u32,
        groups = 1_u32,
        bit = 0_u32,
        mask = 15_u32,
        flip_clear = 0_u32,
        flip_set = 0_u32,
        payload = 1_u32,
        keys = &keys,
        values = &values,
        starts = &starts,
        out_keys = &mut out,
        out_values = &mut of_out
    ];
    queue.launch_dyn(&kernel, Grid::groups([1]), args).unwrap();
    queue.read(&all).wait().unwrap()
}

fn pass(s: &Subject) {
    let text = builtin("radix_scatter.wgsl");
    for text in [staged(&text), text] {
        let guard = ("if place >= arrayLength(&out_keys) { return; }", "");
        guarded(s, &text, guard, |ctx, text| scattered(ctx, text, &[15; ELEMENTS]));
    }
}

fn tile(s: &Subject) {
    // Half of the invocations stop after the counters of the first tile, as if they had read a smaller number of
    // elements.
    let clear = "counters[row * WORKGROUP + lane] = 0u;";
    let cleared = format!("if lane < WORKGROUP / 2u || first == 0u {{ {clear} }}");
    let text = changed(&staged(&builtin("radix_scatter.wgsl")), (clear, &cleared));
    let guard = ("min(take_rank(digit_of(key), lane), STAGED - 1u)", "take_rank(digit_of(key), lane)");
    let keys: Vec<u32> = (0..ELEMENTS as u32).map(|i| i % 16).collect();
    guarded(s, &text, guard, |ctx, text| scattered(ctx, text, &keys));
}

fn scan(s: &Subject) {
    for shader in ["scan", "scan_in_place"] {
        // The first invocation reads a smaller number of elements than the loops use.
        let text =
            changed(&builtin(&format!("{shader}.wgsl")), ("params.share) - 1u;", "params.share) - 41u;"));
        let guard = ("min(mirror - i, arrayLength(&x) - 1u)", "mirror - i");
        for text in [staged(&text), text] {
            guarded(s, &text, guard, |ctx, text| reversed(ctx, shader, text));
        }
    }
}

/// Returns the results of a reversed scan, and the element after them.
fn reversed(ctx: &Context, shader: &str, text: &str) -> Vec<u32> {
    let source = ShaderSource::text(format!("{shader}.wgsl"), text.to_owned());
    let source = source.with_type("T", u32::DTYPE).unwrap();
    let overrides = [("WORKGROUP", 16.0), ("REVERSED", 1.0)];
    let kernel = ctx.kernel_from_with(&source, shader, &overrides).unwrap();
    let queue = ctx.queue("q");
    let all = queue.array(&[vec![1; ELEMENTS], vec![AFTER]].concat()).unwrap();
    let mut out = all.slice(0..ELEMENTS).unwrap();
    let x = queue.full([ELEMENTS], 1_u32).unwrap();
    let carries = queue.zeros::<u32, 1>([1]).unwrap();
    let mut total = queue.zeros::<u32, 1>([1]).unwrap();
    let n = ELEMENTS as u32;
    let mut args =
        args![n = n, share = n, identity = 0_u32, initial = 0_u32, carries = &carries, total = &mut total]
            .to_vec();
    match shader {
        "scan" => args.extend(args![x = &x, out = &mut out]),
        _ => args.extend(args![x = &mut out]),
    }
    queue.launch_dyn(&kernel, Grid::groups([1]), args).unwrap();
    queue.read(&all).wait().unwrap()
}

fn scan_by_key(s: &Subject) {
    // Each invocation reads a smaller number of elements than the loops use.
    let text = changed(&builtin("scan_by_key.wgsl"), ("params.n - 1u - i", "params.n - 41u - i"));
    let guard = ("min(params.n - 41u - i, arrayLength(&x) - 1u)", "params.n - 41u - i");
    for text in [staged(&text), text] {
        guarded(s, &text, guard, reversed_by_key);
    }
}

/// Returns the results of a reversed scan of one run, and the element after them.
fn reversed_by_key(ctx: &Context, text: &str) -> Vec<u32> {
    let source = ShaderSource::text("scan_by_key.wgsl", text.to_owned());
    let source = source.with_type("T", u32::DTYPE).unwrap();
    let overrides = [("WORKGROUP", 16.0), ("STAGE", 2.0), ("REVERSED", 1.0)];
    let kernel = ctx.kernel_from_with(&source, "scan_by_key", &overrides).unwrap();
    let queue = ctx.queue("q");
    let all = queue.array(&[vec![1; ELEMENTS], vec![AFTER]].concat()).unwrap();
    let mut out = all.slice(0..ELEMENTS).unwrap();
    let keys = queue.full([ELEMENTS], 3_u32).unwrap();
    let x = queue.full([ELEMENTS], 1_u32).unwrap();
    let mut states = queue.zeros::<u32, 1>([1]).unwrap();
    let n = ELEMENTS as u32;
    let args = args![
        n = n,
        share = n,
        identity = 0_u32,
        initial = 0_u32,
        keys = &keys,
        x = &x,
        partials = &keys,
        out = &mut out,
        states = &mut states
    ];
    queue.launch_dyn(&kernel, Grid::groups([1]), args).unwrap();
    queue.read(&all).wait().unwrap()
}
