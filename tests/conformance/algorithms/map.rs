//! A01, A07: elementwise verbs with WGSL expressions of the program.

use super::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("a01_a_refused_expression_enqueues_nothing", refused),
        case("a01_expressions_in_a_graph_equal_those_of_a_queue", in_a_graph),
        case("a07_each_element_is_the_value_of_the_expression", values),
        case("a07_a_mistake_in_an_expression_is_shown_in_its_line", mistakes).host_side(),
        case("a07_an_expression_writes_its_array_alone", guards),
    ]
}

fn values(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut rng = fastrand::Rng::with_seed(51);
    for len in [0, 1, 63, 64, 65, 257, 10_007] {
        let [x, y] = [(); 2].map(|()| (0..len).map(|_| rng.u32(..)).collect::<Vec<u32>>());
        let [x_array, y_array] = [&x, &y].map(|list| queue.array(list).unwrap());
        let mut out = queue.empty::<u32, 1>([len]).unwrap();
        queue.map(&x_array, "(x ^ 0x5555u) * 3u + i", &mut out).unwrap();
        let expected = host::map(&x, |x, i| (x ^ 0x5555).wrapping_mul(3).wrapping_add(i));
        assert_eq!(queue.read(&out).wait().unwrap(), expected);
        queue.zip(&x_array, &y_array, "select(x, y, (i & 1u) == 1u)", &mut out).unwrap();
        let expected = host::zip(&x, &y, |x, y, i| if i % 2 == 1 { y } else { x });
        assert_eq!(queue.read(&out).wait().unwrap(), expected);
        // Three types, in three dimensions.
        let shape = [1, len, 1];
        let mut halves = queue.empty::<f32, 3>(shape).unwrap();
        let small: Vec<i32> = x.iter().map(|x| (x >> 12) as i32 - 0x8_0000).collect();
        let small = queue.array(&small).unwrap().reshape(shape).unwrap();
        let y_array = y_array.reshape(shape).unwrap();
        queue.zip(&small, &y_array, "f32(x) * 0.5\n + f32(y & 1u)", &mut halves).unwrap();
        let half = |x: u32, y: u32, _| ((x >> 12) as i32 - 0x8_0000) as f32 * 0.5 + (y & 1) as f32;
        assert_eq!(queue.read(&halves).wait().unwrap(), host::zip(&x, &y, half));
    }
}

#[expect(clippy::too_many_lines, reason = "it is a table of mistakes")]
fn mistakes(s: &Subject) {
    let queue = s.ctx().queue("q");
    let x = queue.full([4], 1.0_f32).unwrap();
    let mut out = queue.full([4], 2.0_f32).unwrap();
    for (expression, place, end) in [
        ("x * z", "expression:1:5: ", "  | x * z\n  |     ^"),
        ("x +\n  2u", "expression:", "^"),
        ("x *\n  sqrt(z)", "expression:2:8: ", "  |   sqrt(z)\n  |        ^"),
        ("x + f32(params.n)", "expression:1:9: ", "  | x + f32(params.n)\n  |         ^^^^^^"),
        (
            "x > 1.0",
            "expression:1:1: an element of `out` is `f32`, and `x > 1.0` is `bool`: convert the value to that type\n",
            "  | x > 1.0\n  | ^^^^^^^",
        ),
        ("x; x", "expression:1:2: `;` is not part of an expression", "  | x; x\n  |  ^"),
        (
            "array<f32, 4>()[7]",
            "expression:1:1: a constant has no element at this index: use an index below the number of its elements\n",
            "^^^^^^^^^^^^^^^^^^",
        ),
        (
            "x +\n dpdxFine(x)",
            "expression:2:2: `dpdxFine` compares pixels of a picture: compute",
            "  |  ^^^^^^^^",
        ),
        (
            "f32(1u / 0u)",
            "expression:1:5: the divisor is the constant 0: divide by another number\n",
            "    ^^^^^^^",
        ),
        (
            "f32(1 % 0)",
            "expression:1:5: the divisor of the remainder is the constant 0: use another number\n",
            "    ^^^^^",
        ),
        (
            "fn f() -> f32 { x }",
            "expression:1:1: `fn` begins a statement, and an expression has none: write",
            "^^",
        ),
        ("let y = x; y", "expression:1:1: `let` begins a statement", "^^^"),
        ("x; return x", "expression:1:4: `return` begins a statement", "^^^^^^"),
        (
            "if x > 1.0 { x } else { 2.0 }",
            "expression:1:1: `if` begins a statement, and an expression has none: choose between two values with \
             `select(if_false, if_true, condition)`\n",
            "  | ^^",
        ),
        ("x) + (x", "expression:1:2: ", "  | x) + (x\n  |  ^"),
        ("x *\n  (x +\n ) \n", "expression:3:2: ", "  |  ) \n  |  ^"),
        ("x +\n  x * ", "expression:2:6: ", "  |   x * \n  |      ^"),
        ("f32(i) + quadSwapX(x)", "expression:1:10: `quadSwapX` takes", "^^^^^^^^^"),
        ("subgroupAdd(x)", "expression:1:1: `subgroupAdd` takes", "^^^^^^^^^^^"),
        ("(x + 1.0) 2", "expression:1:11: expected an operator or the end of the expression, found", "^"),
        ("(x + 1.0, x)", "expression:1:9: expected", "^"),
        (
            "x + f32(2.0h)",
            "expression:1:9: an expression has no `f16`: compute with `f32`\n",
            "         ^^^^",
        ),
        ("f32(f16(x))", "expression:1:5: an expression has no `f16`: compute with `f32`\n", "^^^"),
        (
            "workgroupBarrier()",
            "expression:1:1: the function has no value: write a value of WGSL alone\n",
            "^",
        ),
        ("x + print(x)", "expression:1:5: `print` begins a statement", "  | x + print(x)\n  |     ^^^^^"),
        ("assert(x > 1.0)", "expression:1:1: `assert` begins a statement", "  | ^^^^^^"),
        ("x y", "expression:1:3: ", "  | x y\n  |   ^"),
        ("", "expression:1:1: ", "^"),
    ] {
        let error = queue.map(&x, expression, &mut out).unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::Kernel(_)), "{error}");
        let text = error.to_string();
        assert!(text.starts_with(place) && text.ends_with(end), "{expression}\n{text}");
    }
    let deep = [
        (format!("x{}", " + x".repeat(2000)), "more than 1000 operators"),
        (format!("{}x{}", "(".repeat(300), ")".repeat(300)), "the limit is 199 levels of brackets"),
    ];
    for (expression, limit) in deep {
        let text = queue.map(&x, &expression, &mut out).unwrap_err().to_string();
        let remedy = ": compute parts of it in earlier calls, each with an array for its results\n";
        assert!(
            text.starts_with("expression:1:") && text.contains(remedy) && !text.contains("let"),
            "{text}"
        );
        assert!(text.contains(limit), "{text}");
    }
    assert_eq!(queue.read(&out).wait().unwrap(), [2.0; 4]);
}

