//! A07: expressions of vectors, structs, values and several arrays, and arrays that repeat along axes.

use super::*;
use crate::common::{Calls, DEFAULT_LIMITS, raw};
use bytemuck::{Pod, Zeroable};
use fencepost::AnyArray;
use fencepost::interface::NamedArg;

pub fn cases() -> Vec<Case> {
    vec![
        case("a07_an_expression_computes_with_vectors_and_matrices", vectors),
        case("a07_an_expression_computes_with_structs_and_keeps_their_padding", structs),
        case("a07_values_of_a_call_are_those_of_the_expression", values),
        case("a07_a_map_in_place_replaces_each_element_of_its_array", in_place),
        case("a07_an_expression_takes_six_arrays", six),
        case("a07_a_device_with_few_bindings_refuses_more_arrays", few_bindings)
            .gpu_only("the case limits a wgpu device")
            .not_in_a_page(DEFAULT_LIMITS),
        case("a07_inputs_repeat_to_the_shape_of_the_results_as_in_numpy", repeated),
        case("a07_a_large_input_repeats_along_each_axis", large_table),
        case("a07_inputs_of_another_shape_are_refused_with_both_shapes", other_shapes).host_side(),
        case("a07_inputs_that_an_expression_cannot_use_are_refused_by_name", refused).host_side(),
        case("a07_a_replay_passes_other_values_to_an_expression", replayed),
        case("a07_first_elements_of_vectors_are_mapped_alone", first),
        case("a07_the_first_results_of_a_list_are_computed_alone", first_results),
    ]
}

/// A struct that WGSL would place in the same way.
#[derive(Clone, Copy, PartialEq, Debug, Pod, Zeroable, Element)]
#[repr(C)]
struct Particle {
    position: [f32; 3],
    mass: f32,
    velocity: [f32; 3],
    kind: u32,
}

/// A struct with vectors where WGSL would not place them, a struct, a list and padding.
#[derive(Clone, Copy, PartialEq, Debug, Pod, Zeroable, Element)]
#[repr(C)]
struct Record {
    id: u32,
    start: [f32; 3],
    end: [f32; 4],
    _gap: [u8; 8],
    inner: Inner,
    bins: [i32; 5],
    _end: u32,
}

#[derive(Clone, Copy, PartialEq, Debug, Pod, Zeroable, Element)]
#[repr(C)]
struct Inner {
    turn: [[f32; 2]; 3],
    side: i32,
}

fn particles(len: usize) -> Vec<Particle> {
    let particle = |at: usize| {
        let x = at as f32;
        Particle { position: [x, 2.0 * x, -x], mass: 1.0 + x, velocity: [1.0, -2.0, x], kind: at as u32 % 3 }
    };
    (0..len).map(particle).collect()
}

