//! K09: the results of a driver's compiler are stored in a folder for the next run of the program.

use crate::common::kernels::Mix;
use crate::common::{Case, Subject, cached, case};
use fencepost::prelude::*;
use fencepost::{AdoptOptions, RecorderChoice};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

pub fn cases() -> Vec<Case> {
    vec![
        case("k09_compiled_kernels_are_stored_in_a_folder_and_loaded_from_it", kept)
            .gpu_only("only a driver compiles kernels"),
        case("k09_the_driver_receives_the_stored_bytes", given)
            .vulkan_only("the test records the calls of a Vulkan driver"),
        case("k09_damaged_kernel_files_are_ignored_and_written_again", damaged)
            .gpu_only("only a driver compiles kernels"),
        case("k09_contexts_may_use_one_kernel_folder_at_the_same_time", shared)
            .gpu_only("only a driver compiles kernels"),
        case("k09_a_kernel_folder_that_cannot_be_written_is_no_error", refused)
            .gpu_only("only a driver compiles kernels"),
    ]
}

const N: usize = 100;
const RECORDERS: [RecorderChoice; 2] = [RecorderChoice::Auto, RecorderChoice::Wgpu];

struct Temporary(PathBuf);

impl Temporary {
    fn new(s: &Subject, name: &str) -> Self {
        let name = format!("fencepost-{name}-{}-{}", s.name(), std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::remove_dir_all(&path).ok(); // a killed run may have left the folder
        Self(path)
    }

    /// Returns the files in the folder, each with its bytes.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        let Ok(folder) = fs::read_dir(&self.0) else { return Vec::new() };
        let mut files: Vec<_> = folder.map(|file| file.unwrap().path()).collect();
        files.sort();
        files.into_iter().map(|path| (path.clone(), fs::read(path).unwrap())).collect()
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).ok();
    }
}

/// Runs a fill and a kernel with two workgroup sizes, on a new context with this folder.
fn run(s: &Subject, recorder: RecorderChoice, folder: &Path) {
    let ctx = s.options(|options| {
        (options.recorder, options.kernel_folder) = (recorder, Some(folder.to_path_buf()));
    });
    for workgroup in [32.0, 64.0] {
        let mix = ctx.kernel_with::<Mix>(&[("WORKGROUP", workgroup)]).unwrap();
        let x = ctx.full([N], 3_u32).unwrap();
        let mut y = ctx.zeros([N]).unwrap();
        ctx.current_queue().launch(&mix, Grid::threads([N]), Mix { a: 5, b: 7, x: &x, y: &mut y }).unwrap();
        assert_eq!(ctx.current_queue().read(&y).wait().unwrap(), [Mix::of(5, 7, 3, 0); N]);
    }
}

/// Returns a time in the past. If a file still has this time, it was not written since.
fn long_ago() -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000)
}

fn age(folder: &Temporary) {
    for (path, _) in folder.files() {
        File::options().write(true).open(path).unwrap().set_modified(long_ago()).unwrap();
    }
}

fn old(folder: &Temporary) -> usize {
    let is_old = |(path, _): &(PathBuf, _)| fs::metadata(path).unwrap().modified().unwrap() == long_ago();
    folder.files().iter().filter(|file| is_old(file)).count()
}

fn kept(s: &Subject) {
    for recorder in RECORDERS {
        let folder = Temporary::new(s, "kept");
        run(s, recorder, &folder.0.join(""));
        let files = folder.files();
        if !s.place().is_vulkan() {
            assert!(files.is_empty(), "only Vulkan drivers return the results of their compiler");
            continue;
        }
        assert!(files.len() >= 2, "there is a file for each workgroup size");
        age(&folder);
        run(s, recorder, &folder.0);
        assert_eq!(old(&folder), files.len(), "the second run loads the files and writes none");
        assert_eq!(folder.files(), files);
    }
}

fn given(s: &Subject) {
    for recorder in [RecorderChoice::Wgpu, RecorderChoice::Direct] {
        let folder = Temporary::new(s, "given");
        let given = || {
            let (device, queue, name) = cached::open(s.place());
            let exclusive = recorder == RecorderChoice::Direct;
            let kernel_folder = folder.0.clone();
            let options =
                AdoptOptions::default().recorder(recorder).exclusive(exclusive).kernel_folder(kernel_folder);
            let ctx = Context::adopt(device, queue, options).unwrap();
            s.watch(&ctx);
            ctx.kernel::<Mix>().unwrap();
            cached::given(name)
        };
        assert_eq!(given(), [0], "the first run has no stored bytes for the driver");
        assert!(
            matches!(given()[..], [bytes] if bytes > 0),
            "the second run passes the bytes of the first to the driver"
        );
    }
}

fn damaged(s: &Subject) {
    for recorder in RECORDERS {
        let folder = Temporary::new(s, "damaged");
        run(s, recorder, &folder.0);
        let files = folder.files();
        let damages: [fn(&mut Vec<u8>); 5] = [
            Vec::clear,
            |bytes| bytes.truncate(bytes.len() - 1),
            |bytes| bytes[0] ^= 1,
            |bytes| *bytes.last_mut().unwrap() ^= 1,
            |bytes| bytes.extend([0; 100]),
        ];
        for damage in damages {
            for (path, bytes) in &files {
                let mut bytes = bytes.clone();
                damage(&mut bytes);
                fs::write(path, bytes).unwrap();
            }
            age(&folder);
            run(s, recorder, &folder.0);
            assert_eq!(
                (old(&folder), folder.files()),
                (0, files.clone()),
                "every damaged file is written again"
            );
        }
    }
}

fn shared(s: &Subject) {
    let folder = Temporary::new(s, "shared");
    crate::common::thread::scope(|scope| {
        (0..4).for_each(|_| drop(scope.spawn(|| run(s, RecorderChoice::Auto, &folder.0))));
    });
    let files = folder.files();
    assert!(files.iter().all(|(path, _)| path.extension().is_some_and(|end| end == "kernel")));
    age(&folder);
    run(s, RecorderChoice::Auto, &folder.0);
    assert_eq!(old(&folder), files.len(), "every file is valid");
}

fn refused(s: &Subject) {
    let folder = Temporary::new(s, "refused");
    fs::write(&folder.0, "a file where a folder should be").unwrap();
    run(s, RecorderChoice::Auto, &folder.0);
    fs::remove_file(&folder.0).unwrap();
}
