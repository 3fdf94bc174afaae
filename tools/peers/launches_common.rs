fn median(times: &mut [Duration]) -> String {
    times.sort();
    format!("{:.4}", times[times.len() / 2].as_secs_f64() * 1e6 / f64::from(LAUNCHES))
}