fn vectors(s: &Subject) {
    let queue = s.ctx().queue("q");
    for len in [1, 65, 1000] {
        let pairs: Vec<[f32; 2]> = (0..len).map(|i| [i as f32, -2.0 * i as f32]).collect();
        let triples: Vec<[u32; 3]> = (0..len as u32).map(|i| [i, i ^ 5, 3 * i]).collect();
        let quads: Vec<[i32; 4]> = (0..len as i32).map(|i| [i, -i, i + 7, 1]).collect();
        let [x, y, z] = [
            queue.array(&pairs).unwrap().any(),
            queue.array(&triples).unwrap().any(),
            queue.array(&quads).unwrap().any(),
        ];
        let mut out = queue.empty::<[f32; 3], 1>([len]).unwrap();
        queue.map(args![x = &x, y = &y], "vec3<f32>(y) + x.xyx * 0.5", &mut out).unwrap();
        let expected: Vec<[f32; 3]> = (0..len)
            .map(|i| [0, 1, 0].map(|at| pairs[i][at] * 0.5))
            .zip(&triples)
            .map(|(half, whole)| [0, 1, 2].map(|at| half[at] + whole[at] as f32))
            .collect();
        assert_eq!(queue.read(&out).wait().unwrap(), expected, "{len} elements");
        // Other types of the input and of the results, and the place in a vector.
        let mut out = queue.empty::<[u32; 4], 1>([len]).unwrap();
        queue.map(args![y = &y, z = &z], "vec4<u32>(vec2<u32>(abs(z.xy)), y.z, i)", &mut out).unwrap();
        let expected: Vec<[u32; 4]> = (0..len as u32).map(|i| [i, i, 3 * i, i]).collect();
        assert_eq!(queue.read(&out).wait().unwrap(), expected, "{len} elements");
        let mut sums = queue.empty::<f32, 1>([len]).unwrap();
        queue.map(args![x = &x], "dot(x, vec2<f32>(1.0, 2.0))", &mut sums).unwrap();
        let expected: Vec<f32> = (0..len).map(|i| i as f32 * -3.0).collect();
        assert_eq!(queue.read(&sums).wait().unwrap(), expected, "{len} elements");
        // A matrix has columns of the host.
        let turns: Vec<[[f32; 3]; 2]> = (0..len).map(|i| [[i as f32, 0.0, 1.0], [0.0, 2.0, 4.0]]).collect();
        let turns = queue.array(&turns).unwrap();
        let mut turned = queue.empty::<[f32; 3], 1>([len]).unwrap();
        queue.zip(&turns, &queue.array(&pairs).unwrap(), "x * y", &mut turned).unwrap();
        let row = |i: f32| [i * i, -4.0 * i, i - 8.0 * i];
        let expected: Vec<[f32; 3]> = (0..len).map(|i| row(i as f32)).collect();
        assert_eq!(queue.read(&turned).wait().unwrap(), expected, "{len} elements");
        let mut turns_again = queue.zeros::<[[f32; 3]; 2], 1>([len]).unwrap();
        queue.map(&turns, "x", &mut turns_again).unwrap();
        assert_eq!(queue.read(&turns_again).wait().unwrap(), queue.read(&turns).wait().unwrap());
    }
}

fn structs(s: &Subject) {
    let queue = s.ctx().queue("q");
    let list = particles(300);
    let x = queue.array(&list).unwrap();
    let mut moved = queue.zeros::<Particle, 1>([300]).unwrap();
    let step = "Particle(p.position + p.velocity * dt, p.mass, -p.velocity, p.kind + 1u)";
    queue.map(args![p = &x, dt = 0.5_f32], step, &mut moved).unwrap();
    let expected = host::map(&list, |p, _| Particle {
        position: [0, 1, 2].map(|at| p.position[at] + p.velocity[at] * 0.5),
        velocity: p.velocity.map(|v| -v),
        kind: p.kind + 1,
        ..p
    });
    assert_eq!(queue.read(&moved).wait().unwrap(), expected);
    // A number of a struct, and a struct of numbers.
    let mut masses = queue.zeros::<f32, 1>([300]).unwrap();
    queue.map(args![p = &x], "p.mass * 2.0", &mut masses).unwrap();
    let expected = host::map(&list, |p, _| p.mass * 2.0);
    assert_eq!(queue.read(&masses).wait().unwrap(), expected);
    let before = Record { _gap: [7; 8], _end: 9, ..Record::zeroed() };
    let mut records = queue.full([300], before).unwrap();
    let record = "Record(i, p.position, vec4<f32>(p.velocity, 1.0),
        Inner(mat3x2<f32>(1.0, 2.0, 3.0, 4.0, 5.0, p.mass), -1i),
        array<i32, 5>(1i, 2i, 3i, 4i, i32(p.kind)))";
    queue.map(args![p = &x], record, &mut records).unwrap();
    let made = host::map(&list, |p, i| Record {
        id: i,
        start: p.position,
        end: [p.velocity[0], p.velocity[1], p.velocity[2], 1.0],
        inner: Inner { turn: [[1.0, 2.0], [3.0, 4.0], [5.0, p.mass]], side: -1 },
        bins: [1, 2, 3, 4, p.kind as i32],
        ..before
    });
    assert_eq!(queue.read(&records).wait().unwrap(), made);
    let change = "Record(r.id, r.start * 2.0, r.end, Inner(r.inner.turn, r.inner.side - 1), r.bins)";
    queue.map_in_place(args![r = &mut records], change).unwrap();
    let changed = host::map(&made, |r, _| Record {
        start: r.start.map(|x| x * 2.0),
        inner: Inner { side: r.inner.side - 1, ..r.inner },
        ..r
    });
    assert_eq!(queue.read(&records).wait().unwrap(), changed);
}

