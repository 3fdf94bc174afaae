//! Reads of unwritten memory, indices out of range, and barriers that some invocations miss.

use super::Bug;

/// Kernels of this file.
pub(super) const BUGS: &[Bug] = &[
    Bug {
        name: "a read of a buffer that nothing wrote",
        kind: "unwritten",
        what: "new_a[0]",
        groups: 1,
        before: "
            @group(0) @binding(2) var<storage, read> new_a: array<u32>;",
        body: "
            out[i] = new_a[i]; //@",
    },
    Bug {
        name: "a read of the part that the kernel does not write",
        kind: "unwritten",
        what: "new_a[63]",
        groups: 1,
        before: "
            @group(0) @binding(2) var<storage, read_write> new_a: array<u32>;",
        body: "
            if i < 32u { new_a[i] = 1u; }
            storageBarrier();
            out[i] = new_a[63u - i]; //@",
    },
    Bug {
        name: "an addition to an output that nothing wrote",
        kind: "unwritten",
        what: "new_a[0]",
        groups: 1,
        before: "
            @group(0) @binding(2) var<storage, read_write> new_a: array<u32>;",
        body: "
            new_a[i] += x[i]; //@",
    },
    Bug {
        name: "an atomic counter that nothing wrote",
        kind: "unwritten",
        what: "new_n",
        groups: 1,
        before: "
            @group(0) @binding(2) var<storage, read_write> new_n: atomic<u32>;",
        body: "
            atomicAdd(&new_n, 1u); //@",
    },
    Bug {
        name: "a component that nothing wrote",
        kind: "unwritten",
        what: "new_v[0].y",
        groups: 1,
        before: "
            @group(0) @binding(2) var<storage, read_write> new_v: array<vec4<f32>>;",
        body: "
            if i >= 16u { return; } new_v[i].x = 1.0;
            let v = new_v[i]; //@
            out[i] = u32(v.x);",
    },
    Bug {
        name: "a read before the write of the same invocation",
        kind: "unwritten",
        what: "new_a[0]",
        groups: 1,
        before: "
            @group(0) @binding(2) var<storage, read_write> new_a: array<u32>;",
        body: "
            let old = new_a[i]; //@
            new_a[i] = 1u;
            out[i] = old + new_a[i];",
    },
    Bug {
        name: "a half that nothing wrote",
        kind: "unwritten",
        what: "new_h[1]",
        groups: 1,
        before: "
            enable f16;
            @group(0) @binding(2) var<storage, read_write> new_h: array<f16>;",
        body: "
            if i >= 32u { return; }
            new_h[2u * i] = f16(i);
            out[i] = u32(new_h[2u * i + 1u]); //@",
    },
    Bug {
        name: "a write past the end",
        kind: "index",
        what: "out: 64 of 64",
        groups: 1,
        before: "",
        body: "
            out[i + 1u] = x[i]; //@",
    },
    Bug {
        name: "a read before the begin",
        kind: "index",
        what: "x: -1 of 64",
        groups: 1,
        before: "",
        body: "
            out[i] = x[i32(i) - 1]; //@",
    },
    Bug {
        name: "an index past the end of a variable of the workgroup",
        kind: "index",
        what: "w: 64 of 64",
        groups: 1,
        before: "",
        body: "
            w[i * 2u] = i; //@",
    },
    Bug {
        name: "an index past the end of a variable of a function",
        kind: "index",
        what: "a: 4 of 4",
        groups: 1,
        before: "",
        body: "
            var a: array<u32, 4>;
            a[i] = 1u; //@
            out[i] = a[0];",
    },
    Bug {
        name: "a component past the end",
        kind: "index",
        what: "v: 4 of 4",
        groups: 1,
        before: "",
        body: "
            let v = vec4(x[0], x[1], x[2], x[3]);
            out[i] = v[i]; //@",
    },
    Bug {
        name: "a column past the end",
        kind: "index",
        what: "m: 2 of 2",
        groups: 1,
        before: "
            var<workgroup> m: mat2x2<f32>;",
        body: "
            if i < 3u {
                m[i].x = 1.0; //@
            }",
    },
    Bug {
        name: "an index past the end of a member",
        kind: "index",
        what: "s.v: 4 of 4",
        groups: 1,
        before: "
            struct S { n: u32, v: array<u32, 4> }
            var<workgroup> s: S;",
        body: "
            s.v[i] = x[i]; //@",
    },
    Bug {
        name: "an index past the end in a function",
        kind: "index",
        what: "w: 64 of 64",
        groups: 1,
        before: "
            fn element(at: u32) -> u32 {
                return w[at]; //@
            }",
        body: "
            out[i] = element(i + 1u);",
    },
    Bug {
        name: "a barrier in a divergent branch",
        kind: "barrier",
        what: "",
        groups: 1,
        before: "",
        body: "
            if x[i] < 32u {
                workgroupBarrier(); //@
            }",
    },
    Bug {
        name: "a return before a barrier",
        kind: "barrier",
        what: "",
        groups: 1,
        before: "",
        body: "
            if x[i] == 5u { return; }
            w[i] = i;
            workgroupBarrier(); //@
            out[i] = w[i ^ 1u];",
    },
    Bug {
        name: "a barrier in a loop with different numbers of iterations",
        kind: "barrier",
        what: "",
        groups: 1,
        before: "",
        body: "
            for (var t = 0u; t < x[i] % 3u + 1u; t++) {
                workgroupBarrier(); //@
            }",
    },
    Bug {
        name: "a barrier in each of two branches",
        kind: "barrier",
        what: "",
        groups: 1,
        before: "",
        body: "
            if x[i] < 32u {
                workgroupBarrier(); //@
            } else {
                workgroupBarrier(); //@
            }",
    },
];
