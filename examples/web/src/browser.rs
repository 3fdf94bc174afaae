//! The interface for `page.js`: classes and functions with plain values. An error is a JavaScript error with the
//! library's message.

use wasm_bindgen::JsError;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::device::{self, Device};
use crate::first::{self, Speed};
use crate::hash::{FileHash, Hashed};
use crate::races::{self, Checker, Example, Report};
use crate::timeline::{Timeline, TwoQueues};
use crate::water::Water;

type Result<T> = std::result::Result<T, JsError>;

#[wasm_bindgen]
extern "C" {
    /// The function of `page.js` that shows the text of a panic.
    #[wasm_bindgen(js_name = showPanic)]
    fn show_panic(text: &str);
}

/// Makes a panic visible on the page, when the module is loaded.
#[wasm_bindgen(start)]
pub fn start() {
    std::panic::set_hook(Box::new(|panic| show_panic(&panic.to_string())));
}

/// Returns the lines of the first program.
#[wasm_bindgen(js_name = eightLines)]
pub fn eight_lines() -> String {
    first::eight_lines()
}

/// Returns the kernels for the editor.
#[wasm_bindgen(js_name = exampleKernels)]
pub fn example_kernels() -> Vec<Example> {
    races::examples()
}

#[wasm_bindgen]
impl Device {
    /// Opens the visitor's GPU, or the CPU device.
    pub async fn open() -> Result<Device> {
        Ok(device::open().await?)
    }

    /// Returns a line about the device.
    #[wasm_bindgen(getter)]
    pub fn line(&self) -> String {
        self.description()
    }

    /// Runs the first program.
    pub async fn first(&self) -> Result<String> {
        Ok(first::run(self).await?)
    }

    /// Measures the speed of its kernel and of a copy.
    pub async fn speed(&self) -> Result<Speed> {
        Ok(first::speed(self).await?)
    }

    /// Compares the bits of its results with those of the CPU device.
    pub async fn compare(&self) -> Result<String> {
        Ok(first::compare(self).await?)
    }
}

#[wasm_bindgen]
impl Checker {
    /// Opens the CPU device with its checks.
    pub async fn open() -> Result<Checker> {
        Ok(Checker::on_cpu().await?)
    }

    /// Checks the kernels of a text.
    pub async fn check(&self, text: String) -> Report {
        self.report(&text).await
    }
}

#[wasm_bindgen]
impl TwoQueues {
    /// Makes two queues.
    pub fn open(device: &Device) -> Result<TwoQueues> {
        Ok(TwoQueues::new(device)?)
    }

    /// Runs a round and returns its timeline.
    pub async fn run(&mut self) -> Result<Timeline> {
        Ok(self.round().await?)
    }
}

#[wasm_bindgen]
impl Water {
    /// Makes still water, and captures the graph of a frame.
    pub fn open(device: &Device) -> Result<Water> {
        Ok(Water::new(device)?)
    }

    /// Returns the number of cells in a row.
    #[wasm_bindgen(getter)]
    pub fn width(&self) -> u32 {
        self.size()[0]
    }

    /// Returns the number of rows.
    #[wasm_bindgen(getter)]
    pub fn height(&self) -> u32 {
        self.size()[1]
    }

    /// Replays the graph with the mouse at a position in cells, and returns the pixels.
    pub async fn frame(&self, x: f32, y: f32) -> Result<Vec<u8>> {
        Ok(self.replayed([x, y]).await?)
    }
}

#[wasm_bindgen]
impl FileHash {
    /// Prepares the hash of a file of `length` bytes.
    pub fn open(device: &Device, length: f64) -> Result<FileHash> {
        Ok(FileHash::new(device, length as u64)?)
    }

    /// Returns `true` after the last slice.
    #[wasm_bindgen(getter)]
    pub fn done(&self) -> bool {
        self.needed().is_none()
    }

    /// Returns the first byte of the file that `push` needs next.
    #[wasm_bindgen(getter)]
    pub fn start(&self) -> f64 {
        self.needed().map_or(0.0, |range| range.start as f64)
    }

    /// Returns the byte after those that `push` needs next.
    #[wasm_bindgen(getter)]
    pub fn end(&self) -> f64 {
        self.needed().map_or(0.0, |range| range.end as f64)
    }

    /// Enqueues the upload and the hash of the next slice.
    pub async fn push(&mut self, bytes: Vec<u8>) -> Result<()> {
        Ok(self.take(&bytes).await?)
    }

    /// Returns the hash after the last slice.
    pub async fn finish(self) -> Result<Hashed> {
        Ok(self.result().await?)
    }
}
