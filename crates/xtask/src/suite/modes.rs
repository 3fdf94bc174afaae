//! The modes of the device tests: other recorders, other memory.

use anyhow::{Result, bail};

/// Describes a mode of the device tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mode {
    pub(crate) name: &'static str,
    /// Holds the variable that sets the mode; the default mode sets none.
    pub(crate) var: Option<(&'static str, &'static str)>,
    places: Places,
}

/// Names the places where a mode differs from the default mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Places {
    All,
    Devices,
    /// The mode differs on devices whose recorder is native unless a variable chooses another.
    Native,
    Gl,
}

/// Lists the modes. The default mode is the first, and the only one on the CPU, which has no recorders to choose from.
pub(crate) static MODES: [Mode; 5] = [
    Mode { name: "default", var: None, places: Places::All },
    Mode { name: "wgpu", var: Some(("FENCEPOST_RECORDER", "wgpu")), places: Places::Native },
    Mode { name: "hal", var: Some(("FENCEPOST_RECORDER", "hal")), places: Places::Devices },
    Mode { name: "direct", var: Some(("FENCEPOST_RECORDER", "direct")), places: Places::Gl },
    Mode { name: "discrete", var: Some(("FENCEPOST_TEST_MEMORY", "discrete")), places: Places::Native },
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
        let gl = place.ends_with("_gl");
        match self.places {
            Places::All => true,
            Places::Devices => !cpu,
            Places::Native => !cpu && !gl,
            Places::Gl => gl,
        }
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
        assert_eq!(modes_at("lavapipe"), ["default", "wgpu", "hal", "discrete"]);
        assert_eq!(modes_at("llvmpipe_gl"), ["default", "hal", "direct"]);
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