fn values(s: &Subject) {
    let queue = s.ctx().queue("q");
    let list: Vec<u32> = (0..200).collect();
    let x = queue.array(&list).unwrap();
    let mut out = queue.zeros::<u32, 1>([200]).unwrap();
    // A vector of three between numbers: WGSL aligns it to 16 bytes.
    let expression = "select(0u, x * a + u32(v.x + v.y * v.z) + u32(b), flag == 1u)";
    for round in 0..5_u32 {
        let v = [round as f32, 2.0, 3.0];
        let flag = round != 2;
        queue.map(args![a = round, v = v, b = 6_i32, flag = flag, x = &x], expression, &mut out).unwrap();
        let expected = host::map(&list, |x, _| if flag { x * round + round + 6 + 6 } else { 0 });
        assert_eq!(queue.read(&out).wait().unwrap(), expected, "round {round}");
    }
    // Without an array, each element is computed from its place and the values.
    queue.map(args![quadratic = 3_u32], "quadratic * i * i", &mut out).unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), host::map(&list, |i, _| 3 * i * i));
    queue.map(Vec::<NamedArg<'_>>::new(), "i + 1u", &mut out).unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), host::map(&list, |i, _| i + 1));
}

fn in_place(s: &Subject) {
    let queue = s.ctx().queue("q");
    for len in [0, 1, 64, 65, 1000] {
        let list: Vec<u32> = (0..len as u32).map(|i| i ^ 0x55).collect();
        let mut x = queue.array(&list).unwrap();
        queue.map_in_place(&mut x, "x * 3u + i").unwrap();
        let tripled = host::map(&list, |x, i| x * 3 + i);
        assert_eq!(queue.read(&x).wait().unwrap(), tripled, "{len} elements");
        let y = queue.array(&list).unwrap();
        let one = queue.array(&[5_u32]).unwrap();
        queue.map_in_place(args![y = &y, one = &one, x = &mut x, a = 2_u32], "x * a + y + one").unwrap();
        let expected = host::zip(&tripled, &list, |x, y, _| x * 2 + y + 5);
        assert_eq!(queue.read(&x).wait().unwrap(), expected, "{len} elements");
        assert_eq!(queue.read(&y).wait().unwrap(), list);
    }
    // No other array gets the results, so the array may have that name.
    let mut out = queue.array(&[5_u32, 6]).unwrap();
    queue.map_in_place(args![out = &mut out], "out + 1u").unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), [6, 7]);
    // Elements beside the array are not written, and neither are the other inputs.
    let all = queue.full([256], 9_u32).unwrap();
    queue.map_in_place(&mut all.slice(64..164).unwrap(), "x + 1u").unwrap();
    let expected = [vec![9; 64], vec![10; 100], vec![9; 92]].concat();
    assert_eq!(queue.read(&all).wait().unwrap(), expected);
}

/// Enqueues a sum of six arrays with different factors.
fn sum_of_six(queue: &CommandQueue, arrays: &[DeviceArray<u32>], out: &mut DeviceArray<u32>) -> Result<()> {
    let [a, b, c, d, e, f] = arrays else { panic!("six arrays") };
    queue.map(
        args![a = a, b = b, c = c, d = d, e = e, f = f],
        "a + b * 2u + c * 3u + d * 5u + e * 7u + f * 11u",
        out,
    )
}

