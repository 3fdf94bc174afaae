//! Runs programs, and prints each command line before it runs.

use std::env;
use std::ffi::OsStr;
use std::fmt;
use std::io::PipeWriter;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};

/// A program with its arguments and its variables; it is printed in the form that a shell accepts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    program: String,
    args: Vec<String>,
    vars: Vec<(String, String)>,
    removed: Vec<&'static str>,
    dir: Option<PathBuf>,
}

/// Starts a command line.
pub(crate) fn line(program: impl AsRef<OsStr>) -> Line {
    let program = program.as_ref().to_string_lossy().into_owned();
    Line { program, args: Vec::new(), vars: Vec::new(), removed: Vec::new(), dir: None }
}

/// Starts a command line of the cargo that runs this program.
pub(crate) fn cargo() -> Line {
    line(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

impl Line {
    /// Adds one argument.
    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        self.args.push(arg.as_ref().to_string_lossy().into_owned());
        self
    }

    /// Adds several arguments.
    pub(crate) fn args<A: AsRef<OsStr>>(self, args: impl IntoIterator<Item = A>) -> Self {
        args.into_iter().fold(self, Self::arg)
    }

    /// Sets a variable for this command only.
    pub(crate) fn var(mut self, name: &str, value: impl AsRef<OsStr>) -> Self {
        self.vars.push((name.to_owned(), value.as_ref().to_string_lossy().into_owned()));
        self
    }

    /// Sets several variables for this command only.
    pub(crate) fn vars(self, vars: &[(String, String)]) -> Self {
        vars.iter().fold(self, |line, (name, value)| line.var(name, value))
    }

    /// Hides an inherited variable from this command.
    pub(crate) fn without(mut self, name: &'static str) -> Self {
        self.removed.push(name);
        self
    }

    /// Runs in `dir` instead of the current directory.
    pub(crate) fn dir(mut self, dir: &Path) -> Self {
        self.dir = Some(dir.to_owned());
        self
    }

    /// Prints the command, runs it, and fails if it does not exit with 0.
    pub(crate) fn run(&self) -> Result<()> {
        eprintln!("+ {self}");
        let status = self.command().status().with_context(|| self.not_started())?;
        if !status.success() {
            bail!("`{}` failed: {status}", self.brief());
        }
        Ok(())
    }

    /// Prints the command and runs it; its standard output is redirected to standard error.
    ///
    /// For the set-up in commands whose own output is read by a shell.
    pub(crate) fn run_aside(&self) -> Result<()> {
        eprintln!("+ {self}");
        let output = self.command().stdout(std::io::stderr()).status().with_context(|| self.not_started())?;
        if !output.success() {
            bail!("`{}` failed: {output}", self.brief());
        }
        Ok(())
    }

    /// Prints the command and runs it; returns `true` if it exited with 0, with everything that it wrote.
    pub(crate) fn run_quietly(&self) -> Result<(bool, String)> {
        eprintln!("+ {self}");
        self.said()
    }

    /// Runs the command without printing it; returns `true` if it exited with 0, with everything that it wrote.
    pub(crate) fn said(&self) -> Result<(bool, String)> {
        let output = self.command().output().with_context(|| self.not_started())?;
        let said = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Ok((output.status.success(), said.concat()))
    }

    /// Starts the command without printing it; both output streams go to one pipe, so that lines stay in order.
    pub(crate) fn start(&self, writer: PipeWriter) -> Result<Child> {
        let errors = writer.try_clone().context("cannot clone the end of a pipe")?;
        let mut command = self.command();
        command.stdin(Stdio::null()).stdout(writer).stderr(errors);
        command.spawn().with_context(|| self.not_started())
    }

    /// Runs the command without printing it; returns everything that the program wrote to standard output.
    pub(crate) fn read(&self) -> Result<String> {
        let output = self.command().output().with_context(|| self.not_started())?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("`{}` failed: {}: {}", self.brief(), output.status, said.trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    fn not_started(&self) -> String {
        format!("cannot start `{}`", self.program)
    }

    /// Returns the program and its arguments, for messages; the full line was printed before it ran.
    pub(crate) fn brief(&self) -> String {
        let is_cargo = env::var("CARGO").is_ok_and(|cargo| cargo == self.program);
        let program = if is_cargo { "cargo".to_owned() } else { quoted(&self.program) };
        [program].into_iter().chain(self.args.iter().map(|arg| quoted(arg))).collect::<Vec<_>>().join(" ")
    }

    fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.args);
        for name in &self.removed {
            command.env_remove(name);
        }
        command.envs(self.vars.iter().map(|(name, value)| (name, value)));
        if let Some(dir) = &self.dir {
            command.current_dir(dir);
        }
        command
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let elsewhere = self.dir.as_ref().filter(|dir| env::current_dir().is_ok_and(|here| here != **dir));
        if let Some(dir) = elsewhere {
            write!(f, "cd {} && ", quoted(&dir.to_string_lossy()))?;
        }
        for (name, value) in &self.vars {
            write!(f, "{name}={} ", quoted(value))?;
        }
        f.write_str(&self.brief())
    }
}

/// Quotes `word` for a POSIX shell; a word of plain characters is not changed.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+./:,@%~".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// Finds a program in `PATH`.
pub(crate) fn which(program: &str) -> Option<PathBuf> {
    let name = format!("{program}{}", env::consts::EXE_SUFFIX);
    env::split_paths(&env::var_os("PATH")?).map(|dir| dir.join(&name)).find(|path| path.is_file())
}

/// Returns `true` if the variable is set, and is not empty, `0` or `false`.
pub(crate) fn flag(name: &str) -> bool {
    env::var(name).is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_printed_line_can_be_pasted_into_a_shell() {
        let shown = line("echo").var("A", "x y").arg("it's").arg("plain-1.0").arg("").to_string();
        assert_eq!(shown, r"A='x y' echo 'it'\''s' plain-1.0 ''");
    }

    #[test]
    fn the_error_names_a_program_that_does_not_exist() {
        let error = line("no-such-program-here").read().expect_err("it cannot start");
        assert!(format!("{error:#}").contains("no-such-program-here"), "{error:#}");
    }

    #[cfg(unix)]
    #[test]
    fn the_error_of_a_failed_program_has_its_output() {
        let error = line("sh").args(["-c", "echo because >&2; exit 3"]).read().expect_err("it exits with 3");
        let said = error.to_string();
        assert!(said.contains("because") && said.contains('3'), "{said}");
    }

    #[cfg(unix)]
    #[test]
    fn a_hidden_variable_is_not_seen() {
        let seen = line("sh").args(["-c", "echo [$PATH_OF_TEST]"]).var("PATH_OF_TEST", "a").read();
        assert_eq!(seen.expect("sh runs"), "[a]\n");
        let line = line("/bin/sh").args(["-c", "echo [$HOME]"]).without("HOME");
        assert_eq!(line.read().expect("sh runs"), "[]\n");
    }
}
