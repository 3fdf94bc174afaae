//! Races between two invocations of a workgroup.

use super::Bug;

/// Kernels of this file.
pub(super) const BUGS: &[Bug] = &[
    Bug {
        name: "a sum without a barrier before its loop",
        kind: "race in a workgroup",
        what: "w[32]",
        groups: 1,
        before: "",
        body: "
            w[i] = x[i]; //@
            for (var s = 32u; s > 0u; s >>= 1u) {
                if i < s { w[i] += w[i + s]; } //@
                workgroupBarrier();
            }
            if i == 0u { out[g.x] = w[0]; }",
    },
    Bug {
        name: "a sum without a barrier in its loop",
        kind: "race in a workgroup",
        what: "w[1]",
        groups: 1,
        before: "",
        body: "
            w[i] = x[i];
            workgroupBarrier();
            for (var s = 32u; s > 0u; s >>= 1u) {
                if i < s { w[i] += w[i + s]; } //@
            }
            workgroupBarrier();
            if i == 0u { out[g.x] = w[0]; }",
    },
    Bug {
        name: "a sum without a barrier after its loop",
        kind: "race in a workgroup",
        what: "w[0]",
        groups: 1,
        before: "",
        body: "
            w[i] = x[i];
            workgroupBarrier();
            for (var s = 32u; s > 0u; s >>= 1u) {
                if i < s { w[i] += w[i + s]; } //@
                if s > 1u { workgroupBarrier(); }
            }
            out[i] = w[0]; //@",
    },
    Bug {
        name: "a loop without a barrier at its end",
        kind: "race in a workgroup",
        what: "w[0]",
        groups: 1,
        before: "",
        body: "
            for (var t = 0u; t < 4u; t++) {
                w[i] = x[i] + t; //@
                workgroupBarrier();
                out[i] += w[63u - i]; //@
            }",
    },
    Bug {
        name: "a barrier of the workgroup between accesses to a buffer",
        kind: "race in a workgroup",
        what: "out[0]",
        groups: 1,
        before: "",
        body: "
            out[i] = x[i]; //@
            workgroupBarrier();
            let v = out[63u - i]; //@
            storageBarrier();
            out[i] = v;",
    },
    Bug {
        name: "a barrier of the workgroup in a module with overrides",
        kind: "race in a workgroup",
        what: "out[0]",
        groups: 1,
        before: "override TURN: u32 = 63; override SIZE: u32 = 2 * TURN; var<workgroup> v: array<u32, SIZE>;",
        body: "
            out[i] = x[i]; //@
            workgroupBarrier();
            for (var n = TURN; n < SIZE; n += TURN) {
                v[i] = out[n - i]; //@
                workgroupBarrier();
                if n > 1000u { workgroupBarrier(); }
            }",
    },
    Bug {
        name: "a barrier of buffers between accesses to a variable of the workgroup",
        kind: "race in a workgroup",
        what: "w[0]",
        groups: 1,
        before: "",
        body: "
            w[i] = x[i]; //@
            storageBarrier();
            out[i] = w[63u - i]; //@",
    },
    Bug {
        name: "two invocations write one element",
        kind: "race in a workgroup",
        what: "out[0]",
        groups: 1,
        before: "",
        body: "
            out[i / 2u] = i; //@",
    },
    Bug {
        name: "all invocations write one element",
        kind: "race in a workgroup",
        what: "w[0]",
        groups: 1,
        before: "",
        body: "
            w[0] = i; //@
            workgroupBarrier();
            out[i] = w[0];",
    },
    Bug {
        name: "a scan without a barrier between its reads and its writes",
        kind: "race in a workgroup",
        what: "w[0]",
        groups: 1,
        before: "",
        body: "
            w[i] = x[i];
            workgroupBarrier();
            for (var d = 1u; d < 64u; d <<= 1u) {
                var v = w[i];
                if i >= d {
                    v += w[i - d]; //@
                }
                w[i] = v; //@
                workgroupBarrier();
            }
            out[i] = w[i];",
    },
    Bug {
        name: "a histogram without atomics",
        kind: "race in a workgroup",
        what: "w[0]",
        groups: 1,
        before: "",
        body: "
            w[x[i] % 8u] += 1u; //@",
    },
    Bug {
        name: "a race in one of several rounds",
        kind: "race in a workgroup",
        what: "w[5]",
        groups: 1,
        before: "",
        body: "
            for (var t = 0u; t < 8u; t++) {
                w[i] = t;
                workgroupBarrier();
                if t == 6u && i == 9u {
                    w[5] = 1u; //@
                }
                if i == 5u {
                    w[5] += 1u; //@
                }
                workgroupBarrier();
            }",
    },
    Bug {
        name: "a race with the second of two readers",
        kind: "race in a workgroup",
        what: "w[7]",
        groups: 1,
        before: "",
        body: "
            w[i] = i;
            workgroupBarrier();
            out[i] = w[7]; //@
            if i == 7u {
                w[7] = 1u; //@
            }",
    },
    Bug {
        name: "a race in a function",
        kind: "race in a workgroup",
        what: "w[0]",
        groups: 1,
        before: "
            fn put(at: u32, value: u32) {
                w[at] = value; //@
            }",
        body: "
            put(i / 2u, i);",
    },
    Bug {
        name: "a race through a pointer",
        kind: "race in a workgroup",
        what: "w[0]",
        groups: 1,
        before: "",
        body: "
            let p = &w[i / 4u];
            *p = i; //@",
    },
    Bug {
        name: "a race in a column of a matrix",
        kind: "race in a workgroup",
        what: "m[0].y",
        groups: 1,
        before: "
            var<workgroup> m: mat4x4<f32>;",
        body: "
            m[i % 4u].y = f32(i); //@",
    },
    Bug {
        name: "a race in a matrix with padding",
        kind: "race in a workgroup",
        what: "m[1].z",
        groups: 1,
        before: "
            var<workgroup> m: mat2x3<f32>;",
        body: "
            m[1].z = f32(i); //@",
    },
    Bug {
        name: "a race in a member of a struct",
        kind: "race in a workgroup",
        what: "s.v[0].z",
        groups: 1,
        before: "
            struct S { a: u32, v: array<vec3<f32>, 4> }
            var<workgroup> s: S;",
        body: "
            s.v[i % 4u].z = 1.0; //@",
    },
    Bug {
        name: "a race between a whole vector and a component",
        kind: "race in a workgroup",
        what: "v[0].y",
        groups: 1,
        before: "
            var<workgroup> v: array<vec4<f32>, 2>;",
        body: "
            if i == 0u {
                v[0] = vec4(1.0); //@
            }
            if i == 1u {
                out[i] = u32(v[0].y); //@
            }",
    },
    Bug {
        name: "a race of halves",
        kind: "race in a workgroup",
        what: "h[0]",
        groups: 1,
        before: "
            enable f16;
            var<workgroup> h: array<f16, 64>;",
        body: "
            h[i / 2u] = f16(i); //@",
    },
    Bug {
        name: "a race of flags",
        kind: "race in a workgroup",
        what: "flags[0]",
        groups: 1,
        before: "
            var<workgroup> flags: array<bool, 8>;",
        body: "
            flags[i % 8u] = true; //@",
    },
    Bug {
        name: "a plain read beside an atomic change of the same buffer",
        kind: "race in a workgroup",
        what: "same_n[0]",
        groups: 1,
        before: "
            @group(0) @binding(2) var<storage, read_write> same_n: array<atomic<u32>>;
            @group(0) @binding(3) var<storage, read> same_plain: array<u32>;",
        body: "
            atomicAdd(&same_n[i], 1u); //@
            out[i] = same_plain[63u - i]; //@",
    },
];
