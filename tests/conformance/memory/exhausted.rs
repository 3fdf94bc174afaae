//! M10: out of memory is an error, and the context works afterwards.

use crate::common::partners::partners;
use crate::common::{Calls, Case, Subject, TOO_MANY, assert_error, case};
use fencepost::memory::MemoryLimit;
use fencepost::{Context, Download, Error, ErrorDetail, HostArray, Policy, SimulatorOptions, Upload};

pub fn cases() -> Vec<Case> {
    vec![
        case("m10_the_error_of_every_allocating_call_names_its_array_and_bytes", every_call),
        case("m10_a_context_works_on_after_it_was_out_of_memory", works_on),
        case("m10_free_memory_is_released_before_an_array_is_refused", free_goes_first),
        case("m10_a_context_works_on_after_its_device_has_no_memory", by_the_device).cpu_only(CPU),
        case("m10_a_queue_works_on_after_staging_memory_runs_out", staging).cpu_only(CPU),
        case("m10_both_contexts_work_on_after_a_copy_between_them_has_no_memory", across).cpu_only(CPU),
        case("m10_an_array_over_the_limit_of_the_device_is_the_error_too_large", too_large),
    ]
}

const CPU: &str = "only the CPU recorder has a memory size that a test can set; another case covers drivers";

pub(super) const N: usize = 1 << 18;
const MIB: u64 = 1 << 20;

/// Returns `true` for the error `OutOfMemory` of an object with this name.
pub(super) fn is_out_of_memory(error: &Error, of: &str) -> bool {
    matches!(error.detail(), ErrorDetail::OutOfMemory { object, bytes, .. } if object.contains(of) && *bytes > 0)
}

fn every_call(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let like = ctx.zeros::<u32, 1>([N]).unwrap();
    ctx.pool().set_limit(Some(MIB));
    let elements = vec![1_u32; N];
    let errors = [
        ctx.zeros::<u32, 1>([N]).unwrap_err(),
        ctx.full([N], 1_u32).unwrap_err(),
        ctx.empty::<u32, 1>([N]).unwrap_err(),
        ctx.array(&elements).unwrap_err(),
        ctx.zeros::<u32, 1>(&like).unwrap_err(),
        ctx.empty::<u32, 1>(&like).unwrap_err(),
        queue.zeros::<u32, 1>([N]).unwrap_err(),
        queue.full([N], 1_u32).unwrap_err(),
        queue.empty::<u32, 1>([N]).unwrap_err(),
        queue.array(&elements).unwrap_err(),
    ];
    for error in &errors {
        assert!(is_out_of_memory(error, "array `u32 [262144], line "), "{error}");
    }
    // On a context without mapped pinned memory the array is ordinary memory, which does not come from the pool.
    let pinned =
        [ctx.pinned::<u32, Upload, 1>([N]).map(|_| ()), ctx.pinned::<u32, Download, 1>([N]).map(|_| ())];
    for result in pinned {
        assert!(
            result.is_ok()
                || result.is_err_and(|error| is_out_of_memory(&error, "array `pinned u32 [262144], line "))
        );
    }
    assert!(queue.take_error().is_none() && ctx.take_error().is_none());
}

/// Allocates arrays until an allocation fails; returns the arrays and the error.
fn fill(ctx: &Context, value: u32) -> (Vec<fencepost::DeviceArray<u32>>, Error) {
    let queue = ctx.queue("filling");
    let mut arrays = Vec::new();
    loop {
        match queue.full([8 * N], value) {
            Ok(array) => arrays.push(array),
            Err(error) => return (arrays, error),
        }
        assert!(arrays.len() < 1000, "the allocations never fail");
    }
}

/// Checks that the arrays hold `value`, drops them, and checks that as many new arrays fit.
pub(super) fn check(ctx: &Context, arrays: Vec<fencepost::DeviceArray<u32>>, value: u32) {
    let queue = ctx.queue("checking");
    for array in [arrays.first(), arrays.last()].into_iter().flatten() {
        assert_eq!(queue.read(&array.slice(0..N).unwrap()).wait().unwrap(), vec![value; N]);
    }
    let room = arrays.len();
    drop(arrays);
    queue.finish().wait().unwrap();
    let again: Vec<_> = (0..room).map(|_| queue.full([8 * N], value + 1).unwrap()).collect();
    if let Some(last) = again.last() {
        assert_eq!(queue.read(last).wait().unwrap(), vec![value + 1; 8 * N]);
    }
}

fn works_on(s: &Subject) {
    let ctx = s.ctx();
    ctx.pool().set_limit(Some(16 * MIB));
    for round in 0..3 {
        let (arrays, error) = fill(&ctx, round);
        assert!(is_out_of_memory(&error, "u32 [2097152]"), "{error}");
        assert_eq!(arrays.len(), 2);
        check(&ctx, arrays, round);
    }
}

fn free_goes_first(s: &Subject) {
    let contexts = [s.ctx(), s.simulated(SimulatorOptions::default().memory(4 * MIB))];
    contexts[0].pool().set_limit(Some(4 * MIB));
    for ctx in &contexts {
        for mib in [1, 2, 3, 4, 1] {
            let array = ctx.zeros::<u32, 1>([mib * N]).unwrap();
            assert_eq!(ctx.pool().stats().used, mib as u64 * MIB);
            drop(array);
        }
    }
}

