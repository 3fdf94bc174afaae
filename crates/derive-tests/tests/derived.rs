//! The derived implementation at run time.

use fencepost_derive::KernelArgs;
use fencepost_kernels::{
    ArgField, ArgKind, ArgumentSlot, Binder, BufferArg, DType, Element, EntryPoints, KernelArgs,
    KernelFamily, Module, Returns, check, check_each,
};

include!("support/array.rs");

#[derive(KernelArgs)]
#[kernel(source = "saxpy.wgsl", T = [f32, i32, u32], crate = fencepost_kernels)]
struct Saxpy<'a, T: Element> {
    y: &'a mut DeviceArray<T>,
    a: T,
    x: &'a DeviceArray<T>,
}

#[derive(KernelArgs)]
#[kernel(source = "fill.wgsl", T = u32, crate = fencepost_kernels)]
struct FillWords<'a> {
    value: u32,
    out: &'a mut DeviceArray<u32>,
}

#[derive(KernelArgs)]
#[kernel(source = "scale.wgsl", crate = fencepost_kernels)]
struct Scale<'a> {
    r#by: f32,
    data: &'a mut DeviceArray<f32>,
}

#[derive(KernelArgs)]
#[kernel(
    wgsl = "override N: u32;
            @compute @workgroup_size(N) fn first() {}
            @compute @workgroup_size(1) fn second() {}",
    entry = "first",
    crate = fencepost_kernels
)]
struct NeedsOverride;

#[derive(KernelArgs)]
#[kernel(source = "with_files.wgsl", crate = fencepost_kernels)]
struct WithFiles<'a> {
    data: &'a mut DeviceArray<f32>,
}

#[test]
fn the_files_that_a_shader_uses_are_in_its_source() {
    let source = WithFiles::source().unwrap();
    assert_eq!(source.files().collect::<Vec<_>>(), ["ops/twice.wgsl", "lib/half.wgsl"]);
    assert!(Module::parse(&source).unwrap().text().contains("const HALF = 0.5;"));
}

#[derive(KernelArgs)]
#[kernel(
    wgsl = "//#use \"ops/twice.wgsl\"
            @compute @workgroup_size(1) fn inline_with_files() { _ = twice(1.0); }",
    crate = fencepost_kernels
)]
struct InlineWithFiles;

#[test]
fn a_text_in_the_attribute_uses_files_of_the_package() {
    let source = InlineWithFiles::source().unwrap();
    assert_eq!(source.files().collect::<Vec<_>>(), ["ops/twice.wgsl", "lib/half.wgsl"]);
    assert!(Module::parse(&source).unwrap().text().contains("const HALF = 0.5;"));
}

#[derive(KernelArgs)]
#[kernel(
    wgsl = "alias T = u32;
            @group(0) @binding(0) var<storage, read_write> first: array<T>;
            @group(0) @binding(1) var<storage, read> data: array<T>;
            @compute @workgroup_size(1) fn take_first() { first[0] = data[0]; }",
    T = [f32, u32],
    returns(first: T),
    crate = fencepost_kernels
)]
struct TakeFirst<'a, T: Element> {
    data: &'a DeviceArray<T>,
}

