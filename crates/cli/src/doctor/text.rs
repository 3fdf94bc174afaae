//! The results of `doctor` as lines.

use super::{Adapter, Line, Report, Status};
use crate::table::Columns;

/// Returns the whole report.
pub(super) fn text(report: &Report) -> String {
    let mut text = lines(&report.machine);
    for adapter in &report.adapters {
        text += &format!("\nadapter {}: {}\n{}", adapter.index, adapter.name, lines(&adapter.checks));
    }
    let count = |of: fn(&&Adapter) -> bool| report.adapters.iter().filter(of).count();
    let works = count(|adapter| adapter.works);
    let all = count(|_| true);
    text + &format!("\n{works} of {all} adapters {}\n", if works == 1 { "works" } else { "work" })
}

fn lines(lines: &[Line]) -> String {
    let mut table = Columns::new();
    for line in lines {
        table.row([word(line.status), &line.check, &line.detail]);
        if let Some(remedy) = &line.remedy {
            table.row(["", "remedy", remedy]);
        }
    }
    if lines.is_empty() { String::new() } else { table.text() }
}

fn word(status: Status) -> &'static str {
    match status {
        Status::Ok => "ok",
        Status::Failed => "failed",
        Status::NotSupported => "not supported",
        Status::Warning => "warning",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_followed_by_its_remedy() {
        let checks =
            vec![Line::ok("open", "recorder hal"), Line::failed("map", "it broke", Some("mend it".into()))];
        let adapter = Adapter { index: 0, name: "G (GL)".into(), works: false, checks };
        let found = text(&Report { works: false, machine: vec![], adapters: vec![adapter] });
        let expected = "\nadapter 0: G (GL)\nok      open    recorder hal\nfailed  map     it broke\n        \
            remedy  mend it\n\n0 of 1 adapters work\n";
        assert_eq!(found, expected);
    }
}
