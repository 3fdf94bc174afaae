//! Host arguments against an interface.

use std::any::Any;

use fencepost_kernels::{
    ArgField, ArgKind, BufferArg, DType, DynArg, Element, Interface, Module, NamedArg, ParamsBlock, Slot,
    Source, TypedBuffer, args, check, check_dyn,
};

struct Array<T: Element>(Vec<T>);

impl<T: Element> BufferArg for Array<T> {
    fn dtype(&self) -> DType {
        T::DTYPE
    }
    fn len(&self) -> usize {
        self.0.len()
    }
    fn handle(&self) -> &dyn Any {
        &self.0
    }
}

impl<T: Element> TypedBuffer for Array<T> {
    type Element = T;
}

fn saxpy() -> Interface {
    Module::parse(&Source::builtin("saxpy.wgsl").unwrap()).unwrap().interface("saxpy", &[]).unwrap()
}

fn interface(wgsl: &'static str) -> Interface {
    Module::parse(&Source::text("test.wgsl", wgsl)).unwrap().interface("k", &[]).unwrap()
}

const F32: DType = <f32 as Element>::DTYPE;

fn field(name: &'static str, kind: ArgKind) -> ArgField {
    ArgField { name, kind }
}

fn fails(fields: &[ArgField]) -> String {
    check(&saxpy(), fields).unwrap_err().to_string()
}

#[test]
fn fields_may_come_in_any_order_and_the_plan_keeps_it() {
    let fields = [
        field("y", ArgKind::ReadWrite(F32)),
        field("a", ArgKind::Value(F32)),
        field("x", ArgKind::Read(F32)),
    ];
    let plan = check(&saxpy(), &fields).unwrap();
    assert_eq!(plan.slots(), [Slot::Buffer(1), Slot::Value { offset: 0, size: 4 }, Slot::Buffer(0)]);
    assert_eq!(plan.params_size(), 4);
}

#[test]
fn a_wrong_type_shows_both_sides() {
    let error = fails(&[field("x", ArgKind::Read(u32::DTYPE))]);
    assert_eq!(
        error,
        "kernel `saxpy`, argument `x`: host passes `&` to an array of u32, \
         the shader declares `var<storage, read> x: array<f32>`"
    );
    let error = fails(&[field("a", ArgKind::Value(u32::DTYPE))]);
    assert_eq!(
        error,
        "kernel `saxpy`, argument `a`: host passes a value of u32, the shader declares `a: f32` in its parameters"
    );
}

#[test]
fn a_wrong_access_shows_both_sides_either_way() {
    assert_eq!(
        fails(&[field("y", ArgKind::Read(F32))]),
        "kernel `saxpy`, argument `y`: host passes `&` to an array of f32, \
         the shader declares `var<storage, read_write> y: array<f32>`"
    );
    assert_eq!(
        fails(&[field("x", ArgKind::ReadWrite(F32))]),
        "kernel `saxpy`, argument `x`: host passes `&mut` to an array of f32, \
         the shader declares `var<storage, read> x: array<f32>`"
    );
}

#[test]
fn a_value_is_no_buffer_and_a_buffer_no_value() {
    assert!(
        fails(&[field("x", ArgKind::Value(F32))])
            .contains("host passes a value of f32, the shader declares `var")
    );
    assert!(fails(&[field("a", ArgKind::Read(F32))]).contains("array of f32, the shader declares `a: f32`"));
}

#[test]
fn a_missing_argument_shows_its_declaration() {
    assert_eq!(
        fails(&[field("a", ArgKind::Value(F32)), field("x", ArgKind::Read(F32))]),
        "kernel `saxpy`, argument `y`: host passes nothing, \
         the shader declares `var<storage, read_write> y: array<f32>`"
    );
}

#[test]
fn an_extra_argument_is_answered_with_all_names() {
    assert_eq!(
        fails(&[field("b", ArgKind::Value(F32))]),
        "kernel `saxpy`, argument `b`: host passes a value of f32, the shader declares `a`, `x`, `y`"
    );
}

#[test]
fn an_argument_passed_twice_is_an_error() {
    let twice = [field("a", ArgKind::Value(F32)), field("a", ArgKind::Value(F32))];
    assert_eq!(fails(&twice), "kernel `saxpy`, argument `a` is passed twice");
}

#[test]
fn lists_by_name_and_by_position_give_the_same_plan() {
    let (x, mut y) = (Array(vec![1.0f32]), Array(vec![1.0f32]));
    let by_name = check_dyn(&saxpy(), &args![a = 2.0f32, x = &x, y = &mut y]).unwrap();
    let by_position = check_dyn(&saxpy(), &args![2.0f32, &x, &mut y]).unwrap();
    assert_eq!(by_name, by_position);
}

