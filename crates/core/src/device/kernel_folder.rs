//! A folder that keeps compiled kernels for the next run of a program, with one file for each variant of a kernel, and
//! the table of a tuned context.
//!
//! Variants of a kernel are compiled from its source, after a check that the device can run it. wgpu's pipeline cache
//! for a variant is read from, and written to, the variant's file.

#[cfg(native)]
use crate::device::hal_pipeline::portable_cache;
use crate::device::wgpu_pipeline::ParameterPath;
use crate::driver::caps::Caps;
use crate::driver::gl_gate::GlGate;
use crate::error::{Error, ErrorDetail, Result};
use crate::work::kernel_launch::{BoundArray, PipelineDescriptor};
use fencepost_kernels::{
    Access, Entry, Interface, Module, NagaPanic, Needs, Trust, legalize, plain_file, report,
};
use siphasher::sip128::{Hasher128, SipHasher13};
use std::fs::File;
use std::hash::Hash;
use std::io::{Read, Write};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

/// First bytes of a file. The key and the checksum of the data follow.
const MAGIC: [u8; 8] = *b"fencekn1";
const HEAD: usize = MAGIC.len() + 2 * size_of::<u128>();

/// Maximum size of a file in bytes. This crate never writes a larger one.
const MOST_KERNEL_FILE_BYTES: u64 = 256 << 20;

/// A folder with one file for each variant of a kernel, and one for a tuning table.
#[derive(Debug)]
pub(crate) struct KernelFolder {
    path: PathBuf,
    /// Name of the device and its driver, because no other device or driver can use the files.
    device: String,
}

/// The file of one variant of a kernel, or of a tuning table. `key` is a hash of the contents' name and the device,
/// which the file also contains.
#[derive(Clone, Debug)]
pub(crate) struct KernelFile {
    path: PathBuf,
    key: u128,
    contents: FileContents,
}

/// Contents of a file in a kernel folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FileContents {
    Kernel,
    Tuning,
}

impl FileContents {
    /// Returns the ending of a file's name.
    fn ending(self) -> &'static str {
        match self {
            Self::Kernel => "kernel",
            Self::Tuning => "tuning",
        }
    }

    /// Returns the consequence of a file that cannot be read, for messages.
    fn if_not_read(self) -> &'static str {
        match self {
            Self::Kernel => "the kernel is compiled again",
            Self::Tuning => "the tuning table in it is ignored",
        }
    }

    /// Returns the consequence of a file that cannot be written, for messages.
    fn if_not_written(self) -> &'static str {
        match self {
            Self::Kernel => "the kernel is not stored for the next run",
            Self::Tuning => "the tuning table is not stored for the next run",
        }
    }
}

impl KernelFolder {
    /// Describes the folder at `path`. `device` names the device, its driver and the submit path.
    pub(crate) fn new(path: PathBuf, device: String) -> Self {
        // The path is absolute because user code may change the working directory later.
        Self { path: std::path::absolute(&path).unwrap_or(path), device }
    }

    /// Returns the file of a variant. `form` describes the variant completely.
    pub(crate) fn file(&self, form: &impl Hash) -> KernelFile {
        self.file_of(form, FileContents::Kernel)
    }

    /// Returns the file of the device's tuning table.
    pub(crate) fn tuning_file(&self) -> KernelFile {
        self.file_of(&"tuning", FileContents::Tuning)
    }

    fn file_of(&self, form: &impl Hash, contents: FileContents) -> KernelFile {
        let mut hasher = SipHasher13::new();
        (&self.device, form).hash(&mut hasher);
        let key = hasher.finish128().as_u128();
        KernelFile { path: self.path.join(format!("{key:032x}.{}", contents.ending())), key, contents }
    }
}

impl KernelFile {
    /// Returns the data of the file, or `None` if the file is missing or damaged.
    pub(crate) fn load(&self) -> Option<Vec<u8>> {
        match read(&self.path) {
            Ok(bytes) => {
                let data = self.unpack(bytes);
                if data.is_none() {
                    self.report_unread("the file is damaged");
                }
                data
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                self.report_unread(&error.to_string());
                None
            }
        }
    }

    /// Reports the reason why the data of the file is not used.
    pub(crate) fn report_unread(&self, reason: &str) {
        report!(Warn, "{}: {reason}; {}", self.path.display(), self.contents.if_not_read());
    }

