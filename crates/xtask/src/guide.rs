//! `cargo xtask guide`: copies the pages of `docs/guide` into the library's documentation, or checks the copies.
//!
//! A package has only the files of its own folder, so `crates/fencepost/guide` has a copy of each page, with the links
//! of rustdoc. The front page of the documentation is the README with another section in place of that for a checkout,
//! and with links to the copies.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::workspace::{Workspace, text_of};

/// Prefix of links to pages that are not in the guide.
const REPOSITORY: &str = "https://github.com/fencepost-rs/fencepost/blob/main/docs/";
/// Prefix of links to pictures, from which a browser loads them.
const PICTURES: &str = "https://raw.githubusercontent.com/fencepost-rs/fencepost/main/docs/";

/// Prefix of the README's links to pages of the guide.
const GUIDE: &str = "https://github.com/fencepost-rs/fencepost/blob/main/docs/guide/";

/// Folder of the copies.
const COPIES: &str = "crates/fencepost/guide";
/// File that declares a module for each copy.
const MODULES: &str = "crates/fencepost/src/guide.rs";
/// Front page of the library's documentation.
const FRONT: &str = "crates/fencepost/src/front.md";

/// Heading of the README's section with commands that a user of the library lacks.
const CHECKOUT: &str = "## From a checkout";
/// Section of the front page in its place. Only a published release has that page.
const IN_A_PROGRAM: &str = r#"## In a program

```toml
[dependencies]
fencepost = "0.1"
wgpu = "=30.0.1"    # only to exchange wgpu objects: exactly this version
```

[Features](crate::guide::features) lists the parts that a program can leave out.

"#;

/// Checks the copies, or writes them.
///
/// # Errors
/// A file cannot be read or written; a copy is wrong, and `write` is not given.
pub(crate) fn guide(workspace: &Workspace, write: bool) -> Result<()> {
    let wanted = wanted(workspace)?;
    let wrong = wrong(workspace.root(), &wanted)?;
    if wrong.is_empty() {
        return Ok(());
    }
    if !write {
        bail!("{} differ from docs/guide or README.md: `cargo xtask guide --write`", wrong.join(", "));
    }
    let copies = workspace.path(COPIES);
    if copies.exists() {
        fs::remove_dir_all(&copies).with_context(|| format!("cannot remove {}", copies.display()))?;
    }
    fs::create_dir_all(&copies)?;
    for (path, text) in &wanted {
        fs::write(workspace.path(path), text).with_context(|| format!("cannot write {path}"))?;
    }
    Ok(())
}

/// Returns the files that differ from the wanted ones, are missing, or belong to no page.
fn wrong(root: &Path, wanted: &BTreeMap<String, String>) -> Result<Vec<String>> {
    let differs =
        |(path, text): &(&String, &String)| fs::read_to_string(root.join(path)).ok().as_ref() != Some(text);
    let mut wrong: Vec<String> = wanted.iter().filter(differs).map(|(path, _)| path.clone()).collect();
    if root.join(COPIES).is_dir() {
        for entry in fs::read_dir(root.join(COPIES))? {
            let path = format!("{COPIES}/{}", entry?.file_name().to_string_lossy());
            wrong.extend((!wanted.contains_key(&path)).then_some(path));
        }
    }
    Ok(wrong)
}

/// Returns the wanted text of each file, by path relative to the root.
fn wanted(workspace: &Workspace) -> Result<BTreeMap<String, String>> {
    let docs = workspace.path("docs");
    let mut wanted = BTreeMap::new();
    for entry in fs::read_dir(docs.join("guide"))? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        wanted.insert(format!("{COPIES}/{name}"), page(&text_of(&path)?));
    }
    let modules = modules(wanted.keys().filter_map(|path| path.strip_prefix(COPIES)));
    wanted.insert(MODULES.to_owned(), modules);
    wanted.insert(format!("{COPIES}/index.md"), index(&text_of(&docs.join("SUMMARY.md"))?));
    wanted.insert(FRONT.to_owned(), front(&text_of(&workspace.path("README.md"))?));
    Ok(wanted)
}

