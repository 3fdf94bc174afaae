//! The sources of the waves: drops that fall at fixed frames, and the mouse.

use std::ops::Range;

/// Steps of the simulation in a frame. The number is even, so each frame starts with the same arrays.
pub(crate) const STEPS_A_FRAME: u32 = 8;
/// Frames in which a drop moves the water. Their steps are one period of the source.
const FRAMES_A_DROP: u32 = 5;
/// Frames from one drop to the next.
const FRAMES_BETWEEN: u32 = 15;
/// Place so far from the water that a source there moves nothing.
const OUTSIDE: [f32; 2] = [-1000.0; 2];
/// Their multiples, without the whole parts, are spread evenly over a square (Roberts, "The unreasonable effectiveness
/// of quasirandom sequences", 2018).
const RATIOS: [f64; 2] = [0.754_877_666_246_692_7, 0.569_840_290_998_053_2];

const _: () = assert!(STEPS_A_FRAME.is_multiple_of(2) && FRAMES_BETWEEN.is_multiple_of(FRAMES_A_DROP));

/// Returns the numbers of the steps of a frame, in the period of the source.
pub(crate) fn steps(frame: u32) -> Range<u32> {
    let first = frame % FRAMES_A_DROP * STEPS_A_FRAME;
    first..first + STEPS_A_FRAME
}

/// Returns the place of the drop of a frame, in cells. It is outside of the water in frames without a drop.
pub(crate) fn drop_at(frame: u32, cells: [u32; 2]) -> [f32; 2] {
    if frame % FRAMES_BETWEEN >= FRAMES_A_DROP {
        return OUTSIDE;
    }
    let number = f64::from(frame / FRAMES_BETWEEN + 1);
    let along = |axis: usize| 0.1 + 0.8 * (number * RATIOS[axis]).fract();
    [0, 1].map(|axis| (along(axis) * f64::from(cells[axis])) as f32)
}

/// Returns the place in the water under a position in a window of `view` pixels.
pub(crate) fn under(position: [f64; 2], view: [u32; 2], cells: [u32; 2]) -> [f32; 2] {
    [0, 1].map(|axis| (position[axis] * f64::from(cells[axis]) / f64::from(view[axis])) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drop_falls_into_the_water_and_stays_for_one_period() {
        let cells = [100, 50];
        let places: Vec<_> = (0..30).map(|frame| drop_at(frame, cells)).collect();
        for drop in [0, 15] {
            let [x, y] = places[drop];
            assert!((10.0..90.0).contains(&x) && (5.0..45.0).contains(&y), "{x} {y}");
            assert!(places[drop..drop + 5].iter().all(|place| *place == [x, y]));
            assert!(places[drop + 5..drop + 15].iter().all(|place| *place == OUTSIDE));
        }
        assert_ne!(places[0], places[15]);
        let numbers: Vec<u32> = (15..20).flat_map(steps).collect();
        assert_eq!(numbers, (0..40).collect::<Vec<_>>());
    }

    #[test]
    fn the_place_under_the_mouse_follows_the_size_of_the_window() {
        assert_eq!(under([256.0, 192.0], [512, 384], [128, 96]), [64.0, 48.0]);
        assert_eq!(under([256.0, 192.0], [256, 384], [128, 96]), [128.0, 48.0]);
        assert_eq!(under([0.0, 1.0], [3, 2], [300, 100]), [0.0, 50.0]);
    }
}
