//! `cargo xtask tint`: compiles the WGSL of the algorithms with Tint, the compiler of Dawn and Chrome.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::shell::{line, which};
use crate::suite;
use crate::workspace::Workspace;

/// npm package of Dawn for Node.js.
const PACKAGE: &str = "webgpu@0.6.2";
/// Test program whose kernels are compiled.
const PROGRAM: &str = "conformance";
/// Start of the names of tests of the algorithms' rules.
const TESTS: [&str; 3] = ["a0", "a1", "a2"];

/// Program that compiles each file of a folder on Dawn's null device, and prints the errors. Files with 64-bit numbers
/// are left out.
const CHECK: &str = r#"import { readdirSync, readFileSync } from 'node:fs';
import { create, globals } from 'webgpu';

Object.assign(globalThis, globals);
globalThis.gpu = create(['backend=null']); // the adapter of a collected instance crashes
const adapter = await gpu.requestAdapter();
const device = await adapter.requestDevice({ requiredFeatures: ['shader-f16', 'subgroups'] });
const folder = process.argv[2];
const files = readdirSync(folder).filter(file => file.endsWith('.wgsl')).sort();
let [refused, extended] = [0, 0];
for (const file of files) {
  const code = readFileSync(`${folder}/${file}`, 'utf8');
  if (/\b[fiu]64\b/.test(code.replace(/\/\/.*$/gm, ''))) {
    extended += 1;
    continue;
  }
  device.pushErrorScope('validation');
  const module = device.createShaderModule({ code });
  const { messages } = await module.getCompilationInfo();
  await device.popErrorScope();
  const errors = messages.filter(message => message.type === 'error');
  refused += errors.length > 0;
  for (const { lineNum, linePos, message } of errors) console.log(`${file}:${lineNum}:${linePos}: ${message}`);
}
console.log(`${files.length} texts, ${refused} refused, ${extended} left out: they use numbers of 8 bytes, which WGSL does not have`);
process.exit(files.length > extended && refused === 0 ? 0 : 1);
"#;

/// Collects the WGSL of the kernels that the tests of the algorithms compile, and compiles them with Tint.
///
/// # Errors
/// Node.js is missing, a test fails, or Tint refuses a shader.
pub(crate) fn tint(workspace: &Workspace, may_install: bool) -> Result<()> {
    let Some(node) = which("node") else {
        bail!("there is no program `node`: install Node.js 20 or later, which runs Dawn");
    };
    let dawn = dawn(workspace, may_install)?;
    let texts = texts(workspace, "tint")?;
    let check = dawn.join("check.mjs");
    fs::write(&check, CHECK).with_context(|| format!("cannot write {}", check.display()))?;
    line(node).arg(&check).arg(&texts).dir(&dawn).run()
}

/// Returns the folder with Dawn, which npm installs if it is missing and `may_install`.
fn dawn(workspace: &Workspace, may_install: bool) -> Result<PathBuf> {
    let folder = workspace.tools("dawn")?;
    if !folder.join("node_modules/webgpu").is_dir() {
        ensure!(may_install, "Dawn is not in {} yet, and --no-install was given", folder.display());
        let Some(npm) = which("npm") else {
            bail!("there is no program `npm`: install it, or {PACKAGE} in {}", folder.display());
        };
        eprintln!("xtask: fetching Dawn for Node.js (130 MB)");
        line(npm).args(["install", "--no-save", "--silent", PACKAGE]).dir(&folder).run()?;
    }
    Ok(folder)
}

/// Runs the tests of the algorithms on the CPU, and returns the folder with the WGSL of their kernels, which has this
/// name.
pub(crate) fn texts(workspace: &Workspace, name: &str) -> Result<PathBuf> {
    let folder = workspace.made(name)?;
    empty(&folder)?;
    let programs = suite::build(workspace)?.programs;
    let program = programs.iter().find(|program| program.name == PROGRAM);
    let program = program.with_context(|| format!("cargo names no test program `{PROGRAM}`"))?;
    for tests in TESTS {
        let run = program.line().var("FENCEPOST_TEST_PLACE", "threads").var("FENCEPOST_DUMP", &folder);
        run.arg(tests).run_aside()?;
    }
    Ok(folder)
}

/// Removes the files of an earlier run.
fn empty(folder: &Path) -> Result<()> {
    for file in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = file?.path();
        fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    Ok(())
}
