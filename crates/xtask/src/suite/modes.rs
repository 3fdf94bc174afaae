//! The modes of the device tests: other recorders, other memory, all runtime checks.

use anyhow::{Result, bail};

/// A mode of the device tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mode {
    pub(crate) name: &'static str,
    /// Variable that sets the mode; the default mode sets none.
    pub(crate) var: Option<(&'static str, &'static str)>,
    places: Places,
    /// The only program that the mode runs; `None` for all.
    program: Option<&'static str>,
}

/// The places at which a mode differs from the default mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Places {
    All,
    Devices,
    /// Devices with a native recorder, unless a variable selects another.
    Native,
    /// Devices with wgpu's recorder, unless a variable selects another.
    ByWgpu,
    ExceptGl,
}

/// Ends of the names of places with wgpu's recorder.
const BY_WGPU: [&str; 3] = ["_gl", "_metal", "_dx12"];

/// The program whose cases a plain run distributes over modes and drivers.
const DIVIDED: &str = "conformance";
/// The Vulkan driver on which a plain run executes the other programs in the other modes, if it is available. It is
/// asynchronous, so the order of commands varies most on it.
const PLAIN: &str = "swiftshader";

/// The modes. The default mode comes first, and is the only one on the CPU, which has no choice of recorders.
pub(crate) static MODES: [Mode; 6] = [
    Mode { name: "default", var: None, places: Places::All, program: None },
    Mode { name: "wgpu", var: Some(("FENCEPOST_RECORDER", "wgpu")), places: Places::Native, program: None },
    Mode { name: "hal", var: Some(("FENCEPOST_RECORDER", "hal")), places: Places::Devices, program: None },
    Mode {
        name: "direct",
        var: Some(("FENCEPOST_RECORDER", "direct")),
        places: Places::ByWgpu,
        program: None,
    },
    Mode {
        name: "discrete",
        var: Some(("FENCEPOST_TEST_MEMORY", "discrete")),
        places: Places::Native,
        program: None,
    },
    // Only the verbs have trusted kernels, so only the tests of the algorithms run again, in the full suite. A plain run
    // has the case that compares each verb with and without these checks.
    Mode {
        name: "checked",
        var: Some(("FENCEPOST_CHECKED", "1")),
        places: Places::ExceptGl,
        program: Some("conformance"),
    },
];

/// Returns the modes with these names, in their own order; all modes if no name is given.
pub(crate) fn modes_named(names: &[String]) -> Result<Vec<&'static Mode>> {
    if let Some(unknown) = names.iter().find(|name| MODES.iter().all(|mode| mode.name != **name)) {
        bail!(
            "there is no mode `{unknown}`: there are {}",
            MODES.each_ref().map(|mode| mode.name).join(", ")
        );
    }
    Ok(MODES.iter().filter(|mode| names.is_empty() || names.iter().any(|name| name == mode.name)).collect())
}

impl Mode {
    /// Returns `true` if the mode differs from the default mode at the place of this name.
    pub(crate) fn differs_at(&self, place: &str) -> bool {
        let cpu = place.starts_with("cpu") || place == "threads";
        let by_wgpu = BY_WGPU.iter().any(|end| place.ends_with(end));
        match self.places {
            Places::All => true,
            Places::Devices => !cpu,
            Places::Native => !cpu && !by_wgpu,
            Places::ByWgpu => by_wgpu,
            Places::ExceptGl => !cpu && !place.ends_with("_gl"),
        }
    }

    /// Returns `true` if a plain run executes a program in this mode at a place. On GL, it uses each mode that differs
    /// there, and a mode of one program nowhere.
    pub(super) fn is_plain(&self, program: &str, place: &str, places: &[String]) -> bool {
        let elsewhere =
            place != PLAIN && !place.ends_with("_gl") && places.iter().any(|place| place == PLAIN);
        self.program.is_none() && (program == DIVIDED || self.var.is_none() || !elsewhere)
    }

    /// Returns `true` if the mode runs the tests of a program.
    pub(super) fn runs(&self, program: &str) -> bool {
        self.program.is_none_or(|only| only == program)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn modes_at(place: &str) -> Vec<&'static str> {
        MODES.iter().filter(|mode| mode.differs_at(place)).map(|mode| mode.name).collect()
    }

    #[test]
    fn each_place_has_the_modes_that_differ_there() {
        assert_eq!(modes_at("cpu_3"), ["default"]);
        assert_eq!(modes_at("threads"), ["default"]);
        assert_eq!(modes_at("lavapipe"), ["default", "wgpu", "hal", "discrete", "checked"]);
        assert_eq!(modes_at("llvmpipe_gl"), ["default", "hal", "direct"]);
        assert_eq!(modes_at("apple_m1_metal"), ["default", "hal", "direct", "checked"]);
        assert_eq!(modes_at("microsoft_basic_render_driver_dx12"), modes_at("apple_m1_metal"));
    }

    #[test]
    fn a_plain_run_of_the_random_programs_has_each_mode_on_one_vulkan_driver() {
        let modes = |program: &str, place: &str, places: &[&str]| {
            let places: Vec<String> = places.iter().map(|place| (*place).to_owned()).collect();
            let is_plain = |mode: &&Mode| mode.differs_at(place) && mode.is_plain(program, place, &places);
            MODES.iter().filter(is_plain).map(|mode| mode.name).collect::<Vec<_>>()
        };
        let all = ["lavapipe", "swiftshader", "llvmpipe_gl", "cpu"];
        assert_eq!(modes("programs", "lavapipe", &all), ["default"]);
        let plain = |place: &str| -> Vec<_> {
            modes_at(place).into_iter().filter(|mode| *mode != "checked").collect()
        };
        for place in ["swiftshader", "llvmpipe_gl", "cpu"] {
            assert_eq!(modes("programs", place, &all), plain(place));
        }
        // If it is the only driver, it has all modes.
        assert_eq!(modes("programs", "lavapipe", &["lavapipe"]), plain("lavapipe"));
        assert_eq!(modes("conformance", "lavapipe", &all), plain("lavapipe"));
    }

    #[test]
    fn the_mode_with_all_runtime_checks_runs_one_program() {
        let programs = |name: &str| MODES.iter().filter(|mode| mode.runs(name)).count();
        assert_eq!((programs("conformance"), programs("storm")), (MODES.len(), MODES.len() - 1));
    }

    #[test]
    fn a_plain_run_distributes_the_cases_over_the_modes_of_each_place() {
        let cases = include_str!("../../../../tests/common/case.rs");
        for place in ["lavapipe", "llvmpipe_gl"] {
            let is_of_all = |mode: &&str| !["default", "checked"].contains(mode);
            let list =
                format!("=> &{:?},", modes_at(place).into_iter().filter(is_of_all).collect::<Vec<_>>());
            assert!(cases.contains(&list), "`Case::other_modes` has no list `{list}`");
        }
    }

    #[test]
    fn modes_are_chosen_by_name() {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(modes_named(&[]).expect("all").len(), MODES.len());
        assert_eq!(modes_named(&names(&["hal"])).expect("it is known")[0].name, "hal");
        let error = modes_named(&names(&["hale"])).expect_err("it is not known").to_string();
        assert!(error.contains("hale") && error.contains("discrete"), "{error}");
    }
}
