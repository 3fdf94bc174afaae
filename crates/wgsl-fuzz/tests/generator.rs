//! Properties of the generated programs, which need no device.

use std::ops::Range;

use fencepost_wgsl_fuzz::{Case, Features, Options};

fn all_are_valid(seeds: Range<u64>, options: Options) {
    for seed in seeds {
        if let Some(fault) = Case::new(seed, options).fault() {
            panic!("seed {seed}: {fault}");
        }
    }
}

// Each of two parallel tests takes half of the seeds.

#[test]
fn each_seed_makes_a_valid_program() {
    all_are_valid(0..500, Options::default());
}

#[test]
fn each_option_makes_valid_programs() {
    all_are_valid(500..1000, Options { known_zeros: true, uniform_indices: true, ..Options::default() });
}

#[test]
fn programs_that_are_not_portable_are_valid_too() {
    all_are_valid(1000..1500, Options { is_portable: false, ..Options::default() });
}

#[test]
fn each_part_of_the_language_is_in_enough_programs() {
    const PARTS: [&str; 25] = [
        "workgroup that is a multiple of 16 wide",
        "private variables",
        "workgroup memory",
        "barrier in a loop",
        "barrier in a branch",
        "workgroup atomic",
        "shared atomic",
        "loop in a loop",
        "loop whose end depends on data",
        "break",
        "continue",
        "switch",
        "switch in a loop",
        "early return",
        "return in a loop",
        "early return of a function",
        "function with branches",
        "matrix",
        "index that nothing limits",
        "store at an index from data",
        "pack or unpack",
        "call with a pointer",
        "integers of 64 bits",
        "floats of 64 bits",
        "numbers of 16 bits",
    ];
    const RARE: [&str; 8] = [
        "operation of a subgroup",
        "operation of a quad",
        "scan of a subgroup",
        "atomic float of the invocation",
        "shared atomic float",
        "switch with barriers",
        "return in a loop with barriers",
        "return of a function in a loop with barriers",
    ];
    let mut features = Features::default();
    for seed in 0..1000 {
        features.count(&Case::new(seed, Options { is_portable: false, ..Options::default() }));
    }
    for part in PARTS {
        assert!(features.share(part) > 0.03, "{part}\n{features}");
    }
    for part in RARE {
        assert!(features.share(part) > 0.005, "{part}\n{features}");
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

#[test]
fn the_programs_use_each_part_of_the_language() {
    const PARTS: [&str; 69] = [
        "<<",
        ">>",
        "%",
        "/=",
        "&&",
        "||",
        "!=",
        "switch ",
        "default {",
        "for (",
        "while ",
        "loop {",
        "continuing {",
        "break if",
        "break;",
        "continue;",
        "return;",
        "if (",
        "} else {",
        "workgroupBarrier",
        "workgroupUniformLoad",
        "atomicAdd",
        "atomicSub",
        "atomicMax",
        "atomicMin",
        "atomicAnd",
        "atomicOr",
        "atomicXor",
        "atomicExchange",
        "atomicCompareExchangeWeak",
        "ptr<function",
        "= &",
        "select(",
        "all(",
        "any(",
        "dot(",
        "extractBits",
        "insertBits",
        "countOneBits",
        "reverseBits",
        "firstLeadingBit",
        "firstTrailingBit",
        "countLeadingZeros",
        "pack4x8snorm",
        "unpack4x8unorm",
        "pack4xI8",
        "dot4U8Packed",
        "pack2x16float",
        "unpack2x16float(",
        "bitcast<",
        "transpose",
        "cross(",
        "fma(",
        "mix(",
        "mat4x3<f32>",
        "array<",
        "Inner(",
        "modf(",
        "quantizeToF16",
        "sin(",
        "frexp(",
        "determinant(",
        "unpack2x16snorm",
        "pack2x16unorm",
        "sqrt(",
        "i64(",
        "u64(",
        "f64(",
        "f16(",
    ];
    let texts: Vec<String> =
        (0..400).map(|seed| Case::new(seed, Options::default()).program().text).collect();
    for part in PARTS {
        assert!(texts.iter().any(|text| text.contains(part)), "no program has `{part}`");
    }
}
