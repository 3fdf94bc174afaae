//! What can be wrong with a kernel or with what is passed to it.

use std::fmt;

/// A mistake in a shader, or in the arguments for it.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no built-in shader of that name.
    #[error("there is no built-in shader `{name}`; there are {known}")]
    UnknownBuiltin {
        /// The name asked for.
        name: String,
        /// All names.
        known: Names,
    },
    /// A `//#use` line names a snippet that does not exist.
    #[error("{label}:{line}: there is no snippet `{name}`; there are {known}, and no file `{path}`")]
    UnknownSnippet {
        /// The source with the line.
        label: String,
        /// Its line number, from 1.
        line: usize,
        /// The name asked for.
        name: String,
        /// The file that it could be.
        path: String,
        /// All names.
        known: Names,
    },
    /// A `//#use` line names a file that the source does not have.
    #[error(
        "{label}:{line}: there is no file `{path}`; there are {known}: a shader that is a file finds others beside it, a text \
         is given them by `with_file`"
    )]
    UnknownFile {
        /// The source with the line.
        label: String,
        /// Its line number, from 1.
        line: usize,
        /// The file asked for.
        path: String,
        /// All files.
        known: Names,
    },
    /// A `//#use` line cannot be read.
    #[error("{label}:{line}: `{text}`: {remedy}")]
    Use {
        /// The source with the line.
        label: String,
        /// Its line number, from 1.
        line: usize,
        /// The line.
        text: String,
        /// What to write instead.
        remedy: String,
    },
    /// Files use each other.
    #[error("{label}:{line}: files use each other: {files}")]
    Cycle {
        /// The source with the line that closes the circle.
        label: String,
        /// Its line number, from 1.
        line: usize,
        /// The files on the way, the first one again at the end.
        files: Names,
    },
    /// A file cannot be read.
    #[error("{from}cannot read `{path}`: {reason}")]
    Unreadable {
        /// The file and the line that ask for it, with `: ` behind them, or nothing.
        from: String,
        /// The file.
        path: String,
        /// What the system says.
        reason: String,
    },
    /// `with_type` names an alias that the source does not have.
    #[error("{label} has no line `alias {alias} = ...;` to replace")]
    UnknownAlias {
        /// The source.
        label: String,
        /// The alias asked for.
        alias: String,
    },
    /// The WGSL does not parse or does not validate.
    #[error("{label}:{line}:{column}: {message}\n{excerpt}")]
    Wgsl {
        /// The file, or what stands for it.
        label: String,
        /// Line, from 1.
        line: usize,
        /// Column in bytes, from 1.
        column: usize,
        /// What is wrong, in WGSL's words.
        message: String,
        /// The source line, with the part that is meant.
        excerpt: Excerpt,
    },
    /// The module has no compute entry point of that name.
    #[error("{module} has no compute entry point `{entry}`; it has {known}")]
    UnknownEntry {
        /// The module.
        module: String,
        /// The name asked for.
        entry: String,
        /// The compute entry points there are.
        known: Names,
    },
    /// The module has no override of that name.
    #[error("kernel `{kernel}` has no override `{name}`; it has {known}")]
    UnknownOverride {
        /// The entry point.
        kernel: String,
        /// The name asked for.
        name: String,
        /// The overrides there are.
        known: Names,
    },
    /// An override has no default and was given no value, or its value does not fit its type.
    #[error("kernel `{kernel}`, override `{name}`: {reason}")]
    Override {
        /// The entry point.
        kernel: String,
        /// The override.
        name: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The workgroup size cannot be computed, or has a zero in it.
    #[error("kernel `{kernel}`: workgroup size {reason}")]
    Workgroup {
        /// The entry point.
        kernel: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The shader uses something that kernels here do not have.
    #[error("{module}, `{name}`: {what}")]
    Unsupported {
        /// The module.
        module: String,
        /// The variable.
        name: String,
        /// What it is, and what is possible instead.
        what: String,
    },
    /// An argument and its declaration differ in type or access.
    #[error(
        "kernel `{kernel}`, argument {}: host passes {found}, the shader declares {declared}{why}",
        place(arg, *position)
    )]
    Signature {
        /// The entry point.
        kernel: String,
        /// The argument's name.
        arg: String,
        /// Its place in a list without names, from 0.
        position: Option<u32>,
        /// The host's side.
        found: String,
        /// The shader's side.
        declared: String,
        /// `: ` and what differs, where the types' names do not say it.
        why: Box<str>,
    },
    /// The shader declares something that the host does not pass.
    #[error("kernel `{kernel}`, argument `{arg}`: host passes nothing, the shader declares {declared}")]
    MissingArgument {
        /// The entry point.
        kernel: String,
        /// The name in the shader.
        arg: String,
        /// The shader's side.
        declared: String,
    },
    /// The host passes something that the shader does not declare.
    #[error(
        "kernel `{kernel}`, argument {}: host passes {found}, the shader declares {known}",
        place(arg, *position)
    )]
    ExtraArgument {
        /// The entry point.
        kernel: String,
        /// The argument's name; empty if it has none.
        arg: String,
        /// Its place in a list without names, from 0.
        position: Option<u32>,
        /// The host's side.
        found: String,
        /// The names there are.
        known: Names,
    },
    /// The host passes the same argument twice.
    #[error("kernel `{kernel}`, argument `{arg}` is passed twice")]
    DuplicateArgument {
        /// The entry point.
        kernel: String,
        /// The argument's name.
        arg: String,
    },
    /// Some of a launch's arguments have names and some have not.
    #[error("kernel `{kernel}`: arguments are passed either all by name or all by position")]
    MixedArguments {
        /// The entry point.
        kernel: String,
    },
}

// `` `y` ``, ``1 (`y`)``, or `1`.
fn place(arg: &str, position: Option<u32>) -> String {
    match position {
        None => format!("`{arg}`"),
        Some(at) if arg.is_empty() => at.to_string(),
        Some(at) => format!("{at} (`{arg}`)"),
    }
}

/// The result of this crate's fallible calls.
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

/// A line of a source, and the part of it that is meant.
///
/// It prints as two lines, the second with `^` under that part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Excerpt {
    /// The line.
    pub text: String,
    /// Where the part begins, in bytes, from 1.
    pub column: usize,
    /// Its length in bytes; it may go on in the next lines.
    pub length: usize,
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, column, length } = self;
        let boundary =
            |at: usize| (0..=at.min(text.len())).rfind(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let start = boundary(column.saturating_sub(1));
        let end = boundary(start + length);
        // What stands before it has its width where it has tabs, too.
        let before: String = text[..start].chars().map(|c| if c == '\t' { c } else { ' ' }).collect();
        let marks = text[start..end].chars().count().max(1);
        write!(f, "  | {text}\n  | {before}{}", "^".repeat(marks))
    }
}
