//! `cargo xtask floors`: the rooms of the core crate and the imports between them, in text and as a drawing.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::io::{self, BufWriter, Write as _};

use anyhow::{Context, Result};

use crate::lint::floors::{Floors, core_imports, room_of};
use crate::lint::imports::Import;
use crate::workspace::Workspace;

/// Path of the drawing, which is made from the list of floors and the imports.
pub(crate) const DRAWING: &str = "docs/architecture.svg";

/// Options of the command line.
pub(crate) struct Options {
    pub(crate) files: bool,
    pub(crate) write: bool,
}

/// Prints the imports, or writes the drawing.
///
/// # Errors
/// The sources or the list cannot be read; the drawing or the output cannot be written.
pub(crate) fn command(workspace: &Workspace, options: &Options) -> Result<()> {
    let floors = Floors::read(workspace)?;
    if options.write {
        let path = workspace.path(DRAWING);
        return fs::write(&path, drawing(&floors, &counts(workspace)?))
            .with_context(|| format!("cannot write {}", path.display()));
    }
    let mut out = BufWriter::new(io::stdout().lock());
    let printed = if options.files {
        print_imports(&mut out, &core_imports(workspace)?)
    } else {
        print_rooms(&mut out, &floors, &counts(workspace)?)
    };
    until_closed(printed.and_then(|()| out.flush())).context("cannot write to standard output")
}

fn print_imports(out: &mut impl io::Write, imports: &[Import]) -> io::Result<()> {
    for import in imports {
        writeln!(out, "{}:{}\t{}\t{}", import.from, import.line, import.to, import.name)?;
    }
    Ok(())
}

fn print_rooms(out: &mut impl io::Write, floors: &Floors, counts: &Counts) -> io::Result<()> {
    for room in floors.rooms() {
        writeln!(out, "{:<10} {}", room.name, room.sentence)?;
        let below = counts.iter().filter(|((from, _), _)| *from == room.name);
        let below: Vec<String> = below.map(|((_, to), count)| format!("{to} {count}")).collect();
        writeln!(out, "           imports: {}", below.join(", "))?;
    }
    Ok(())
}

/// Ends the output without an error if a reader such as `head` closes the pipe early.
fn until_closed(printed: io::Result<()>) -> io::Result<()> {
    match printed {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        printed => printed,
    }
}

/// Returns `true` if the drawing is up to date.
///
/// # Errors
/// The sources, the list or the drawing cannot be read.
pub(crate) fn is_drawn(workspace: &Workspace) -> Result<bool> {
    let path = workspace.path(DRAWING);
    let drawn = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(drawn == drawing(&Floors::read(workspace)?, &counts(workspace)?))
}

/// Number of imports between two rooms.
type Counts = BTreeMap<(String, String), usize>;

fn counts(workspace: &Workspace) -> Result<Counts> {
    let mut counts = Counts::new();
    for import in core_imports(workspace)?.iter().filter(|import| import.from != "lib.rs") {
        let from = room_of(&import.from);
        let to = room_of(&import.to);
        if from != to {
            *counts.entry((from.to_owned(), to.to_owned())).or_default() += 1;
        }
    }
    Ok(counts)
}

const WIDTH: usize = 960;
const ROOM: usize = 44;
const GAP: usize = 14;
const LEFT: usize = 24;
/// Right edge of the rooms, where the lines of imports begin.
const EDGE: usize = 760;

/// Draws each room as a bar, the top floor first, and each import between rooms as a line on the right that goes down.
fn drawing(floors: &Floors, counts: &Counts) -> String {
    let rooms = floors.rooms();
    let top = |at: usize| 20 + at * (ROOM + GAP);
    let height = top(rooms.len()) + 10;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" font-family=\"sans-serif\">\n\
         <title>The rooms of the core crate; an import goes down</title>\n\
         <rect width=\"{WIDTH}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    for (at, room) in rooms.iter().enumerate() {
        let y = top(at);
        let hue = 205 + 8 * at;
        let _ = writeln!(
            svg,
            "<rect x=\"{LEFT}\" y=\"{y}\" width=\"{}\" height=\"{ROOM}\" rx=\"6\" fill=\"hsl({hue} 55% 92%)\" stroke=\"hsl({hue} 35% 55%)\"/>\n\
             <text x=\"{}\" y=\"{}\" font-size=\"16\" font-weight=\"bold\">{}</text>\n\
             <text x=\"{}\" y=\"{}\" font-size=\"12.5\">{}</text>",
            EDGE - LEFT,
            LEFT + 12,
            y + 27,
            room.name,
            LEFT + 116,
            y + 27,
            room.sentence
        );
    }
    let place = |name: &str| rooms.iter().position(|room| room.name == name);
    let arrows: Vec<(usize, usize)> =
        counts.keys().filter_map(|(from, to)| Some((place(from)?, place(to)?))).collect();
    for (from, to) in arrows {
        let x = EDGE + 12 + 13 * from;
        let start = top(from) + 12;
        let end = top(to) + ROOM / 2;
        let _ = writeln!(
            svg,
            "<path d=\"M{EDGE} {start} H{x} V{end} H{}\" fill=\"none\" stroke=\"hsl({} 45% 45%)\"/>\n\
             <path d=\"M{EDGE} {end} l7 -4 v8 z\" fill=\"hsl({} 45% 45%)\"/>",
            EDGE + 6,
            205 + 8 * from,
            205 + 8 * from
        );
    }
    svg.push_str("</svg>\n");
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Closed;

    impl io::Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_ends_the_list_without_an_error() {
        let import = Import { from: "a.rs".into(), line: 1, to: "b.rs".into(), name: "Item".into() };
        let printed = print_imports(&mut Closed, &[import]);
        assert!(printed.is_err() && until_closed(printed).is_ok());
        assert!(until_closed(Err(io::ErrorKind::StorageFull.into())).is_err());
    }
}