fn refused(s: &Subject) {
    let queue = s.ctx().queue("q");
    let x = queue.full([10], 1_u32).unwrap();
    let mut out = queue.full([9], 2_u32).unwrap();
    assert_refused!(queue.map(&x, "x", &mut out), Shape);
    assert_refused!(queue.zip(&x, &out, "x", &mut x.clone()), Shape);
    let error = queue.map(&x, "x + 1u", &mut x.clone()).unwrap_err().to_string();
    assert!(error.starts_with("verb `map`: arguments `x` and `out` overlap"), "{error}");
    let y = queue.full([10], 3_u32).unwrap();
    let error = queue.zip(&x, &y, "x + y", &mut y.clone()).unwrap_err().to_string();
    assert!(error.starts_with("verb `zip`: arguments `y` and `out` overlap"), "{error}");
    let error =
        queue.map(&x, "x", &mut queue.zeros::<u32, 1>(Shape::padded([10], [12])).unwrap()).unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::Padding { .. }), "{error}");
    let mut foreign = s.ctx().queue("other").zeros::<u32, 1>([10]).unwrap();
    assert_refused!(queue.map(&x, "x", &mut foreign), ForeignContext);
    assert_eq!(queue.read(&x).wait().unwrap(), [1; 10]);
    assert_eq!(queue.read(&out).wait().unwrap(), [2; 9]);
}

fn in_a_graph(s: &Subject) {
    let queue = s.ctx().queue("q");
    let mut x = queue.zeros::<u32, 1>([100]).unwrap();
    let mut y = queue.zeros::<u32, 1>([100]).unwrap();
    let mut out = queue.zeros::<u32, 1>([100]).unwrap();
    let (graph, ()) = queue
        .capture(|c| {
            c.map(&x, "x * x", &mut y)?;
            c.zip(&x, &y, "x + y", &mut out)
        })
        .unwrap();
    for round in 0..3_u32 {
        let list: Vec<u32> = (0..100).map(|i| i * 7 + round).collect();
        queue.upload(&list, &mut x).unwrap();
        queue.replay(&graph).unwrap();
        let expected = host::map(&list, |x, _| x * x + x);
        assert_eq!(queue.read(&out).wait().unwrap(), expected, "round {round}");
    }
}

fn guards(s: &Subject) {
    let queue = s.ctx().queue("q");
    let x = queue.full([100], 3_u32).unwrap();
    let out = queue.full([256], 9_u32).unwrap();
    queue.map(&x, "x + 1u", &mut out.slice(64..164).unwrap()).unwrap();
    let expected = [vec![9; 64], vec![4; 100], vec![9; 92]].concat();
    assert_eq!(queue.read(&out).wait().unwrap(), expected);
}