#[test]
fn a_returned_value_is_the_last_argument_and_is_not_bound() {
    let fields = [
        ArgField { name: "data", kind: ArgKind::Read(f32::DTYPE) },
        ArgField { name: "first", kind: ArgKind::ReadWrite(f32::DTYPE) },
    ];
    assert_eq!(TakeFirst::<f32>::fields(), fields);
    check(&interface_of::<TakeFirst<'_, f32>>(), &fields).unwrap();
    let mut seen = Seen::default();
    TakeFirst { data: &DeviceArray(vec![1_u32; 3]) }.bind(&mut seen);
    assert_eq!(seen.0, ["3 x u32"]);
}

#[test]
fn the_type_of_a_returned_value_may_be_a_type_parameter() {
    fn dtype<K: Returns>() -> DType {
        K::Value::DTYPE
    }
    assert_eq!([dtype::<TakeFirst<'_, f32>>(), dtype::<TakeFirst<'_, u32>>()], [f32::DTYPE, u32::DTYPE]);
    const { assert!(TakeFirst::<f32>::RETURNS && !Saxpy::<f32>::RETURNS) };
}

#[derive(KernelArgs)]
#[kernel(
    wgsl = "@group(0) @binding(0) var<storage, read> x: array<f32>;
            @group(0) @binding(1) var<storage, read_write> y: array<f32>;
            @group(0) @binding(2) var<storage, read_write> z: array<f32>;
            @compute @workgroup_size(1) fn first() { y[0] = x[0]; }
            @compute @workgroup_size(1) fn second() { z[0] = y[0]; }",
    entries("first", "second"),
    crate = fencepost_kernels
)]
struct InTwo<'a> {
    x: &'a DeviceArray<f32>,
    y: &'a mut DeviceArray<f32>,
    z: &'a mut DeviceArray<f32>,
}

#[test]
fn a_struct_for_several_entry_points_names_them_in_order_and_fits_each() {
    assert_eq!((InTwo::entry(), InTwo::NEXT), ("first", &["second"][..]));
    let each: <InTwo<'_> as EntryPoints>::Each<u32> = [1, 2];
    assert_eq!(each.as_ref().len(), 2);
    let module = Module::parse(&InTwo::source().unwrap()).unwrap();
    let [first, second] = ["first", "second"].map(|entry| module.interface(entry, &[]).unwrap());
    let plans = check_each(&[&first, &second], &InTwo::fields()).unwrap();
    use ArgumentSlot::{Buffer, Undeclared};
    assert_eq!(plans[0].slots(), [Buffer(0), Buffer(1), Undeclared]);
    assert_eq!(plans[1].slots(), [Undeclared, Buffer(0), Buffer(1)]);
}

#[derive(Default)]
struct Seen(Vec<String>);

impl Binder for Seen {
    fn buffer(&mut self, buffer: &dyn BufferArg) {
        self.0.push(format!("{} x {}", buffer.len(), buffer.dtype()));
    }
    fn value(&mut self, bytes: &[u8]) {
        self.0.push(format!("{bytes:?}"));
    }
}

fn interface_of<K: KernelArgs>() -> fencepost_kernels::Interface {
    Module::parse(&K::source().unwrap()).unwrap().interface(K::entry(), &[]).unwrap()
}

#[test]
fn fields_are_described_in_the_order_of_their_declaration() {
    assert_eq!(
        Saxpy::<u32>::fields(),
        [
            ArgField { name: "y", kind: ArgKind::ReadWrite(u32::DTYPE) },
            ArgField { name: "a", kind: ArgKind::Value(u32::DTYPE) },
            ArgField { name: "x", kind: ArgKind::Read(u32::DTYPE) },
        ]
    );
    assert_eq!((Saxpy::<u32>::label(), Saxpy::<u32>::entry()), ("Saxpy", "saxpy"));
}

#[test]
fn fields_are_bound_in_the_order_of_their_declaration() {
    let x = DeviceArray(vec![1u32; 3]);
    let mut y = DeviceArray(vec![2u32; 5]);
    let mut seen = Seen::default();
    Saxpy { y: &mut y, a: 7u32, x: &x }.bind(&mut seen);
    assert_eq!(seen.0, ["5 x u32", "[7, 0, 0, 0]", "3 x u32"]);
}

#[test]
fn each_type_has_its_own_source_and_passes_its_check() {
    fn passes<T: Element>()
    where
        Saxpy<'static, T>: KernelFamily,
    {
        let interface = interface_of::<Saxpy<'_, T>>();
        assert_eq!(interface.bindings[0].element, T::DTYPE.to_string());
        check(&interface, &Saxpy::<T>::fields()).unwrap();
    }
    passes::<f32>();
    passes::<i32>();
    passes::<u32>();
}

