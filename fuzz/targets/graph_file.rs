//! The fuzz target of graph files: any bytes give an error, or a graph that can be replayed once.

#![no_main]

use fencepost_fuzz::file::mutate;
use fencepost_fuzz::run::run;
use fencepost_fuzz::seeds;
use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};

// The variable names a folder for the first inputs: the program writes them, and then it fuzzes.
fuzz_target!(
    init: {
        if let Some(folder) = std::env::var_os("FENCEPOST_FUZZ_SEEDS") {
            seeds::write(folder.as_ref());
        }
    },
    |file: &[u8]| run(file)
);

fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
    mutate(data, size, max_size, seed, fuzzer_mutate)
});
