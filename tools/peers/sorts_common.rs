const LENGTH: u32 = 1 << 20;
const ROUNDS: usize = 15;

fn pairs() -> (Vec<u32>, Vec<u32>) {
    ((0..LENGTH).map(|at| at.wrapping_mul(0x9e37_79b1)).collect(), (0..LENGTH).collect())
}

fn sorted(keys: &[u32], values: &[u32]) -> bool {
    let (given, _) = pairs();
    let of_key = |(key, value): (&u32, &u32)| given.get(*value as usize) == Some(key);
    keys.len() == given.len() && keys.is_sorted() && keys.iter().zip(values).all(of_key)
}

fn median(mut times: Vec<std::time::Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1e6
}