fn six(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    const LEN: u32 = 500;
    for lens in [[LEN; 6], [1, LEN, 1, LEN, 1, LEN], [LEN, 1, LEN, 1, LEN, 1]] {
        let lists: Vec<Vec<u32>> =
            lens.iter().zip(1..).map(|(&len, seed)| (0..len).map(|i| i * seed + 1).collect()).collect();
        let arrays: Vec<DeviceArray<u32>> = lists.iter().map(|list| queue.array(list).unwrap()).collect();
        let mut out = queue.zeros::<u32, 1>([LEN as usize]).unwrap();
        let called = sum_of_six(&queue, &arrays, &mut out);
        if ctx.info().max_bindings < 7 {
            assert_refused!(called, TooManyBindings);
            continue;
        }
        called.unwrap();
        let sum = |i: usize| {
            let terms = lists.iter().zip([1, 2, 3, 5, 7, 11]);
            terms.map(|(list, factor)| list[i % list.len()] * factor).sum::<u32>()
        };
        let expected: Vec<u32> = (0..LEN as usize).map(sum).collect();
        assert_eq!(queue.read(&out).wait().unwrap(), expected, "{lens:?}");
    }
}

fn few_bindings(s: &Subject) {
    let (device, wgpu_queue) = raw::open_with(s, |limits| limits.max_storage_buffers_per_shader_stage = 4);
    let ctx = Context::adopt(device, wgpu_queue, AdoptOptions::default()).unwrap();
    let queue = ctx.queue("q");
    let arrays: Vec<DeviceArray<u32>> = (0..6).map(|i| queue.full([9], i).unwrap()).collect();
    let mut out = queue.zeros::<u32, 1>([9]).unwrap();
    let before = dump::enqueued(&ctx, "q");
    let refused = sum_of_six(&queue, &arrays, &mut out);
    let error = assert_refused!(refused, TooManyBindings { found: 7, limit: 4, .. });
    assert!(error.to_string().contains("`map`"), "{error}");
    assert_eq!(dump::enqueued(&ctx, "q"), before);
    let [a, b, c, ..] = &arrays[..] else { panic!("six arrays") };
    queue.map(args![a = a, b = b, c = c], "a + b * 2u + c * 3u", &mut out).unwrap();
    assert_eq!(queue.read(&out).wait().unwrap(), [8; 9]);
}

/// Returns an array with any number of axes up to four.
fn shaped(queue: &CommandQueue, list: &[u32], shape: &[usize]) -> AnyArray {
    let x = queue.array(list).unwrap();
    match *shape {
        [] => x.reshape([]).unwrap().any(),
        [a] => x.reshape([a]).unwrap().any(),
        [a, b] => x.reshape([a, b]).unwrap().any(),
        [a, b, c] => x.reshape([a, b, c]).unwrap().any(),
        [a, b, c, d] => x.reshape([a, b, c, d]).unwrap().any(),
        _ => panic!("at most four axes"),
    }
}

/// Returns a shape that repeats to another one.
fn shape_to(rng: &mut fastrand::Rng, results: &[usize]) -> Vec<usize> {
    let first = rng.usize(0..=results.len());
    results[first..].iter().map(|&len| if rng.bool() { len } else { 1 }).collect()
}

fn repeated(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(48);
    let rounds = if large() { 400 } else { 40 };
    for round in 0..rounds {
        let results: [usize; 4] = std::array::from_fn(|_| [1, 2, 3, 5][rng.usize(0..4)]);
        let shapes: [Vec<usize>; 3] = std::array::from_fn(|_| shape_to(&mut rng, &results));
        let lists = shapes.each_ref().map(|shape| {
            let len = shape.iter().product::<usize>();
            (0..len).map(|_| rng.u32(..)).collect::<Vec<u32>>()
        });
        let [x, y, z] = [0, 1, 2].map(|at| shaped(&queue, &lists[at], &shapes[at]));
        let [a, b, c] =
            [0, 1, 2].map(|at| host::repeated(&lists[at], &shapes[at], &results).expect("it repeats"));
        let mut out = queue.zeros::<u32, 4>(results).unwrap();
        queue.map(args![x = &x, y = &y, z = &z], "(x ^ (y * 3u)) + z * 7u + i", &mut out).unwrap();
        let joined = |a: u32, b: u32, c: u32, i: u32| {
            (a ^ b.wrapping_mul(3)).wrapping_add(c.wrapping_mul(7)).wrapping_add(i)
        };
        let expected: Vec<u32> = (0..a.len()).map(|i| joined(a[i], b[i], c[i], i as u32)).collect();
        assert_eq!(queue.read(&out).wait().unwrap(), expected, "round {round}: {shapes:?} to {results:?}");
        // The array that gets the results is an input too.
        queue.map_in_place(args![y = &y, out_before = &mut out], "out_before - y").unwrap();
        let expected = host::zip(&expected, &b, |x, y, _| x.wrapping_sub(y));
        assert_eq!(queue.read(&out).wait().unwrap(), expected, "round {round}: {shapes:?} to {results:?}");
    }
}

