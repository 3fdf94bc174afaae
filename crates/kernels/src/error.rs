//! The errors of a kernel and of its arguments.

use std::fmt;

/// A mistake in a shader, or in the arguments for it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No built-in shader has that name.
    #[error("there is no built-in shader `{name}`; there are {known}")]
    UnknownBuiltin {
        /// Requested name.
        name: String,
        /// Names of all built-in shaders.
        known: Names,
    },
    /// A `//#use` line names a snippet that does not exist.
    #[error("{label}:{line}: there is no snippet `{name}`; there are {known}, and no file `{path}`")]
    UnknownSnippet {
        /// Label of the source with the line.
        label: String,
        /// Line number, from 1.
        line: usize,
        /// Requested name.
        name: String,
        /// Path of a file that may be meant instead.
        path: String,
        /// Names of all snippets.
        known: Names,
    },
    /// A `//#use` line names a file that the source does not have.
    #[error(
        "{label}:{line}: there is no file `{path}`; there are {known}: a shader file uses files beside it, and `with_file` \
         adds files to a text"
    )]
    UnknownFile {
        /// Label of the source with the line.
        label: String,
        /// Line number, from 1.
        line: usize,
        /// Requested file.
        path: String,
        /// Paths of all files.
        known: Names,
    },
    /// A `//#use` line is not valid.
    #[error("{label}:{line}: `{text}`: {remedy}")]
    Use {
        /// Label of the source with the line.
        label: String,
        /// Line number, from 1.
        line: usize,
        /// Text of the line.
        text: String,
        /// Description of a valid line.
        remedy: String,
    },
    /// Files use each other in a cycle.
    #[error("{label}:{line}: files use each other: {files}")]
    Cycle {
        /// Label of the source whose line closes the cycle.
        label: String,
        /// Line number, from 1.
        line: usize,
        /// Files of the cycle, with the first one again at the end.
        files: Names,
    },
    /// A file cannot be read.
    #[error("{from}cannot read `{path}`: {reason}")]
    Unreadable {
        /// File and line that use the file, followed by `: `; otherwise empty.
        from: String,
        /// Path of the file.
        path: String,
        /// The system's message.
        reason: String,
    },
    /// `with_type` names an alias that the source does not have.
    #[error("{label} has no line `alias {alias} = ...;` to replace")]
    UnknownAlias {
        /// Label of the source.
        label: String,
        /// Requested alias.
        alias: String,
    },
    /// The WGSL does not parse or does not validate.
    #[error("{label}:{line}:{column}: {message}\n{excerpt}")]
    Wgsl {
        /// File, or the label of a source without a file.
        label: String,
        /// Line, from 1.
        line: usize,
        /// Column in bytes, from 1.
        column: usize,
        /// The mistake in WGSL's terms.
        message: String,
        /// Source line, with the faulty part marked.
        excerpt: Excerpt,
    },
    /// The system starts no thread on which the text could be compiled.
    #[error("no thread for the compilation of {module} was started: {reason}")]
    NoThread {
        /// Name of the module.
        module: String,
        /// The system's message.
        reason: String,
    },
    /// The module has no compute entry point of that name.
    #[error("{module} has no compute entry point `{entry}`; it has {known}")]
    UnknownEntry {
        /// Name of the module.
        module: String,
        /// Requested name.
        entry: String,
        /// Compute entry points of the module.
        known: Names,
    },
    /// The module has no override of that name.
    #[error("kernel `{kernel}` has no override `{name}`; it has {known}")]
    UnknownOverride {
        /// Name of the entry point.
        kernel: String,
        /// Requested name.
        name: String,
        /// Overrides of the module.
        known: Names,
    },
    /// An override has no default and was given no value, or its value does not fit its type.
    #[error("kernel `{kernel}`, override `{name}`: {reason}")]
    Override {
        /// Name of the entry point.
        kernel: String,
        /// Name of the override.
        name: String,
        /// Description of the mistake.
        reason: String,
    },
    /// The values of overrides make the WGSL invalid.
    #[error("kernel `{kernel}` with {values}: {mistake}")]
    OverrideValues {
        /// Name of the entry point.
        kernel: String,
        /// Overrides on which the mistake depends, with their values.
        values: String,
        /// The mistake, with its place: an [`Error::Wgsl`].
        mistake: Box<Error>,
    },
    /// naga cannot apply the values of overrides, for a reason without a position in the text.
    #[error("kernel `{kernel}`: its overrides cannot be applied: {problem}")]
    Overrides {
        /// Name of the entry point.
        kernel: String,
        /// naga's reason.
        problem: String,
    },
    /// The workgroup size exceeds the limit of naga.
    #[error(
        "kernel `{kernel}`: its workgroup size {found:?} is over the limit of naga, {limit} along each axis"
    )]
    WorkgroupTooLarge {
        /// Name of the entry point.
        kernel: String,
        /// Invocations along each axis.
        found: [u32; 3],
        /// Maximum number of invocations along an axis.
        limit: u32,
    },
    /// The workgroup size contains a zero.
    #[error("kernel `{kernel}`: workgroup size {reason}")]
    Workgroup {
        /// Name of the entry point.
        kernel: String,
        /// Description of the mistake.
        reason: String,
    },
    /// The shader uses an unsupported feature.
    #[error("{module}, `{name}`: {what}")]
    Unsupported {
        /// Name of the module.
        module: String,
        /// Name of the variable.
        name: String,
        /// The feature, and the possible alternative.
        what: String,
    },
    /// An argument and its declaration differ in type or access.
    #[error(
        "kernel `{kernel}`, argument {}: host passes {found}, the shader declares {declared}{why}",
        place(arg, *position)
    )]
    Signature {
        /// Name of the entry point.
        kernel: String,
        /// Name of the argument.
        arg: String,
        /// Position of the argument in a list without names, from 0.
        position: Option<u32>,
        /// Description of what the host passes.
        found: String,
        /// Description of what the shader declares.
        declared: String,
        /// `: ` and the difference, if the types' names do not show it.
        why: Box<str>,
    },
    /// The shader declares an argument that the host does not pass.
    #[error("kernel `{kernel}`, argument `{arg}`: host passes nothing, the shader declares {declared}")]
    MissingArgument {
        /// Name of the entry point.
        kernel: String,
        /// Name of the argument in the shader.
        arg: String,
        /// Description of what the shader declares.
        declared: String,
    },
    /// The host passes an argument that the shader does not declare.
    #[error(
        "kernel `{kernel}`, argument {}: host passes {found}, the shader declares {known}",
        place(arg, *position)
    )]
    ExtraArgument {
        /// Name of the entry point.
        kernel: String,
        /// Name of the argument; empty if it has none.
        arg: String,
        /// Position of the argument in a list without names, from 0.
        position: Option<u32>,
        /// Description of what the host passes.
        found: String,
        /// Names that the shader declares.
        known: Names,
    },
    /// The host passes the same argument twice.
    #[error("kernel `{kernel}`, argument `{arg}` is passed twice")]
    DuplicateArgument {
        /// Name of the entry point.
        kernel: String,
        /// Name of the argument.
        arg: String,
    },
    /// Some arguments of a launch have names and others have none.
    #[error("kernel `{kernel}`: arguments are passed either all by name or all by position")]
    MixedArguments {
        /// Name of the entry point.
        kernel: String,
    },
}

