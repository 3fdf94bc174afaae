//! Races between workgroups.

use super::Bug;

/// Kernels of this file.
pub(super) const BUGS: &[Bug] = &[
    Bug {
        name: "two workgroups write one element",
        kind: "race between workgroups",
        what: "out[0]",
        groups: 2,
        before: "",
        body: "
            if i == 0u {
                out[0] = g.x; //@
            }",
    },
    Bug {
        name: "each workgroup writes its elements over those of the first one",
        kind: "race between workgroups",
        what: "out[0]",
        groups: 3,
        before: "",
        body: "
            out[i] = id.x; //@",
    },
    Bug {
        name: "a neighbour of another workgroup after a barrier",
        kind: "race between workgroups",
        what: "out[0]",
        groups: 2,
        before: "",
        body: "
            if i < 32u {
                out[g.x * 32u + i] = x[i]; //@
            }
            storageBarrier();
            if i < 32u {
                w[i] = out[(g.x * 32u + i + 32u) % 64u]; //@
            }",
    },
    Bug {
        name: "a sum of workgroups without atomics",
        kind: "race between workgroups",
        what: "out[0]",
        groups: 4,
        before: "",
        body: "
            if i == 0u {
                out[g.x / 2u] += 1u; //@
            }",
    },
    Bug {
        name: "the last workgroup reads what others write",
        kind: "race between workgroups",
        what: "out[1]",
        groups: 3,
        before: "",
        body: "
            if i == 0u {
                out[g.x + 1u] = x[g.x]; //@
            }
            if i == 0u && g.x == 2u {
                out[0] = out[3];
                out[0] += out[1]; //@
            }",
    },
    Bug {
        name: "a histogram of workgroups without atomics",
        kind: "race between workgroups",
        what: "out[0]",
        groups: 4,
        before: "",
        body: "
            if i == 0u {
                out[x[g.x] % 2u] += 1u; //@
            }",
    },
    Bug {
        name: "a race of workgroups in a function",
        kind: "race between workgroups",
        what: "out[3]",
        groups: 2,
        before: "
            fn add(at: u32) {
                out[at] = out[at] + 1u; //@
            }",
        body: "
            if i == 3u { add(i); }",
    },
    Bug {
        name: "a race of workgroups in a struct",
        kind: "race between workgroups",
        what: "items[1].weight",
        groups: 2,
        before: "
            struct Item { at: vec3<f32>, weight: f32 }
            @group(0) @binding(2) var<storage, read_write> items: array<Item>;",
        body: "
            if i == 0u {
                items[1].weight = f32(g.x); //@
            }",
    },
    Bug {
        name: "an atomic change of one workgroup beside a plain read of another one",
        kind: "race between workgroups",
        what: "same_n[3]",
        groups: 2,
        before: "
            @group(0) @binding(2) var<storage, read_write> same_n: array<atomic<u32>>;
            @group(0) @binding(3) var<storage, read> same_plain: array<u32>;",
        body: "
            if g.x == 1u && i == 3u {
                atomicAdd(&same_n[i], 1u); //@
            }
            if g.x == 0u && i == 0u {
                out[i] = same_plain[3]; //@
            }",
    },
];