/// Returns the README with [`IN_A_PROGRAM`] in place of the section for a checkout, and with links to the modules of the
/// guide.
fn front(readme: &str) -> String {
    let mut front = String::new();
    let mut is_left_out = false;
    for line in readme.lines() {
        if line.starts_with("## ") {
            is_left_out = line == CHECKOUT;
            if is_left_out {
                front += IN_A_PROGRAM;
            }
        }
        if !is_left_out {
            front += &with_modules(line);
            front.push('\n');
        }
    }
    front
}

/// Converts the README's links to pages of the guide: to the modules of these pages.
fn with_modules(line: &str) -> String {
    let start = format!("]({GUIDE}");
    let mut parts = line.split(start.as_str());
    let mut linked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        linked += &format!("](crate::guide::{}", part.replacen(".md", "", 1));
    }
    linked
}

/// Converts the links of a page to rustdoc's. Fenced blocks stay as they are.
fn page(text: &str) -> String {
    let mut fenced = false;
    let lines = text.lines().map(|line| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        if fenced || fence { line.to_owned() } else { with_links(line) }
    });
    lines.map(|line| line + "\n").collect()
}

fn with_links(line: &str) -> String {
    let mut parts = line.split("](");
    let mut linked = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (target, rest) = part.split_once(')').unwrap_or((part, ""));
        linked += &format!("]({}){rest}", link(target));
    }
    linked
}

/// Converts a link of a page in `docs/guide` to rustdoc's: to a module of the guide, or to the web.
fn link(target: &str) -> String {
    if target.contains("://") || target.starts_with('#') {
        return target.to_owned();
    }
    match target.strip_prefix("../") {
        Some(picture) if picture.starts_with("images/") => format!("{PICTURES}{picture}"),
        Some(page) => format!("{REPOSITORY}{page}"),
        None => format!("crate::guide::{}", target.replacen(".md", "", 1)),
    }
}

/// Writes the index of the pages, in the order of the book's summary.
fn index(summary: &str) -> String {
    let guide = summary.lines().skip_while(|line| *line != "# Guide").skip(1);
    let pages = guide.take_while(|line| !line.starts_with("# ")).filter(|line| !line.is_empty());
    let pages = pages.map(|line| with_links(&line.replace("](guide/", "](")) + "\n");
    let head = "The guide: how the parts of the library go together, one page a module.\n\n";
    let foot = format!(
        "\nThe [book]({REPOSITORY}README.md) has these pages too, the\n\
         rules with their numbers, and what CUDA, OpenCL, CuPy, Warp, Taichi and wgpu call the same. It says what the names in\n\
         the examples stand for. Its examples are compiled and run by the test command.\n"
    );
    [head.to_owned()].into_iter().chain(pages).chain([foot]).collect()
}

