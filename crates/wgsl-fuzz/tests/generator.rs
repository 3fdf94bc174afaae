//! Properties of the generated programs, which need no device.

use fencepost_wgsl_fuzz::{Case, Options};

const SEEDS: u64 = 2_000;

#[test]
fn each_seed_makes_a_valid_program() {
    for seed in 0..SEEDS {
        if let Some(fault) = Case::new(seed, Options::default()).fault() {
            panic!("seed {seed}: {fault}");
        }
    }
}

#[test]
fn a_seed_makes_the_same_program_again() {
    for seed in 0..50 {
        let text = |()| Case::new(seed, Options::default()).program().text;
        let [one, other] = [(); 2].map(text);
        assert_eq!(one, other);
    }
}
