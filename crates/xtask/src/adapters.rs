//! Finds Vulkan drivers without loading them, from the loader's manifests and the libraries named there.

use std::collections::BTreeSet;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::shell::line;

/// A driver that the Vulkan loader would find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Driver {
    /// Path of the manifest, a JSON file.
    pub(crate) manifest: PathBuf,
    /// Library, as the manifest names it.
    pub(crate) library: String,
}

impl Driver {
    /// Reads one manifest; `None` if it is not a readable driver manifest.
    fn read(manifest: &Path) -> Option<Self> {
        let library = library_of(&fs::read_to_string(manifest).ok()?)?;
        Some(Self { manifest: manifest.to_owned(), library })
    }

    /// Returns `true` for drivers that run on the CPU, and so need no GPU.
    pub(crate) fn is_software(&self) -> bool {
        self.is_lavapipe() || self.library.contains("swiftshader")
    }

    /// Returns `true` for Mesa's driver on the CPU, which can draw into windows.
    pub(crate) fn is_lavapipe(&self) -> bool {
        ["lvp", "lavapipe"].iter().any(|name| self.library.contains(name))
    }

    /// Returns the library's file, if the loader can find one for this machine.
    fn library_file(&self) -> Option<PathBuf> {
        let named = Path::new(&self.library);
        if named.is_absolute() {
            return fits_this_machine(named).then(|| named.to_owned());
        }
        if self.library.contains('/') {
            let file = self.manifest.parent()?.join(named);
            return fits_this_machine(&file).then_some(file);
        }
        find_library(&self.library)
    }

    /// Returns `true` if the library exists, and the machine may have a device for the driver.
    fn is_usable(&self) -> bool {
        self.library_file().is_some() && (self.is_software() || has_gpu_device())
    }
}

/// Returns the `ICD.library_path` of a manifest's text.
fn library_of(manifest: &str) -> Option<String> {
    let json: Value = serde_json::from_str(manifest).ok()?;
    Some(json.get("ICD")?.get("library_path")?.as_str()?.to_owned())
}

/// Returns the drivers that this machine can use now; none without a Vulkan loader.
pub(crate) fn usable_drivers() -> Vec<Driver> {
    if find_library("libvulkan.so.1").is_none() {
        return Vec::new();
    }
    let drivers = manifests().into_iter().filter_map(|file| Driver::read(&file));
    drivers.filter(Driver::is_usable).collect()
}

/// Returns `true` if the machine has EGL, with which GL needs no display.
pub(crate) fn has_egl() -> bool {
    has_library("libEGL.so.1")
}

/// Returns `true` if the dynamic loader finds a shared library.
pub(crate) fn has_library(name: &str) -> bool {
    find_library(name).is_some()
}

/// Returns the manifests that the loader reads, in its order.
fn manifests() -> Vec<PathBuf> {
    let chosen = ["VK_DRIVER_FILES", "VK_ICD_FILENAMES"].iter().find_map(env::var_os);
    let places = match chosen {
        Some(places) => env::split_paths(&places).collect(),
        None => manifest_dirs(|name| env::var(name).ok()),
    };
    let mut seen = BTreeSet::new();
    let files = places.iter().flat_map(|place| json_files(place));
    files.filter(|file| seen.insert(file.clone())).collect()
}

/// Returns the directories that the loader searches, given the environment.
fn manifest_dirs(var: impl Fn(&str) -> Option<String>) -> Vec<PathBuf> {
    let or = |name: &str, default: &str| var(name).filter(|v| !v.is_empty()).unwrap_or(default.into());
    let home = or("HOME", "/");
    let lists = [
        or("XDG_CONFIG_HOME", &format!("{home}/.config")),
        or("XDG_CONFIG_DIRS", "/etc/xdg"),
        "/usr/local/etc:/etc".to_owned(),
        or("XDG_DATA_HOME", &format!("{home}/.local/share")),
        or("XDG_DATA_DIRS", "/usr/local/share:/usr/share"),
        "/usr/local/share:/usr/share".to_owned(),
    ];
    let bases = lists.iter().flat_map(env::split_paths);
    bases.map(|base| base.join("vulkan/icd.d")).collect()
}

/// Returns `place` itself if it is a file, else the JSON files in it, sorted.
fn json_files(place: &Path) -> Vec<PathBuf> {
    if place.is_file() {
        return vec![place.to_owned()];
    }
    let entries = fs::read_dir(place).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|e| e == "json")).collect();
    files.sort();
    files
}

