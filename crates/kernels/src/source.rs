//! Finds the text of a shader, fills in its element type and appends the snippets it uses.

use std::borrow::Cow;
use std::sync::Arc;

use crate::{DType, Error, HostKernel, Names, Result, Scalar, reference, reference_of};

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

/// The snippets of `shaders/lib`, by the name that `//#use` gives them.
const SNIPPETS: &[(&str, &str)] = &[
    ("blake3", include_str!("../shaders/lib/blake3.wgsl")),
    ("lcg", include_str!("../shaders/lib/lcg.wgsl")),
    ("linear", include_str!("../shaders/lib/linear.wgsl")),
    ("packed", include_str!("../shaders/lib/packed.wgsl")),
];

/// Returns the name and text of every built-in shader.
pub fn builtins() -> &'static [(&'static str, &'static str)] {
    BUILTINS
}

/// The text of one shader file.
///
/// A line `//#use name` appends the snippet `shaders/lib/name.wgsl` once, wherever the line stands: WGSL
/// does not care for the order of declarations, and so line numbers stay those of the file.
///
/// # Example
/// ```
/// use fencepost_kernels::{Element, Module, Source};
/// let source = Source::builtin("saxpy.wgsl")?.with_type("T", u32::DTYPE)?;
/// let module = Module::parse(&source)?;
/// assert_eq!(module.interface("saxpy", &[])?.bindings[0].element, "u32");
/// # Ok::<(), fencepost_kernels::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Source {
    label: String,
    text: Cow<'static, str>,
    builtin: bool,
    element: Option<DType>,
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
        Self { label: label.into(), text: wgsl.into(), builtin: false, element: None }
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

    /// Appends every snippet that the text and its snippets use.
    pub(crate) fn splice(&self) -> Result<Spliced> {
        let mut spliced = Spliced { text: String::new(), parts: Vec::new() };
        spliced.push(&self.label, &self.text);
        let mut wanted = used_snippets(&self.label, &self.text)?;
        while let Some((label, snippet)) = wanted.pop() {
            if spliced.parts.iter().all(|part| part.label != label) {
                spliced.push(&label, snippet);
                wanted.extend(used_snippets(&label, snippet)?);
            }
        }
        Ok(spliced)
    }
}

/// A text made of several files, which knows where each of its lines comes from.
#[derive(Clone, Debug)]
pub(crate) struct Spliced {
    pub(crate) text: String,
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
struct Part {
    label: String,
    first_line: usize,
}

impl Spliced {
    /// The file and line of a line of the whole; all count from 1.
    pub(crate) fn origin(&self, line: usize) -> (&str, usize) {
        let part = self.parts.iter().rev().find(|part| part.first_line <= line);
        part.map_or(("", line), |part| (&part.label, line - part.first_line + 1))
    }

    /// Whether a snippet is part of it.
    pub(crate) fn uses(&self, snippet: &str) -> bool {
        self.parts.iter().any(|part| part.label == snippet_label(snippet))
    }

    /// The main file's label.
    pub(crate) fn label(&self) -> &str {
        &self.parts[0].label
    }

    fn push(&mut self, label: &str, text: &str) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.parts.push(Part { label: label.into(), first_line: self.text.lines().count() + 1 });
        self.text.push_str(text);
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

fn snippet_label(name: &str) -> String {
    format!("lib/{name}.wgsl")
}

fn used_snippets(label: &str, text: &str) -> Result<Vec<(String, &'static str)>> {
    let mut used = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let Some(name) = line.trim_start().strip_prefix("//#use ").map(str::trim) else { continue };
        let Some((_, snippet)) = SNIPPETS.iter().find(|(known, _)| *known == name) else {
            return Err(Error::UnknownSnippet {
                label: label.into(),
                line: number + 1,
                name: name.into(),
                known: SNIPPETS.iter().map(|(known, _)| *known).collect::<Names>(),
            });
        };
        used.push((snippet_label(name), *snippet));
    }
    Ok(used)
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
    fn a_snippet_is_appended_once_and_keeps_line_numbers() {
        let spliced = Source::text("a.wgsl", "//#use lcg\n//#use lcg\nconst a = 1;").splice().unwrap();
        assert_eq!(spliced.text.matches("fn lcg(").count(), 1);
        assert_eq!(spliced.origin(3), ("a.wgsl", 3));
        assert_eq!(spliced.origin(4), ("lib/lcg.wgsl", 1));
    }

    #[test]
    fn an_unknown_snippet_is_an_error_with_its_line() {
        let error = Source::text("a.wgsl", "\n//#use nothing").splice().unwrap_err();
        assert_eq!(
            error.to_string(),
            "a.wgsl:2: there is no snippet `nothing`; there are `blake3`, `lcg`, `linear`, `packed`"
        );
    }
}
