//! Shows waves in a window. Fencepost computes them on the program's own wgpu device, into the program's own buffer, and a
//! render pass draws from this buffer in the order of a queue. The host copies nothing and waits for no frame.
//!
//! Run `cargo run --release` in this folder, on X11 or Wayland. `-- --frames 600 --compare` does the same work with wgpu
//! alone too, and prints both frame rates. `cargo xtask window` does this without a display, and checks a picture.

mod draw;
mod fenced;
mod options;
mod picture;
mod plain;
mod rain;
mod run;
mod screen;
#[path = "../../wave/waves.rs"]
#[allow(dead_code, reason = "the example `14_wave` uses more of it")]
mod waves;

use anyhow::{Context as _, Result};
use clap::Parser;
use winit::application::ApplicationHandler;
use winit::event::WindowEvent;
use winit::event_loop::{ActiveEventLoop, EventLoop};
use winit::window::WindowId;

use options::Options;
use run::Run;

fn main() -> Result<()> {
    let mut app = App { options: Options::parse(), run: None, result: Ok(()) };
    let events = EventLoop::new().context("there is no display")?;
    events.run_app(&mut app)?;
    app.result
}

/// The program as winit sees it.
struct App {
    options: Options,
    /// `None` before the window is open, and after it is closed.
    run: Option<Run>,
    result: Result<()>,
}

impl App {
    /// Ends the program if the result is an error.
    fn note(&mut self, events: &ActiveEventLoop, result: Result<()>) {
        if result.is_err() {
            self.result = result;
            events.exit();
        }
    }
}

impl ApplicationHandler for App {
    fn resumed(&mut self, events: &ActiveEventLoop) {
        if self.run.is_none() {
            let opened = Run::open(events, self.options.clone()).map(|run| self.run = Some(run));
            self.note(events, opened);
        }
    }

    fn window_event(&mut self, events: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        if let Some(run) = self.run.as_mut().filter(|_| !events.exiting()) {
            let result = run.handle(events, event);
            self.note(events, result);
        }
    }

    /// Ends the run while the connection to the display is still open.
    fn exiting(&mut self, _: &ActiveEventLoop) {
        if let Some(run) = self.run.take()
            && self.result.is_ok()
        {
            self.result = run.end();
        }
    }
}
