//! A proof as a page.

use std::fmt::Write;

use super::Proof;
use super::adapters::Adapter;
use super::rounds::{Measured, Round};
use crate::tally::{Failure, Row};

/// Writes the page of a proof.
pub(super) fn page(proof: &Proof) -> String {
    let mut text = format!("# {}\n\n", title(proof));
    text += "Written by `cargo xtask prove`. A *place* is an adapter, the CPU itself (`threads`), or the simulator. A \
        *mode* is a\nrecorder, or a kind of memory ([testing](../testing.md#adapters)).\n\n";
    text += &facts(proof);
    text += &adapters(&proof.adapters);
    text += &tests(proof);
    text += &failures(&proof.failures().collect::<Vec<_>>());
    text += &rounds(proof);
    text
}

/// Returns the name of the first adapter with a driver, else of the first one.
pub(super) fn title(proof: &Proof) -> String {
    let card = proof.adapters.iter().find(|adapter| adapter.has_driver());
    card.or(proof.adapters.first()).map_or("no adapter".to_owned(), |adapter| adapter.name.clone())
}

fn facts(proof: &Proof) -> String {
    let machine = &proof.machine;
    let [passed, failed, not_possible] = proof.tally.totals();
    let facts = [
        ("Date", machine.date.clone()),
        ("Commit", machine.commit.clone()),
        ("System", machine.system.clone()),
        ("Processor", machine.processor.clone()),
        ("Rust", machine.rust.clone()),
        ("Modes", proof.modes.join(", ")),
        ("Tests", format!("{passed} passed, {failed} failed, {not_possible} not possible")),
        ("Failures", proof.failures().count().to_string()),
    ];
    let lines = facts.map(|(name, value)| vec![name.to_owned(), value]);
    table(&["", ""], &lines) + "\n"
}

fn adapters(adapters: &[Adapter]) -> String {
    let line = |adapter: &Adapter| {
        let Adapter { name, backend, kind, driver, recorder, works } = adapter;
        let recorder = recorder.as_deref().unwrap_or("does not open");
        let works = if *works { "works" } else { "failed" };
        [name.as_str(), backend, kind, driver, recorder, works].map(str::to_owned).to_vec()
    };
    let lines: Vec<_> = adapters.iter().map(line).collect();
    let head = ["Adapter", "API", "Kind", "Driver", "Default recorder", "`fencepost doctor`"];
    format!("## Adapters\n\n{}\n", table(&head, &lines))
}

fn tests(proof: &Proof) -> String {
    let line = |row: &Row| {
        let counts = [row.passed, row.failed, row.not_possible].map(|count| count.to_string());
        [row.name.clone(), row.mode.clone()].into_iter().chain(counts).collect::<Vec<_>>()
    };
    let lines = |rows: &[Row]| rows.iter().map(line).collect::<Vec<_>>();
    let head = |first| [first, "Mode", "Passed", "Failed", "Not possible"];
    let mut text = format!("## Tests\n\n{}\n", table(&head("Place"), &lines(&proof.tally.places)));
    if !proof.tally.programs.is_empty() {
        text += &format!("{}\n", table(&head("Other tests"), &lines(&proof.tally.programs)));
    }
    if !proof.tally.reasons.is_empty() {
        let line = |reason: &crate::tally::Reason| vec![reason.tests.to_string(), reason.reason.clone()];
        let lines: Vec<_> = proof.tally.reasons.iter().map(line).collect();
        text += &format!("{}\n", table(&["Tests", "Not possible, because"], &lines));
    }
    text
}

fn failures(failures: &[&Failure]) -> String {
    let mut text = String::from("## Failures\n\n");
    if failures.is_empty() {
        text += "None.\n\n";
    }
    for Failure { test, mode, message } in failures {
        let message = message.replace("```", "'''");
        let _ = write!(text, "### `{test}`, {mode}\n\n```text\n{message}\n```\n\n");
    }
    text
}

fn rounds(proof: &Proof) -> String {
    let mut text = String::from("## Benchmarks\n\n");
    match proof.rounds.rounds.is_empty() {
        true => text += "Not measured.\n\n",
        false => {
            text += "A quick round: it shows that all works, and says little about speed. x is the ratio to the \
                yardstick of the row.\n\n";
        }
    }
    for Round { title, rows } in &proof.rounds.rounds {
        let lines: Vec<_> = rows.iter().map(cells).collect();
        let head = ["Row", "By", "Queues", "Host, us", "x", "Done, us", "x"];
        let _ = write!(text, "### {title}\n\n{}\n", table(&head, &lines));
    }
    for left_out in &proof.rounds.left_out {
        let _ = write!(text, "Not possible: {left_out}.\n\n");
    }
    text.trim_end().to_owned() + "\n"
}

fn cells(measured: &Measured) -> Vec<String> {
    let Measured { row, by, queues, host, host_ratio, done, done_ratio } = measured;
    let number = |value: &Option<f64>| value.map(|value| format!("{value:.2}")).unwrap_or_default();
    let queues = queues.map(|queues| queues.to_string()).unwrap_or_default();
    vec![row.clone(), by.clone(), queues, number(host), number(host_ratio), number(done), number(done_ratio)]
}

/// Writes a table. A cell is one line, and a bar in it does not end it.
fn table(head: &[&str], lines: &[Vec<String>]) -> String {
    let cell = |text: &str| text.replace('|', "\\|").replace(['\r', '\n'], " ");
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(head.iter().map(|head| (*head).to_owned()).collect());
    text += &format!("|{}\n", "---|".repeat(head.len()));
    text.extend(lines.iter().map(|cells| line(cells.iter().map(|text| cell(text)).collect())));
    text
}

#[cfg(test)]
mod tests {
    use super::super::tests::crafted;
    use super::*;

    #[test]
    fn the_page_has_every_fact_count_failure_and_ratio() {
        let page = page(&crafted());
        for part in [
            "# A card | 7\n",
            "| Date | 2026-11-30 |\n",
            "| Commit | 0123456789ab |\n",
            "| System | A system 1, arm |\n",
            "| Tests | 4 passed, 2 failed, 1 not possible |\n",
            "| Failures | 3 |\n",
            "| A card \\| 7 | Metal | discrete | driver 1.2 | wgpu | works |\n",
            "| gl | default | 1 | 2 | 1 |\n",
            "| simulator | default | 1 | 0 | 0 |\n",
            "| cli | default | 2 | 0 | 0 |\n",
            "| 1 | no clock |\n",
            "### `q01_a::gl`, default\n\n```text\nleft: 1\nright: 2\n```\n",
            "### `fencepost doctor: map`, default\n\n```text\nit broke\n```\n",
            "| launch chain 1 | fencepost | 2 | 1.50 | 0.50 |  |  |\n",
            "| sum | cpu device |  |  |  | 20.00 | 1.25 |\n",
        ] {
            assert!(page.contains(part), "`{part}` is missing in:\n{page}");
        }
    }

    #[test]
    fn a_proof_without_failures_and_benchmarks_says_so() {
        let page = page(&Proof {
            tally: crate::tally::Tally::default(),
            checks: Vec::new(),
            rounds: super::super::rounds::Rounds::default(),
            ..crafted()
        });
        assert!(page.contains("## Failures\n\nNone.\n") && page.ends_with("Not measured.\n"), "{page}");
    }

    #[test]
    fn a_message_cannot_end_its_block() {
        let failure =
            Failure { test: "a".to_owned(), mode: "hal".to_owned(), message: "```\n# b".to_owned() };
        assert_eq!(failures(&[&failure]).matches("```").count(), 2);
    }
}
