//! `cargo xtask <command>`: set-up and checks, for developers and CI alike.

mod adapters;
mod api;
mod arm;
mod bench;
mod book;
mod built;
mod changed;
mod cli;
mod count;
mod debs;
mod demo;
mod deny;
mod environment;
mod features;
mod foreign;
mod fuzz;
mod fuzz_wgsl;
mod guide;
mod languages;
mod lint;
mod mlp;
mod model;
mod mpi;
mod msrv;
mod mutants;
mod outside;
mod package;
mod packages;
mod page;
mod progress;
mod prove;
mod seeds;
mod semantics;
mod shell;
mod soak;
mod software;
mod sources;
mod steps;
mod storm;
mod suite;
mod tally;
mod targets;
mod test;
mod tint;
mod tool;
mod versions;
mod web;
mod window;
mod windows;
mod workspace;

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;

use crate::cli::{Cli, Command};
use crate::steps::Done;
use crate::workspace::Workspace;

fn main() -> ExitCode {
    match run(Cli::parse().command) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE, // its steps have printed the reason
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Runs one command; returns `false` if the command has reported its own failures.
fn run(command: Command) -> Result<bool> {
    let workspace = Workspace::find()?;
    match command {
        Command::Demo { quick, headless, files } => {
            demo::demo(&workspace, &demo::Options { quick, headless, files })
        }
        Command::Test { adapters, install_tools, full, filter } => {
            let options = test::Options { request: adapters.request(full), install_tools, full, filter };
            return Ok(test::test(&workspace, &options));
        }
        Command::Lint => lint::lint(&workspace),
        Command::Api { write } => api::command(&workspace, write),
        Command::Model { filter } => model::model(&workspace, &filter),
        Command::Semantics { adapters, json, mode, browser, no_model, filter } => {
            let request = adapters.request(false);
            let models = !no_model;
            let options =
                semantics::Options { request, json, modes: mode, browsers: browser, models, filter };
            return semantics::semantics(&workspace, &options);
        }
        Command::Seeds { count, from } => seeds::seeds(&workspace, from, count),
        Command::Fuzz { seconds } => fuzz::fuzz(&workspace, seconds, true).and_then(Done::required),
        Command::FuzzWgsl { args } => fuzz_wgsl::fuzz_wgsl(&workspace, &args),
        Command::Functions { write, args } => fuzz_wgsl::functions(&workspace, write, &args),
        Command::Mutants { json, list, limit, filter } => {
            let limit = std::time::Duration::from_secs(limit);
            return mutants::mutants(&workspace, &mutants::Options { json, list, limit, filter });
        }
        Command::Prove { mode, json, no_bench } => {
            return prove::prove(&workspace, &prove::Options { modes: mode, json, measures: !no_bench });
        }
        Command::Windows { mode, no_install } => {
            let options = windows::Options { modes: mode, may_fetch: !no_install };
            windows::windows(&workspace, &options).and_then(Done::required)
        }
        Command::Arm { conformance, no_install } => {
            arm::arm(&workspace, &arm::Options { conformance, may_fetch: !no_install })
                .and_then(Done::required)
        }
        Command::Storm(args) => return storm::storm(&workspace, &args.options()),
        Command::Soak { args } => soak::soak(&workspace, &args),
        Command::Targets { web, metal, dx12, no_install } => {
            targets::check(&workspace, &targets::chosen(web, metal, dx12), !no_install)
        }
        Command::Book { serve, open, no_install } => {
            book::book(&workspace, &book::Options { serve, open, may_install: !no_install })
        }
        Command::Page { serve, screenshots } => page::page(&workspace, &page::Options { serve, screenshots }),
        Command::Web { browser, limit, no_install, filter } => {
            let filter = filter.unwrap_or_default();
            let options = web::Options { browser, filter, limit, may_install: !no_install };
            web::web(&workspace, &options).and_then(Done::required)
        }
        Command::Bench { args } => bench::bench(&workspace, &args),
        Command::Count { json, check, write, no_install } => {
            count::count(&workspace, &count::Options { json, write, check, may_install: !no_install })
        }
        Command::Versions => versions::versions(&workspace),
        Command::Tint { no_install } => tint::tint(&workspace, !no_install),
        Command::Languages => languages::languages(&workspace),
        Command::Guide { write } => guide::guide(&workspace, write),
        Command::Package => package::package(&workspace),
        Command::Mlp { no_install } => mlp::mlp(&workspace, !no_install).and_then(Done::required),
        Command::Mpi { no_install } => mpi::mpi(&workspace, !no_install).and_then(Done::required),
        Command::Msrv { no_install } => msrv::msrv(&workspace, !no_install).and_then(Done::required),
        Command::Outside => outside::outside(&workspace, true).and_then(Done::required),
        Command::Features { no_install } => {
            features::features(&workspace, !no_install).and_then(Done::required)
        }
        Command::Window { wayland, no_install } => {
            let kind = if wayland { window::Kind::Wayland } else { window::Kind::X11 };
            window::window(&workspace, kind, !no_install).and_then(Done::required)
        }
        Command::Env { adapters } => env(&workspace, adapters.request(false)),
        Command::Doctor => doctor(),
    }
    .map(|()| true)
}

/// Prints the variables of a test run.
fn env(workspace: &Workspace, request: environment::Request) -> Result<()> {
    environment::print_exports(&environment::set_up_reported(workspace, request)?);
    Ok(())
}

/// Prints the drivers that a run would find on this machine.
fn doctor() -> Result<()> {
    for driver in adapters::usable_drivers() {
        println!("vulkan  {}  ({})", driver.manifest.display(), driver.library);
    }
    println!("egl     {}", if adapters::has_egl() { "found" } else { "not found" });
    let manager = packages::Manager::find();
    println!("packages  {}", manager.map_or("no known package manager".to_owned(), |m| format!("{m:?}")));
    Ok(())
}
