//! Finds the text of a shader, fills in its element type and appends the snippets it uses.

use std::borrow::Cow;
use std::collections::HashSet;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::Arc;

use crate::part::of_part;
use crate::plain_file;
use crate::splice::{File, SplicedText};
use crate::use_lines::{self, UseTarget};
use crate::{DType, Error, HostKernel, Names, Result, Scalar, reference, reference_of};

macro_rules! shaders {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../shaders/", $name)))),*]
    };
}

/// Every built-in shader: one line here, one file in `shaders/`, one in `reference/`. Shaders of the algorithms have no
/// reference: the CPU executes their WGSL.
const BUILTINS: &[(&str, &str)] = shaders![
    "add.wgsl",
    "arg_columns.wgsl",
    "arg_extreme.wgsl",
    "arg_rows.wgsl",
    "arg_segments.wgsl",
    "bin_counts.wgsl",
    "bin_exact.wgsl",
    "bin_weights.wgsl",
    "blake3_chunks.wgsl",
    "blake3_parents.wgsl",
    "bridge_gaps.wgsl",
    "cholesky.wgsl",
    "choose.wgsl",
    "compact.wgsl",
    "convert.wgsl",
    "convolve.wgsl",
    "convolve_channels.wgsl",
    "determinant.wgsl",
    "exact_column_products.wgsl",
    "exact_columns.wgsl",
    "exact_matmul.wgsl",
    "exact_results.wgsl",
    "exact_row_products.wgsl",
    "exact_rows.wgsl",
    "exact_segment_products.wgsl",
    "exact_segments.wgsl",
    "exact_vectors.wgsl",
    "extreme.wgsl",
    "fft.wgsl",
    "fft_halves.wgsl",
    "fft_in_place.wgsl",
    "fft_real.wgsl",
    "fft_to_real.wgsl",
    "fill.wgsl",
    "filter_direct.wgsl",
    "filter_separable.wgsl",
    "flag_windows.wgsl",
    "fold.wgsl",
    "fold_columns.wgsl",
    "gather.wgsl",
    "histogram.wgsl",
    "inner_product.wgsl",
    "iota.wgsl",
    "jacobi.wgsl",
    "limit.wgsl",
    "log_determinant.wgsl",
    "lu.wgsl",
    "matmul_bytes.wgsl",
    "matmul_columns.wgsl",
    "matmul_rows.wgsl",
    "matmul_sums.wgsl",
    "matmul_tiles.wgsl",
    "merge.wgsl",
    "mix.wgsl",
    "nonzero.wgsl",
    "overlap_add.wgsl",
    "permute.wgsl",
    "places_in_segments.wgsl",
    "qr.wgsl",
    "radix_count.wgsl",
    "radix_scatter.wgsl",
    "random.wgsl",
    "rank_count.wgsl",
    "rank_digit.wgsl",
    "rank_quantile.wgsl",
    "rank_rows.wgsl",
    "reduce.wgsl",
    "reduce_by_key.wgsl",
    "reduce_columns.wgsl",
    "reduce_rows.wgsl",
    "reduce_segments.wgsl",
    "reduce_vectors.wgsl",
    "rolling.wgsl",
    "round_exact.wgsl",
    "saxpy.wgsl",
    "scan.wgsl",
    "scan_by_key.wgsl",
    "scan_in_place.wgsl",
    "scatter.wgsl",
    "scatter_add.wgsl",
    "search_sorted.wgsl",
    "segment_heads.wgsl",
    "select_columns.wgsl",
    "select_rows.wgsl",
    "solve.wgsl",
    "sort_small.wgsl",
    "sparse_lanes.wgsl",
    "sparse_rows.wgsl",
    "sparse_shares.wgsl",
    "sparse_sums.wgsl",
    "spin.wgsl",
    "strided.wgsl",
    "sum_threshold.wgsl",
    "take_ranked.wgsl",
    "take_rows.wgsl",
    "transpose.wgsl",
    "triangular.wgsl",
];

/// Start of a line that names a file or a snippet.
pub(crate) const USE: &str = "//#use";
/// Replacement for [`USE`] after the file or snippet was appended. It has the same length, so that columns in errors do
/// not change.
pub(crate) const USED: &str = "//-use";

/// Returns the name and text of every built-in shader.
pub fn builtins() -> &'static [(&'static str, &'static str)] {
    BUILTINS
}

