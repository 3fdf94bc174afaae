//! D01: the list of adapters, and the adapter that a context opens.

use crate::common::subject::NATIVE_CODE;
use crate::common::{Case, NO_FILES, NO_LIST, Subject, assert_error, case, results};
use crate::kernels::shaders::LOOKS;
use fencepost::prelude::*;
use fencepost::{AdapterInfo, AdapterKind, RecorderChoice, adapters};
use std::env;
use std::process::Command;

const NO_ADAPTER: &str = "the CPU recorder is not an adapter";

pub fn cases() -> Vec<Case> {
    vec![
        case("d01_an_adapter_is_listed_with_its_limits_and_its_name", listed)
            .not_in_a_page(NO_LIST)
            .gpu_only(NO_ADAPTER),
        case("d01_the_list_is_in_the_order_of_the_kinds", in_order)
            .not_in_a_page(NO_LIST)
            .gpu_only(NO_ADAPTER),
        case(BY_DEFAULT, by_default).not_in_a_page(NO_FILES).gpu_only(NO_ADAPTER),
        case("d01_the_limits_of_an_adapter_are_the_limits_in_errors", limits),
        case("d01_the_listed_abilities_work_and_all_others_are_refused", abilities).gpu_only(NO_ADAPTER),
        case("d01_an_adapter_is_chosen_by_its_index", by_place).not_in_a_page(NO_LIST).gpu_only(NO_ADAPTER),
        case("d01_an_adapter_is_chosen_by_its_kind", by_kind).not_in_a_page(NO_LIST).gpu_only(NO_ADAPTER),
        case("d01_an_adapter_is_chosen_by_its_name", by_name).not_in_a_page(NO_LIST).gpu_only(NO_ADAPTER),
        case("d01_choosing_a_missing_adapter_is_an_error_that_lists_all_adapters", not_there)
            .not_in_a_page(NO_LIST)
            .gpu_only(NO_ADAPTER),
        case(BY_ENVIRONMENT, by_environment).not_in_a_page(NO_FILES).gpu_only(NO_ADAPTER),
        case("d01_a_context_uses_the_recorder_that_its_options_name", recorders).gpu_only(NO_ADAPTER),
    ]
}

fn open(adapter: AdapterChoice) -> fencepost::Result<Context> {
    Context::with_options(ContextOptions::default().adapter(adapter)).wait()
}

fn own(subject: &Subject) -> &AdapterInfo {
    subject.place().info().unwrap()
}

fn listed(subject: &Subject) {
    let known = adapters();
    let info = &known[subject.place().adapter_index().unwrap()];
    assert_eq!(info, own(subject));
    assert!(!info.name.is_empty() && info.max_array >= 1 << 20 && info.max_invocations >= 64);
    let text = info.to_string();
    assert!(text.contains(&info.name) && text.contains(info.backend), "{text}");
    assert_eq!(subject.ctx().info(), info);
}

fn in_order(_: &Subject) {
    let kinds: Vec<_> = adapters()
        .iter()
        .map(|info| (info.backend == NATIVE_CODE, info.kind, info.backend == "GL"))
        .collect();
    assert!(kinds.is_sorted(), "{kinds:?}");
}

/// Checks that a request that exceeds a limit by one is an error that states the adapter's limit.
fn limits(subject: &Subject) {
    let ctx = subject.ctx();
    let info = ctx.info().clone();
    let queue = ctx.queue("q");
    assert_error!(
        ctx.zeros::<u32, 1>([info.max_array as usize / 4 + 1]),
        ErrorDetail::TooLarge { limit, .. } if *limit == info.max_array
    );

    let looks = LOOKS.kernel(subject, &ctx);
    let [x, mut y] = [0; 2].map(|_| ctx.zeros::<u32, 1>([128]).unwrap());
    let over = Grid::groups([info.max_groups as usize + 1]);
    assert_error!(
        queue.launch_dyn(&looks, over, args![&mut x.clone(), &mut y]),
        ErrorDetail::GridTooLarge { limit, .. } if *limit == info.max_groups
    );
    queue.launch_dyn(&looks, Grid::groups([1]), args![&mut x.clone(), &mut y]).unwrap();

    assert!(info.binding_alignment.is_power_of_two() && info.binding_alignment == ctx.binding_alignment());
    for start in [1, 2, 4, 8, 16, 32, 64] {
        let mut apart = x.slice(start..start + 32).unwrap();
        let launched = queue.launch_dyn(&looks, Grid::groups([1]), args![&mut apart, &mut y]);
        let fits = (4 * start as u64).is_multiple_of(info.binding_alignment);
        match launched.as_ref().map_err(Error::detail) {
            Ok(()) => assert!(fits, "element {start}"),
            Err(ErrorDetail::Alignment { needed, .. }) => assert!(!fits && *needed == info.binding_alignment),
            Err(_) => panic!("element {start}: {launched:?}"),
        }
    }
    of_kernels(&ctx, &info);
}

