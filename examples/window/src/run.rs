//! A run: which way computes the next frame, into which texture, and how long the frames take.

use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use wgpu::CurrentSurfaceTexture as Current;
use winit::dpi::PhysicalSize;
use winit::event::{ElementState, MouseButton, WindowEvent};
use winit::event_loop::ActiveEventLoop;

use crate::draw::{Frame, Painter, Way};
use crate::fenced::Fenced;
use crate::options::Options;
use crate::picture::Offscreen;
use crate::plain::Plain;
use crate::rain;
use crate::screen::Screen;

/// Frames of one way before it is the turn of the other.
const BLOCK: u32 = 25;
/// Frames after which `--resize` changes the size.
const SAME_SIZE: u32 = 16;
/// Time without a frame after which a run with a number of frames fails.
const PATIENCE: Duration = Duration::from_secs(60);

/// A window and the ways to draw in it, which take turns.
pub(crate) struct Run {
    // The fields are dropped in this order: contexts end before the surface.
    runners: Vec<Runner>,
    painter: Painter,
    screen: Screen,
    options: Options,
    /// Index of the runner that draws the next frame.
    turn: usize,
    /// Start of the block of frames.
    began: Instant,
    /// Number of errors at that time.
    errors: u32,
    /// Time of the last frame.
    drawn: Instant,
    /// Number of times that the surface got another size.
    resizes: u32,
    /// `true` for a window without an area, which is how some systems minimise it.
    is_minimised: bool,
    /// Place of the mouse in pixels.
    mouse: [f64; 2],
    is_pressed: bool,
}

/// A way with its frames so far.
struct Runner {
    way: Box<dyn Way>,
    frames: u32,
    time: Duration,
    errors: u32,
}

/// Result of a request to draw.
enum Drawn {
    Frame,
    /// No frame this time.
    Skipped,
    /// No frame until an event shows the window again.
    Hidden,
}

impl Run {
    /// Opens a window and makes the ways that the options request.
    pub(crate) fn open(events: &ActiveEventLoop, options: Options) -> Result<Self> {
        let Options { size: cells, scale, frames, .. } = options;
        let screen = Screen::open(events, cells.map(|side| side * scale), frames.is_none())?;
        let painter = Painter::new(&screen.gpu, screen.format(), cells, screen.size());
        let mut ways: Vec<Box<dyn Way>> = Vec::new();
        if !options.plain {
            ways.push(Box::new(Fenced::new(&screen.gpu, &painter, cells, options.threads)?));
        }
        if options.plain || options.compare {
            ways.push(Box::new(Plain::new(&screen.gpu, &painter, cells)));
        }
        for way in &ways {
            way.finish()?; // until the kernels are compiled and the arrays are zero
        }
        let runner = |way| Runner { way, frames: 0, time: Duration::ZERO, errors: 0 };
        screen.window.request_redraw();
        Ok(Self {
            runners: ways.into_iter().map(runner).collect(),
            painter,
            options,
            turn: 0,
            began: Instant::now(),
            errors: screen.errors(),
            drawn: Instant::now(),
            resizes: 0,
            is_minimised: false,
            mouse: [0.0; 2],
            is_pressed: false,
            screen,
        })
    }

    /// Handles an event of the window.
    pub(crate) fn handle(&mut self, events: &ActiveEventLoop, event: WindowEvent) -> Result<()> {
        match event {
            WindowEvent::CloseRequested => events.exit(),
            WindowEvent::Resized(size) => self.resized(size)?,
            WindowEvent::Occluded(false) => self.screen.window.request_redraw(),
            WindowEvent::CursorMoved { position, .. } => self.mouse = position.into(),
            WindowEvent::MouseInput { state, button: MouseButton::Left, .. } => {
                self.is_pressed = state == ElementState::Pressed;
            }
            WindowEvent::RedrawRequested => match self.draw()? {
                _ if self.is_over() => events.exit(),
                Drawn::Frame => self.screen.window.request_redraw(),
                Drawn::Skipped => {
                    let is_patient = self.options.frames.is_none() || self.drawn.elapsed() < PATIENCE;
                    ensure!(is_patient, "the window has shown no frame for {PATIENCE:?}");
                    self.screen.window.request_redraw();
                }
                Drawn::Hidden if self.options.frames.is_some() => {
                    bail!("the window is hidden, so its frames cannot be counted");
                }
                Drawn::Hidden => {}
            },
            _ => {}
        }
        Ok(())
    }

    /// Follows a new size of the window.
    fn resized(&mut self, PhysicalSize { width, height }: PhysicalSize<u32>) -> Result<()> {
        self.is_minimised = width == 0 || height == 0;
        if self.is_minimised {
            return Ok(());
        }
        if [width, height] != self.screen.size() {
            self.configure([width, height])?;
        }
        self.screen.window.request_redraw();
        Ok(())
    }

    /// Configures the surface. Everything is finished first: a submission meanwhile would be an error of wgpu.
    fn configure(&mut self, size: [u32; 2]) -> Result<()> {
        self.finish()?;
        self.resizes += u32::from(size != self.screen.size());
        self.screen.configure(size);
        self.painter.set_view(&self.screen.gpu, size);
        Ok(())
    }