/// Text of a shader, with the files that it uses.
///
/// A line `//#use name` anywhere in the text appends a snippet once: `lib/name.wgsl` next to the shader, else the
/// [built-in one](https://github.com/fencepost-rs/fencepost/blob/main/docs/shaders.md). A line
/// `//#use atomic_f32(totals)` appends the built-in snippet for a variable of the shader. A line `//#use "path.wgsl"`
/// appends a file; its path is relative to the folder of the file with the line. Errors name the lines of the files.
/// Files that use each other in a cycle are an error.
///
/// # Example
/// ```
/// use fencepost::{Element, ShaderSource};
/// # let (ctx, _) = fencepost::doctest();
/// let source = ShaderSource::builtin("saxpy.wgsl")?.with_type("T", u32::DTYPE)?;
/// let saxpy = ctx.kernel_from_with(&source, "saxpy", &[])?;
/// assert_eq!(saxpy.interface().bindings[0].element, "u32");
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShaderSource {
    label: String,
    text: Cow<'static, str>,
    builtin: bool,
    element: Option<DType>,
    /// Directive that comes before the text.
    head: &'static str,
    files: Vec<File>,
    /// `true` if the number of elements is in device memory. The kernel's text is adapted when it is compiled.
    is_of_part: bool,
}

impl From<&str> for ShaderSource {
    fn from(wgsl: &str) -> Self {
        Self { label: String::new(), ..Self::text("", wgsl.to_owned()) }
    }
}

impl From<String> for ShaderSource {
    fn from(wgsl: String) -> Self {
        Self { label: String::new(), ..Self::text("", wgsl) }
    }
}

impl From<&String> for ShaderSource {
    fn from(wgsl: &String) -> Self {
        wgsl.as_str().into()
    }
}

impl From<&ShaderSource> for ShaderSource {
    fn from(source: &ShaderSource) -> Self {
        source.clone()
    }
}

impl ShaderSource {
    /// Returns a built-in shader by its file name.
    ///
    /// # Errors
    /// [`Error::UnknownBuiltin`].
    pub fn builtin(name: &str) -> Result<Self> {
        match BUILTINS.iter().find(|(known, _)| *known == name) {
            Some((_, text)) => Ok(Self { builtin: true, ..Self::text(name, *text) }),
            None => Err(Error::UnknownBuiltin {
                name: name.into(),
                known: BUILTINS.iter().map(|(known, _)| *known).collect(),
            }),
        }
    }

    /// Creates a source from WGSL text. Messages use `label` as the file name; for an empty label they say `the text`.
    pub fn text(label: impl Into<String>, wgsl: impl Into<Cow<'static, str>>) -> Self {
        let label = label.into();
        let text = without_bom(wgsl.into());
        let label = if label.is_empty() { "the text".into() } else { label };
        Self { label, text, builtin: false, element: None, head: "", files: Vec::new(), is_of_part: false }
    }

    /// Sets the label of a source that was made from a string.
    #[doc(hidden)]
    #[must_use]
    pub fn with_default_label(mut self, label: &str) -> Self {
        if self.label.is_empty() {
            self.label = if label.is_empty() { "the text".into() } else { label.into() };
        }
        self
    }

    /// Replaces the line `alias NAME = ...;` by one that names `dtype`.
    ///
    /// For `f16` the directive `enable f16;` is put before the text.
    ///
    /// # Errors
    /// [`Error::UnknownAlias`] if there is no such line.
    pub fn with_type(self, alias: &str, dtype: DType) -> Result<Self> {
        let Some(range) = alias_statement(&self.text, alias) else {
            return Err(Error::UnknownAlias { label: self.label, alias: alias.into() });
        };
        let mut text = self.text.to_string();
        text.replace_range(range, &format!("alias {alias} = {dtype};"));
        // WGSL allows a module to enable an extension twice.
        let head = if dtype.scalar() == Some(Scalar::F16) { "enable f16; " } else { self.head };
        Ok(Self { text: text.into(), element: Some(dtype), head, ..self })
    }

    /// Returns the source with the text that `edit` returns for its own. It has no CPU reference.
    #[doc(hidden)]
    #[must_use]
    pub fn edited(self, edit: impl FnOnce(&str) -> String) -> Self {
        Self { text: edit(&self.text).into(), builtin: false, ..self }
    }

