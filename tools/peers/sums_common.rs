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