/// Returns `true` if the error names the limit of the recorder and its option.
fn names_the_limit(error: &Error) -> bool {
    let text = error.to_string();
    let ErrorDetail::OutOfMemory { limit: Some(MemoryLimit::CpuRecorder { used, limit, .. }), .. } =
        error.detail()
    else {
        return false;
    };
    *limit == 20 * MIB
        && text.contains(&format!("; {used} of the 20971520 bytes"))
        && text.ends_with("raise `SimulatorOptions::memory`")
}

fn by_the_device(s: &Subject) {
    for threads in [true, false] {
        let ctx = s.simulated(SimulatorOptions::default().memory(20 * MIB).threads(threads));
        for round in 0..3 {
            let (arrays, error) = fill(&ctx, round);
            assert!(is_out_of_memory(&error, "u32 [2097152]"), "{error}");
            assert!(names_the_limit(&error), "{error}");
            assert_eq!(arrays.len(), 2);
            check(&ctx, arrays, round);
        }
        let pinned: HostArray<u32, Upload> = ctx.pinned([N]).unwrap();
        assert!(is_out_of_memory(&ctx.pinned::<u32, Upload, 1>([20 * N]).unwrap_err(), "pinned"));
        let mut x = ctx.zeros([N]).unwrap();
        let queue = ctx.queue("q");
        queue.upload(&pinned, &mut x).unwrap();
        assert_eq!(queue.read(&x).wait().unwrap(), [0; N]);
    }
}

/// Function that makes a driver refuse memory after `true`, and give it again after `false`.
pub(super) type Refuse<'a> = &'a dyn Fn(bool);

/// Uploads to an array in use, which needs staging memory: first without memory, then with some. If there is a driver, it
/// refuses the memory; otherwise there is too little of it.
pub(super) fn staging_runs_out(ctx: &Context, driver: Option<Refuse<'_>>) {
    let queue = ctx.queue("q");
    let other = ctx.queue("other");
    let mut x = queue.zeros::<u32, 1>([4 * N]).unwrap();
    if driver.is_some() {
        queue.finish().wait().unwrap();
    }
    // The held fill uses the array, so the upload cannot write in place and needs staging memory.
    let gate = queue.hold();
    queue.fill(&mut x, 1).unwrap();
    if let Some(refuse) = driver {
        refuse(true);
    }
    let error = queue.upload(&vec![2; 2 * N][..], &mut x.slice(0..2 * N).unwrap()).unwrap_err();
    assert!(is_out_of_memory(&error, "staging"), "{error}");
    match driver {
        Some(refuse) => refuse(false),
        // The context releases the free memory of the dropped array for the staging memory of the upload.
        None => drop(other.empty::<u32, 1>([N]).unwrap()),
    }
    queue.upload(&[3; N][..], &mut x.slice(0..N).unwrap()).unwrap();
    gate.signal();
    let found = queue.read(&x).wait().unwrap();
    assert!(found[..N] == [3; N] && found[N..] == [1; 3 * N]);
}

fn staging(s: &Subject) {
    for policy in [Policy::Ordered, Policy::Checked] {
        let options = SimulatorOptions::default().memory(5 * MIB).policy(policy);
        staging_runs_out(&s.simulated(options), None);
    }
}

/// Copies to a context without memory for it, or whose driver refuses memory.
pub(super) fn copy_fails(name: &str, source: &Context, target: &Context, driver: Option<Refuse<'_>>) {
    let from = source.queue("from");
    let to = target.queue("to");
    let x = source.full([4 * N], 1_u32).unwrap();
    let mut y = target.zeros([4 * N]).unwrap();
    if let Some(refuse) = driver {
        target.synchronize().wait().unwrap();
        refuse(true);
    }
    to.copy(&x, &mut y).unwrap();
    let error = to.finish().wait().unwrap_err();
    if let Some(refuse) = driver {
        refuse(false);
    }
    assert!(is_out_of_memory(&error, "staging"), "{name}: {error}");
    assert!(to.take_error().is_some());
    to.fill(&mut y, 2).unwrap();
    assert_eq!(to.read(&y).wait().unwrap(), [2; 4 * N], "{name}");
    assert_eq!(from.read(&x).wait().unwrap(), [1; 4 * N], "{name}");
    if driver.is_some() {
        to.copy(&x, &mut y).unwrap();
        assert_eq!(to.read(&y).wait().unwrap(), [1; 4 * N], "{name}");
    }
}

fn across(s: &Subject) {
    for (name, source) in partners(s, Policy::Ordered) {
        copy_fails(&name, &source, &s.simulated(SimulatorOptions::default().memory(4 * MIB)), None);
    }
}

fn too_large(s: &Subject) {
    let ctx = s.ctx();
    assert_error!(ctx.zeros::<u32, 1>([TOO_MANY]), ErrorDetail::TooLarge { .. });
    assert!(ctx.zeros::<u32, 1>([N]).is_ok());
}