    /// Returns the source with the built-in snippet `other` in place of the snippet `used`. It has no CPU reference.
    #[doc(hidden)]
    #[must_use]
    pub fn with_snippet(self, used: &str, other: &str) -> Self {
        self.edited(|text| text.replace(&format!("{USE} {used}\n"), &format!("{USE} {other}\n")))
    }

    /// Returns a source whose kernel reads its number of elements from the array [`PART_COUNT`](crate::PART_COUNT),
    /// limited by `params.n`.
    #[doc(hidden)]
    #[must_use]
    pub fn of_part(self) -> Self {
        Self { is_of_part: true, ..self }
    }

    /// Returns the file name, or the label of a source without a file.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Returns the CPU reference, if this is a built-in shader and has one for its element type.
    pub fn reference(&self) -> Option<Arc<dyn HostKernel>> {
        let stem = self.label.strip_suffix(".wgsl").filter(|_| self.builtin && !self.is_of_part)?;
        match self.element {
            Some(dtype) => reference_of(stem, dtype),
            None => reference(stem),
        }
    }

    /// Adds a file for lines `//#use "path"`. The path is relative to the folder to which the label is relative; an
    /// earlier file with the same path is replaced.
    ///
    /// # Example
    /// ```
    /// let text = "//#use \"tools.wgsl\"\n@compute @workgroup_size(1) fn k() { _ = twice(2u); }";
    /// let tools = "fn twice(x: u32) -> u32 { return 2u * x; }";
    /// let source = fencepost::ShaderSource::text("k.wgsl", text).with_file("tools.wgsl", tools);
    /// assert_eq!(source.files().collect::<Vec<_>>(), ["tools.wgsl"]);
    /// ```
    #[must_use]
    pub fn with_file(mut self, path: impl Into<String>, wgsl: impl Into<Cow<'static, str>>) -> Self {
        let path = use_lines::plain(&path.into());
        self.files.retain(|(known, _)| *known != path);
        self.files.push((path, without_bom(wgsl.into())));
        self
    }

    /// Reads a shader, and all files that it uses, from the disk. The used files must be in the folder of the shader, or
    /// below it; [`read_in`](Self::read_in) names a folder above it.
    ///
    /// # Errors
    /// [`Error::Unreadable`] if one of the files cannot be read, is not a regular file, or is in another folder, or if
    /// all files together have more than 16 MiB; [`Error::UnknownSnippet`]; [`Error::Use`]; [`Error::Cycle`].
    pub fn read(path: &str) -> Result<Self> {
        let root = Path::new(path).parent().unwrap_or(Path::new(""));
        Self::read_below(root, Path::new(""), path)
    }

    /// Reads as [`read`](Self::read) does, with paths relative to `root`. All files must be in that folder or below it,
    /// including targets of links.
    ///
    /// # Errors
    /// Fails as [`read`](Self::read) does.
    pub fn read_in(root: &Path, path: &str) -> Result<Self> {
        Self::read_below(root, root, path)
    }

    /// Reads files below `root`. Their paths are relative to `base`.
    fn read_below(root: &Path, base: &Path, path: &str) -> Result<Self> {
        let path = if cfg!(windows) { path.replace('\\', "/") } else { path.into() };
        let mut left = plain_file::MAX_SHADER_BYTES;
        let mut read = |path: &str| {
            let text = plain_file::text(&plain_file::inside(root, &base.join(path))?, left)?;
            left -= text.len() as u64;
            Ok(text)
        };
        let text = read(&path).map_err(|error| unreadable(String::new(), &path, &error))?;
        Self::text(path, text).with_used_files(read)
    }

    /// Adds every file that the shader uses; `read` returns a file's text.
    #[doc(hidden)]
    pub fn with_used_files(mut self, mut read: impl FnMut(&str) -> io::Result<String>) -> Result<Self> {
        let main = self.label.clone();
        let mut known: HashSet<String> = self.files.iter().map(|(path, _)| path.clone()).collect();
        known.insert(use_lines::plain(&main));
        let mut texts = vec![(main.clone(), self.text.clone())];
        while let Some((label, text)) = texts.pop() {
            for used in use_lines::uses(&label, &text) {
                let (line, used) = used?;
                let next = used.path(&main, &label);
                let is_file = !matches!(used, UseTarget::ForVariable { .. });
                if !is_file || known.contains(&next) {
                    continue;
                }
                match (read(&next), &used) {
                    (Ok(text), _) => {
                        self.files.push((next.clone(), without_bom(text.into())));
                        texts.extend(self.files.last().cloned());
                        known.insert(next);
                    }
                    (Err(error), UseTarget::Snippet(_)) if error.kind() == ErrorKind::NotFound => {
                        if used.built_in().is_none() {
                            return used.missing(&label, line, next, Names::default());
                        }
                    }
                    (Err(error), _) => return Err(unreadable(format!("{label}:{line}: "), &next, &error)),
                }
            }
        }
        self.splice()?;
        Ok(self)
    }

