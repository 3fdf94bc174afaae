//! Runs a few programs on the adapters of this machine.
#![cfg(feature = "adapters")]

use std::path::Path;

use fencepost_wgsl_fuzz::{Campaign, Options, direct_engines, engines};

#[test]
fn all_adapters_give_the_same_results() {
    let none = std::env::var("FENCEPOST_TEST_ADAPTERS").is_ok_and(|adapters| adapters == "none");
    let Ok(engines) = engines(&[]) else { return };
    if none {
        return;
    }
    let engines = direct_engines().into_iter().chain(engines).collect();
    let mut campaign = Campaign::new(engines, Options::default(), Path::new(env!("CARGO_TARGET_TMPDIR")));
    campaign.tries = 0;
    let mut differences = Vec::new();
    let ran = campaign.run_all(0..8, None, |found| {
        differences.extend(found);
        true
    });
    assert_eq!(ran.expect("the folder can be written"), 8);
    assert!(differences.is_empty(), "{differences:?}");
}
