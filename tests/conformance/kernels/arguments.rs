//! K01: arguments are checked by name, type and access; messages show both sides.

use super::shaders::{self, SPREADS};
use crate::common::kernels::Saxpy;
use crate::common::{Case, Subject, case};
use fencepost::__private::{ArgField, Binder, ShaderSource, bind_buffer};
use fencepost::error::KernelError;
use fencepost::prelude::*;
use fencepost::{DynKernel, Element, ErrorDetail};

pub fn cases() -> Vec<Case> {
    vec![
        case("k01_a_struct_of_arguments_is_launched", derived),
        case("k01_a_generic_struct_is_launched_with_each_of_its_types", generic),
        case("k01_code_that_is_generic_over_elements_stores_and_launches_a_kernel", stored),
        case("k01_a_kernel_from_a_text_takes_arguments_by_name_and_by_position", by_name_and_position),
        case("k01_parameters_of_several_types_reach_the_kernel", parameters),
        case("k01_parameters_reach_the_kernel_as_immediates_and_as_uniforms", carriers),
        case("k01_a_single_parameter_needs_no_struct", single),
        case("k01_overrides_are_set_by_name", overrides),
        case("k01_an_override_that_makes_the_text_invalid_is_an_error_with_its_line", invalid_overrides),
        case("k01_a_wrong_argument_is_an_error_that_shows_both_sides", messages),
        case("k01_a_launch_may_read_overlapping_parts_of_an_array_and_write_another_part", overlapping_reads),
        case("k01_a_held_launch_uses_the_values_of_its_call", values_are_kept),
        case("k01_an_untyped_array_is_checked_at_the_launch", any_arrays),
        case("k01_arguments_bound_by_hand_in_a_wrong_number_or_order_are_an_error", by_hand),
    ]
}

#[derive(KernelArgs)]
#[kernel(source = "mix.wgsl", entry = "mix")]
struct Mix<'a> {
    y: &'a mut DeviceArray<u32>,
    b: u32,
    x: &'a DeviceArray<u32>,
    a: u32,
}

/// Arguments of `Mix`, bound in one of several ways, selected by `way`; ways below `WRONG` are mistakes.
struct ByHand<'a> {
    mix: Mix<'a>,
    way: usize,
}

const WRONG: usize = 6;

impl KernelArgs for ByHand<'_> {
    type Family = ByHand<'static>;

    fn label() -> &'static str {
        "ByHand"
    }

    fn source() -> Result<ShaderSource, KernelError> {
        Mix::source()
    }

    fn entry() -> &'static str {
        Mix::entry()
    }

    fn fields() -> Vec<ArgField> {
        Mix::fields()
    }

    fn bind<B: Binder + ?Sized>(&self, binder: &mut B) {
        let Mix { y, b, x, a } = &self.mix;
        match self.way {
            0 => {}
            1 => {
                bind_buffer(binder, *y);
                binder.value(&b.to_ne_bytes());
                bind_buffer(binder, *x);
            }
            2 => {
                bind_buffer(binder, *y);
                binder.value(&b.to_ne_bytes()[..3]);
                bind_buffer(binder, *x);
                binder.value(&a.to_ne_bytes());
            }
            3 => {
                bind_buffer(binder, *y);
                bind_buffer(binder, *x);
                binder.value(&b.to_ne_bytes());
                binder.value(&a.to_ne_bytes());
            }
            4 => {
                self.mix.bind(binder);
                bind_buffer(binder, *x);
            }
            5 => {
                bind_buffer(binder, *y);
                bind_buffer(binder, *x);
                binder.value(&b.to_ne_bytes()[..3]);
                binder.value(&a.to_ne_bytes());
            }
            _ => self.mix.bind(binder),
        }
    }
}