/// Writes an empty module for each page.
fn modules<'a>(pages: impl Iterator<Item = &'a str>) -> String {
    let head = "// Written by `cargo xtask guide --write`.\n#![doc = include_str!(\"../guide/index.md\")]\n";
    let pages = pages.map(|page| {
        let name = page.trim_start_matches('/').trim_end_matches(".md");
        let raw = if name == "async" { "r#" } else { "" }; // a keyword
        format!("\n#[doc = include_str!(\"../guide/{name}.md\")]\npub mod {raw}{name} {{}}\n")
    });
    [head.to_owned()].into_iter().chain(pages).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_to_a_module_or_to_the_web() {
        let linked = with_links("see [a](timing.md#profiles), [b](#here) and ![c](../images/x.png)");
        let picture = format!("{PICTURES}images/x.png");
        assert_eq!(linked, format!("see [a](crate::guide::timing#profiles), [b](#here) and ![c]({picture})"));
        assert_eq!(link("../semantics.md#queues"), format!("{REPOSITORY}semantics.md#queues"));
        assert_eq!(link("https://example.org/a.md"), "https://example.org/a.md");
    }

    #[test]
    fn a_link_in_a_fenced_block_stays_as_it_is() {
        let block = "```text\n[a](b.md)\n```\n";
        assert_eq!(page(&format!("{block}[a](b.md)\n")), format!("{block}[a](crate::guide::b)\n"));
    }

    #[test]
    fn the_index_has_the_pages_of_the_guide_only() {
        let summary =
            "# Summary\n\n# Guide\n\n- [A](guide/a.md)\n- [B](guide/b.md)\n\n# Reference\n\n- [C](c.md)\n";
        let index = index(summary);
        assert!(index.contains("- [A](crate::guide::a)\n- [B](crate::guide::b)\n"), "{index}");
        assert!(!index.contains("[C]"), "{index}");
    }

    #[test]
    fn the_front_page_has_all_programs_of_the_readme_and_not_its_commands() {
        let readme = include_str!("../../../README.md");
        let front = front(readme);
        let programs = |page: &str| page.matches("```rust").count();
        assert!(programs(readme) > 0 && programs(&front) == programs(readme), "{front}");
        assert!(readme.contains(CHECKOUT) && !front.contains(CHECKOUT), "{front}");
        assert!(!front.contains("```sh") && front.contains("## Licence"), "{front}");
        assert!(!front.contains("cargo xtask"), "{front}");
    }

    #[test]
    fn the_front_page_links_to_the_modules_of_the_guide_and_to_other_pages_on_the_web() {
        let line = format!("[a]({GUIDE}checks.md#costs), [b]({GUIDE}cli.md), [c]({REPOSITORY}benchmarks.md)");
        let linked = "[a](crate::guide::checks#costs), [b](crate::guide::cli), ";
        assert_eq!(with_modules(&line), format!("{linked}[c]({REPOSITORY}benchmarks.md)"));
        let readme = include_str!("../../../README.md");
        let front = front(readme);
        assert!(readme.contains(GUIDE) && !front.contains(GUIDE), "{front}");
    }

    #[test]
    fn the_front_page_has_the_dependencies_of_a_release_with_the_versions_of_the_manifest() {
        let manifest = include_str!("../../../Cargo.toml");
        let version = |start: &str| {
            let rest = manifest.lines().find_map(|line| line.strip_prefix(start));
            rest.and_then(|rest| rest.split('"').next()).expect("the manifest has the line")
        };
        let (own, _) = version("version = \"").rsplit_once('.').expect("a version has three numbers");
        let wgpu = version("wgpu = { version = \"");
        let front = front(include_str!("../../../README.md"));
        for line in [format!("fencepost = \"{own}\"\n"), format!("wgpu = \"{wgpu}\" ")] {
            assert_eq!(front.matches(&line).count(), 1, "{line}");
        }
        assert!(!front.contains("No release") && !front.contains("path = "), "{front}");
    }

    #[test]
    fn a_changed_or_removed_page_makes_its_copy_wrong_until_it_is_written() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let workspace = Workspace::at(dir.path());
        for folder in ["docs/guide", "crates/fencepost/src"] {
            fs::create_dir_all(dir.path().join(folder)).expect("made");
        }
        let write = |path: &str, text: &str| fs::write(dir.path().join(path), text).expect("written");
        write("docs/SUMMARY.md", "# Guide\n\n- [A](guide/a.md)\n");
        write("docs/guide/a.md", "# A\n");
        write("docs/guide/b.md", "# B\n");
        write("README.md", "# C\n");
        let said = || guide(&workspace, false).map_err(|error| error.to_string());
        assert!(said().expect_err("nothing is written").contains("guide/a.md"));
        guide(&workspace, true).expect("written");
        said().expect("all is right");
        write("docs/guide/a.md", "# Another\n");
        assert!(said().expect_err("a page has changed").contains("guide/a.md"));
        guide(&workspace, true).expect("written");
        write("README.md", "# D\n");
        assert!(said().expect_err("the front page has changed").contains("src/front.md"));
        guide(&workspace, true).expect("written");
        fs::remove_file(dir.path().join("docs/guide/b.md")).expect("removed");
        let gone = said().expect_err("a page has gone");
        assert!(gone.contains("guide/b.md") && gone.contains("src/guide.rs"), "{gone}");
    }
}