fn large_table(s: &Subject) {
    let queue = s.ctx().queue("q");
    let (rows, columns) = if large() { (1103, 1025) } else { (300, 257) };
    let words = |len: usize, factor: u32| (0..len as u32).map(|i| i.wrapping_mul(factor)).collect::<Vec<_>>();
    let table = words(rows * columns, 2_654_435_761);
    let of_rows = words(rows, 40_503);
    let of_columns = words(columns, 97);
    let x = queue.array(&table).unwrap().reshape([rows, columns]).unwrap();
    let by_row = queue.array(&of_rows).unwrap().reshape([rows, 1]).unwrap();
    let by_column = queue.array(&of_columns).unwrap();
    let mut out = queue.zeros::<u32, 2>([rows, columns]).unwrap();
    queue
        .map(args![x = &x, row = &by_row, column = &by_column], "x ^ row ^ (column << 1u)", &mut out)
        .unwrap();
    let value = |x: u32, i: u32| x ^ of_rows[i as usize / columns] ^ (of_columns[i as usize % columns] << 1);
    assert!(queue.read(&out).wait().unwrap() == host::map(&table, value), "{rows} rows");
}

fn other_shapes(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let mut rng = fastrand::Rng::with_seed(49);
    let mut refused = 0;
    let mut out = queue.zeros::<u32, 3>([2, 3, 4]).unwrap();
    for _ in 0..200 {
        let shape: Vec<usize> = (0..rng.usize(0..=4)).map(|_| rng.usize(1..=4)).collect();
        let list = vec![1_u32; shape.iter().product()];
        let x = shaped(&queue, &list, &shape);
        let before = dump::enqueued(&ctx, "q");
        let called = queue.map(args![bias = &x], "bias", &mut out);
        if host::repeated(&list, &shape, &[2, 3, 4]).is_some() {
            called.unwrap();
            continue;
        }
        refused += 1;
        let error = assert_refused!(called, Shape { found, expected, .. } if *found == shape && *expected == [2, 3, 4]);
        let said = error.to_string();
        assert!(said.starts_with("verb `map`, argument `bias`: array `"), "{error}");
        assert!(said.contains(&format!("has shape {shape:?}, [2, 3, 4] is needed")), "{error}");
        assert_eq!(dump::enqueued(&ctx, "q"), before, "{error}");
    }
    assert!(refused > 50, "{refused} shapes");
    // No elements repeat to no results.
    let none = queue.zeros::<u32, 2>([0, 3]).unwrap();
    let one = queue.array(&[1_u32]).unwrap();
    queue.map(args![x = &none, y = &one], "x + y", &mut queue.zeros::<u32, 2>([0, 3]).unwrap()).unwrap();
    // Each axis of these inputs is repeated in another way than its neighbours.
    let mut many = queue.zeros::<u32, 7>([2; 7]).unwrap();
    let other = queue.zeros::<u32, 7>([2, 1, 2, 1, 2, 1, 2]).unwrap();
    let error = assert_refused!(queue.map(&other, "x", &mut many), Value { found, .. } if found == "7");
    assert!(error.to_string().starts_with("verb `map`: the number of axes"), "{error}");
    let fewer = queue.zeros::<u32, 7>([2, 1, 2, 1, 2, 1, 1]).unwrap();
    queue.map(&fewer, "x", &mut many).unwrap();
}

/// A struct of the same name as another.
mod other {
    use super::*;

    #[derive(Clone, Copy, PartialEq, Debug, Pod, Zeroable, Element)]
    #[repr(C)]
    pub(super) struct Particle {
        pub(super) mass: f32,
    }