fn by_hand(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let kernel = ctx.kernel::<ByHand>().unwrap();
    let x = ctx.array(&[1, 2, 3]).unwrap();
    let y = ctx.array(&[10, 20, 30]).unwrap();
    let launch = |way| {
        let mix = Mix { a: 3, b: 7, x: &x, y: &mut y.clone() };
        queue.launch(&kernel, Grid::threads([3]), ByHand { mix, way })
    };
    for way in 0..WRONG {
        let error = launch(way).unwrap_err();
        let expected = match way {
            0 | 1 => None,
            2 => Some("passed a value of 3 bytes where its `fields` declare a value of 4 bytes"),
            4 => Some("passed an array where its `fields` declare no further argument"),
            _ => Some("passed an array where its `fields` declare a value of 4 bytes"), // the first mistake, not the next
        };
        match expected {
            None => assert!(matches!(error.detail(), ErrorDetail::Kernel(_)), "{way}: {error}"),
            Some(text) => {
                assert!(matches!(error.detail(), ErrorDetail::MisplacedArgument { .. }), "{way}: {error}");
                assert!(error.to_string().contains(text), "{way}: {error}");
            }
        }
    }
    launch(WRONG).unwrap();
    assert_eq!(queue.read(&y).wait().unwrap(), [38, 69, 100]);
}

fn derived(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mix = ctx.kernel::<Mix>().unwrap();
    let x = ctx.array(&[1, 2, 3]).unwrap();
    let mut y = ctx.array(&[10, 20, 30]).unwrap();
    queue.launch(&mix, Grid::threads([3]), Mix { a: 3, b: 7, x: &x, y: &mut y }).unwrap();
    assert_eq!(queue.read(&y).wait().unwrap(), [38, 69, 100], "fields are matched by name, not by position");
}

/// Returns an element of `a * x + y` of whole arrays, for any element type of the kernel.
fn axpy<T: Element>(ctx: &Context, [a, x, y]: [T; 3]) -> T
where
    Saxpy<'static, T>: KernelFamily,
{
    let queue = ctx.queue("q");
    let saxpy = ctx.kernel::<Saxpy<T>>().unwrap();
    let x = ctx.array(&[x; 100]).unwrap();
    let mut y = ctx.array(&[y; 100]).unwrap();
    queue.launch(&saxpy, Grid::threads([100]), Saxpy { a, x: &x, y: &mut y }).unwrap();
    queue.read(&y).wait().unwrap()[99]
}

fn generic(s: &Subject) {
    let ctx = s.ctx();
    assert_eq!(axpy(&ctx, [2.0_f32, 3.0, 0.5]), 6.5);
    assert_eq!(axpy(&ctx, [2_u32, 3, u32::MAX]), 5);
    assert_eq!(axpy(&ctx, [-2_i32, 3, 1]), -5);
}

/// A step with a stored kernel. Only the code that compiles or launches the kernel needs a bound.
struct Step<T: Element> {
    factor: T,
    kernel: Kernel<Saxpy<'static, T>>,
}

impl<T: Element> Step<T>
where
    Saxpy<'static, T>: KernelFamily,
{
    fn new(ctx: &Context, factor: T) -> Self {
        Self { factor, kernel: ctx.kernel::<Saxpy<T>>().unwrap() }
    }

    fn run(&self, queue: &CommandQueue, x: &DeviceArray<T>, y: &mut DeviceArray<T>) {
        queue.launch(&self.kernel, Grid::threads([y.len()]), Saxpy { a: self.factor, x, y }).unwrap();
    }
}

fn stored(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut y = ctx.array(&[1.0_f32, 2.0]).unwrap();
    let step = Step::new(&ctx, 0.5);
    (0..2).for_each(|_| step.run(&queue, &ctx.full([2], 4.0).unwrap(), &mut y));
    assert_eq!(queue.read(&y).wait().unwrap(), [5.0, 6.0]);
    let mut y = ctx.array(&[1_u32, 2]).unwrap();
    Step::new(&ctx, 3).run(&queue, &ctx.full([2], 4).unwrap(), &mut y);
    assert_eq!(queue.read(&y).wait().unwrap(), [13, 14]);
}

