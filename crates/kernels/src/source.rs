//! Finds the text of a shader, fills in its element type and appends the snippets it uses.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use crate::splice::{self, File, Spliced};
use crate::{DType, Error, HostKernel, Result, Scalar, reference, reference_of};

macro_rules! shaders {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../shaders/", $name)))),*]
    };
}

/// Every built-in shader: one line here, one file in `shaders/`, one in `reference/`.
const BUILTINS: &[(&str, &str)] = shaders![
    "add.wgsl",
    "blake3_chunks.wgsl",
    "blake3_parents.wgsl",
    "fill.wgsl",
    "histogram.wgsl",
    "iota.wgsl",
    "mix.wgsl",
    "saxpy.wgsl",
    "spin.wgsl",
];

/// Returns the name and text of every built-in shader.
pub fn builtins() -> &'static [(&'static str, &'static str)] {
    BUILTINS
}

/// The text of one shader file.
///
/// A line `//#use name` appends a snippet once, wherever the line stands: a built-in one (`blake3`, `lcg`, `linear`, `packed`),
/// or `lib/name.wgsl` beside the shader. A line `//#use "path.wgsl"` appends a file, whose path begins in the folder of the file
/// with the line. Line numbers stay those of the files. Files that use each other are an error.
///
/// # Example
/// ```
/// use fencepost::{Element, ShaderSource};
/// # let (ctx, _) = fencepost::doctest();
/// let source = ShaderSource::builtin("saxpy.wgsl")?.with_type("T", u32::DTYPE)?;
/// let saxpy = ctx.kernel_from_source(&source, "saxpy", &[])?;
/// assert_eq!(saxpy.interface().bindings[0].element, "u32");
/// # Ok::<(), fencepost::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    label: String,
    text: Cow<'static, str>,
    builtin: bool,
    element: Option<DType>,
    files: Vec<File>,
}

impl Source {
    /// Takes a built-in shader by its file name.
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

    /// Takes WGSL text; `label` stands for a file name in messages.
    pub fn text(label: impl Into<String>, wgsl: impl Into<Cow<'static, str>>) -> Self {
        Self { label: label.into(), text: wgsl.into(), builtin: false, element: None, files: Vec::new() }
    }

    /// Replaces the line `alias NAME = ...;` by one that names `dtype`.
    ///
    /// For `f16` the directive `enable f16;` is added if it is not there.
    ///
    /// # Errors
    /// [`Error::UnknownAlias`] if there is no such line.
    pub fn with_type(self, alias: &str, dtype: DType) -> Result<Self> {
        let Some(range) = alias_statement(&self.text, alias) else {
            return Err(Error::UnknownAlias { label: self.label, alias: alias.into() });
        };
        let mut text = self.text.to_string();
        text.replace_range(range, &format!("alias {alias} = {dtype};"));
        if dtype.scalar() == Some(Scalar::F16) && !text.contains("enable f16;") {
            text.insert_str(0, "enable f16; ");
        }
        Ok(Self { text: text.into(), element: Some(dtype), ..self })
    }

    /// Returns the file name, or what stands for it.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Returns the CPU reference, if this is a built-in shader and has one for its element type.
    pub fn reference(&self) -> Option<Arc<dyn HostKernel>> {
        let stem = self.label.strip_suffix(".wgsl").filter(|_| self.builtin)?;
        match self.element {
            Some(dtype) => reference_of(stem, dtype),
            None => reference(stem),
        }
    }

