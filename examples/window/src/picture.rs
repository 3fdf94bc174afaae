//! Screenshots: a second drawing of a frame, into a texture that can be read.

use std::fs;
use std::path::Path;
use std::sync::mpsc::channel;

use anyhow::{Context as _, Result};

use crate::screen::Gpu;

/// A texture of the size and format of a window, and a buffer for its pixels.
pub(crate) struct Offscreen {
    texture: wgpu::Texture,
    view: wgpu::TextureView,
    buffer: wgpu::Buffer,
    /// Bytes of a row in the buffer.
    row: u32,
}

impl Offscreen {
    pub(crate) fn new(gpu: &Gpu, format: wgpu::TextureFormat, [width, height]: [u32; 2]) -> Self {
        let texture = gpu.device.create_texture(&wgpu::TextureDescriptor {
            label: Some("screenshot"),
            size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
        let row = (4 * width).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        let usage = wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ;
        let buffer = gpu.buffer("screenshot", u64::from(row) * u64::from(height), usage);
        Self { texture, view, buffer, row }
    }

    /// Returns the view to draw into.
    pub(crate) fn view(&self) -> &wgpu::TextureView {
        &self.view
    }

    /// Records the copy of the texture into the buffer.
    pub(crate) fn record(&self, encoder: &mut wgpu::CommandEncoder) {
        let layout =
            wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(self.row), rows_per_image: None };
        let target = wgpu::TexelCopyBufferInfo { buffer: &self.buffer, layout };
        encoder.copy_texture_to_buffer(self.texture.as_image_copy(), target, self.texture.size());
    }

    /// Waits for the copy, and writes the picture as a PNG file.
    pub(crate) fn store(&self, gpu: &Gpu, file: &Path) -> Result<()> {
        let png = self.encoded(&self.pixels(gpu)?)?;
        fs::write(file, png).with_context(|| format!("cannot write `{}`", file.display()))
    }

    /// Returns red, green, blue and alpha of each pixel, row by row.
    fn pixels(&self, gpu: &Gpu) -> Result<Vec<u8>> {
        let (sender, receiver) = channel();
        self.buffer.map_async(wgpu::MapMode::Read, .., move |result| {
            // The receiver is there until the result arrives.
            let _ = sender.send(result);
        });
        gpu.device.poll(wgpu::PollType::wait_indefinitely())?;
        receiver.recv()??;
        let mapped = self.buffer.get_mapped_range(..)?;
        let width = 4 * self.texture.size().width as usize;
        let mut pixels: Vec<u8> =
            mapped.chunks(self.row as usize).flat_map(|row| &row[..width]).copied().collect();
        if self.texture.format() == wgpu::TextureFormat::Bgra8Unorm {
            pixels.chunks_mut(4).for_each(|pixel| pixel.swap(0, 2));
        }
        Ok(pixels)
    }

    fn encoded(&self, pixels: &[u8]) -> Result<Vec<u8>> {
        let size = self.texture.size();
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, size.width, size.height);
        encoder.set_color(png::ColorType::Rgba);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(pixels)?;
        writer.finish()?;
        Ok(file)
    }
}