/// Checks the limits of kernels, each with a kernel that exceeds the limit by one.
fn of_kernels(ctx: &Context, info: &AdapterInfo) {
    let refused = |text: &str| ctx.kernel_from(text, "over").map(drop).unwrap_err();
    let wide = info.max_invocations + 1;
    let error = refused(&format!("@compute @workgroup_size({wide}) fn over() {{}}"));
    assert!(
        matches!(error.detail(), ErrorDetail::WorkgroupTooLarge { total, .. } if *total == info.max_invocations),
        "{error}"
    );

    let words = info.max_workgroup_memory / 4 + 1;
    let text = format!(
        "var<workgroup> all: array<u32, {words}>;
        @compute @workgroup_size(1) fn over() {{ all[0] = 1u; }}"
    );
    let error = refused(&text);
    assert!(
        matches!(error.detail(), ErrorDetail::WorkgroupMemory { limit, .. } if *limit == info.max_workgroup_memory),
        "{error}"
    );

    // A device that can bind more than a thousand buffers first refuses the binding number 1000.
    let count = info.max_bindings.min(BINDINGS) + 1;
    let declared: String = (0..count)
        .map(|i| format!("@group(0) @binding({i}) var<storage, read_write> x{i}: array<u32>;"))
        .collect();
    let used: String = (0..count).map(|i| format!("x{i}[0] = 1u;")).collect();
    let error = refused(&format!("{declared} @compute @workgroup_size(1) fn over() {{ {used} }}"));
    match error.detail() {
        ErrorDetail::TooManyBindings { limit, .. } => assert_eq!(*limit, info.max_bindings),
        ErrorDetail::Unsupported { what, .. } => {
            assert!(info.max_bindings >= BINDINGS && *what == format!("binding {BINDINGS}"), "{error}");
        }
        _ => panic!("{error}"),
    }
    assert!(info.max_binding > 0 && info.max_binding <= info.max_array);
}

/// Limit of binding numbers: every number is below this on every device.
const BINDINGS: u32 = 1000;

/// Each feature with a kernel that uses it to double `out[0]`.
const ABILITIES: [(&str, &str); 5] = [
    ("f16", "enable f16; DECLARED double() { out[0] = f32(f16(out[0]) * 2.0h); }"),
    ("f64", "DECLARED double() { out[0] = f32(f64(out[0]) * 2.0lf); }"),
    ("int64", "DECLARED double() { out[0] = f32(u32((u64(u32(out[0])) << 33u) >> 32u)); }"),
    ("subgroups", "DECLARED double() { out[0] = 2.0 * subgroupAdd(out[0]); }"),
    ("f32 atomics", "ATOMIC double() { let old = atomicAdd(&out[0], 3.0); }"),
];

/// Checks that a listed feature works, and that a kernel with an unlisted one is refused.
fn abilities(subject: &Subject) {
    let ctx = subject.ctx();
    let listed = |ability| ctx.info().abilities.contains(&ability);
    let timed = ctx.queue_with(QueueOptions::default().timing(true));
    assert_eq!(timed.options().timing, listed("timestamps"), "{:?}", ctx.info());
    for (ability, text) in ABILITIES {
        let declared = |element: &str| {
            format!(
                "@group(0) @binding(0) var<storage, read_write> out: array<{element}>; @compute @workgroup_size(1) fn"
            )
        };
        let text = text.replace("DECLARED", &declared("f32")).replace("ATOMIC", &declared("atomic<f32>"));
        match ctx.kernel_from(&text, "double") {
            Ok(double) => {
                let mut out = timed.full([1], 3.0_f32).unwrap();
                timed.launch_dyn(&double, Grid::groups([1]), args![&mut out]).unwrap();
                assert_eq!(timed.read(&out).wait().unwrap(), [6.0], "{ability}");
                assert!(listed(ability), "{ability} works and is not listed");
            }
            Err(error) => {
                assert!(matches!(error.detail(), ErrorDetail::Unsupported { .. }), "{ability}: {error}");
                assert!(!listed(ability), "{ability} is listed: {error}");
            }
        }
    }
}

fn by_kind(subject: &Subject) {
    for kind in [AdapterKind::Discrete, AdapterKind::Integrated, AdapterKind::Virtual, AdapterKind::Software]
    {
        let first = adapters().into_iter().find(|info| info.kind == kind);
        match (open(AdapterChoice::Kind(kind)), first) {
            (Ok(ctx), Some(first)) => assert_eq!(*ctx.info(), first),
            (Err(error), None) => assert!(lists_all(&error, &kind.to_string()), "{error}"),
            (opened, first) => panic!("{kind}: {opened:?}, {first:?}"),
        }
    }
    assert_eq!(own(subject).kind.to_string().parse(), Ok(AdapterChoice::Kind(own(subject).kind)));
}

/// Returns `true` if an error is `NoAdapter` and names `wanted` and every adapter of the machine.
fn lists_all(error: &Error, wanted: &str) -> bool {
    let text = error.to_string();
    matches!(error.detail(), ErrorDetail::NoAdapter { .. })
        && text.contains(wanted)
        && adapters().iter().enumerate().all(|(at, info)| text.contains(&format!("{at}: {info}")))
}

