//! K09: what a driver made of kernels is kept in a folder for the next run of a program.

use crate::common::kernels::{Mix, mixed};
use crate::common::{Case, Subject, cached, case};
use fencepost::prelude::*;
use fencepost::{AdoptOptions, RecorderChoice};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

pub fn cases() -> Vec<Case> {
    vec![
        case("k09_kernels_are_kept_in_a_folder_and_taken_from_it", kept).gpu_only("a driver compiles"),
        case("k09_the_driver_is_given_what_was_kept", given).vulkan_only("the driver is listened to"),
        case("k09_damaged_files_of_kernels_are_ignored_and_made_anew", damaged).gpu_only("a driver compiles"),
        case("k09_contexts_share_a_folder_of_kernels_at_the_same_time", shared).gpu_only("a driver compiles"),
        case("k09_a_folder_of_kernels_that_cannot_be_written_is_no_error", refused)
            .gpu_only("a driver compiles"),
    ]
}

const N: usize = 100;
const RECORDERS: [RecorderChoice; 2] = [RecorderChoice::Auto, RecorderChoice::Wgpu];

struct Temporary(PathBuf);

impl Temporary {
    fn new(s: &Subject, name: &str) -> Self {
        let name = format!("fencepost-{name}-{}-{}", s.name(), std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::remove_dir_all(&path).ok(); // of a run that was killed
        Self(path)
    }

    /// The files there, each with its bytes.
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

/// Runs a kernel, a fill and both forms of another kernel on a new context with this folder.
fn run(s: &Subject, recorder: RecorderChoice, folder: &Path) {
    let ctx = s.options(|options| {
        (options.recorder, options.kernel_folder) = (recorder, Some(folder.to_path_buf()));
    });
    for workgroup in [32.0, 64.0] {
        let mix = ctx.kernel_with::<Mix>(&[("WORKGROUP", workgroup)]).unwrap();
        let (x, mut y) = (ctx.full([N], 3_u32).unwrap(), ctx.zeros([N]).unwrap());
        ctx.launch(&mix, Grid::threads([N]), Mix { a: 5, b: 7, x: &x, y: &mut y }).unwrap();
        assert_eq!(ctx.read(&y).wait().unwrap(), [mixed(0, 5, 3, 7); N]);
    }
}

/// Long ago: a file with this time was not written since.
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
            assert!(files.is_empty(), "only Vulkan's drivers give out what they have compiled");
            continue;
        }
        assert!(files.len() >= 2, "one for each of the two forms");
        age(&folder);
        run(s, recorder, &folder.0);
        assert_eq!(old(&folder), files.len(), "what was there was taken, and nothing was written");
        assert_eq!(folder.files(), files);
    }
}

fn given(s: &Subject) {
    for recorder in [RecorderChoice::Wgpu, RecorderChoice::Direct] {
        let folder = Temporary::new(s, "given");
        let given = || {
            let (device, queue, name) = cached::open(s.place());
            let (alone, kernel_folder) = (recorder == RecorderChoice::Direct, Some(folder.0.clone()));
            let options = AdoptOptions { recorder, alone, kernel_folder, ..AdoptOptions::default() };
            let ctx = Context::adopt(device, queue, options).unwrap();
            s.watch(&ctx);
            ctx.kernel::<Mix>().unwrap();
            cached::given(name)
        };
        assert_eq!(given(), [0], "nothing is kept yet");
        assert!(matches!(given()[..], [bytes] if bytes > 0), "what the driver gave in the run before");
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
            assert_eq!((old(&folder), folder.files()), (0, files.clone()), "all were made anew");
        }
    }
}

fn shared(s: &Subject) {
    let folder = Temporary::new(s, "shared");
    std::thread::scope(|scope| {
        (0..4).for_each(|_| drop(scope.spawn(|| run(s, RecorderChoice::Auto, &folder.0))));
    });
    let files = folder.files();
    assert!(files.iter().all(|(path, _)| path.extension().is_some_and(|end| end == "kernel")));
    age(&folder);
    run(s, RecorderChoice::Auto, &folder.0);
    assert_eq!(old(&folder), files.len(), "all were whole");
}

fn refused(s: &Subject) {
    let folder = Temporary::new(s, "refused");
    fs::write(&folder.0, "a file where a folder should be").unwrap();
    run(s, RecorderChoice::Auto, &folder.0);
    fs::remove_file(&folder.0).unwrap();
}