fn by_name_and_position(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let saxpy = shaders::saxpy(s, &ctx);
    let x = ctx.full([70], 1.0_f32).unwrap();
    let mut y = ctx.full([70], 0.0_f32).unwrap();
    let grid = Grid::threads([70]);
    queue.launch_dyn(&saxpy, grid, args![a = 2.0_f32, x = &x, y = &mut y]).unwrap();
    queue.launch_dyn(&saxpy, grid, args![y = &mut y, a = 3.0_f32, x = &x]).unwrap();
    queue.launch_dyn(&saxpy, grid, args![4.0_f32, &x, &mut y]).unwrap();
    assert_eq!(queue.read(&y).wait().unwrap(), [9.0; 70]);
}

/// Start of a declaration of parameters in a shader.
const UNIFORM_BLOCK: &str = "@group(0) @binding(0) var<uniform>";

/// Launches a kernel of the shader `SPREADS`, and checks that it gets every parameter.
fn spread(ctx: &Context, kernel: &DynKernel, scale: u32) {
    let queue = ctx.queue("q");
    let mut floats = ctx.zeros::<f32, 1>([5]).unwrap();
    let mut whole = ctx.zeros::<u32, 1>([4]).unwrap();
    let mut signed = ctx.zeros::<i32, 1>([1]).unwrap();
    let f = scale as f32;
    let i = scale as i32;
    let arguments = args![
        last = 7 * scale,
        a = 1.5 * f,
        w = [1.0 * f, 2.0 * f, 3.0 * f, 4.0 * f],
        n = 2 * scale,
        v = [3 * scale, 4 * scale],
        k = -5 * i,
        floats = &mut floats,
        whole = &mut whole,
        signed = &mut signed,
    ];
    queue.launch_dyn(kernel, Grid::groups([1]), arguments).unwrap();
    assert_eq!(queue.read(&floats).wait().unwrap(), [1.5, 1.0, 2.0, 3.0, 4.0].map(|x| x * f));
    assert_eq!(queue.read(&whole).wait().unwrap(), [2, 3, 4, 7].map(|x| x * scale));
    assert_eq!(queue.read(&signed).wait().unwrap(), [-5 * i]);
}

fn parameters(s: &Subject) {
    let ctx = s.ctx();
    let kernel = SPREADS.kernel(s, &ctx);
    (1..20).for_each(|scale| spread(&ctx, &kernel, scale));
}

fn carriers(s: &Subject) {
    for immediates in [true, false] {
        let ctx = s.switched(|switches| switches.immediates = immediates);
        let immediate_block = SPREADS.wgsl.replace(UNIFORM_BLOCK, "var<immediate>");
        assert!(
            immediate_block.contains("var<immediate>"),
            "the text declares its values as {UNIFORM_BLOCK}"
        );
        let kernels = [
            SPREADS.kernel(s, &ctx),
            ctx.kernel_from(&immediate_block, SPREADS.entry)
                .expect("the values may be immediates in the text"),
        ];
        for kernel in &kernels {
            (1..5).for_each(|scale| spread(&ctx, kernel, scale));
        }
    }
}

/// Declares a number and a vector as a whole block each, for each kind of block.
fn single(s: &Subject) {
    for immediates in [true, false] {
        let ctx = s.switched(|switches| switches.immediates = immediates);
        let queue = ctx.queue("q");
        for block in [UNIFORM_BLOCK, "var<immediate>"] {
            let text = format!(
                "@group(0) @binding(1) var<storage, read_write> out: array<u32>;
                 {block} factor: u32;
                 @compute @workgroup_size(1) fn number() {{ out[0] *= factor; }}
                 {block} at: vec3<u32>;
                 @compute @workgroup_size(1) fn vector() {{ out[0] += 100 * at.x + 10 * at.y + at.z; }}"
            );
            let mut out = ctx.full([1], 2_u32).unwrap();
            let number = ctx.kernel_from(&text, "number").unwrap();
            queue.launch_dyn(&number, Grid::groups([1]), args![out = &mut out, factor = 3_u32]).unwrap();
            let vector = ctx.kernel_from(&text, "vector").unwrap();
            queue.launch_dyn(&vector, Grid::groups([1]), args![at = [4_u32, 5, 6], out = &mut out]).unwrap();
            assert_eq!(queue.read(&out).wait().unwrap(), [6 + 456], "{block}");
        }
    }
}