fn by_place(subject: &Subject) {
    let ctx = open(AdapterChoice::Index(subject.place().adapter_index().unwrap())).unwrap();
    assert_eq!(ctx.info(), own(subject));
}

fn by_name(subject: &Subject) {
    let info = own(subject);
    let name = format!("{} {}", info.name, info.backend);
    for name in [name.clone(), name.to_uppercase()] {
        let ctx = open(AdapterChoice::Name(name)).unwrap();
        assert_eq!((&ctx.info().name, ctx.info().backend), (&info.name, info.backend));
    }
}

fn recorders(subject: &Subject) {
    let recorders = [RecorderChoice::Wgpu, RecorderChoice::Hal, RecorderChoice::Direct];
    for (recorder, name) in recorders.into_iter().zip(["recorder wgpu", "recorder hal", "recorder direct"]) {
        // In a browser, each choice is the recorder of wgpu.
        let name = if cfg!(target_arch = "wasm32") { "recorder wgpu" } else { name };
        let ctx = subject.options(|options| options.recorder = recorder);
        assert!(
            ctx.diagnostics().state_dump().contains(name),
            "{recorder:?}:\n{}",
            ctx.diagnostics().state_dump()
        );
        let queue = ctx.queue("q");
        let x = ctx.array(&[1_u32, 2, 3]).unwrap();
        let mut y = ctx.zeros([3]).unwrap();
        queue.copy(&x, &mut y).unwrap();
        assert_eq!(queue.read(&y).wait().unwrap(), [1, 2, 3]);
    }
}

fn not_there(_: &Subject) {
    let after = adapters().len();
    for (choice, wanted) in [
        (AdapterChoice::Index(after), after.to_string()),
        (AdapterChoice::Index(999), "999".into()),
        (AdapterChoice::Name("no such adapter".into()), "no such adapter".into()),
    ] {
        let error = open(choice).unwrap_err();
        assert!(lists_all(&error, &wanted), "{error}");
    }
}

const BY_DEFAULT: &str = "d01_the_default_is_a_device_then_the_cpu_and_a_driver_for_a_named_recorder";

/// Checks the default in a child process, which has no variable that names an adapter or a recorder.
fn by_default(subject: &Subject) {
    if env::var(CHILD).is_err() {
        return run_child_of(BY_DEFAULT, subject, None, "opens the default");
    }
    let is_software = |info: &&AdapterInfo| info.kind == AdapterKind::Software;
    let known = adapters();
    let hardware = known.iter().find(|info| !is_software(info));
    let cpu = known.last().unwrap();
    assert_eq!(cpu.backend, NATIVE_CODE);
    assert_eq!(open(AdapterChoice::Auto).unwrap().info(), hardware.unwrap_or(cpu));
    let options = ContextOptions::default().recorder(RecorderChoice::Wgpu);
    assert_eq!(*Context::with_options(options).wait().unwrap().info(), known[0]);
}

const BY_ENVIRONMENT: &str = "d01_the_environment_variable_names_the_adapter";
/// Variable that [`by_environment`] sets for its child processes. The test needs child processes because a process
/// cannot change the environment that it was started with.
const CHILD: &str = "FENCEPOST_TEST_CHILD";

fn by_environment(subject: &Subject) {
    match env::var(CHILD).as_deref() {
        Ok("finds it") => assert_eq!(open(AdapterChoice::Auto).unwrap().info(), own(subject)),
        Ok(_) => {
            let error = open(AdapterChoice::Auto).unwrap_err();
            assert!(lists_all(&error, "no such adapter"), "{error}");
            // The caller's own choice overrides the variable.
            let place = subject.place().adapter_index().unwrap();
            assert_eq!(open(AdapterChoice::Index(place)).unwrap().info(), own(subject));
        }
        Err(_) => {
            let place = subject.place().adapter_index().unwrap();
            let info = own(subject);
            let run =
                |adapter: &str, outcome: &str| run_child_of(BY_ENVIRONMENT, subject, Some(adapter), outcome);
            run(&place.to_string(), "finds it");
            run(&format!("{} {}", info.name, info.backend), "finds it");
            run("no such adapter", "finds none");
        }
    }
}

/// Runs a case again in a child process, with `adapter` as the value of `FENCEPOST_ADAPTER`.
fn run_child_of(case: &str, subject: &Subject, adapter: Option<&str>, outcome: &str) {
    let name = format!("{case}::{}", subject.name());
    let mut child = Command::new(env::current_exe().unwrap());
    child.args([&name, "--exact"]).env(CHILD, outcome).env_remove(results::VARIABLE);
    match adapter {
        Some(adapter) => child.env("FENCEPOST_ADAPTER", adapter),
        None => child.env_remove("FENCEPOST_ADAPTER").env_remove("FENCEPOST_RECORDER"),
    };
    let output = child.output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && text.contains("1 passed"), "{adapter:?}, {outcome}:\n{text}");
}