    /// Writes the data to the file. If the write fails, the program continues without the file.
    pub(crate) fn keep(&self, data: &[u8]) {
        if let Err(error) = self.write(data) {
            report!(Warn, "{}: {error}; {}", self.path.display(), self.contents.if_not_written());
        }
    }

    fn unpack(&self, mut bytes: Vec<u8>) -> Option<Vec<u8>> {
        let data = bytes.get(HEAD..)?;
        if bytes[..HEAD] != self.head(data) {
            return None;
        }
        bytes.drain(..HEAD);
        Some(bytes)
    }

    fn head(&self, data: &[u8]) -> [u8; HEAD] {
        let checksum = SipHasher13::new().hash(data).as_u128();
        let mut head = [0; HEAD];
        head[..8].copy_from_slice(&MAGIC);
        head[8..24].copy_from_slice(&self.key.to_le_bytes());
        head[24..].copy_from_slice(&checksum.to_le_bytes());
        head
    }

    /// Writes a temporary file and renames it, so that no other program reads an incomplete file.
    fn write(&self, data: &[u8]) -> io::Result<()> {
        // The name is random, because programs in containers may have equal process ids.
        let temporary = self.path.with_extension(format!("{:016x}.part", fastrand::u64(..)));
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        let file = File::create_new(&temporary)?;
        let written =
            write_all(file, &[&self.head(data), data]).and_then(|()| fs::rename(&temporary, &self.path));
        if written.is_err() {
            fs::remove_file(&temporary).ok(); // the temporary file may be missing
        }
        written
    }
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    plain_file::open(path)?.take(MOST_KERNEL_FILE_BYTES).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn write_all(mut file: File, parts: &[&[u8]]) -> io::Result<()> {
    parts.iter().try_for_each(|part| file.write_all(part))
}

/// The parts of a device that a compiler needs.
#[derive(Clone, Copy)]
pub(crate) struct CompileTarget<'a> {
    pub(crate) device: &'a wgpu::Device,
    pub(crate) gate: &'a Arc<GlGate>,
    pub(crate) caps: &'a Caps,
    /// Folder that stores compiled kernels for the next run.
    pub(crate) folder: Option<&'a Arc<KernelFolder>>,
}

/// The source from which each variant of a kernel is compiled.
pub(crate) struct KernelOrigin {
    pub(crate) device: wgpu::Device,
    pub(crate) kernel: String,
    /// Shader with its overrides applied, adapted to the way in which parameters are passed.
    pub(crate) source: wgpu::naga::Module,
    /// Source text of the module.
    pub(crate) text: String,
    /// For each binding: its index, its smallest size, and `true` if the shader declares it writable.
    pub(crate) bindings: Vec<(u32, u64, bool)>,
    pub(crate) parameter_path: ParameterPath,
    /// Size of the immediates in bytes.
    pub(crate) immediates: u32,
    /// Overrides, by name and value.
    pub(crate) constants: Vec<(String, f64)>,
    /// Proof that the kernel does not need some runtime checks; `None` if it needs all of them.
    trust: Option<Trust>,
    /// Folder of compiled kernels, if the context has one.
    folder: Option<Arc<KernelFolder>>,
    /// In a browser: the error with which it has refused the kernel.
    #[cfg(target_arch = "wasm32")]
    pub(crate) refused: Arc<std::sync::OnceLock<Error>>,
}

impl KernelOrigin {
    pub(crate) fn new(target: CompileTarget<'_>, recipe: &PipelineDescriptor<'_>) -> Self {
        let PipelineDescriptor { module, entry, overrides, trust, .. } = *recipe;
        let interface = entry.interface();
        let (parameter_path, immediates, mut source) = pass_parameters(target.caps, entry);
        if let Some(shader_language) = target.caps.shader_language {
            legalize(&mut source, shader_language);
        }
        let writable = |access: Access| access != Access::Read;
        let bindings = interface.bindings.iter().map(|b| (b.index, b.min_size, writable(b.declared)));
        Self {
            device: target.device.clone(),
            kernel: interface.entry.clone(),
            source,
            text: module.text().into(),
            bindings: bindings.collect(),
            parameter_path,
            immediates,
            constants: overrides.iter().map(|&(name, value)| (name.to_owned(), value)).collect(),
            trust,
            folder: target.folder.cloned(),
            #[cfg(target_arch = "wasm32")]
            refused: Arc::default(),
        }
    }

