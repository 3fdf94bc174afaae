//! Runs the programs of a batch on all engines, on several threads.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

use crate::engine::{Engine, Given, run_caught};
use crate::program::Program;

/// Work of one thread.
enum Task {
    /// All portable programs, on one inexact engine.
    Engine(usize),
    /// One program, on all exact engines.
    Program(usize),
}

/// Runs each program on each exact engine, and the portable programs on the others. Returns the answers of each program, in
/// the order of the engines.
pub(crate) fn answers(
    engines: &[&dyn Engine],
    programs: &[(Program, bool)],
    threads: usize,
) -> Vec<Vec<Given>> {
    // An engine with a device takes longest, so its task comes first.
    let others = (0..engines.len()).filter(|&at| !engines[at].is_exact()).map(Task::Engine);
    let tasks: Vec<Task> = others.chain((0..programs.len()).map(Task::Program)).collect();
    let found: Mutex<Vec<Vec<(usize, Given)>>> = Mutex::new(programs.iter().map(|_| Vec::new()).collect());
    let next = AtomicUsize::new(0);
    let add = |program: usize, engine: usize| {
        let given = run_caught(engines[engine], &programs[program].0);
        found.lock().unwrap_or_else(PoisonError::into_inner)[program].push((engine, given));
    };
    let work = || {
        while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
            match *task {
                Task::Engine(engine) => {
                    (0..programs.len()).filter(|&at| programs[at].1).for_each(|program| add(program, engine));
                }
                Task::Program(program) => {
                    let exact = (0..engines.len()).filter(|&at| engines[at].is_exact());
                    exact.for_each(|engine| add(program, engine));
                }
            }
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    for answers in &mut found {
        answers.sort_by_key(|(engine, _)| *engine);
    }
    found.into_iter().map(|answers| answers.into_iter().map(|(_, given)| given).collect()).collect()
}
