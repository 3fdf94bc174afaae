//! `fencepost-languages` translates WGSL texts to the languages of all graphics APIs, as the library does before wgpu
//! passes them to a driver.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, ensure};
use clap::Parser;
use fencepost_kernels::{
    Entry, Module, NagaPanic, Needs, ShaderLanguage, ShaderSource, catch_naga_panic, legalize,
};
use naga::ShaderStage;
use naga::back::{glsl, hlsl, msl, spv};
use naga::proc::{BoundsCheckPolicies, BoundsCheckPolicy};
use naga::valid::{Capabilities, ModuleInfo, ValidationFlags, Validator};

/// Translates each WGSL text of a folder
#[derive(Parser)]
struct Arguments {
    /// Folder with files `*.wgsl`
    folder: PathBuf,
}

/// A version of a language.
struct Target {
    name: &'static str,
    shader_language: ShaderLanguage,
    /// Returns `true` for needs that the drivers of this language do not have. Kernels with them are refused there.
    lacks: fn(Needs) -> bool,
    /// Writes the entry point of this name.
    write: fn(&naga::Module, &ModuleInfo, &str) -> std::result::Result<(), String>,
}

const TARGETS: [Target; 5] = [
    Target {
        name: "SPIR-V 1.3",
        shader_language: ShaderLanguage::Spirv,
        lacks: |_| false,
        write: write_spirv,
    },
    Target {
        name: "MSL 2.4",
        shader_language: ShaderLanguage::Msl,
        lacks: |needs| needs.f64 || needs.float32_atomics,
        write: write_msl,
    },
    Target {
        name: "HLSL 5.1",
        shader_language: ShaderLanguage::Hlsl,
        lacks: needs_any,
        write: |module, info, entry| write_hlsl(module, info, entry, hlsl::ShaderModel::V5_1),
    },
    Target {
        name: "HLSL 6.2",
        shader_language: ShaderLanguage::Hlsl,
        lacks: |needs| needs.f64 || needs.float32_atomics,
        write: |module, info, entry| write_hlsl(module, info, entry, hlsl::ShaderModel::V6_2),
    },
    Target {
        name: "GLSL ES 3.1",
        shader_language: ShaderLanguage::Glsl,
        lacks: needs_any,
        write: write_glsl,
    },
];

/// The runtime checks that a kernel without a proof has.
const CHECKED: BoundsCheckPolicies = BoundsCheckPolicies {
    index: BoundsCheckPolicy::Restrict,
    buffer: BoundsCheckPolicy::Restrict,
    image_load: BoundsCheckPolicy::Restrict,
    binding_array: BoundsCheckPolicy::Unchecked,
};

fn needs_any(needs: Needs) -> bool {
    needs != Needs::default()
}

/// The numbers of translations.
#[derive(Default)]
struct Count {
    done: usize,
    failed: usize,
    /// Translations for drivers that lack what the kernel needs.
    left_out: usize,
}

fn main() -> Result<ExitCode> {
    let Arguments { folder } = Arguments::parse();
    let texts = texts(&folder)?;
    ensure!(!texts.is_empty(), "{} has no file `*.wgsl`", folder.display());
    let mut count = Count::default();
    for path in &texts {
        translate_file(path, &mut count)?;
    }
    let Count { done, failed, left_out } = count;
    println!(
        "{} texts, {done} translations, {failed} failed, {left_out} left out: no driver of that language has what the \
         kernel needs",
        texts.len()
    );
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the WGSL files of a folder, in the order of their names.
fn texts(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut texts = Vec::new();
    for file in fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))? {
        let path = file?.path();
        if path.extension().is_some_and(|extension| extension == "wgsl") {
            texts.push(path);
        }
    }
    texts.sort();
    Ok(texts)
}