    /// Returns the file of one variant, if the context has a folder of compiled kernels.
    pub(crate) fn file(&self, all_writable: bool) -> Option<KernelFile> {
        let constants: Vec<_> = self.constants.iter().map(|(name, value)| (name, value.to_bits())).collect();
        let carried = match self.parameter_path {
            ParameterPath::Nothing => (0, 0, 0),
            ParameterPath::Immediates => (1, 0, self.immediates),
            ParameterPath::Uniform { index, size } => (2, index, size),
        };
        let form = (&self.text, &self.kernel, constants, &self.bindings, carried, all_writable, self.trust);
        self.folder.as_ref().map(|folder| folder.file(&form))
    }

    /// Returns the runtime checks that the device's compiler adds to the kernel: all, or those not proven redundant.
    #[cfg(native)]
    pub(crate) fn runtime_checks(&self) -> wgpu::ShaderRuntimeChecks {
        let is_checked = self.trust.is_none();
        wgpu::ShaderRuntimeChecks {
            bounds_checks: is_checked,
            force_loop_bounding: is_checked,
            ..wgpu::ShaderRuntimeChecks::checked()
        }
    }

    /// Returns `true` if workgroup memory is zeroed at the start.
    pub(crate) fn zeroes_workgroup_memory(&self) -> bool {
        self.trust != Some(Trust::IndicesAndMemory)
    }

    /// Returns the entries of the bind group layout in the order of their indices.
    pub(crate) fn entries(&self, all_writable: bool) -> Vec<wgpu::BindGroupLayoutEntry> {
        let storage = |&(binding, size, writable): &(u32, u64, bool)| {
            let ty = wgpu::BufferBindingType::Storage { read_only: !(writable || all_writable) };
            entry(binding, ty, false, size)
        };
        let mut entries: Vec<_> = self.bindings.iter().map(storage).collect();
        if let ParameterPath::Uniform { index, size } = self.parameter_path {
            entries.push(entry(index, wgpu::BufferBindingType::Uniform, true, u64::from(size)));
        }
        entries.sort_by_key(|entry| entry.binding);
        entries
    }

    /// Returns `true` if one block is bound to both a read-only and a writable binding.
    #[inline]
    pub(crate) fn mixes(&self, bound: &[BoundArray]) -> bool {
        let writable = |at: usize| self.bindings[at].2;
        let same = |a: usize, b: usize| Arc::ptr_eq(&bound[a].block, &bound[b].block);
        (0..bound.len()).any(|a| (0..a).any(|b| writable(a) != writable(b) && same(a, b)))
    }
}

/// Makes all storage bindings of a module writable.
pub(crate) fn make_writable(module: &mut wgpu::naga::Module) {
    use wgpu::naga::{AddressSpace, StorageAccess};
    for (_, variable) in module.global_variables.iter_mut() {
        if let AddressSpace::Storage { access } = &mut variable.space {
            *access |= StorageAccess::LOAD | StorageAccess::STORE;
        }
    }
}

fn entry(binding: u32, ty: wgpu::BufferBindingType, dynamic: bool, size: u64) -> wgpu::BindGroupLayoutEntry {
    let ty = wgpu::BindingType::Buffer {
        ty,
        has_dynamic_offset: dynamic,
        min_binding_size: NonZeroU64::new(size),
    };
    wgpu::BindGroupLayoutEntry { binding, visibility: wgpu::ShaderStages::COMPUTE, ty, count: None }
}

/// Returns how parameters are passed, the size of the immediates, and the module adapted to that. Parameters become
/// immediates if they fit and immediates support their types. Otherwise they are in a uniform buffer.
fn pass_parameters(caps: &Caps, entry: &Entry) -> (ParameterPath, u32, wgpu::naga::Module) {
    let plain = || entry.module().clone();
    let Some(params) = &entry.interface().params else { return (ParameterPath::Nothing, 0, plain()) };
    if params.size <= caps.max_immediates
        && params.size % 4 == 0
        && let Ok(moved) = entry.with_immediates()
    {
        return (ParameterPath::Immediates, params.size, moved);
    }
    (ParameterPath::Uniform { index: params.index, size: params.size.next_multiple_of(16) }, 0, plain())
}

/// Returns the error for a panic inside the compiler of a device.
pub(crate) fn panicked(kernel: &str, NagaPanic(panic): &NagaPanic) -> Error {
    let message = format!(
        "naga, which translates WGSL for the device, fails on this kernel: write it in another way (naga says: {panic})"
    );
    ErrorDetail::Compile { kernel: kernel.into(), message }.into()
}

