//! D04, except for the browser: every adapter gives the same results, integers exactly and floats within the tolerance
//! that the kernel states.

use crate::common::kernels::{Mix, Saxpy};
use crate::common::{Case, Subject, case};
use fencepost::RecorderChoice;
use fencepost::prelude::*;

pub fn cases() -> Vec<Case> {
    vec![
        case("d04_saxpy_is_within_two_ulp_of_the_reference", floats),
        case("d04_integers_are_exact", integers),
        case("d04_every_way_of_opening_an_adapter_gives_the_same_bits", ways),
    ]
}

const N: usize = 10_007;

/// Returns a random number of any magnitude. It is positive, so that sums do not cancel.
fn positive(rng: &mut fastrand::Rng) -> f32 {
    (1.0 + rng.f32()) * 2.0_f32.powi(rng.i32(-20..20))
}

fn floats(s: &Subject) {
    let ctx = s.ctx();
    let queue = ctx.queue("q");
    let mut rng = fastrand::Rng::with_seed(4);
    let (x, y): (Vec<f32>, Vec<f32>) = (0..N).map(|_| (positive(&mut rng), positive(&mut rng))).unzip();
    let a = positive(&mut rng);
    let (dx, mut dy) = (ctx.array(&x).unwrap(), ctx.array(&y).unwrap());
    let saxpy = ctx.kernel::<Saxpy<f32>>().unwrap();
    queue.launch(&saxpy, Grid::threads([N]), Saxpy { a, x: &dx, y: &mut dy }).unwrap();
    for (i, found) in queue.read(&dy).wait().unwrap().into_iter().enumerate() {
        let expected = a * x[i] + y[i];
        let ulps = found.to_bits().abs_diff(expected.to_bits());
        assert!(ulps <= 2, "element {i}: {found} for {expected}, {ulps} ulp");
    }
}

fn random(seed: u64) -> Vec<u32> {
    let mut rng = fastrand::Rng::with_seed(seed);
    (0..N).map(|_| rng.u32(..)).collect()
}

/// Returns the array after three launches.
fn mixed(ctx: &Context) -> Vec<u32> {
    let queue = ctx.queue("q");
    let (x, mut y) = (ctx.array(&random(1)).unwrap(), ctx.array(&random(2)).unwrap());
    let mix = ctx.kernel::<Mix>().unwrap();
    for (a, b) in [(3, 1), (u32::MAX, 5), (0x8000_0001, 7)] {
        queue.launch(&mix, Grid::threads([N]), Mix { a, b, x: &x, y: &mut y }).unwrap();
    }
    queue.read(&y).wait().unwrap()
}

fn expected() -> Vec<u32> {
    let step = |y: u32, a: u32, x: u32, b: u32| y.wrapping_mul(a).wrapping_add(x).wrapping_add(b);
    let (x, y) = (random(1), random(2));
    let all =
        |(&x, &y)| [(3, 1), (u32::MAX, 5), (0x8000_0001, 7)].iter().fold(y, |y, &(a, b)| step(y, a, x, b));
    x.iter().zip(&y).map(all).collect()
}

fn integers(s: &Subject) {
    assert_eq!(mixed(&s.ctx()), expected());
}

fn ways(s: &Subject) {
    for (immediates, native) in [(true, true), (false, true), (true, false), (false, false)] {
        for recorder in [RecorderChoice::Wgpu, RecorderChoice::Hal] {
            let ctx = s.options_and_switches(|options, switches| {
                switches.immediates = immediates;
                switches.native = native;
                options.recorder = recorder;
            });
            assert_eq!(mixed(&ctx), expected(), "immediates: {immediates}, native: {native}, {recorder:?}");
        }
    }
}
