//! Cases, and the places where each runs.

use super::full::{DEFAULT, all_checked, mode, slots};
use super::subject::{Place, Subject};
use std::sync::Arc;
use std::time::Duration;

/// Usual time limit of a case.
const LIMIT: Duration = Duration::from_secs(120);

/// One conformance test. Its name consists of a rule's number and a sentence that could be false.
#[derive(Clone)]
pub struct Case {
    pub name: &'static str,
    pub run: Arc<dyn Fn(&Subject) + Send + Sync>,
    pub needs: Needs,
    /// `true` if the host decides the result before a recorder receives the work.
    pub host_side: bool,
    /// Time limit. A case that takes longer counts as a hang and fails.
    pub limit: Duration,
    /// Places of a web page where the case runs, if its needs are met there.
    pub in_page: InPage,
    /// Reason why the case cannot run on the device of Firefox.
    pub not_in_firefox: Option<&'static str>,
}

/// Places of a web page where a case runs.
#[derive(Clone, Copy)]
pub enum InPage {
    Everywhere,
    /// Every place but the CPU recorder, for this reason.
    OnDevices(&'static str),
    /// Only a device of wgpu, for this reason.
    OnGpus(&'static str),
    /// No place, for this reason.
    Nowhere(&'static str),
}

/// Reasons why cases cannot run in a web page.
pub const ONE_THREAD: &str = "a page has one thread";
pub const NO_UNWINDING: &str = "a panic ends the program of a page";
pub const NO_BLOCKING: &str = "in a page, code that the library calls cannot block";
pub const NO_FILES: &str = "a page has no files and no other programs";
pub const NO_LIST: &str = "a browser does not list its adapters";
pub const BY_TURNS: &str = "turns of a page submit and complete work, even without threads";
pub const KERNELS_IN_TURNS: &str = "in a page, the CPU executes a kernel on the page's own thread";
pub const NO_WAIT_AT_DROP: &str = "in a page, the drop of a context does not wait for its work";
pub const COMPILES_AT_CALL: &str = "a page compiles kernels during the call";
pub const DEFAULT_LIMITS: &str = "a browser gives no device a limit below the default of WebGPU";
pub const NO_DRIVER: &str = "a page cannot replace functions of a driver";
pub const NOT_SEND: &str =
    "the results of a page are not `Send`, and a callback, a waker and a thread need that";

/// Property that a case needs of its subject, and the reason.
#[derive(Clone, Copy)]
pub enum Needs {
    Nothing,
    /// An adapter of wgpu.
    Gpu(&'static str),
    /// The CPU recorder.
    Cpu(&'static str),
    /// Submissions that return before their work is done.
    Asynchronous(&'static str),
    /// All queues on one hardware queue.
    OneLane(&'static str),
    /// Shaders that cannot access memory outside their bindings.
    BoundsChecks(&'static str),
    /// A driver whose functions a test can replace.
    Vulkan(&'static str),
    /// The CPU as a device.
    Native(&'static str),
    /// The CPU, as a device or with the CPU recorder.
    HostCode(&'static str),
    /// A device on which a kernel takes time: every place except the CPU recorder.
    Device(&'static str),
    /// The same, except GL.
    NoGl(&'static str),
    /// A device whose memory the host can access while work runs.
    Reach(&'static str),
}

/// Returns a case that runs on every subject.
pub fn case(name: &'static str, run: fn(&Subject)) -> Case {
    computed(name, run)
}

/// Returns a case whose name or whose code is computed, for instance from a seed.
pub fn computed(name: &'static str, run: impl Fn(&Subject) + Send + Sync + 'static) -> Case {
    let run = Arc::new(run);
    Case {
        name,
        run,
        needs: Needs::Nothing,
        host_side: false,
        limit: LIMIT,
        in_page: InPage::Everywhere,
        not_in_firefox: None,
    }
}

/// Returns the cases of a module that is not built for a web page, from the module's text.
pub fn not_built(text: &'static str, reason: &'static str) -> Vec<Case> {
    let calls = text.split("case(").skip(1);
    let names = calls.filter_map(|rest| rest.trim_start().strip_prefix('"')?.split_once('"'));
    names.map(|(name, _)| case(name, |_| panic!("the case is not built")).not_in_a_page(reason)).collect()
}

/// Marks cases whose result the host decides: current queues, added waits, errors of arguments, statistics. They run in
/// the default mode. With other recorders or other memory they run only in the full suite.
pub fn host_side(cases: Vec<Case>) -> Vec<Case> {
    cases.into_iter().map(Case::host_side).collect()
}

/// Reason why cases that use wgpu run on its adapters only.
pub const NO_DEVICE: &str = "there is no wgpu device";

/// Marks cases that use wgpu.
pub fn wgpu_only(cases: Vec<Case>) -> Vec<Case> {
    cases.into_iter().map(|case| case.gpu_only(NO_DEVICE)).collect()
}

impl Case {
    /// Marks the case as decided by the host; see [`host_side`].
    pub fn host_side(self) -> Self {
        Self { host_side: true, ..self }
    }

    /// Gives the case another time limit.
    pub fn within(self, limit: Duration) -> Self {
        Self { limit, ..self }
    }

    /// Runs the case only on adapters of wgpu.
    pub fn gpu_only(self, reason: &'static str) -> Self {
        Self { needs: Needs::Gpu(reason), ..self }
    }

    /// Runs the case only on the CPU recorder.
    pub fn cpu_only(self, reason: &'static str) -> Self {
        Self { needs: Needs::Cpu(reason), ..self }
    }

    /// Runs the case only where submissions return before their work is done. This excludes lavapipe and GL.
    pub fn asynchronous(self, reason: &'static str) -> Self {
        Self { needs: Needs::Asynchronous(reason), ..self }
    }

    /// Runs the case only where all queues share one hardware queue.
    pub fn one_lane(self, reason: &'static str) -> Self {
        Self { needs: Needs::OneLane(reason), ..self }
    }

    /// Runs the case only where no shader can access memory out of bounds. This excludes GL.
    pub fn bounds_checked(self, reason: &'static str) -> Self {
        Self { needs: Needs::BoundsChecks(reason), ..self }
    }

    /// Runs the case only on Vulkan adapters, where a test can replace functions of the driver.
    pub fn vulkan_only(self, reason: &'static str) -> Self {
        Self { needs: Needs::Vulkan(reason), ..self }
    }

    /// Runs the case everywhere but on the CPU recorder.
    pub fn on_devices(self, reason: &'static str) -> Self {
        Self { needs: Needs::Device(reason), ..self }
    }

    /// Runs the case only where the host can access the memory of the device.
    pub fn in_reach(self, reason: &'static str) -> Self {
        Self { needs: Needs::Reach(reason), ..self }
    }

    /// Runs the case at no place of a web page.
    pub fn not_in_a_page(self, reason: &'static str) -> Self {
        Self { in_page: InPage::Nowhere(reason), ..self }
    }

    /// Runs the case at every place of a web page but the CPU recorder.
    pub fn not_simulated_in_a_page(self, reason: &'static str) -> Self {
        Self { in_page: InPage::OnDevices(reason), ..self }
    }

    /// Runs the case in a web page only on a device of wgpu.
    pub fn on_gpus_in_a_page(self, reason: &'static str) -> Self {
        Self { in_page: InPage::OnGpus(reason), ..self }
    }

    /// Runs the case everywhere but on the device of Firefox.
    pub fn not_in_firefox(self, reason: &'static str) -> Self {
        Self { not_in_firefox: Some(reason), ..self }
    }

    /// Runs the case everywhere but on the CPU recorder and on GL.
    pub fn not_on_gl(self, reason: &'static str) -> Self {
        Self { needs: Needs::NoGl(reason), ..self }
    }

    /// Runs the case only on the CPU as a device.
    pub fn native_only(self, reason: &'static str) -> Self {
        Self { needs: Needs::Native(reason), ..self }
    }

    /// Runs the case only on the CPU: as a device, and with the CPU recorder.
    pub fn host_code_only(self, reason: &'static str) -> Self {
        Self { needs: Needs::HostCode(reason), ..self }
    }
}

impl Case {
    /// Returns why the case cannot run at a place; `None` if it can.
    pub fn missing(&self, place: &Place, places: &[Arc<Place>]) -> Option<&'static str> {
        if all_checked() && !self.is_of_a_verb() {
            return Some("only verbs of the algorithms have kernels without runtime checks");
        }
        if all_checked() && self.name.starts_with("a18_") {
            return Some("no kernel is without runtime checks here");
        }
        let missing = self.needs.missing(place).or_else(|| self.in_page.missing(place));
        let in_firefox = self.not_in_firefox.filter(|_| place.is_firefox());
        missing.or(in_firefox).or_else(|| self.elsewhere(place, places))
    }

    /// Returns why a plain run leaves the case to other places and modes; `None` if it does not.
    fn elsewhere(&self, place: &Place, places: &[Arc<Place>]) -> Option<&'static str> {
        let count = slots()?;
        let on_the_cpu = |place: &Place| place.is_native() || place.is_cpu();
        let can = |place: &Place| self.needs.missing(place).is_none();
        // No driver has a part in what the host decides, and drivers take longest to compile kernels.
        let only_cpu = self.host_side && places.iter().any(|place| on_the_cpu(place) && can(place));
        let able = || places.iter().filter(|place| can(place) && (!only_cpu || on_the_cpu(place)));
        let default: Vec<_> = able().map(|place| (place.name(), DEFAULT)).collect();
        let others: Vec<_> = able()
            .flat_map(|place| self.other_modes(place).iter().map(|mode| (place.name(), *mode)))
            .collect();
        let number = self.number();
        let chosen = (0..count).any(|slot| {
            let list = if slot % 2 == 0 || others.is_empty() { &default } else { &others };
            list[(number + slot / 2) % list.len()] == (place.name(), mode().as_str())
        });
        (!chosen).then_some(
            "a plain run executes it elsewhere; with a filter, and in the full suite, it runs here too",
        )
    }

    /// Returns the modes, other than the default one, in which a plain run may execute the case at a place. They are those of
    /// `crates/xtask/src/suite/modes.rs`.
    fn other_modes(&self, place: &Place) -> &'static [&'static str] {
        match self {
            // The host decides the result before a recorder receives the work.
            Self { host_side: true, .. } => &[],
            // Verbs consist of launches, which other cases execute in each mode.
            _ if self.is_of_a_verb() => &[],
            _ if !place.has_wgpu() => &[],
            // The default recorder is wgpu's.
            _ if !place.is_vulkan() => &["hal", "direct"],
            _ => &["wgpu", "hal", "discrete"],
        }
    }

    /// Returns `true` for a case of the algorithms. Their verbs consist of launches, which other cases test.
    fn is_of_a_verb(&self) -> bool {
        self.name.starts_with('a')
    }

    /// Returns a number that depends on the name of the case.
    fn number(&self) -> usize {
        self.name.bytes().fold(0, |number, byte| number.wrapping_mul(31).wrapping_add(usize::from(byte)))
    }
}

impl Needs {
    /// Returns why a case with these needs cannot run at a place; `None` if it can.
    fn missing(self, place: &Place) -> Option<&'static str> {
        match self {
            Needs::Nothing => None,
            Needs::Gpu(reason) => (!place.has_wgpu()).then_some(reason),
            Needs::Cpu(reason) => (!place.is_cpu()).then_some(reason),
            Needs::Asynchronous(reason) => (!place.is_asynchronous()).then_some(reason),
            Needs::OneLane(reason) => (place.lanes() > 1).then_some(reason),
            Needs::BoundsChecks(reason) => (!place.checks_bounds()).then_some(reason),
            Needs::Vulkan(reason) => (!place.is_vulkan()).then_some(reason),
            Needs::Native(reason) => (!place.is_native()).then_some(reason),
            Needs::HostCode(reason) => (!place.is_native() && !place.is_cpu()).then_some(reason),
            Needs::Device(reason) => place.is_cpu().then_some(reason),
            Needs::NoGl(reason) => (place.is_cpu() || place.is_gl()).then_some(reason),
            Needs::Reach(reason) => (place.is_cpu() || !place.has_pinned_memory()).then_some(reason),
        }
    }
}

impl InPage {
    /// Returns why a case cannot run at a place of a web page; `None` if it can, and natively.
    fn missing(self, place: &Place) -> Option<&'static str> {
        match self {
            InPage::OnDevices(reason) if place.is_cpu() => Some(reason),
            InPage::OnGpus(reason) if !place.has_wgpu() => Some(reason),
            InPage::Nowhere(reason) => Some(reason),
            InPage::OnDevices(_) | InPage::OnGpus(_) | InPage::Everywhere => None,
        }
        .filter(|_| cfg!(target_arch = "wasm32"))
    }
}
