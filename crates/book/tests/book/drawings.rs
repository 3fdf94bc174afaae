//! Checks that the drawings of graphs in the book are the ones that the library makes.
//!
//! `FENCEPOST_DRAWINGS=write cargo test -p fencepost-book --test book` writes the files.

use fencepost::{Bound, Grid, Result};
use fencepost_book::{Names, Saxpy};
use std::fs;
use std::path::Path;

/// Compares a drawing with its file, or writes the file.
fn check(name: &str, drawing: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/images").join(name);
    if std::env::var("FENCEPOST_DRAWINGS").is_ok_and(|value| value == "write") {
        fs::write(&file, drawing).expect("the folder exists");
    }
    let known = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        known == drawing,
        "docs/images/{name} is an older drawing: run `FENCEPOST_DRAWINGS=write cargo test -p fencepost-book --test book`"
    );
}

#[test]
fn the_drawing_of_forks_is_that_of_the_library() -> Result<()> {
    let Names { a, kernel, .. } = Names::new()?;
    let (graph, _) = a.capture(|c| {
        let left = c.fork("left");
        let right = c.fork("right");
        let one = left.full([4], 1.0_f32)?;
        let mut two = right.full([4], 2.0_f32)?;
        c.wait_for(&[left.marker(), right.marker()])?;
        c.launch(&kernel, Grid::threads([4]), Saxpy { a: 1.0, x: &one, y: &mut two })?;
        c.read_as("sum", &two)
    })?;
    check("graph_forks.svg", &graph.to_svg());
    Ok(())
}

#[test]
fn the_drawing_of_a_loop_is_that_of_the_library() -> Result<()> {
    let Names { ctx, a, x, mut y, kernel, .. } = Names::new()?;
    let count = ctx.array(&[3_u32])?;
    let (graph, _) = a.capture(|c| {
        c.repeat(&count, Bound::AtMost(3), |body| {
            body.launch(&kernel, Grid::threads([4]), Saxpy { a: 1.0, x: &x, y: &mut y })
        })
    })?;
    check("graph_loop.svg", &graph.to_svg());
    Ok(())
}
