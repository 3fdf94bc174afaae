// beside: an element of an image, or the element in its place beside the image
//
// Shape      first: the place in x of the first element of a channel; y, column: a row and a column, counted from pad_y rows and
//            pad_x columns before the image; the shader around it has the array `x`, the type T, the override BOUNDARY and the
//            params of filter_direct
// Dispatch   any
// Barriers   none
// Tolerance  exact

// Returns the index below n in the place of index i - pad. The sum i + lift is this index and a multiple of the period.
fn index_beside(i: u32, n: u32, pad: u32, lift: u32, period: u32) -> u32 {
    if BOUNDARY < 2u { return min(max(i, pad) - pad, n - 1u); }
    let place = (i + lift) % period;
    if BOUNDARY == 2u { return min(place, period - 1u - place); }
    if BOUNDARY == 3u { return min(place, period - place); }
    return place;
}

fn element_beside(first: u32, y: u32, column: u32) -> T {
    let is_outside = y - params.pad_y >= params.height || column - params.pad_x >= params.width;
    if BOUNDARY == 0u && is_outside { return params.constant; }
    let row = index_beside(y, params.height, params.pad_y, params.lift_y, params.period_y);
    let at = index_beside(column, params.width, params.pad_x, params.lift_x, params.period_x);
    return x[first + (row * params.width + at) * params.channels];
}
