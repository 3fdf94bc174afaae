//! Campaigns on engines that need no device.

use std::fs;
use std::path::Path;

use fencepost_wgsl_fuzz::{Answer, Campaign, Engine, Found, Options, Program};

/// An engine with answers from a function.
struct Fake(&'static str, fn(&Program, Answer) -> Answer);

impl Engine for Fake {
    fn name(&self) -> &str {
        self.0
    }

    fn run(&self, program: &Program) -> Answer {
        let written = program.buffers.iter().filter(|buffer| buffer.is_written);
        let outputs = written.map(|buffer| buffer.words.clone()).collect();
        (self.1)(program, Answer::Results(outputs))
    }
}

fn run(seeds: u64, second: Fake) -> (Campaign, Vec<Found>) {
    let engines: Vec<Box<dyn Engine>> = vec![Box::new(Fake("first", |_, answer| answer)), Box::new(second)];
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("campaign");
    let mut campaign = Campaign::new(engines, Options::default(), &folder);
    campaign.tries = 200;
    let mut all = Vec::new();
    let ran = campaign.run_all(0..seeds, None, |found| {
        all.extend(found);
        all.is_empty()
    });
    assert!(ran.expect("the folder can be written") <= seeds);
    (campaign, all)
}

#[test]
fn a_wrong_result_is_reduced_and_stored() {
    let (_, found) = run(
        200,
        Fake("wrong", |program, answer| match answer {
            Answer::Results(mut outputs) if program.text.contains("reverseBits") => {
                outputs[0][0] ^= 1;
                Answer::Results(outputs)
            }
            answer => answer,
        }),
    );
    let [found] = &found[..] else { panic!("one program reverses bits: {found:?}") };
    assert_eq!(found.difference.engines, ["first", "wrong"]);
    let text = fs::read_to_string(&found.file).expect("the program is stored");
    assert!(text.contains("reverseBits") && text.contains(&found.difference.values[1]), "{text}");
    let code = text.lines().filter(|line| !line.starts_with("//")).count();
    assert!(code < 40, "{code} lines of code\n{text}");
}

#[test]
fn a_panic_is_a_difference_and_a_refusal_is_none() {
    let (_, found) = run(1, Fake("panics", |_, _| panic!("no such thing")));
    assert_eq!(found[0].difference.values, ["it has results", "panic: no such thing"]);
    let (campaign, found) = run(5, Fake("refuses", |_, _| Answer::Refused("barriers".into())));
    assert!(found.is_empty());
    assert_eq!((campaign.report.ran("first"), campaign.report.refused("refuses", "barriers")), (5, 5));
}