    /// A struct with a field whose name WGSL reserves.
    #[derive(Clone, Copy, PartialEq, Debug, Pod, Zeroable, Element)]
    #[repr(C)]
    pub(super) struct Switch {
        pub(super) force: f32,
        pub(super) active: u32,
    }
}

/// Start of the message about a mistake, and the call with the mistake.
type Refused<'a> = (&'a str, &'a dyn Fn() -> Result<()>);

#[expect(clippy::too_many_lines, reason = "it is a table of mistakes")]
fn refused(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let x = queue.zeros::<f32, 1>([8]).unwrap();
    let y = queue.zeros::<f32, 1>([8]).unwrap();
    let bytes = queue.zeros::<u8, 1>([8]).unwrap();
    let doubles = queue.zeros::<f64, 1>([8]).unwrap();
    let particles = queue.zeros::<Particle, 1>([8]).unwrap();
    let others = queue.zeros::<other::Particle, 1>([8]).unwrap();
    let switches = queue.zeros::<other::Switch, 1>([8]).unwrap();
    let lists = queue.zeros::<[[f32; 3]; 5], 1>([8]).unwrap();
    let out = queue.full([8], 3.0_f32).unwrap();
    let q = &queue;
    let to = || out.clone();
    let calls: [Refused<'_>; 18] = [
        ("verb `map`: the name of an input is missing; a name, as in `args![x = &x]`, is needed", &|| {
            q.map(args![&x, &y], "x", &mut to())
        }),
        ("verb `map`: the number of inputs with the name `x` is 2", &|| {
            q.map(args![x = &x, x = &y], "x", &mut to())
        }),
        ("verb `map`: the name of an input is `i`; ", &|| q.map(args![i = &x], "i", &mut to())),
        (
            "verb `map`: the name of an input is `out`; another name than that of the results is needed",
            &|| q.map(args![out = &x], "out", &mut to()),
        ),
        ("verb `map`: the name of an input is `from`; a name that WGSL does not reserve, and that", &|| {
            q.map(args![from = &x], "1.0", &mut to())
        }),
        (
            "verb `map`: the name of a field of struct `Switch` is `active`; a name that WGSL does not",
            &|| q.map(args![s = &switches], "s.force * 2.0", &mut to()),
        ),
        ("verb `map`: the name of an input is `fencepost_x`; ", &|| {
            q.map(args![fencepost_x = 1_u32], "x", &mut to())
        }),
        ("verb `map`: the name of an input is `a: f32, b`; ", &|| {
            let list: Vec<NamedArg<'_>> =
                args![a = &x].into_iter().map(|(_, arg)| (Some("a: f32, b".into()), arg)).collect();
            q.map(list, "a", &mut to())
        }),
        ("verb `map`: the number of input arrays is 7; a number up to 6 is needed", &|| {
            q.map(args![a = &x, b = &x, c = &x, d = &x, e = &x, f = &x, g = &x], "a", &mut to())
        }),
        (
            "verb `map`, argument `x`: the reference is `&mut`; `&`, or a call of `map_in_place`, is needed",
            &|| q.map(&mut x.clone(), "x", &mut to()),
        ),
        ("verb `map_in_place`: the number of arrays that are passed by `&mut` is 0; one, as in", &|| {
            q.map_in_place(&x, "x")
        }),
        ("verb `map_in_place`: the number of arrays that are passed by `&mut` is 2; one, as in", &|| {
            q.map_in_place(args![x = &mut x.clone(), y = &mut y.clone()], "x")
        }),
        (
            "verb `map`, argument `a`: the type of the value is `f64`; f32, i32, u32 or a vector of them, or an array",
            &|| q.map(args![x = &x, a = 2.0], "x", &mut to()),
        ),
        ("verb `map`, argument `a`: the type of the value is `mat2x2<f32>`; ", &|| {
            q.map(args![x = &x, a = [[1.0_f32, 0.0], [0.0, 1.0]]], "x", &mut to())
        }),
        ("verb `map`, argument `bytes`: the type of the elements is `u8`; f32, i32, u32, a vector", &|| {
            q.map(args![bytes = &bytes], "1.0", &mut to())
        }),
        (
            "verb `map`, argument `lists`: the type of the elements is `array<vec3<f32>, 5>`; f32, i32, u32, a vector or a \
             list of them, a matrix of f32, or a struct of these",
            &|| q.map(args![lists = &lists], "lists[4].y", &mut to()),
        ),
        ("verb `map`, argument `out`: the type of the elements is `f64`; ", &|| {
            q.map(&x, "x", &mut doubles.clone())
        }),
        (
            "verb `map`: the number of structs with the name `Particle` is 2; a different name for each is needed",
            &|| q.map(args![p = &particles, q = &others], "p.mass + q.mass", &mut to()),
        ),
    ];
    for (text, call) in calls {
        let before = dump::enqueued(&ctx, "q");
        let error = assert_refused!(call(), Value);
        assert!(error.to_string().starts_with(text), "{error}");
        assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
        assert_eq!(dump::enqueued(&ctx, "q"), before, "{error}");
    }
    let mistakes: [(&str, &str, &str); 5] = [
        ("p.mass + p.charge", "expression:1:", "^"),
        (
            "p.position",
            "expression:1:1: an element of `out` is `f32`, and `p.position` is `vec3<f32>`: ",
            "^",
        ),
        (
            "p.mass * dt",
            "expression:1:10: no definition in scope for identifier: `dt`\n",
            "  | p.mass * dt\n  |          ^^",
        ),
        ("p.mass +\n  a * nothing", "expression:2:7: ", "  |   a * nothing\n  |       ^^^^^^^"),
        ("p.mass + fencepost_array_p[0].mass", "expression:1:10: names that begin with `fencepost_`", "^"),
    ];
    for (expression, start, end) in mistakes {
        let error =
            assert_refused!(queue.map(args![p = &particles, a = 2.0_f32], expression, &mut to()), Kernel);
        let said = error.to_string();
        assert!(said.starts_with(start) && said.ends_with(end), "{error}");
    }
    let in_place = queue.map_in_place(args![p = &mut particles.clone()], "p.mass");
    let error = assert_refused!(in_place, Kernel);
    assert!(error.to_string().contains("an element of `p` is `Particle`, and `p.mass` is `f32`"), "{error}");
    let error = assert_refused!(queue.map_in_place(args![x = &mut x.clone(), y = &x], "x + y"), Aliased);
    assert!(error.to_string().starts_with("verb `map_in_place`: arguments `y` and `x` overlap"), "{error}");
    let foreign = s.ctx().queue("other").zeros::<f32, 1>([8]).unwrap();
    let error =
        assert_refused!(queue.map(args![x = &x, bias = &foreign], "x + bias", &mut to()), ForeignContext);
    assert!(error.to_string().starts_with("verb `map`, argument `bias`: array `"), "{error}");
    assert_refused!(
        queue.map(args![x = &queue.zeros::<f32, 1>(Shape::padded([8], [9])).unwrap()], "x", &mut to()),
        Padding
    );
    assert_eq!(queue.read(&out).wait().unwrap(), [3.0; 8]);
    let shown = format!("{:?}", Inputs::from(args![x = &x, a = 1_u32]));
    assert!(["\"x\"", "F32", "\"a\"", "U32"].iter().all(|part| shown.contains(part)), "{shown}");
}

