//! Invalid operands of operations.

use super::Bug;

/// Kernels of this file.
pub(super) const BUGS: &[Bug] = &[
    Bug {
        name: "a shift by the width",
        kind: "shift",
        what: "4 << 32",
        groups: 1,
        before: "",
        body: "
            out[i] = 4u << (x[i] / 2u + 1u); //@",
    },
    Bug {
        name: "a shift to the right by the width",
        kind: "shift",
        what: "-8 >> 32",
        groups: 1,
        before: "",
        body: "
            out[i] = u32(-8i >> (x[i] / 2u + 1u)); //@",
    },
    Bug {
        name: "a shift of a component",
        kind: "shift",
        what: "5 << 40",
        groups: 1,
        before: "",
        body: "
            let v = vec2(x[5]) << vec2(x[3], x[40]); //@
            out[i] = v.x + v.y;",
    },
    Bug {
        name: "a division by zero",
        kind: "division by zero",
        what: "7 / 0",
        groups: 1,
        before: "",
        body: "
            out[i] = 7u / (x[i] - 3u); //@",
    },
    Bug {
        name: "a remainder by zero",
        kind: "division by zero",
        what: "-7 % 0",
        groups: 1,
        before: "",
        body: "
            out[i] = u32(-7i % (i32(x[i]) - 3i)); //@",
    },
    Bug {
        name: "a division of a vector by zero",
        kind: "division by zero",
        what: "2 / 0",
        groups: 1,
        before: "",
        body: "
            let v = vec2(x[2]) / vec2(1u, x[0]); //@
            out[i] = v.x + v.y;",
    },
    Bug {
        name: "the least integer by minus one",
        kind: "division overflow",
        what: "-2147483648 / -1",
        groups: 1,
        before: "",
        body: "
            out[i] = u32((-2147483647i - i32(x[1])) / -i32(x[1])); //@",
    },
    Bug {
        name: "the remainder of the least integer by minus one",
        kind: "division overflow",
        what: "-2147483648 % -1",
        groups: 1,
        before: "",
        body: "
            var n = -2147483647i - i32(x[1]);
            n %= -i32(x[1]); //@
            out[i] = u32(n);",
    },
    Bug {
        name: "a float that is too large",
        kind: "conversion",
        what: "u32(6300000256.0)",
        groups: 1,
        before: "",
        body: "
            out[i] = u32(f32(x[63]) * 1e8); //@",
    },
    Bug {
        name: "a negative float",
        kind: "conversion",
        what: "u32(-2.0)",
        groups: 1,
        before: "",
        body: "
            out[i] = u32(1.0 - f32(x[3])); //@",
    },
    Bug {
        name: "a float that is too large for i32",
        kind: "conversion",
        what: "i32(2147483648.0)",
        groups: 1,
        before: "",
        body: "
            out[i] = u32(i32(f32(x[32]) * 67108864.0)); //@",
    },
    Bug {
        name: "a half that is infinite",
        kind: "conversion",
        what: "i32(inf)",
        groups: 1,
        before: "
            enable f16;",
        body: "
            out[i] = u32(i32(f16(x[63]) * 60000.0h)); //@",
    },
    Bug {
        name: "zero by zero",
        kind: "nan",
        what: "0.0 / 0.0",
        groups: 1,
        before: "",
        body: "
            out[i] = bitcast<u32>(f32(x[0]) / f32(x[0])); //@",
    },
    Bug {
        name: "infinity minus infinity",
        kind: "nan",
        what: "inf - inf",
        groups: 1,
        before: "",
        body: "
            let huge = f32(x[63]) * 3e38;
            out[i] = bitcast<u32>(huge - huge); //@",
    },
    Bug {
        name: "the root of a negative number",
        kind: "nan",
        what: "sqrt(-1.0)",
        groups: 1,
        before: "",
        body: "
            out[i] = bitcast<u32>(sqrt(-f32(x[1]))); //@",
    },
    Bug {
        name: "a logarithm of a negative number",
        kind: "nan",
        what: "log(-1.0)",
        groups: 1,
        before: "",
        body: "
            out[i] = bitcast<u32>(log(vec2(-f32(x[1]), f32(x[2]))).x); //@",
    },
    Bug {
        name: "a product of a matrix",
        kind: "nan",
        what: "(1.0, 0.0, 0.0, 1.0) * (inf, 0.0)",
        groups: 1,
        before: "",
        body: "
            let huge = vec2(f32(x[63]) * 3e38, 0.0);
            let v = mat2x2(1.0, 0.0, 0.0, f32(x[1])) * huge; //@
            out[i] = bitcast<u32>(v.x);",
    },
    Bug {
        name: "a dot product",
        kind: "nan",
        what: "dot((inf, 1.0), (0.0, 2.0))",
        groups: 1,
        before: "",
        body: "
            let huge = f32(x[63]) * 3e38;
            out[i] = bitcast<u32>(dot(vec2(huge, 1.0), vec2(f32(x[0]), 2.0))); //@",
    },
];
