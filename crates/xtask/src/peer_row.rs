//! The table of programs that print one time each.

use serde::Serialize;

use crate::peer_program::PeerProgram;

/// Median of one program; NaN if the device's result is wrong.
#[derive(Serialize)]
pub(crate) struct PeerRow {
    program: &'static str,
    us: f64,
}

/// Returns the medians of the processes of each program.
pub(crate) fn rows(programs: &[PeerProgram], samples: &[Vec<[f64; 1]>]) -> Vec<PeerRow> {
    let median = |samples: &[[f64; 1]]| {
        let mut sorted = samples.as_flattened().to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted[sorted.len() / 2]
    };
    let of_program = |(program, samples): (&PeerProgram, &Vec<[f64; 1]>)| PeerRow {
        program: program.name,
        us: median(samples),
    };
    programs.iter().zip(samples).map(of_program).collect()
}

/// Returns the table. `head` describes the times.
pub(crate) fn table(head: &str, rows: &[PeerRow]) -> String {
    let head = format!("| program | {head} |\n|---|---|");
    let rows = rows.iter().map(|PeerRow { program, us }| {
        if us.is_nan() {
            format!("| {program} | no right result |")
        } else {
            format!("| {program} | {us:.0} |")
        }
    });
    [head].into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_program_has_the_median_of_its_processes() {
        let samples = [vec![[3.0], [1.0], [2.0]], vec![[f64::NAN]]];
        let rows = rows(&crate::peer_sums::PROGRAMS, &samples);
        assert!(
            table("µs", &rows).ends_with("| fencepost sums | 2 |\n| cubek-reduce sums | no right result |")
        );
    }
}
