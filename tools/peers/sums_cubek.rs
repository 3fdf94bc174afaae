use std::time::Instant;

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
            let input = input.clone().binding();
            let output = output.clone().binding();
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