/// Finds a shared library in nearly the same places as the dynamic loader.
fn find_library(name: &str) -> Option<PathBuf> {
    let given = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let cache = line("ldconfig").arg("-p").read().or_else(|_| line("/sbin/ldconfig").arg("-p").read());
    let mut files: Vec<_> = env::split_paths(&given).map(|dir| dir.join(name)).collect();
    files.extend(cached_libraries(&cache.unwrap_or_default(), name));
    files.extend(standard_dirs().iter().map(|dir| Path::new(dir).join(name)));
    files.into_iter().find(|file| fits_this_machine(file))
}

/// Returns the files of library `name` in the output of `ldconfig -p`.
fn cached_libraries(cache: &str, name: &str) -> Vec<PathBuf> {
    let entries = cache.lines().filter(|entry| entry.split_whitespace().next() == Some(name));
    entries.filter_map(|entry| Some(entry.split_once(" => ")?.1.trim().into())).collect()
}

/// Returns the directories of libraries on systems without an `ldconfig` cache.
fn standard_dirs() -> Vec<String> {
    let multiarch = format!("{}-linux-gnu", env::consts::ARCH);
    let dirs = ["/lib", "/usr/lib", "/lib64", "/usr/lib64", "/usr/local/lib", "/run/opengl-driver/lib"];
    let plain = dirs.iter().map(|dir| dir.to_string());
    plain.chain([format!("/usr/lib/{multiarch}"), format!("/lib/{multiarch}")]).collect()
}

/// Returns `true` if `file` is built for the word size and the processor of this program.
fn fits_this_machine(file: &Path) -> bool {
    let ours = elf_kind(Path::new("/proc/self/exe")); // the path of this program is gone after cargo has rebuilt it
    ours.is_some() && elf_kind(file) == ours
}

/// Returns the class and machine fields of an ELF header.
fn elf_kind(file: &Path) -> Option<(u8, [u8; 2])> {
    use std::io::Read;
    let mut header = [0; 20];
    fs::File::open(file).ok()?.read_exact(&mut header).ok()?;
    (header[..4] == *b"\x7fELF").then_some((header[4], [header[18], header[19]]))
}

/// Returns `true` if the kernel shows a device that a hardware driver could open.
fn has_gpu_device() -> bool {
    let render = fs::read_dir("/dev/dri").into_iter().flatten().flatten();
    let mut names = render.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.any(|name| name.starts_with("renderD"))
        || ["/dev/nvidiactl", "/dev/dxg", "/dev/kgsl-3d0", "/dev/mali0"].iter().any(|p| Path::new(p).exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANIFEST: &str = r#"{"file_format_version": "1.0.0", "ICD": {"library_path": "libvulkan_lvp.so", "api_version": "1.3"}}"#;

    #[test]
    fn a_manifest_names_its_library_and_a_layer_manifest_does_not() {
        assert_eq!(library_of(MANIFEST).as_deref(), Some("libvulkan_lvp.so"));
        assert_eq!(library_of(r#"{"layer": {"library_path": "libx.so"}}"#), None);
        assert_eq!(library_of("not json"), None);
    }

    #[test]
    fn the_cache_gives_every_file_of_exactly_that_name() {
        let cache = "2 libs found\n\tlibvulkan.so.1 (libc6,x86-64) => /lib/a/libvulkan.so.1\n\
                     \tlibvulkan.so.1 (libc6) => /lib/b/libvulkan.so.1\n\tlibvulkan.so (libc6) => /lib/c\n";
        let found = cached_libraries(cache, "libvulkan.so.1");
        assert_eq!(found, [Path::new("/lib/a/libvulkan.so.1"), Path::new("/lib/b/libvulkan.so.1")]);
    }

    #[test]
    fn the_xdg_variables_set_the_searched_directories() {
        let dirs = manifest_dirs(|name| (name == "XDG_DATA_DIRS").then(|| "/one:/two".to_owned()));
        assert!(dirs.contains(&PathBuf::from("/one/vulkan/icd.d")));
        assert!(dirs.contains(&PathBuf::from("/two/vulkan/icd.d")));
        assert!(dirs.contains(&PathBuf::from("/etc/vulkan/icd.d")));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_driver_is_usable_only_if_its_library_is_for_this_machine() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let manifest = dir.path().join("lvp_icd.json");
        fs::write(&manifest, MANIFEST.replace("libvulkan_lvp.so", "./lvp.so")).expect("written");
        let driver = Driver::read(&manifest).expect("a manifest");
        assert!(driver.is_software() && !driver.is_usable(), "no library yet");
        fs::write(dir.path().join("lvp.so"), "a text that is not a library, but long enough")
            .expect("written");
        assert!(!driver.is_usable(), "not an ELF file");
        fs::copy(env::current_exe().expect("a path"), dir.path().join("lvp.so")).expect("copied");
        assert!(driver.is_usable());
    }
}