fn replayed(s: &Subject) {
    let queue = s.ctx().queue("q");
    let list: Vec<u32> = (0..100).collect();
    let x = queue.array(&list).unwrap();
    let row = queue.array(&[1_u32, 2, 3, 4, 5, 6, 7, 8, 9, 10]).unwrap();
    let mut out = queue.zeros::<u32, 2>([10, 10]).unwrap();
    let mut sums = queue.zeros::<u32, 1>([100]).unwrap();
    let table = x.reshape([10, 10]).unwrap();
    let (graph, ()) = queue.graph_of(|c| {
        let by = c.value("by", 3_u32)?;
        let times = c.array(&[3_u32])?;
        c.map(args![x = &table, row = &row, by = &by], "x * by + row", &mut out)?;
        c.fill(&mut sums, 1)?;
        c.repeat(&times, Bound::AtMost(4), |body| {
            body.map_in_place(args![sum = &mut sums, x = &x, by = &by], "sum + x * by")
        })?;
        Ok(())
    });
    for (bound, by) in [
        (graph.with(), 3),
        (graph.with().value("by", 7_u32).unwrap(), 7),
        (graph.with().value("by", 0_u32).unwrap(), 0),
    ] {
        let expected = host::map(&list, |x, i| x * by + i % 10 + 1);
        assert_eq!(queue.read_after(&bound, &out), expected, "{by}");
        assert_eq!(queue.read(&sums).wait().unwrap(), host::map(&list, |x, _| 1 + 3 * x * by), "{by}");
    }
    // Without a capture, a named value has no meaning.
    let (_, by) = queue.graph_of(|c| c.value("by", 3_u32));
    let error = assert_refused!(queue.map(args![x = &table, by = &by], "x * by", &mut out), Graph);
    assert!(error.to_string().contains("value `by` is a value of a graph"), "{error}");
}