/// Checks that the device's limits, features and compiler allow the kernel.
pub(crate) fn check(caps: &Caps, module: &Module, interface: &Interface) -> Result<()> {
    let kernel = interface.entry.clone();
    let parameters = interface.params.as_ref().map_or(0, |params| params.size);
    if parameters > MOST_PARAMETERS {
        return Err(
            ErrorDetail::TooManyParameters { kernel, found: parameters, limit: MOST_PARAMETERS }.into()
        );
    }
    let indices = interface.bindings.iter().map(|binding| binding.index);
    let highest = indices.chain(interface.params.as_ref().map(|params| params.index)).max().unwrap_or(0);
    let too_high = (highest >= caps.max_binding_index).then(|| format!("binding {highest}"));
    if let Some(what) = too_high.or(missing(caps, interface.needs).map(String::from)) {
        return Err(ErrorDetail::Unsupported { kernel, what, adapter: caps.adapter.clone() }.into());
    }
    let pointers = || if caps.whole_pointers { module.pointer_error() } else { None };
    let mistake = caps.shader_language.and_then(|shader_language| module.translation_error(shader_language));
    if let Some(mistake) = mistake.or_else(pointers) {
        return Err(mistake.into());
    }
    Ok(())
}

/// Maximum size of a kernel's parameters in bytes. Every device can bind a uniform buffer of this size.
const MOST_PARAMETERS: u32 = 16 << 10;

/// Returns the first feature that the kernel needs and the device lacks.
fn missing(caps: &Caps, needs: Needs) -> Option<&'static str> {
    let abilities = [
        (needs.f16, caps.f16, "16-bit floats"),
        (needs.f64, caps.f64, "64-bit floats"),
        (needs.int64, caps.int64, "64-bit integers"),
        (needs.subgroups, caps.subgroups, "subgroup operations"),
        (needs.float32_atomics, caps.float32_atomics, "atomic operations on 32-bit floats"),
    ];
    abilities.iter().find(|(needed, there, _)| *needed && !there).map(|&(_, _, what)| what)
}

/// The pipeline cache of one compilation, and its file.
pub(crate) struct PipelineCache {
    file: KernelFile,
    /// Data of the file, if there was a file.
    loaded: Option<Vec<u8>>,
    cache: wgpu::PipelineCache,
}

impl PipelineCache {
    /// Reads the file and makes the cache. The device must have the feature `PIPELINE_CACHE`.
    pub(crate) fn open(device: &wgpu::Device, file: KernelFile) -> Option<Self> {
        let loaded = file.load();
        let cache = portable_cache(device, loaded.as_deref())?;
        Some(Self { file, loaded, cache })
    }

    pub(crate) fn cache(&self) -> &wgpu::PipelineCache {
        &self.cache
    }

    /// Writes the driver's data to the file if there was no file. An existing file is left as it is, because some
    /// drivers return more and more data for the same kernel.
    pub(crate) fn close(self) {
        if let (None, Some(data)) = (self.loaded, self.cache.get_data()) {
            self.file.keep(&data);
        }
    }
}

