//! The slowest tests of a run.

use serde::Deserialize;

/// A line that a test writes: `tests/common/results.rs`.
#[derive(Deserialize)]
struct Noted {
    test: String,
    adapter: String,
    seconds: f64,
}

/// Writes one line for each of the `count` slowest tests, the slowest last. `modes` has the results of each mode.
pub(super) fn table(modes: impl Iterator<Item = (&'static str, String)>, count: usize) -> String {
    let of_mode = |(mode, lines): (&'static str, String)| {
        let noted = lines.lines().filter_map(|line| serde_json::from_str::<Noted>(line).ok());
        noted.map(|noted| (mode, noted)).collect::<Vec<_>>()
    };
    let mut noted: Vec<_> = modes.flat_map(of_mode).collect();
    noted.sort_by(|(_, a), (_, b)| a.seconds.total_cmp(&b.seconds));
    let last = noted.split_off(noted.len().saturating_sub(count));
    let line = |(mode, n): &(&str, Noted)| format!("{:8.1} s  {}::{} {mode}\n", n.seconds, n.test, n.adapter);
    last.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_the_requested_number_of_slowest_tests_last() {
        let default = r#"{"test":"slow","adapter":"gl","backend":"gl","result":"pass","reason":null,"seconds":9.25}
{"test":"fast","adapter":"gl","backend":"gl","result":"pass","reason":null,"seconds":0.01}
"#;
        let hal =
            r#"{"test":"slower","adapter":"gl","backend":"gl","result":"fail","reason":null,"seconds":11.0}"#;
        let modes = [("default", default.to_owned()), ("hal", hal.to_owned())];
        let expected = "     9.2 s  slow::gl default\n    11.0 s  slower::gl hal\n";
        assert_eq!(table(modes.into_iter(), 2), expected);
        assert_eq!(table(std::iter::empty(), 2), "");
    }
}