/// Translates each entry point of a file, and prints what fails.
fn translate_file(path: &Path, count: &mut Count) -> Result<()> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let label = path.file_name().unwrap_or_default().to_string_lossy();
    let module = Module::parse(&ShaderSource::text(label.clone(), text))?;
    let overrides = module.overrides();
    let values: Vec<_> = overrides.iter().map(|declared| (declared.name.as_str(), 1.0)).collect();
    for name in module.entries() {
        // Some texts leave sizes to the launch.
        let entry = module.entry(name, &[]).or_else(|_| module.entry(name, &values))?;
        for target in &TARGETS {
            if (target.lacks)(entry.interface().needs) {
                count.left_out += 1;
                continue;
            }
            match translate(&module, &entry, target) {
                Ok(()) => count.done += 1,
                Err(reason) => {
                    count.failed += 1;
                    println!("{label}: {name}: {}: {reason}", target.name);
                }
            }
        }
    }
    Ok(())
}

/// Translates an entry point with its parameters in a uniform buffer, and as immediates if they fit.
fn translate(module: &Module, entry: &Entry, target: &Target) -> std::result::Result<(), String> {
    if let Some(error) = module.translation_error(target.shader_language) {
        return Err(format!("the library refuses it: {error}"));
    }
    let plain = entry.module().clone();
    for mut form in std::iter::once(plain).chain(entry.with_immediates().ok()) {
        let name = &entry.interface().entry;
        let written = catch_naga_panic(|| {
            legalize(&mut form, target.shader_language);
            let mut validator = Validator::new(ValidationFlags::all(), Capabilities::all());
            let info = validator.validate(&form).map_err(|error| error.as_inner().to_string())?;
            (target.write)(&form, &info, name)
        });
        written.map_err(|NagaPanic(panic)| format!("naga panics: {panic}"))??;
    }
    Ok(())
}

fn write_spirv(module: &naga::Module, info: &ModuleInfo, entry: &str) -> std::result::Result<(), String> {
    let options =
        spv::Options { lang_version: (1, 3), bounds_check_policies: CHECKED, ..spv::Options::default() };
    let pipeline = spv::PipelineOptions { shader_stage: ShaderStage::Compute, entry_point: entry.into() };
    spv::write_vec(module, info, &options, Some(&pipeline)).map(drop).map_err(|error| error.to_string())
}

fn write_msl(module: &naga::Module, info: &ModuleInfo, entry: &str) -> std::result::Result<(), String> {
    let options =
        msl::Options { lang_version: (2, 4), bounds_check_policies: CHECKED, ..msl::Options::default() };
    let pipeline = msl::PipelineOptions {
        entry_point: Some((ShaderStage::Compute, entry.into())),
        ..msl::PipelineOptions::default()
    };
    let written = msl::write_string(module, info, &options, &pipeline);
    let (_, written) = written.map_err(|error| error.to_string())?;
    named(written.entry_point_names)
}

fn write_hlsl(
    module: &naga::Module,
    info: &ModuleInfo,
    entry: &str,
    shader_model: hlsl::ShaderModel,
) -> std::result::Result<(), String> {
    let options = hlsl::Options {
        shader_model,
        immediates_target: Some(hlsl::BindTarget::default()),
        ..hlsl::Options::default()
    };
    let pipeline = hlsl::PipelineOptions { entry_point: Some((ShaderStage::Compute, entry.into())) };
    let mut text = String::new();
    let written = hlsl::Writer::new(&mut text, &options, &pipeline).write(module, info, None);
    named(written.map_err(|error| error.to_string())?.entry_point_names)
}

fn write_glsl(module: &naga::Module, info: &ModuleInfo, entry: &str) -> std::result::Result<(), String> {
    let options = glsl::Options { version: glsl::Version::new_gles(310), ..glsl::Options::default() };
    let pipeline = glsl::PipelineOptions {
        shader_stage: ShaderStage::Compute,
        entry_point: entry.into(),
        multiview: None,
    };
    let mut text = String::new();
    let writer = glsl::Writer::new(&mut text, module, info, &options, &pipeline, CHECKED);
    writer.and_then(|mut writer| writer.write()).map(drop).map_err(|error| error.to_string())
}

/// Returns the first error of an entry point.
fn named<E: ToString>(names: Vec<std::result::Result<String, E>>) -> std::result::Result<(), String> {
    names.into_iter().try_for_each(|name| name.map(drop).map_err(|error| error.to_string()))
}