    /// Adds a file for lines `//#use "path"`, by its path from where the label's path begins; a file of that path replaces it.
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
        let path = path.into();
        self.files.retain(|(known, _)| *known != path);
        self.files.push((path, wgsl.into()));
        self
    }

    /// Reads a shader, and all files that it uses, from the disk.
    ///
    /// # Errors
    /// [`Error::Unreadable`] if one of them cannot be read.
    pub fn read(path: &str) -> Result<Self> {
        Self::read_in(Path::new(""), path)
    }

    /// As [`read`](Self::read), where paths begin in `root`.
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_in(root: &Path, path: &str) -> Result<Self> {
        let read = |path: &str, from: Option<(&str, usize)>| {
            std::fs::read_to_string(root.join(path)).map_err(|error| Error::Unreadable {
                from: from.map_or_else(String::new, |(label, line)| format!("{label}:{line}: ")),
                path: path.into(),
                reason: error.to_string(),
            })
        };
        let mut source = Self::text(path, read(path, None)?);
        let mut texts = vec![(path.to_owned(), source.text.clone())];
        while let Some((label, text)) = texts.pop() {
            for (line, used) in splice::uses(&text) {
                let Some(next) = used.path(path, &label) else { continue };
                if next != path && source.files.iter().all(|(known, _)| *known != next) {
                    let text = Cow::from(read(&next, Some((&label, line)))?);
                    texts.push((next.clone(), text.clone()));
                    source = source.with_file(next, text);
                }
            }
        }
        Ok(source)
    }

    /// Returns the names of its compute entry points, in the order of the text.
    ///
    /// # Errors
    /// As [`Context::kernel_from_source`](https://docs.rs/fencepost/latest/fencepost/struct.Context.html#method.kernel_from_source):
    /// the text has to be valid.
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

    /// Returns the paths of the files that it has beside its text.
    pub fn files(&self) -> impl Iterator<Item = &str> {
        self.files.iter().map(|(path, _)| path.as_str())
    }

    /// Appends all that the text uses.
    pub(crate) fn splice(&self) -> Result<Spliced> {
        Spliced::new(&self.label, &self.text, &self.files)
    }
}

// The range of `alias NAME = ...;` in the line that starts with it.
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
        let source = Source::text("a.wgsl", "alias TT = i32;\n  alias T = f32; // T\nalias U = T;");
        let text = source.with_type("T", <[u32; 2]>::DTYPE).unwrap().text;
        assert_eq!(text, "alias TT = i32;\n  alias T = vec2<u32>; // T\nalias U = T;");
    }

    #[test]
    fn with_type_enables_f16_without_moving_lines() {
        let source = Source::text("a.wgsl", "// first\nalias T = f32;");
        let text = source.with_type("T", half::f16::DTYPE).unwrap().text;
        assert_eq!(text, "enable f16; // first\nalias T = f16;");
    }

    #[test]
    fn with_type_of_a_missing_alias_is_an_error() {
        let error = Source::text("a.wgsl", "// alias T = f32;").with_type("T", u32::DTYPE).unwrap_err();
        assert_eq!(error.to_string(), "a.wgsl has no line `alias T = ...;` to replace");
    }

    #[test]
    fn only_builtins_have_references_and_only_for_their_types() {
        let source = Source::builtin("saxpy.wgsl").unwrap();
        assert!(source.reference().is_some());
        assert!(source.clone().with_type("T", u32::DTYPE).unwrap().reference().is_some());
        assert!(source.with_type("T", half::f16::DTYPE).unwrap().reference().is_none());
        assert!(Source::text("saxpy.wgsl", "").reference().is_none());
    }

    #[test]
    fn an_unknown_builtin_is_answered_with_the_names_there_are() {
        let error = Source::builtin("sxapy.wgsl").unwrap_err().to_string();
        assert!(
            error.starts_with("there is no built-in shader `sxapy.wgsl`; there are `add.wgsl`, "),
            "{error}"
        );
    }

    #[test]
    fn a_shader_is_read_with_all_that_it_uses() {
        let folder = std::env::temp_dir().join(format!("fencepost-source-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("lib")).unwrap();
        let write = |path: &str, text: &str| std::fs::write(folder.join(path), text).unwrap();
        write("a.wgsl", "//#use \"b.wgsl\"\n//#use lcg\n//#use mine");
        write("b.wgsl", "//#use mine\nconst b = 1;");
        write("lib/mine.wgsl", "const mine = 1;");
        let source = Source::read_in(&folder, "a.wgsl").unwrap();
        assert_eq!(source.files().collect::<Vec<_>>(), ["b.wgsl", "lib/mine.wgsl"]);
        assert!(source.splice().unwrap().text.contains("const mine = 1;"));
        write("b.wgsl", "\n//#use \"missing.wgsl\"");
        let error = Source::read_in(&folder, "a.wgsl").unwrap_err().to_string();
        assert!(error.starts_with("b.wgsl:2: cannot read `missing.wgsl`: "), "{error}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
