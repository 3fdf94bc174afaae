//! Properties of the generated programs, which need no device.

use std::ops::Range;

use fencepost_wgsl_fuzz::{Case, Options};

fn all_are_valid(seeds: Range<u64>, options: Options) {
    for seed in seeds {
        if let Some(fault) = Case::new(seed, options).fault() {
            panic!("seed {seed}: {fault}");
        }
    }
}

// Two tests run side by side.

#[test]
fn each_seed_makes_a_valid_program() {
    all_are_valid(0..500, Options::default());
}

#[test]
fn each_option_makes_valid_programs() {
    all_are_valid(500..1000, Options { wide_shifts: true, known_zeros: true });
}

#[test]
fn a_seed_makes_the_same_program_again() {
    for seed in 0..50 {
        let text = |()| Case::new(seed, Options::default()).program().text;
        let [one, other] = [(); 2].map(text);
        assert_eq!(one, other);
    }
}