    fn finish(&self) -> Result<()> {
        self.runners.iter().try_for_each(|runner| runner.way.finish())
    }

    /// Draws the next frame and presents it.
    fn draw(&mut self) -> Result<Drawn> {
        if self.is_minimised {
            return Ok(Drawn::Hidden);
        }
        let texture = match self.screen.texture() {
            // A new size of the window comes with an event, and until then the picture is stretched.
            Current::Success(texture) | Current::Suboptimal(texture) => texture,
            Current::Timeout => return Ok(Drawn::Skipped),
            Current::Occluded => return Ok(Drawn::Hidden),
            Current::Outdated => {
                let PhysicalSize { width, height } = self.screen.window.inner_size();
                if width > 0 && height > 0 {
                    self.configure([width, height])?;
                }
                return Ok(Drawn::Skipped);
            }
            Current::Lost => {
                self.finish()?;
                self.screen.replace_surface()?;
                return Ok(Drawn::Skipped);
            }
            Current::Validation => bail!("wgpu has no texture for the next frame; its error is above"),
        };
        let view = texture.texture.create_view(&wgpu::TextureViewDescriptor::default());
        let Options { size: cells, frames, .. } = self.options;
        let Runner { way, frames: number, .. } = &mut self.runners[self.turn];
        let is_last = frames == Some(*number + 1);
        let file = self.options.screenshot.as_ref().filter(|_| is_last);
        let screen = &self.screen;
        let copy = file.map(|file| (file, Offscreen::new(&screen.gpu, screen.format(), screen.size())));
        let source = if self.is_pressed {
            rain::under(self.mouse, screen.size(), cells)
        } else {
            rain::drop_at(*number, cells)
        };
        let steps = rain::steps(*number);
        let painter = &self.painter;
        way.frame(&Frame { steps, source, painter, view: &view, copy: copy.as_ref().map(|(_, copy)| copy) })?;
        if frames.is_none() {
            screen.window.pre_present_notify();
        }
        screen.gpu.queue.present(texture);
        *number += 1;
        let number = *number;
        if let Some((file, copy)) = copy {
            copy.store(&screen.gpu, file)?;
        }
        self.drawn = Instant::now();
        self.end_frame(number, is_last)?;
        Ok(Drawn::Frame)
    }

    /// Ends the block after its last frame, and changes the size of the window if the options request it.
    fn end_frame(&mut self, number: u32, is_last: bool) -> Result<()> {
        if is_last || (self.options.compare && number.is_multiple_of(BLOCK)) {
            self.end_block()?;
        }
        if self.options.resize && number.is_multiple_of(SAME_SIZE) {
            let scale = self.options.scale;
            let sides = self.options.size.map(|side| side * scale);
            let is_half = (number / SAME_SIZE) % 2 == 1;
            let [width, height] = if is_half { sides.map(|side| side / 2) } else { sides };
            // Some systems change the size at once. The others send an event.
            if let Some(size) = self.screen.window.request_inner_size(PhysicalSize::new(width, height)) {
                self.resized(size)?;
            }
        }
        Ok(())
    }

    /// Adds the time of a block to its runner. The next block is that of the next runner.
    fn end_block(&mut self) -> Result<()> {
        let runner = &mut self.runners[self.turn];
        runner.way.finish()?;
        runner.time += self.began.elapsed();
        let errors = self.screen.errors();
        runner.errors += errors - self.errors;
        self.errors = errors;
        self.turn = (self.turn + 1) % self.runners.len();
        self.began = Instant::now();
        Ok(())
    }

    /// Returns `true` once every way has drawn its frames.
    fn is_over(&self) -> bool {
        self.runners.iter().all(|runner| Some(runner.frames) == self.options.frames)
    }

    /// Prints the frame rates, after the last frame or after the window was closed.
    ///
    /// # Errors
    /// Fails if wgpu has reported an error.
    pub(crate) fn end(mut self) -> Result<()> {
        if !self.is_over() {
            self.end_block()?;
        }
        for runner in &self.runners {
            println!("{}", runner.line(self.resizes));
        }
        if let [first, second] = &self.runners[..] {
            println!("ratio of the frame rates: {:.2}", first.rate() / second.rate());
        }
        let errors: u32 = self.runners.iter().map(|runner| runner.errors).sum();
        ensure!(errors == 0, "wgpu has reported errors: {errors}");
        Ok(())
    }
}

impl Runner {
    /// Returns the number of frames a second.
    fn rate(&self) -> f64 {
        f64::from(self.frames) / self.time.as_secs_f64()
    }

    /// Returns the result in one line.
    fn line(&self, resizes: u32) -> String {
        let Self { way, frames, time, errors } = self;
        let resizes = if resizes == 0 { String::new() } else { format!(", {resizes} resizes") };
        format!(
            "{}: {frames} frames in {:.3} s, {:.1} frames/s, {errors} errors{resizes}",
            way.name(),
            time.as_secs_f64(),
            self.rate()
        )
    }
}
