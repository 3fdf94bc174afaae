// keyed: the state of runs of elements, which are combined by an operation, starting at the head of each run
//
// Shape      a, b: two states, a before b; g: a share, whose state is two words of `partials` or of `states`; the shader
//            around it has the type T, these arrays and `params.identity`, and uses `operation`
// Dispatch   any
// Barriers   none
// Tolerance  as `operation`

// The combined elements of the last run, and the number of heads.
struct S { value: T, heads: u32 }

fn identity() -> S { return S(params.identity, 0u); }

fn combined(a: S, b: S) -> S {
    if b.heads > 0u { return S(b.value, a.heads + b.heads); }
    return S(operation(a.value, b.value), a.heads);
}

fn partial(g: u32) -> S { return S(bitcast<T>(partials[2u * g]), partials[2u * g + 1u]); }

fn keep_partial(g: u32, state: S) {
    states[2u * g] = bitcast<u32>(state.value);
    states[2u * g + 1u] = state.heads;
}