/// Requires that `args` belong to the kernel of the argument struct `F`.
fn belong_to<F, K: KernelArgs<Family = F>>(_: &K) {}

/// Returns the arguments of a [`Saxpy`] with local arrays, as a binder receives them.
fn bound<T: Element>(a: T) -> Vec<String>
where
    Saxpy<'static, T>: KernelFamily,
{
    let x = DeviceArray(vec![a; 3]);
    let mut y = DeviceArray(vec![a; 5]);
    let args = Saxpy { y: &mut y, a, x: &x };
    belong_to::<Saxpy<'static, T>, _>(&args);
    let mut seen = Seen::default();
    args.bind(&mut seen);
    seen.0
}

#[test]
fn one_bound_gives_generic_code_the_arguments_of_every_lifetime() {
    assert_eq!(bound(7_u32), ["5 x u32", "[7, 0, 0, 0]", "3 x u32"]);
    assert_eq!(bound(1.0_f32), ["5 x f32", "[0, 0, 128, 63]", "3 x f32"]);
}

#[derive(KernelArgs)]
#[kernel(
    wgsl = "alias S = u32;
            alias T = f32;
            @group(0) @binding(0) var<storage, read> x: array<S>;
            @group(0) @binding(1) var<storage, read_write> y: array<T>;
            @compute @workgroup_size(1) fn convert() { y[0] = T(x[0]); }",
    S = [u32, i32],
    T = [f32, u32],
    crate = fencepost_kernels
)]
struct Convert<'a, S: Element, T: Element> {
    x: &'a DeviceArray<S>,
    y: &'a mut DeviceArray<T>,
}

#[test]
fn a_struct_with_two_lists_has_a_kernel_for_each_pair_of_types() {
    fn passes<S: Element, T: Element>()
    where
        Convert<'static, S, T>: KernelFamily,
    {
        check(&interface_of::<Convert<'_, S, T>>(), &Convert::<S, T>::fields()).unwrap();
    }
    passes::<u32, f32>();
    passes::<u32, u32>();
    passes::<i32, f32>();
    passes::<i32, u32>();
}

#[test]
fn a_plain_struct_may_fix_the_alias() {
    let interface = interface_of::<FillWords<'_>>();
    assert_eq!(interface.bindings[0].element, "u32");
    check(&interface, &FillWords::fields()).unwrap();
}

#[test]
fn a_file_of_the_package_is_found_and_embedded() {
    let source = Scale::source().unwrap();
    assert_eq!(source.label(), "scale.wgsl");
    assert!(Module::parse(&source).unwrap().text().contains("fn scale("));
    check(&interface_of::<Scale<'_>>(), &Scale::fields()).unwrap();
}

#[test]
fn an_override_without_default_gets_its_value_when_the_kernel_is_made() {
    let module = Module::parse(&NeedsOverride::source().unwrap()).unwrap();
    assert_eq!(module.interface(NeedsOverride::entry(), &[("N", 3.0)]).unwrap().workgroup, [3, 1, 1]);
}

#[test]
fn structs_that_differ_in_lifetimes_have_one_family() {
    fn family<K: KernelArgs>(_: &K) -> std::any::TypeId {
        std::any::TypeId::of::<K::Family>()
    }
    let x = DeviceArray(vec![1u32]);
    let mut y = DeviceArray(vec![2u32]);
    let mut z = DeviceArray(vec![2.0f32]);
    let saxpy = family(&Saxpy { y: &mut y, a: 7, x: &x });
    assert_eq!(saxpy, std::any::TypeId::of::<Saxpy<'static, u32>>());
    assert_ne!(saxpy, family(&Saxpy { y: &mut z, a: 7.0, x: &DeviceArray(vec![1.0]) }));
}