#[test]
fn positions_put_the_parameters_where_their_binding_stands() {
    let interface = interface(
        "struct P { n: u32, m: u32 }
         @group(0) @binding(0) var<storage> x: array<f32>;
         @group(0) @binding(1) var<uniform> params: P;
         @group(0) @binding(2) var<storage, read_write> y: array<f32>;
         @compute @workgroup_size(1) fn k() { y[0] = x[params.n + params.m]; }",
    );
    assert_eq!(interface.argument_names().collect::<Vec<_>>(), ["x", "n", "m", "y"]);
    let (x, mut y) = (Array(vec![1.0f32]), Array(vec![1.0f32]));
    let plan = check_dyn(&interface, &args![&x, 1u32, 2u32, &mut y]).unwrap();
    let value = |offset| Slot::Value { offset, size: 4 };
    assert_eq!(plan.slots(), [Slot::Buffer(0), value(0), value(4), Slot::Buffer(1)]);
}

#[test]
fn a_wrong_position_names_the_argument_there() {
    let (x, mut y) = (Array(vec![1.0f32]), Array(vec![1.0f32]));
    let fails = |list: &[NamedArg<'_>]| check_dyn(&saxpy(), list).unwrap_err().to_string();
    assert_eq!(
        fails(&args![&x, 2.0f32, &mut y]),
        "kernel `saxpy`, argument `#0 a`: host passes `&` to an array of f32, \
         the shader declares `a: f32` in its parameters"
    );
    assert!(fails(&args![2.0f32, &x]).contains("argument `y`: host passes nothing"));
    assert!(fails(&args![2.0f32, &x, &mut y, 1u32]).contains("argument `#3`: host passes a value of u32"));
    assert!(fails(&args![]).contains("argument `a`: host passes nothing"));
}

#[test]
fn names_and_positions_do_not_mix() {
    let mut list = args![a = 2.0f32, x = 1u32];
    list[1].0 = None;
    let error = check_dyn(&saxpy(), &list).unwrap_err().to_string();
    assert_eq!(error, "kernel `saxpy`: arguments are passed either all by name or all by position");
}

#[test]
fn atomics_take_arrays_of_their_scalar() {
    let interface = interface(
        "@group(0) @binding(0) var<storage, read_write> n: array<atomic<u32>>;
         @compute @workgroup_size(1) fn k() { atomicAdd(&n[0], 1u); }",
    );
    assert!(check(&interface, &[field("n", ArgKind::ReadWrite(u32::DTYPE))]).is_ok());
    assert!(check(&interface, &[field("n", ArgKind::ReadWrite(i32::DTYPE))]).is_err());
}

#[test]
fn structs_take_elements_that_divide_their_stride() {
    let interface = interface(
        "struct Cell { a: u32, b: f32, c: u32 }
         @group(0) @binding(0) var<storage> cells: array<Cell>;
         @compute @workgroup_size(1) fn k() { _ = cells[0].a; }",
    );
    assert!(check(&interface, &[field("cells", ArgKind::Read(u32::DTYPE))]).is_ok());
    assert!(check(&interface, &[field("cells", ArgKind::Read(<[u32; 2]>::DTYPE))]).is_err());
}

#[test]
fn a_block_of_mixed_values_has_wgsl_bytes() {
    let interface = interface(
        "struct P { n: u32, pair: vec2<f32>, k: i32, quad: vec4<u32> }
         @group(0) @binding(0) var<uniform> params: P;
         @compute @workgroup_size(1) fn k() { _ = params.n; }",
    );
    let list = args![quad = [5u32, 6, 7, 8], n = 1u32, k = -4i32, pair = [2.0f32, 3.0]];
    let plan = check_dyn(&interface, &list).unwrap();
    let mut block = ParamsBlock::new(&interface);
    for ((_, arg), slot) in list.iter().zip(plan.slots()) {
        let DynArg::Value(value) = arg else { panic!("only values are passed") };
        block.set(*slot, value.bytes());
    }
    let words: Vec<u32> = block.bytes().chunks(4).map(bytemuck::pod_read_unaligned).collect();
    let (two, three) = (2.0f32.to_bits(), 3.0f32.to_bits());
    assert_eq!(words, [1, 0, two, three, (-4i32) as u32, 0, 0, 0, 5, 6, 7, 8]);
}
