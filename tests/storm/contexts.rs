//! Opens contexts, and watches them until they have ended.

use super::common::raw;
use super::common::subject::{Place, Subject, device_switches};
use super::common::watchdog::in_time;
use super::seed::{Device, Drawn};
use fencepost::testing;
use fencepost::{AdapterChoice, AdoptOptions, Context, ContextOptions, ContextWatch, Result};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Watches of every context of a storm, which keep none of them alive.
#[derive(Clone, Default)]
pub struct Watches(Arc<Mutex<Vec<ContextWatch>>>);

/// Opens the context with this number.
pub fn open(drawn: &Drawn, at: usize, watches: &Watches) -> Result<Context> {
    let home = drawn.homes[at];
    let place = || drawn.place.clone().expect("bug: an adapter without a place");
    let ctx = match home.device {
        Device::Cpu(options, faults) => testing::on_cpu(options, faults, home.policy),
        Device::Adapter { shared } => {
            let mut switches = device_switches();
            switches.shared_memory &= shared;
            let options = ContextOptions::default().policy(home.policy).adapter(choice(&place()));
            testing::open(options, switches).wait()?
        }
        Device::Adopted if !place().has_wgpu() => testing::cpu_without_threads(home.policy),
        Device::Adopted => {
            let (device, queue) = raw::open(&Subject::new(place()));
            let options = AdoptOptions::default().policy(home.policy).threads(false);
            Context::adopt(device, queue, options)?
        }
    };
    watches.add(&ctx);
    Ok(ctx)
}

fn choice(place: &Place) -> AdapterChoice {
    AdapterChoice::Index(place.adapter_index().expect("bug: a place without an adapter"))
}

impl Watches {
    pub fn add(&self, ctx: &Context) {
        self.all().push(ctx.diagnostics().watch());
    }

    fn all(&self) -> std::sync::MutexGuard<'_, Vec<ContextWatch>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the state of every context that exists.
    pub fn shown(&self) -> String {
        let watches = self.all().clone();
        let state = |(at, watch): (usize, ContextWatch)| {
            if !watch.lives() {
                return None;
            }
            let state = in_time(move || watch.state_dump());
            let state = state.unwrap_or_else(|| Some("a thread stays in the lock of the context".into()));
            Some(format!("context {at}: {}", state.unwrap_or_else(|| "at its end".into())))
        };
        watches.into_iter().enumerate().filter_map(state).collect::<Vec<_>>().join("\n")
    }

    /// Returns `true` if every context ends within `limit`.
    pub fn have_ended(&self, limit: Duration) -> bool {
        let watches = self.all().clone();
        until(limit, || !watches.iter().any(ContextWatch::lives))
    }
}

/// Polls a condition until it holds, but no longer than `limit`.
pub fn until(limit: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let begun = Instant::now();
    loop {
        if holds() {
            return true;
        }
        if begun.elapsed() > limit {
            return false;
        }
        thread::sleep(Duration::from_millis(1));
    }
}