fn first(s: &Subject) {
    let queue = s.ctx().queue("q");
    let list: Vec<[f32; 3]> = (0..100).map(|i| [i as f32, 1.0, -2.0]).collect();
    let x = queue.array(&list).unwrap();
    for count in [0, 1, 63, 100, 101] {
        let on_device = queue.array(&[count]).unwrap();
        let mut out = queue.full([100], [7.0_f32; 3]).unwrap();
        queue.map(x.first(&on_device), "x * 2.0", &mut out).unwrap();
        let expected = host::map(&list, |x, i| if i < count { x.map(|x| x * 2.0) } else { [7.0; 3] });
        assert_eq!(queue.read(&out).wait().unwrap(), expected, "{count} elements");
    }
    let on_device = queue.array(&[5_u32]).unwrap();
    let mut longer = queue.zeros::<[f32; 3], 2>([2, 100]).unwrap();
    assert_refused!(queue.map(x.first(&on_device), "x", &mut longer), Shape);
}

fn first_results(s: &Subject) {
    let (ctx, queue) = s.with_queue("q");
    let list: Vec<u32> = (0..600).map(|i| i * i % 97).collect();
    let x = queue.array(&list).unwrap().reshape([20, 30]).unwrap();
    let row = queue.array(&(0..30).collect::<Vec<u32>>()).unwrap();
    let one = queue.array(&[1000_u32]).unwrap();
    let mut out = queue.zeros::<u32, 2>([20, 30]).unwrap();
    for count in [0, 1, 31, 256, 600, 601] {
        let on_device = queue.array(&[count]).unwrap();
        let inputs = Inputs::from(args![x = &x, row = &row, one = &one, by = 3_u32]);
        queue.fill(&mut out, 7).unwrap();
        queue.map(inputs.first(&on_device), "x * by + row + one", &mut out).unwrap();
        let expected = host::map(&list, |x, i| if i < count { x * 3 + i % 30 + 1000 } else { 7 });
        assert_eq!(queue.read(&out).wait().unwrap(), expected, "{count} results");
        let inputs = Inputs::from(args![sum = &mut out, row = &row]);
        queue.map_in_place(inputs.first(&on_device), "sum - row").unwrap();
        let expected = host::map(&list, |x, i| if i < count { x * 3 + 1000 } else { 7 });
        assert_eq!(queue.read(&out).wait().unwrap(), expected, "{count} results in place");
    }
    let two = queue.array(&[1_u32, 2]).unwrap();
    let of_out = out.reshape([600]).unwrap().slice(0..1).unwrap();
    let inputs = || Inputs::from(args![x = &x]);
    let before = dump::enqueued(&ctx, "q");
    assert_refused!(queue.map(inputs().first(&two), "x", &mut out), Shape);
    let error = assert_refused!(queue.map(inputs().first(&of_out), "x", &mut out), Aliased);
    assert!(error.to_string().contains("`count of the first elements`"), "{error}");
    assert_eq!(dump::enqueued(&ctx, "q"), before);
}
