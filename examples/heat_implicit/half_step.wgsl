// Half a time step of the heat equation: implicit along the columns, explicit along the rows. Dispatch: an invocation
// for each column. Neighbouring invocations read and write neighbouring elements.
//
// The change d of a column solves a tridiagonal system (Thomas algorithm), with d = 0 outside the plate:
//   d[i] - rate * (d[i - 1] - 2 d[i] + d[i + 1]) = rate * bend[i], rate = time step / (2 * width of a cell^2)

@group(0) @binding(0) var<storage, read> u: array<f32>; // temperatures; 0 outside the plate
@group(0) @binding(1) var<storage, read> factors: array<f32>; // rate / pivot of each row
@group(0) @binding(2) var<storage, read_write> next: array<f32>; // temperatures after the half step

@compute @workgroup_size(64)
fn half_step(@builtin(global_invocation_id) id: vec3<u32>) {
    let side = arrayLength(&factors);
    let column = id.x;
    if column >= side { return; }
    var d = 0.0;
    var above = 0.0;
    var here = u[column];
    for (var row = 0u; row < side; row++) {
        let at = row * side + column;
        var below = 0.0;
        var left = 0.0;
        var right = 0.0;
        if row + 1u < side { below = u[at + side]; }
        if column > 0u { left = u[at - 1u]; }
        if column + 1u < side { right = u[at + 1u]; }
        // A sum of differences loses fewer bits than a difference of sums.
        let bend = ((left - here) + (right - here)) + ((above - here) + (below - here));
        d = factors[row] * (bend + d);
        next[at] = d;
        above = here;
        here = below;
    }
    d = 0.0;
    for (var row = side; row > 0u; row--) {
        let at = (row - 1u) * side + column;
        d = next[at] + factors[row - 1u] * d;
        next[at] = u[at] + d;
    }
}