/// A part of a shader that runs here, but that a browser's compiler refuses (rule K13). It is printed like
/// [`Error::Wgsl`].
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{label}:{line}:{column}: {message}\n{excerpt}")]
#[non_exhaustive]
pub struct Warning {
    /// The file, or the label of a source without a file.
    pub label: String,
    /// The line, from 1.
    pub line: usize,
    /// The column in bytes, from 1.
    pub column: usize,
    /// The mistake in WGSL's terms.
    pub message: String,
    /// The source line, with the part marked.
    pub excerpt: Excerpt,
}

impl From<Warning> for Error {
    fn from(warning: Warning) -> Self {
        let Warning { label, line, column, message, excerpt } = warning;
        Self::Wgsl { label, line, column, message, excerpt }
    }
}

// Returns `` `y` ``, ``1 (`y`)``, or `1`.
fn place(arg: &str, position: Option<u32>) -> String {
    match position {
        None => format!("`{arg}`"),
        Some(at) if arg.is_empty() => at.to_string(),
        Some(at) => format!("{at} (`{arg}`)"),
    }
}

/// Result of this crate's fallible calls.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A list of names for a message: `none`, or `` `a`, `b` ``.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Names(pub Vec<String>);

impl fmt::Display for Names {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("none");
        }
        for (i, name) in self.0.iter().enumerate() {
            write!(f, "{}`{name}`", if i == 0 { "" } else { ", " })?;
        }
        Ok(())
    }
}