fn overrides(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    for workgroup in [1_u32, 32, 100] {
        let kernel = ctx.kernel_with::<Saxpy<u32>>(&[("WORKGROUP", f64::from(workgroup))]).unwrap();
        assert_eq!(kernel.workgroup(), [workgroup, 1, 1]);
        let x = ctx.full([200], 1).unwrap();
        let mut y = ctx.zeros([200]).unwrap();
        queue.launch(&kernel, Grid::groups([1]), Saxpy { a: 1, x: &x, y: &mut y }).unwrap();
        let sum: u32 = queue.read(&y).wait().unwrap().iter().sum();
        assert_eq!(sum, workgroup, "one workgroup has {workgroup} invocations");
    }
}

fn invalid_overrides(s: &Subject) {
    let text = "override N: u32 = 1; override UNUSED: u32 = 5;
        var<workgroup> w: array<u32, N>;
        @group(0) @binding(0) var<storage, read_write> x: array<u32>;
        fn part(v: u32) -> u32 {
            return v / N;
        }
        @compute @workgroup_size(1) fn divides() { x[0] = part(x[1]); }
        @compute @workgroup_size(1) fn shifts() { x[0] = x[1] << N; }
        override M: i32 = 1;
        @group(0) @binding(1) var<storage, read_write> y: array<i32>;
        fn rest(v: i32) -> i32 { return v % M; }
        @compute @workgroup_size(1) fn remains() { y[0] = rest(y[1]); }
        @compute @workgroup_size(1) fn quotes() { y[0] = y[1] / M; }
        @compute @workgroup_size(1) fn holds() { w[0] = x[0]; x[1] = w[0]; }";
    let ctx = s.ctx();
    let cases = [
        ("divides", "N", 0.0, 5, "divisor"),
        ("shifts", "N", 32.0, 8, "shift"),
        ("remains", "M", 0.0, 11, "divisor"),
        ("quotes", "M", 0.0, 13, "divisor"),
        ("holds", "N", 0.0, 2, "must be positive"),
    ];
    for (entry, name, value, line, message) in cases {
        let error = ctx.kernel_from_with(text, entry, &[(name, value)]).map(|_| ()).unwrap_err();
        assert!(
            matches!(error.detail(), ErrorDetail::Kernel(KernelError::OverrideValues { .. })),
            "{error:?}"
        );
        let error = error.to_string();
        let begin = format!("kernel `{entry}` with override `{name}` = {value}: ");
        assert!(error.starts_with(&begin), "{error}");
        assert!(error.contains(&format!(":{line}:")) && error.contains(message), "{error}");
    }
    ctx.kernel_from_with(text, "divides", &[("N", 2.0)]).expect("2 is a divisor");
}

fn messages(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let saxpy = shaders::saxpy(s, &ctx);
    let x = ctx.zeros::<f32, 1>([4]).unwrap();
    let mut y = ctx.zeros::<f32, 1>([4]).unwrap();
    let mut wrong = ctx.zeros::<u32, 1>([4]).unwrap();
    let grid = || Grid::threads([4]);
    let found = [
        queue.launch_dyn(&saxpy, grid(), args![a = 1.0_f32, x = &x, y = &mut wrong]),
        queue.launch_dyn(&saxpy, grid(), args![a = 1.0_f32, x = &x, y = &y]),
        queue.launch_dyn(&saxpy, grid(), args![a = 1_i32, x = &x, y = &mut y]),
        queue.launch_dyn(&saxpy, grid(), args![1.0_f32, &mut y, &x]),
        queue.launch_dyn(&saxpy, grid(), args![a = 1.0_f32, y = &mut y]),
        queue.launch_dyn(&saxpy, grid(), args![a = 1.0_f32, b = 2.0_f32, x = &x, y = &mut y]),
    ];
    let expected = [
        ["`saxpy`, argument `y`", "`&mut` to an array of u32", "`var<storage, read_write> y: array<f32>`"],
        ["`saxpy`, argument `y`", "`&` to an array of f32", "`var<storage, read_write> y: array<f32>`"],
        ["`saxpy`, argument `a`", "a value of i32", "`a: f32` in its parameters"],
        ["`saxpy`, argument 1 (`x`)", "`&mut` to an array of f32", "`var<storage, read> x: array<f32>`"],
        ["`saxpy`, argument `x`", "host passes nothing", "`var<storage, read> x: array<f32>`"],
        ["`saxpy`, argument `b`", "a value of f32", "`a`"],
    ];
    for (found, expected) in found.into_iter().zip(expected) {
        let error = found.unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::Kernel(_)), "{error:?}");
        let text = error.to_string();
        assert!(expected.iter().all(|part| text.contains(part)), "{text}\nshould contain {expected:?}");
    }
    assert_eq!(queue.read(&y).wait().unwrap(), [0.0; 4], "nothing was launched");
}

