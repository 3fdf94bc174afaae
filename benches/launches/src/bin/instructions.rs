//! Launches on wgpu's noop back end, for `cargo xtask count`. Without an argument it prints the names of the
//! implementations; with a name it launches that implementation.

use std::io::stdout;

use anyhow::Result;
use fencepost_launches::{launch_on_noop, noop_contestants};

fn main() -> Result<()> {
    match std::env::args().nth(1) {
        Some(contestant) => launch_on_noop(&contestant, &mut stdout().lock()),
        None => {
            noop_contestants()?.iter().for_each(|name| println!("{name}"));
            Ok(())
        }
    }
}
