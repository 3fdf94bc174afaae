//! Runs programs on the engines of the CPU, which need no adapter.

use std::path::Path;

use fencepost_wgsl_fuzz::{Campaign, Options, direct_engines};

#[test]
fn machine_code_of_each_width_computes_what_the_interpreter_does() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("direct");
    let mut campaign = Campaign::new(direct_engines(), Options::default(), &folder);
    campaign.portable_every = None;
    campaign.tries = 0;
    let mut differences = Vec::new();
    let ran = campaign.run_all(0..200, None, |found| {
        differences.extend(found);
        true
    });
    assert_eq!(ran.expect("the folder can be written"), 200);
    assert!(differences.is_empty(), "{differences:?}");
    // A width that refused all programs would prove nothing.
    for (engine, least) in [("interpreter", 200), ("code of 1", 120), ("code of 4", 20), ("code of 16", 10)] {
        assert!(campaign.report.ran(engine) >= least, "{engine}\n{}", campaign.report);
    }
}