/// Returns `None`, because no driver on this target returns compiled kernels.
#[cfg(not(native))]
fn portable_cache(_: &wgpu::Device, _: Option<&[u8]>) -> Option<wgpu::PipelineCache> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: &[u8] = b"what a driver made of a kernel";

    struct Temporary(PathBuf);

    impl Temporary {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("fencepost-{name}-{}", std::process::id()));
            fs::remove_dir_all(&path).ok(); // left over from a run that was killed
            Self(path)
        }

        fn folder(&self, device: &str) -> KernelFolder {
            KernelFolder::new(self.0.join("made/by/need"), device.into())
        }
    }

    impl Drop for Temporary {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).ok();
        }
    }

    #[test]
    fn a_file_is_loaded_for_the_same_device_and_kernel_only() {
        let here = Temporary::new("kept");
        let folder = here.folder("a");
        let file = folder.file(&("text", 1));
        assert_eq!(file.load(), None);
        file.keep(DATA);
        assert_eq!(here.folder("a").file(&("text", 1)).load().as_deref(), Some(DATA));
        for other in
            [folder.file(&("text", 2)), folder.file(&("texT", 1)), here.folder("b").file(&("text", 1))]
        {
            assert_eq!(other.load(), None);
            fs::copy(&file.path, &other.path).expect("the folder can be written");
            assert_eq!(other.load(), None, "a file under the name of another");
        }
    }

    #[test]
    fn a_damaged_file_is_not_loaded_and_is_replaced() {
        let here = Temporary::new("damaged");
        let file = here.folder("a").file(&"k");
        file.keep(DATA);
        let whole = fs::read(&file.path).expect("it was kept");
        let mut damaged: Vec<Vec<u8>> = (0..whole.len()).map(|end| whole[..end].to_vec()).collect();
        damaged.extend((0..whole.len()).map(|at| {
            let mut flipped = whole.clone();
            flipped[at] ^= 1;
            flipped
        }));
        damaged.push([&whole[..], b"more"].concat());
        for bytes in damaged {
            fs::write(&file.path, &bytes).expect("the folder can be written");
            assert_eq!(file.load(), None, "{} of {} bytes", bytes.len(), whole.len());
            file.keep(DATA);
            assert_eq!(file.load().as_deref(), Some(DATA));
        }
    }

    #[test]
    fn the_tuning_table_of_a_device_has_a_file_of_its_own() {
        let here = Temporary::new("tuning");
        let file = here.folder("a").tuning_file();
        file.keep(DATA);
        assert_eq!(here.folder("a").tuning_file().load().as_deref(), Some(DATA));
        assert_eq!(here.folder("b").tuning_file().load(), None, "the table of another device");
        assert!(file.path.extension().is_some_and(|ending| ending == "tuning"));
        let kernel = here.folder("a").file(&"tuning");
        assert_eq!(kernel.load(), None, "a kernel with that text is in another file");
    }

    #[test]
    fn a_second_write_replaces_the_file_and_leaves_no_other() {
        let here = Temporary::new("anew");
        let file = here.folder("a").file(&"k");
        file.keep(DATA);
        file.keep(b"more");
        assert_eq!(file.load().as_deref(), Some(&b"more"[..]));
        let folder = file.path.parent().expect("a folder");
        assert_eq!(fs::read_dir(folder).expect("it is there").count(), 1);
    }

    /// Writes the file and reads it, while other processes do the same.
    fn write_and_read(file: &KernelFile) {
        let data: Vec<u8> = (0..1 << 20).map(|at: u32| at as u8).collect();
        for round in 0..40 {
            file.keep(&data);
            assert_eq!(file.load().map(|read| read == data), Some(true), "round {round}");
        }
    }

    #[test]
    fn processes_that_write_one_file_at_once_read_whole_files_only() {
        const FOLDER: &str = "FENCEPOST_TEST_KERNEL_FOLDER";
        const NAME: &str = "processes_that_write_one_file_at_once_read_whole_files_only";
        let file_in = |path: PathBuf| KernelFolder::new(path, "a".into()).file(&"k");
        if let Some(path) = std::env::var_os(FOLDER) {
            return write_and_read(&file_in(path.into()));
        }
        let here = Temporary::new("processes");
        let file = file_in(here.0.clone());
        let (_, module) = module_path!().split_once("::").expect("the crate's name comes first");
        let mut program = std::process::Command::new(std::env::current_exe().expect("this program"));
        program.args([&format!("{module}::{NAME}"), "--exact", "--nocapture"]).env(FOLDER, &here.0);
        let children: Vec<_> = (0..3).map(|_| program.spawn().expect("this program starts")).collect();
        for mut child in children {
            assert!(child.wait().expect("it ends").success());
        }
        assert!(file.load().is_some(), "the other processes wrote this file");
        assert_eq!(fs::read_dir(&here.0).expect("it is there").count(), 1, "no temporary file is left");
    }

    #[test]
    fn an_unusable_folder_is_not_an_error() {
        let here = Temporary::new("no-folder");
        fs::create_dir_all(&here.0).expect("a folder");
        fs::write(here.0.join("made"), "a file where a folder should be").expect("a file");
        let file = here.folder("a").file(&"k");
        file.keep(DATA);
        assert_eq!(file.load(), None);
        let taken = KernelFolder::new(here.0.clone(), "a".into()).file(&"k");
        fs::create_dir(&taken.path).expect("a folder where a file should be");
        taken.keep(DATA);
        assert_eq!(taken.load(), None);
        assert_eq!(fs::read_dir(&here.0).expect("it is there").count(), 2, "no temporary file is left");
        #[cfg(unix)]
        {
            let pipe = KernelFolder::new(here.0.clone(), "a".into()).file(&"pipe");
            let made = std::process::Command::new("mkfifo").arg(&pipe.path).status();
            assert!(made.expect("mkfifo is there").success());
            assert_eq!(pipe.load(), None);
        }
    }
}
