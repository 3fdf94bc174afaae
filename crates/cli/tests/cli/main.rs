//! Runs the command as a process, on every adapter that the tests run on.
//!
//! `FENCEPOST_TEST_ADAPTERS` is `first-per-backend`, which is the default, `all`, `cpu` or `none`. With the first two, a
//! machine without a driver fails.

mod adapters;
mod bench;
mod doctor;
mod files;
mod help;
mod info;
mod pipe;
mod program;
mod run;
mod run_check;
mod run_data;
mod run_errors;
mod run_files;
mod run_results;
mod shader_list;
mod shaders;
mod tune;
mod usage;

use anyhow::{Result, ensure};
use libtest_mimic::{Arguments, Completion, Failed, Trial};

use adapters::Chosen;

// A case that runs once, or a case that runs on each adapter and gets its number.
pub(crate) type Once = (&'static str, fn() -> Result<()>);
pub(crate) type Each = (&'static str, fn(usize) -> Result<()>);

const ONCE: [&[Once]; 5] = [&help::ONCE, &usage::ONCE, &pipe::ONCE, &shader_list::ONCE, &tune::ONCE];
const ONCE_WITH_ADAPTER: [&[Once]; 3] = [&info::ONCE, &doctor::ONCE, &run_check::ONCE];
const EACH: [&[Each]; 8] = [
    &run::EACH,
    &run_check::EACH,
    &run_data::EACH,
    &run_results::EACH,
    &run_files::EACH,
    &run_errors::EACH,
    &bench::EACH,
    &tune::EACH,
];

fn main() {
    let Chosen { adapters, wants_adapters, wants_driver, has_driver } = adapters::chosen();
    let mut trials: Vec<Trial> =
        ONCE.into_iter().flatten().map(|&(name, case)| trial(name.into(), case)).collect();
    for &(name, case) in ONCE_WITH_ADAPTER.into_iter().flatten() {
        trials.push(if wants_adapters { trial(name.into(), case) } else { left_out(name) });
    }
    for &(name, case) in EACH.into_iter().flatten() {
        if !wants_adapters {
            trials.push(left_out(name));
        }
        for (index, place) in &adapters {
            let index = *index;
            trials.push(trial(format!("{name}::{place}"), move || case(index)));
        }
    }
    if wants_driver {
        trials.push(trial("the_machine_has_an_adapter_with_a_driver".into(), move || {
            ensure!(has_driver, "install a driver, or set FENCEPOST_TEST_ADAPTERS=cpu");
            Ok(())
        }));
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn trial(name: String, case: impl FnOnce() -> Result<()> + Send + 'static) -> Trial {
    Trial::test(name, move || case().map_err(|error| Failed::from(format!("{error:#}"))))
}

fn left_out(name: &str) -> Trial {
    let ignored = || Ok(Completion::ignored_with("FENCEPOST_TEST_ADAPTERS is `none`"));
    Trial::ignorable_test(format!("{name}::no_adapter"), ignored)
}
