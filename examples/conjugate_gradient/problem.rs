//! Makes the problem, and verifies its solution on the CPU.

/// Heat that flows between two neighbours in the step, for each degree between them.
pub(crate) const RATE: f32 = 25.0;

/// Returns the temperatures before the step: a hot and a cold disc in the square.
pub(crate) fn discs(side: u32) -> Vec<f32> {
    let temperature = |x: u32, y: u32| {
        let inside = |cx: f32, cy: f32| {
            let part = |at: u32| (at as f32 + 0.5) / side as f32;
            (part(x) - cx).hypot(part(y) - cy) < 0.12
        };
        f32::from(inside(0.3, 0.35)) - f32::from(inside(0.65, 0.7))
    };
    (0..side * side).map(|i| temperature(i % side, i / side)).collect()
}

/// Returns |b - A x| / |b| in `f64`. It is 0 degrees outside the square.
pub(crate) fn residual(side: u32, b: &[f32], x: &[f32]) -> f64 {
    let side = side as usize;
    let at = |column: Option<usize>, row: Option<usize>| match (column, row) {
        (Some(column), Some(row)) if column < side && row < side => f64::from(x[row * side + column]),
        _ => 0.0,
    };
    let off = |i: usize| {
        let column = i % side;
        let row = i / side;
        let left = at(column.checked_sub(1), Some(row));
        let right = at(Some(column + 1), Some(row));
        let above = at(Some(column), row.checked_sub(1));
        let below = at(Some(column), Some(row + 1));
        let own = f64::from(x[i]);
        f64::from(b[i]) - own - f64::from(RATE) * (4.0 * own - left - right - above - below)
    };
    let length = |squares: f64| squares.sqrt();
    length((0..b.len()).map(|i| off(i).powi(2)).sum()) / length(b.iter().map(|b| f64::from(*b).powi(2)).sum())
}
