//! The programs of `cargo xtask peers --sums`: each sums the rows of a matrix, and prints the median time until the sums are
//! read, in microseconds.

use crate::peer_program::PeerProgram;

pub(crate) const PROGRAMS: [PeerProgram; 2] = [
    PeerProgram {
        name: "fencepost sums",
        dependencies: r#"fencepost = { path = "{root}/crates/fencepost" }"#,
        main: &[FENCEPOST, MATRIX],
    },
    PeerProgram {
        name: "cubek-reduce sums",
        dependencies: r#"cubek-reduce = { version = "=0.4.0-pre.1", default-features = false, features = ["std"] }
cubecl = { version = "=0.12.0-pre.1", default-features = false, features = ["std", "wgpu"] }
bytemuck = "1""#,
        main: &[CUBEK, MATRIX],
    },
];

pub(crate) const HEAD: &str = "µs for the sums of 256 rows of 16,384";

const FENCEPOST: &str = r#"use std::time::Instant;

use fencepost::algorithms::{Algorithms, Operation};
use fencepost::prelude::*;

fn main() -> Result<()> {
    let ctx = Context::new().wait()?;
    let queue = ctx.queue("main");
    let x = ctx.array(&matrix())?.reshape([ROWS, COLUMNS])?;
    let mut sums = ctx.zeros::<f32, 2>([ROWS, 1])?;
    let mut run = || -> Result<Vec<f32>> {
        queue.reduce(x.axis(1), Operation::Sum, &mut sums)?;
        queue.read(&sums).wait()
    };
    check(&run()?);
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let start = Instant::now();
        run()?;
        times.push(start.elapsed());
    }
    println!("{}", median(times));
    Ok(())
}
"#;

/// Program on cubek, with the fastest strategy that the device supports.
const CUBEK: &str = r#"use std::time::Instant;

use cubecl::config::autotune::AutotuneLevel;
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use cubek_reduce::components::instructions::ReduceOperationConfig;
use cubek_reduce::launch::{RoutineStrategy, VectorizationStrategy};
use cubek_reduce::routines::BlueprintStrategy;
use cubek_reduce::routines::{cube::CubeStrategy, plane::PlaneStrategy, unit::UnitStrategy};
use cubek_reduce::{ReduceDtypes, ReduceStrategy, reduce};

fn main() {
    let client = cubecl::Device::default().client();
    let element = f32::elem_type_native();
    let handle = client.create_from_slice(bytemuck::cast_slice(&matrix()));
    let input = TensorHandle::new_contiguous([ROWS, COLUMNS], handle, element);
    let output = TensorHandle::empty(&client, [ROWS, 1], element);
    let routines = [
        RoutineStrategy::Unit(BlueprintStrategy::Inferred(UnitStrategy)),
        RoutineStrategy::Plane(BlueprintStrategy::Inferred(PlaneStrategy { independent: true })),
        RoutineStrategy::Cube(BlueprintStrategy::Inferred(CubeStrategy { use_planes: true })),
        RoutineStrategy::Cube(BlueprintStrategy::Inferred(CubeStrategy { use_planes: false })),
    ];
    let mut best = f64::MAX;
    for routine in routines {
        let vectorization = VectorizationStrategy { parallel_output_vectorization: false };
        let strategy = ReduceStrategy { routine, vectorization, autotune_level: AutotuneLevel::Full };
        let dtypes = ReduceDtypes { input: element, output: element, accumulation: element };
        let launch = || {
            let (input, output) = (input.clone().binding(), output.clone().binding());
            reduce(&client, input, output, 1, strategy.clone(), ReduceOperationConfig::Sum, dtypes)
        };
        let read = || bytemuck::cast_slice::<u8, f32>(&client.read_one_unchecked(output.handle.clone())).to_vec();
        if launch().is_err() {
            continue; // the device has no such instructions
        }
        check(&read());
        let mut times = Vec::new();
        for _ in 0..ROUNDS {
            let start = Instant::now();
            launch().expect("it was launched before");
            read();
            times.push(start.elapsed());
        }
        best = best.min(median(times));
    }
    println!("{best}");
}
"#;

/// Common end of both programs: it makes the matrix, checks the sums, and computes the median time.
const MATRIX: &str = r#"
const ROWS: usize = 256;
const COLUMNS: usize = 16_384;
const ROUNDS: usize = 31;

fn matrix() -> Vec<f32> {
    (0..ROWS * COLUMNS).map(|at| (at % 7) as f32).collect()
}

fn check(sums: &[f32]) {
    let expected: Vec<f32> = matrix().chunks(COLUMNS).map(|row| row.iter().sum()).collect();
    assert_eq!(sums, expected, "the sums are whole numbers");
}

fn median(mut times: Vec<std::time::Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e6
}
"#;
