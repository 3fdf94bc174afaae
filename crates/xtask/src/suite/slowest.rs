//! The tests of a run that took longest.

use std::path::Path;

use serde::Deserialize;

/// A line that a test writes: `tests/common/results.rs`.
#[derive(Deserialize)]
struct Noted {
    test: String,
    adapter: String,
    seconds: f64,
}

/// One line for each of the `count` slowest tests, the slowest last; nothing if no test has noted its time.
pub(crate) fn slowest(results: &Path, count: usize) -> String {
    table(&std::fs::read_to_string(results).unwrap_or_default(), count)
}

fn table(lines: &str, count: usize) -> String {
    let mut noted: Vec<Noted> = lines.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
    noted.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let last = noted.split_off(noted.len().saturating_sub(count));
    last.iter().map(|n| format!("{:8.1} s  {}::{}\n", n.seconds, n.test, n.adapter)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slowest_tests_come_last_and_no_more_than_asked_for() {
        let lines = r#"{"test":"slow","adapter":"gl","backend":"gl","result":"pass","reason":null,"seconds":9.25}
{"test":"fast","adapter":"gl","backend":"gl","result":"pass","reason":null,"seconds":0.01}
{"test":"slower","adapter":"cpu_1","backend":"host","result":"fail","reason":null,"seconds":11.0}
"#;
        assert_eq!(table(lines, 2), "     9.2 s  slow::gl\n    11.0 s  slower::cpu_1\n");
        assert_eq!(table("", 2), "");
    }
}
