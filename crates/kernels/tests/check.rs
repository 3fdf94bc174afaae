//! Tests the checks of the host's arguments against an interface.

use std::any::Any;

use fencepost_kernels::{
    ArgField, ArgKind, ArgumentSlot, BufferArg, DType, DynArg, Element, FieldType, Interface, Module,
    NamedArg, ParamsBlock, ShaderSource, StructType, TypedBuffer, args, check, check_argument, check_dyn,
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
    Module::parse(&ShaderSource::builtin("saxpy.wgsl").unwrap()).unwrap().interface("saxpy", &[]).unwrap()
}

fn interface(wgsl: &'static str) -> Interface {
    Module::parse(&ShaderSource::text("test.wgsl", wgsl)).unwrap().interface("k", &[]).unwrap()
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
    assert_eq!(
        plan.slots(),
        [ArgumentSlot::Buffer(1), ArgumentSlot::Value { offset: 0, size: 4 }, ArgumentSlot::Buffer(0)]
    );
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
fn a_value_for_a_buffer_and_a_buffer_for_a_value_are_refused() {
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
fn the_error_of_an_extra_argument_lists_all_names() {
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
    let x = Array(vec![1.0f32]);
    let mut y = Array(vec![1.0f32]);
    let by_name = check_dyn(&saxpy(), &args![a = 2.0f32, x = &x, y = &mut y]).unwrap();
    let by_position = check_dyn(&saxpy(), &args![2.0f32, &x, &mut y]).unwrap();
    assert_eq!(by_name, by_position);
}

#[test]
fn parameters_by_position_stand_at_the_binding_of_their_block() {
    let interface = interface(
        "struct P { n: u32, m: u32 }
         @group(0) @binding(0) var<storage> x: array<f32>;
         @group(0) @binding(1) var<uniform> params: P;
         @group(0) @binding(2) var<storage, read_write> y: array<f32>;
         @compute @workgroup_size(1) fn k() { y[0] = x[params.n + params.m]; }",
    );
    assert_eq!(interface.argument_names().collect::<Vec<_>>(), ["x", "n", "m", "y"]);
    let x = Array(vec![1.0f32]);
    let mut y = Array(vec![1.0f32]);
    let plan = check_dyn(&interface, &args![&x, 1u32, 2u32, &mut y]).unwrap();
    let value = |offset| ArgumentSlot::Value { offset, size: 4 };
    assert_eq!(plan.slots(), [ArgumentSlot::Buffer(0), value(0), value(4), ArgumentSlot::Buffer(1)]);
}

#[test]
fn a_wrong_position_names_the_argument_there() {
    let x = Array(vec![1.0f32]);
    let mut y = Array(vec![1.0f32]);
    let fails = |list: &[NamedArg<'_>]| check_dyn(&saxpy(), list).unwrap_err().to_string();
    assert_eq!(
        fails(&args![&x, 2.0f32, &mut y]),
        "kernel `saxpy`, argument 0 (`a`): host passes `&` to an array of f32, \
         the shader declares `a: f32` in its parameters"
    );
    assert!(fails(&args![2.0f32, &x]).contains("argument `y`: host passes nothing"));
    assert!(fails(&args![2.0f32, &x, &mut y, 1u32]).contains("argument 3: host passes a value of u32"));
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

const CELL: &str = "
    struct Cell { a: u32, b: f32, at: vec2<f32> }
    struct Tail { count: u32, rest: array<f32> }
    @group(0) @binding(0) var<storage> cells: array<Cell>;
    @group(0) @binding(1) var<storage> columns: array<mat2x2<f32>>;
    @group(0) @binding(2) var<storage> threes: array<vec3<f32>>;
    @group(0) @binding(3) var<storage> tail: Tail;
    @group(0) @binding(4) var<storage> bytes: array<u32>;
    @compute @workgroup_size(1) fn k() {}";

fn cell(at: usize) -> DType {
    let fields = [("a", 0, u32::DTYPE), ("b", 4, f32::DTYPE), ("at", at, <[f32; 2]>::DTYPE)];
    let fields = fields.map(|(name, offset, dtype)| FieldType { name, offset, dtype });
    DType::Struct(Box::leak(Box::new(StructType {
        name: "Cell",
        size: at + 8,
        fields: Box::leak(Box::new(fields)),
    })))
}

fn refused(name: &'static str, dtype: DType) -> String {
    match check_argument(&interface(CELL), name, ArgKind::Read(dtype)) {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn structs_vectors_of_three_and_matrices_take_only_elements_of_their_layout() {
    assert_eq!(refused("cells", cell(8)), "");
    assert_eq!(
        refused("cells", cell(12)),
        "kernel `k`, argument `cells`: host passes `&` to an array of Cell, the shader declares `var<storage, read> \
         cells: array<Cell>`: `at` lies at byte 12 on the host and at byte 8 in the shader: add 4 bytes of padding before \
         it there, or take them away on the host"
    );
    for dtype in [f32::DTYPE, u32::DTYPE, <[f32; 4]>::DTYPE, <[u32; 2]>::DTYPE] {
        assert!(refused("cells", dtype).ends_with("pass a struct with `#[derive(Element)]`"), "{dtype}");
    }
    assert_eq!(refused("columns", <[[f32; 2]; 2]>::DTYPE), "");
    assert!(!refused("columns", <[f32; 4]>::DTYPE).is_empty());
    assert!(!refused("columns", u32::DTYPE).is_empty());
    let fourth = "give each vector of three a fourth number, which the shader ignores";
    assert!(refused("threes", <[f32; 3]>::DTYPE).ends_with(fourth));
    assert_eq!(refused("threes", <[f32; 4]>::DTYPE), "");
    assert!(!refused("threes", f32::DTYPE).is_empty());
}

#[test]
fn a_struct_that_ends_in_an_array_takes_words() {
    assert_eq!(refused("tail", u32::DTYPE), "");
    assert!(
        refused("tail", f32::DTYPE).ends_with("the host has no such type: pass its words, an array of u32")
    );
}

#[test]
fn a_buffer_of_words_takes_small_numbers_packed() {
    for dtype in [u8::DTYPE, i16::DTYPE, <[u8; 3]>::DTYPE, half::f16::DTYPE] {
        assert_eq!(refused("bytes", dtype), "", "{dtype}");
        assert!(!refused("cells", dtype).is_empty(), "{dtype}");
    }
}

#[test]
fn a_block_of_mixed_values_has_the_layout_of_wgsl() {
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
    let two = 2.0f32.to_bits();
    let three = 3.0f32.to_bits();
    assert_eq!(words, [1, 0, two, three, (-4i32) as u32, 0, 0, 0, 5, 6, 7, 8]);
}
