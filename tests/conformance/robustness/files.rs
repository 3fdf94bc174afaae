//! R10: only regular files are read, up to a size limit, and a shader uses only files in its folder.

use crate::common::{Case, NO_FILES, Subject, case};
use fencepost::Graph;
use fencepost::graph::LoadOptions;
use fencepost::{ErrorDetail, ShaderSource};
use std::fs;
use std::path::{Path, PathBuf};

pub fn cases() -> Vec<Case> {
    vec![
        case("r10_a_shader_or_a_graph_in_no_plain_file_is_an_error", kinds).not_in_a_page(NO_FILES),
        case("r10_a_shader_uses_only_plain_files_of_its_folder", used).not_in_a_page(NO_FILES),
        case("r10_a_file_over_the_limit_is_an_error_that_names_it", sizes).not_in_a_page(NO_FILES),
    ]
}

/// A folder that is removed when the case ends.
struct Folder(PathBuf);

impl Folder {
    fn new(s: &Subject, name: &str) -> Self {
        let name = format!("fencepost-r10-{name}-{}-{}", s.place().name(), std::process::id());
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(folder.join("shaders")).unwrap();
        Self(folder)
    }

    fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }

    /// Returns a folder, and on Unix also a pipe without a writer and an endless device.
    fn endless(&self) -> Vec<PathBuf> {
        let mut all = vec![self.0.clone()];
        if cfg!(unix) {
            let pipe = self.0.join("shaders/pipe");
            assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
            all.extend([pipe, "/dev/zero".into()]);
        }
        all
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

fn kinds(s: &Subject) {
    let ctx = s.ctx();
    let folder = Folder::new(s, "kinds");
    for path in folder.endless() {
        let error = ShaderSource::read(path.to_str().unwrap()).unwrap_err().to_string();
        assert!(error.contains("give a plain file"), "{error}");
        let error = Graph::load(&ctx, &path).unwrap_err();
        let ErrorDetail::GraphFileUnread { file, reason } = error.detail() else { panic!("{error}") };
        assert!(Path::new(file) == path && reason.contains("give a plain file"), "{error}");
    }
}

fn used(s: &Subject) {
    let ctx = s.ctx();
    let folder = Folder::new(s, "used");
    folder.write("secret", "the words of a secret");
    let mut targets: Vec<&str> = vec!["../secret", "../shaders/../secret"];
    if cfg!(unix) {
        folder.endless();
        #[cfg(unix)]
        std::os::unix::fs::symlink(folder.0.join("secret"), folder.0.join("shaders/link")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("/dev/zero", folder.0.join("shaders/zero")).unwrap();
        targets.extend(["link", "zero", "pipe"]);
    }
    for target in targets {
        let text = format!("//#use \"{target}\"\n@compute @workgroup_size(1) fn k() {{}}");
        let path = folder.write("shaders/a.wgsl", &text);
        let roots = [
            ShaderSource::read(path.to_str().unwrap()),
            ShaderSource::read_in(&folder.0.join("shaders"), "a.wgsl"),
        ];
        for read in roots {
            let error = read.unwrap_err().to_string();
            let named =
                error.contains("a.wgsl:1: cannot read `") && error.contains(&target[target.len() - 4..]);
            assert!(named && !error.contains("the words"), "{error}");
            assert!(error.contains("it is outside of") || error.contains("give a plain file"), "{error}");
        }
    }
    folder.write("shaders/own.wgsl", "const own = 1;");
    let path = folder.write("shaders/a.wgsl", "//#use \"own.wgsl\"\n@compute @workgroup_size(1) fn k() {}");
    let source = ShaderSource::read(path.to_str().unwrap()).unwrap();
    ctx.kernel_from_with(&source, "k", &[]).unwrap();
}

fn sizes(s: &Subject) {
    let ctx = s.ctx();
    let queue = s.ctx().queue("q");
    let folder = Folder::new(s, "sizes");
    let path = folder.write("shaders/a.wgsl", "//#use \"b.wgsl\"\n");
    fs::File::create(folder.0.join("shaders/b.wgsl")).unwrap().set_len(16 << 20).unwrap();
    let error = ShaderSource::read(path.to_str().unwrap()).unwrap_err().to_string();
    assert!(error.contains("b.wgsl") && error.contains("which is the limit"), "{error}");
    let (graph, _) = queue.capture(|c| c.read_as("sevens", &c.full([4], 7_u32)?)).unwrap();
    let saved = folder.0.join("graph");
    graph.save(&saved).unwrap();
    let error = Graph::load_with(&ctx, &saved, LoadOptions::default().memory_limit(16)).unwrap_err();
    assert!(matches!(error.detail(), ErrorDetail::GraphMemory { limit: 16, .. }), "{error}");
    Graph::load(&ctx, &saved).unwrap();
}