    /// Returns the names of its compute entry points, in the order of the text.
    ///
    /// # Errors
    /// Fails as [`Context::kernel_from_with`](https://docs.rs/fencepost/latest/fencepost/struct.Context.html#method.kernel_from_with)
    /// does if the text is not valid.
    ///
    /// # Example
    /// ```
    /// let source = fencepost::ShaderSource::builtin("saxpy.wgsl")?;
    /// assert_eq!(source.entries()?, ["saxpy"]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn entries(&self) -> Result<Vec<String>> {
        Ok(crate::Module::parse(self)?.entries().map(str::to_owned).collect())
    }

    /// Returns the paths of the added files.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|(path, _)| path.as_str())
    }

    /// Returns the text with everything that it uses appended, as [`from_whole_text`](Self::from_whole_text) takes it.
    /// The whole text no longer depends on files and snippets.
    ///
    /// # Errors
    /// The errors of the `//#use` lines.
    ///
    /// # Example
    /// ```
    /// use fencepost::ShaderSource;
    /// let text = "//#use lcg\n@compute @workgroup_size(1) fn k() { _ = lcg(1u); }";
    /// let whole = ShaderSource::text("k.wgsl", text).whole_text()?;
    /// assert!(whole.contains("fn lcg("));
    /// assert_eq!(ShaderSource::from_whole_text("k.wgsl", &whole).entries()?, ["k"]);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    pub fn whole_text(&self) -> Result<String> {
        Ok(self.splice()?.text.replace(USE, USED))
    }

    /// Creates a source from a text of [`whole_text`](Self::whole_text). The source of a built-in shader has the
    /// shader's CPU reference, unless the text differs from this library's.
    pub fn from_whole_text(label: &str, whole: &str) -> Self {
        let same = |source: &Self| source.whole_text().is_ok_and(|text| text == whole);
        let builtin = Self::builtin(label).ok().into_iter().flat_map(|source| source.with_types_of(whole));
        builtin.into_iter().find(same).unwrap_or_else(|| Self::text(label, whole.to_owned()))
    }

    /// Returns the source, and its variants with other element types for its aliases.
    fn with_types_of(self, text: &str) -> Vec<Self> {
        let alias = |line: &str| {
            let name = line.trim_start().strip_prefix("alias ")?.split('=').next()?.trim();
            let value = text.get(alias_statement(text, name)?)?.split('=').nth(1)?;
            let scalar = Scalar::from_name(value.trim_end_matches(';').trim())?;
            self.clone().with_type(name, *scalar.dtype()).ok()
        };
        let typed: Vec<Self> = self.text.lines().filter_map(alias).collect();
        [self].into_iter().chain(typed).collect()
    }

    /// Appends everything that the text uses, and replaces the number of elements if it is in device memory.
    pub(crate) fn splice(&self) -> Result<SplicedText> {
        let spliced = SplicedText::new(&self.label, self.head, &self.text, &self.files)?;
        Ok(if self.is_of_part { of_part(spliced) } else { spliced })
    }
}

fn unreadable(from: String, path: &str, error: &io::Error) -> Error {
    Error::Unreadable { from, path: path.into(), reason: error.to_string() }
}

// Some editors begin a file with a byte order mark, which WGSL does not allow.
fn without_bom(text: Cow<'static, str>) -> Cow<'static, str> {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned().into(),
        None => text,
    }
}

