// gate: decides whether the dispatches of a body have workgroups
//
// Shape      condition: at least condition_at + 1 words; words: the table of the gates up to the wanted group counts;
//            counts: three words for each dispatch
// Dispatch   64 dispatches of the body a group, and at least one group
// Workgroup  [64, 1, 1]
// Barriers   none: no invocation reads a word that another one writes
// Tolerance  exact
struct Params {
    condition_at: u32,
    test: u32, // 0: always, 1: not 0, 2: 0, 3: above limit, 4: signed and above limit, 5: never
    limit: u32,
    parent: u32, // words of other gates, or NONE
    previous: u32,
    own: u32,
    first: u32, // the first dispatch of the body
    dispatches: u32,
    wanted_at: u32,
    counter_at: u32, // the word of the iterations of a loop, or NONE; the word after it says if the bound is reached
    flags: u32, // 1: resets the counter, 2: is after the last iteration, 4: has a bound
    bound: u32,
}
@group(0) @binding(0) var<uniform> params: Params;
@group(0) @binding(1) var<storage, read_write> condition: array<u32>;
@group(0) @binding(2) var<storage, read_write> words: array<u32>;
@group(0) @binding(3) var<storage, read_write> counts: array<u32>;

const NONE = 0xffffffffu;

// A gate with a bound decides about many iterations, so it adds the number of past iterations to its limit.
fn passes(value: u32, past: u32) -> bool {
    let limit = params.limit + past;
    switch params.test {
        case 0u: { return true; }
        case 1u: { return value != 0u; }
        case 2u: { return value == 0u; }
        case 3u: { return value > limit; }
        case 5u: { return false; }
        // A negative value is above no number, and a limit that no signed value exceeds lets none pass.
        default: { return (value & 0x80000000u) == 0u && value > limit; }
    }
}

fn is_set(word: u32) -> bool {
    if word == NONE {
        return true;
    }
    return words[word] != 0u;
}

fn has(flag: u32) -> bool {
    return (params.flags & flag) != 0u;
}

fn count(on: bool, stopped: bool) {
    var iterations = 0u;
    var reached = 0u;
    if !has(1u) {
        iterations = words[params.counter_at];
        reached = words[params.counter_at + 1u];
    }
    if on && !has(2u) {
        iterations += 1u;
    }
    if stopped || (on && has(2u)) {
        reached = 1u;
    }
    words[params.counter_at] = iterations;
    words[params.counter_at + 1u] = reached;
}

@compute @workgroup_size(64)
fn gate(@builtin(global_invocation_id) gid: vec3<u32>) {
    var past = 0u;
    if has(4u) && params.previous != NONE {
        past = words[params.previous];
    }
    let goes = is_set(params.parent) && is_set(params.previous) && passes(condition[params.condition_at], past);
    let on = goes && (!has(4u) || past < params.bound);
    if gid.x == 0u {
        words[params.own] = select(0u, past + 1u, on);
        if params.counter_at != NONE {
            count(on, goes && !on);
        }
    }
    if gid.x < params.dispatches {
        let at = 3u * (params.first + gid.x);
        for (var i = 0u; i < 3u; i++) {
            counts[at + i] = select(0u, words[params.wanted_at + at + i], on);
        }
    }
}