impl<S: Into<String>> FromIterator<S> for Names {
    fn from_iter<I: IntoIterator<Item = S>>(names: I) -> Self {
        Self(names.into_iter().map(Into::into).collect())
    }
}

/// Maximum number of bytes of a line that an [`Excerpt`] prints.
const LONGEST: usize = 200;

/// A line of a source, and the position of the faulty part.
///
/// It is printed as two lines, the second with `^` under the part. Of a long line, only the text near the part is
/// printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Excerpt {
    /// The line.
    pub text: String,
    /// Start of the part in bytes, from 1.
    pub column: usize,
    /// Length of the part in bytes; it may go on in the next lines.
    pub length: usize,
}

impl Excerpt {
    /// Marks `length` bytes of a line from `column` on, counted from 1.
    pub fn new(text: impl Into<String>, column: usize, length: usize) -> Self {
        Self { text: text.into(), column, length }
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, column, length } = self;
        let boundary =
            |at: usize| (0..=at.min(text.len())).rfind(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let start = boundary(column.saturating_sub(1));
        let end = boundary(start + length);
        // A line may have thousands of characters: those near the part are printed.
        let first = if text.len() > LONGEST { boundary(start.saturating_sub(LONGEST / 2)) } else { 0 };
        let last = boundary(first + LONGEST);
        let dots = |cut: bool| if cut { ".." } else { "" };
        let left = dots(first > 0);
        let right = dots(last < text.len());
        // Tabs are kept, so that the marks stand below the part.
        let before: String =
            left.chars().chain(text[first..start].chars()).map(|c| if c == '\t' { c } else { ' ' }).collect();
        let marks = text[start..end.clamp(start, last.max(start))].chars().count().max(1);
        let text = &text[first..last];
        write!(f, "  | {left}{text}{right}\n  | {before}{}", "^".repeat(marks))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the part of the printed line that the marks are under.
    fn marked(text: &str, column: usize, length: usize) -> (String, usize) {
        let printed = Excerpt { text: text.into(), column, length }.to_string();
        let lines: Vec<Vec<char>> = printed.lines().map(|line| line.chars().collect()).collect();
        let at = lines[1].iter().enumerate().filter(|(_, mark)| **mark == '^').map(|(at, _)| at);
        (at.map(|at| lines[0][at]).collect(), lines[0].len())
    }

    #[test]
    fn the_marks_are_under_the_part_in_short_and_in_long_lines() {
        assert_eq!(marked("let a = b;", 9, 1), ("b".into(), 14));
        assert_eq!(marked("\tlet a = bc;", 10, 2).0, "bc");
        let before = "é + ".repeat(1000);
        let after = " + x".repeat(1000);
        for (before, after) in [("", &*after), (&*before, ""), (&*before, &*after)] {
            let (part, width) = marked(&format!("{before}wrong{after}"), before.len() + 1, 5);
            assert_eq!(part, "wrong");
            assert!(width < LONGEST + 10, "{width}");
        }
    }
}
