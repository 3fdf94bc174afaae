//! Advice for a machine without an adapter.

/// Linux packages of a software adapter: a word of `ID` or `ID_LIKE` in /etc/os-release, and the command.
const PACKAGES: [(&str, &str); 5] = [
    ("debian", "apt-get install mesa-vulkan-drivers"),
    ("fedora", "dnf install mesa-vulkan-drivers"),
    ("arch", "pacman -S vulkan-swrast"),
    ("suse", "zypper install libvulkan_lvp"),
    ("alpine", "apk add mesa-vulkan-swrast"),
];

/// Returns the advice for this machine.
pub(crate) fn remedy() -> String {
    if !crate::device::instance::has_interface() {
        return "the program is built without a graphics interface of this system: switch on the feature `vulkan`, `metal`, `dx12` \
                or `gles` of fencepost"
            .into();
    }
    let release =
        if cfg!(target_os = "linux") { std::fs::read_to_string("/etc/os-release").ok() } else { None };
    of(std::env::consts::OS, release.as_deref().unwrap_or_default())
}

/// Returns the advice for a system with the given /etc/os-release.
fn of(system: &str, release: &str) -> String {
    let driver = "the driver of its graphics card";
    let software = match system {
        "linux" => match package(release) {
            Some(command) => format!(", or a software one: `{command}`"),
            None => ", or a software one: Mesa's lavapipe".into(),
        },
        _ => String::new(),
    };
    format!("install {driver}{software}; `Context::on_cpu` needs none and runs built-in kernels")
}

/// Returns the command for a Linux distribution. A distribution that derives from one in the list names that one in
/// `ID_LIKE`.
fn package(release: &str) -> Option<&'static str> {
    let value = |line: &str| {
        let value = line.strip_prefix("ID=").or_else(|| line.strip_prefix("ID_LIKE="));
        value.map(|value| value.trim_matches(['"', '\'']).to_owned())
    };
    let names: Vec<String> = release.lines().filter_map(value).collect();
    let is = |name: &str| names.iter().flat_map(|names| names.split(' ')).any(|word| word == name);
    PACKAGES.iter().find(|(name, _)| is(name)).map(|(_, command)| *command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_distribution_has_its_own_command() {
        for (release, command) in [
            ("NAME=\"Debian GNU/Linux\"\nID=debian\n", "apt-get install mesa-vulkan-drivers"),
            ("ID=ubuntu\nID_LIKE=debian\n", "apt-get install mesa-vulkan-drivers"),
            ("ID=rocky\nID_LIKE=\"rhel centos fedora\"\n", "dnf install mesa-vulkan-drivers"),
            ("ID=arch\n", "pacman -S vulkan-swrast"),
            ("ID=\"opensuse-leap\"\nID_LIKE=\"suse opensuse\"\n", "zypper install libvulkan_lvp"),
            ("ID=alpine\n", "apk add mesa-vulkan-swrast"),
        ] {
            assert_eq!(package(release), Some(command), "{release}");
            assert!(of("linux", release).contains(command));
        }
    }

    #[test]
    fn the_advice_for_an_unknown_system_names_the_driver() {
        assert!(of("linux", "VERSION_ID=debian\n").contains("lavapipe"));
        assert!(!of("windows", "").contains("lavapipe"));
    }
}
