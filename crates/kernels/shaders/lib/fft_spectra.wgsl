// fft_spectra: loads complex elements, or those of spectra of real numbers, of which only the first half is stored
//
// Shape      line, e: an element of a batch; the shader around it has the array `x`, the override MIRRORED and `params`, and
//            uses fft_tile
// Dispatch   any
// Barriers   none
// Tolerance  exact, apart from `entered`

fn load(line: Line, e: u32) -> vec2<f32> {
    if e >= params.have { return vec2(0.0, 0.0); }
    if MIRRORED == 0u {
        return entered(x[(line.batch * params.x_size + e) * params.inner + line.column], e);
    }
    // The element is the conjugate of its opposite. Those that are their own opposites are real.
    let opposite = params.have - e;
    let stored = min(e, opposite);
    var value = x[(line.batch * params.x_size + stored) * params.inner + line.column];
    if e > opposite { value.y = -value.y; }
    if e == 0u || e == opposite { value.y = 0.0; }
    return entered(value, e);
}