fn values_are_kept(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let gate = ctx.user_event("gate");
    let saxpy = ctx.kernel::<Saxpy<u32>>().unwrap();
    let x = ctx.full([64], 1).unwrap();
    let mut y = ctx.zeros([64]).unwrap();
    queue.wait_for(&gate.event()).unwrap();
    // On adapters, the parameters fill several pages of uniforms; the CPU recorder has no such pages.
    let launches = if s.is_cpu() { 100 } else { 1000 };
    for a in 0..launches {
        queue.launch(&saxpy, Grid::threads([64]), Saxpy { a, x: &x, y: &mut y }).unwrap();
    }
    gate.signal();
    assert_eq!(queue.read(&y).wait().unwrap(), [launches * (launches - 1) / 2; 64]);
}

fn any_arrays(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let saxpy = shaders::saxpy(s, &ctx);
    let x = ctx.full([8], 1.0_f32).unwrap().any();
    let mut y = ctx.zeros::<f32, 2>([2, 4]).unwrap().any();
    queue.launch_dyn(&saxpy, Grid::threads([8]), args![2.0_f32, &x, &mut y]).unwrap();
    assert_eq!(queue.read(&y.typed::<f32, 2>().unwrap()).wait().unwrap(), [2.0; 8]);
    let mut whole = ctx.zeros::<i32, 1>([8]).unwrap().any();
    let error = queue.launch_dyn(&saxpy, Grid::threads([8]), args![2.0_f32, &x, &mut whole]).unwrap_err();
    assert!(error.to_string().contains("array of i32"), "{error}");
}

fn overlapping_reads(s: &Subject) {
    let (ctx, queue) = s.with_queue("main");
    let text = "@group(0) @binding(0) var<storage, read> x: array<u32>;
        @group(0) @binding(1) var<storage, read> y: array<u32>;
        @group(0) @binding(2) var<storage, read> z: array<u32>;
        @group(0) @binding(3) var<storage, read_write> out: array<u32>;
        @compute @workgroup_size(64) fn sums(@builtin(global_invocation_id) id: vec3<u32>) {
            let i = id.x;
            if i < arrayLength(&out) { out[i] = x[i] + 1000u * y[i] + 1000000u * z[i]; }
        }";
    let kernel = ctx.kernel_from(text, "sums").unwrap();
    let all: Vec<u32> = (0..512).collect();
    let x = queue.array(&all).unwrap();
    let parts = [(0..64, 0..64, 0..64), (0..128, 64..128, 0..100), (128..192, 64..190, 128..200)];
    for (first, second, third) in parts {
        let mut out = x.slice(256..320).unwrap();
        let at = |range: &std::ops::Range<usize>| x.slice(range.clone()).unwrap();
        let [a, b, c] = [at(&first), at(&second), at(&third)];
        let arguments = args![x = &a, y = &b, z = &c, out = &mut out];
        // The second launch is the same as the first one.
        for _ in 0..2 {
            queue.launch_dyn(&kernel, Grid::threads([64]), &arguments).unwrap();
        }
        let sum =
            |i: usize| all[first.start + i] + 1000 * all[second.start + i] + 1_000_000 * all[third.start + i];
        let expected: Vec<u32> = (0..64).map(sum).collect();
        assert_eq!(queue.read(&out).wait().unwrap(), expected, "{first:?}, {second:?}, {third:?}");
    }
}