// Returns the range of `alias NAME = ...;` in the line that starts with it.
fn alias_statement(text: &str, alias: &str) -> Option<std::ops::Range<usize>> {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let rest = line.trim_start().strip_prefix("alias").map(str::trim_start);
        let rest = rest.and_then(|rest| rest.strip_prefix(alias)).map(str::trim_start);
        if rest.is_some_and(|rest| rest.starts_with('=')) {
            let from = start + line.len() - line.trim_start().len();
            return Some(from..start + line.find(';')? + 1);
        }
        start += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Element;

    #[test]
    fn with_type_replaces_only_the_alias() {
        let source = ShaderSource::text("a.wgsl", "alias TT = i32;\n  alias T = f32; // T\nalias U = T;");
        let text = source.with_type("T", <[u32; 2]>::DTYPE).unwrap().text;
        assert_eq!(text, "alias TT = i32;\n  alias T = vec2<u32>; // T\nalias U = T;");
    }

    #[test]
    fn with_type_enables_f16_without_moving_lines() {
        let source = ShaderSource::text("a.wgsl", "// first\nalias T = f32;");
        let text = source.with_type("T", half::f16::DTYPE).unwrap().splice().unwrap().text;
        assert_eq!(text, "enable f16; // first\nalias T = f16;");
    }

    #[test]
    fn with_type_of_f16_keeps_a_use_in_the_first_line_and_the_columns_of_errors() {
        let kernel = "@compute @workgroup_size(1) fn k() { _ = T(lcg(1u)); }";
        let source = ShaderSource::text("a.wgsl", format!("//#use lcg\nalias T = f32;\n{kernel}"));
        let module = crate::Module::parse(&source.with_type("T", half::f16::DTYPE).unwrap()).unwrap();
        assert!(module.text().contains("fn lcg("));
        let wrong = ShaderSource::text("a.wgsl", "const a = wrong; // enable f16;\nalias T = f32;");
        let error = crate::Module::parse(&wrong.with_type("T", half::f16::DTYPE).unwrap()).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("a.wgsl:1:11: ") && text.contains("  | const a = wrong;"), "{text}");
    }

    #[test]
    fn a_byte_order_mark_is_removed() {
        let source = ShaderSource::text("a.wgsl", "\u{feff}//#use \"b.wgsl\"");
        let source = source.with_file("./b.wgsl", "\u{feff}const b = 1;");
        assert_eq!(source.splice().unwrap().text, "//#use \"b.wgsl\"\nconst b = 1;");
    }

    #[test]
    fn with_type_of_a_missing_alias_is_an_error() {
        let error = ShaderSource::text("a.wgsl", "// alias T = f32;").with_type("T", u32::DTYPE).unwrap_err();
        assert_eq!(error.to_string(), "a.wgsl has no line `alias T = ...;` to replace");
    }

    #[test]
    fn only_builtins_have_references_and_only_for_their_types() {
        let source = ShaderSource::builtin("saxpy.wgsl").unwrap();
        assert!(source.reference().is_some());
        assert!(source.clone().with_type("T", u32::DTYPE).unwrap().reference().is_some());
        assert!(source.with_type("T", half::f16::DTYPE).unwrap().reference().is_none());
        assert!(ShaderSource::text("saxpy.wgsl", "").reference().is_none());
    }

    #[test]
    fn a_whole_text_needs_no_files_and_parses_again() {
        let text = "//#use \"tools.wgsl\"\n@compute @workgroup_size(1) fn k() { _ = twice(lcg(2u)); }";
        let tools = "//#use lcg\nfn twice(x: u32) -> u32 { return 2u * x; }";
        let source = ShaderSource::text("k.wgsl", text).with_file("tools.wgsl", tools);
        let whole = source.whole_text().unwrap();
        assert!(whole.starts_with("//-use \"tools.wgsl\"\n@compute"));
        let again = ShaderSource::from_whole_text("k.wgsl", &whole);
        let interface = |source| crate::Module::parse(source).unwrap().interface("k", &[]).unwrap();
        assert_eq!(interface(&again), interface(&source));
        assert_eq!(again.whole_text().unwrap(), whole);
    }

    #[test]
    fn a_whole_text_of_a_builtin_shader_has_its_reference_only_if_it_is_unchanged() {
        for (name, _) in builtins() {
            let source = ShaderSource::builtin(name).unwrap();
            let whole = source.whole_text().unwrap();
            assert_eq!(ShaderSource::from_whole_text(name, &whole), source);
            assert!(ShaderSource::from_whole_text(name, &format!("{whole} ")).reference().is_none());
        }
        let typed = ShaderSource::builtin("saxpy.wgsl").unwrap().with_type("T", u32::DTYPE).unwrap();
        let whole = typed.whole_text().unwrap();
        assert_eq!(ShaderSource::from_whole_text("saxpy.wgsl", &whole), typed);
        assert!(ShaderSource::from_whole_text("other.wgsl", &whole).reference().is_none());
    }

    #[test]
    fn the_error_of_an_unknown_builtin_lists_the_known_names() {
        let error = ShaderSource::builtin("sxapy.wgsl").unwrap_err().to_string();
        assert!(
            error.starts_with("there is no built-in shader `sxapy.wgsl`; there are `add.wgsl`, "),
            "{error}"
        );
    }

    #[test]
    fn a_shader_is_read_with_all_files_that_it_uses() {
        let folder = std::env::temp_dir().join(format!("fencepost-source-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("lib")).unwrap();
        let write = |path: &str, text: &str| std::fs::write(folder.join(path), text).unwrap();
        write("a.wgsl", "//#use \"b.wgsl\"\n//#use lcg\n//#use mine");
        write("b.wgsl", "//#use mine\nconst b = 1;");
        write("lib/mine.wgsl", "const mine = 1;");
        let source = ShaderSource::read_in(&folder, "a.wgsl").unwrap();
        assert_eq!(source.files().collect::<Vec<_>>(), ["b.wgsl", "lib/mine.wgsl"]);
        assert!(source.splice().unwrap().text.contains("const mine = 1;"));
        write("b.wgsl", "\n//#use \"missing.wgsl\"");
        let error = ShaderSource::read_in(&folder, "a.wgsl").unwrap_err().to_string();
        assert!(error.starts_with("b.wgsl:2: cannot read `missing.wgsl`: "), "{error}");
        write("b.wgsl", "//#use nothing");
        let error = ShaderSource::read_in(&folder, "a.wgsl").unwrap_err().to_string();
        assert!(
            error.starts_with("b.wgsl:1: there is no snippet `nothing`; there are `atomic_f32`, "),
            "{error}"
        );
        write("b.wgsl", "");
        write("lib/lcg.wgsl", "const own = 1;");
        let own = ShaderSource::read_in(&folder, "a.wgsl").unwrap();
        assert!(own.splice().unwrap().text.contains("const own = 1;"));
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn r10_used_files_stay_in_the_folder_of_the_shader_or_in_the_named_one() {
        let folder = std::env::temp_dir().join(format!("fencepost-inside-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("shaders")).unwrap();
        std::fs::write(folder.join("shaders/a.wgsl"), "//#use \"../b.wgsl\"").unwrap();
        std::fs::write(folder.join("b.wgsl"), "const b = 1;").unwrap();
        let path = folder.join("shaders/a.wgsl");
        let error = ShaderSource::read(path.to_str().unwrap()).unwrap_err().to_string();
        assert!(error.contains("a.wgsl:1: cannot read") && error.contains("it is outside of"), "{error}");
        assert!(!error.contains("const b"), "{error}");
        let source = ShaderSource::read_in(&folder, "shaders/a.wgsl").unwrap();
        assert_eq!(source.files().collect::<Vec<_>>(), ["b.wgsl"]);
        let error = ShaderSource::read_in(&folder.join("shaders"), "../b.wgsl").unwrap_err().to_string();
        assert!(error.contains("it is outside of"), "{error}");
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn files_that_are_read_and_use_each_other_are_an_error() {
        let read = |label: &str, texts: &[(&str, &'static str)]| {
            let text = texts[0].1;
            let found =
                |path: &str| texts.iter().find(|(known, _)| *known == path).map(|(_, text)| (*text).into());
            let source = ShaderSource::text(label, text);
            source.with_used_files(|path| found(path).ok_or_else(|| ErrorKind::NotFound.into()))
        };
        let round = [("a.wgsl", "//#use \"b.wgsl\""), ("b.wgsl", "//#use \"a.wgsl\"")];
        for label in ["a.wgsl", "./a.wgsl"] {
            let error = read(label, &round).unwrap_err().to_string();
            assert_eq!(error, "b.wgsl:1: files use each other: `a.wgsl`, `b.wgsl`, `a.wgsl`");
        }
        let error = read("./a.wgsl", &[("a.wgsl", "//#use \"a.wgsl\"")]).unwrap_err().to_string();
        assert_eq!(error, "./a.wgsl:1: files use each other: `a.wgsl`, `a.wgsl`");
    }

    #[test]
    fn messages_name_a_text_without_a_label() {
        let source = ShaderSource::text("", "@compute @workgroup_size(1) fn k() {}");
        let error = crate::Module::parse(&source).unwrap().interface("", &[]).unwrap_err().to_string();
        assert_eq!(error, "the text has no compute entry point ``; it has `k`");
    }
}
