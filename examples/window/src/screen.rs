//! The window, its surface, and the wgpu device that draws there. The program opens all of them itself.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context as _, Result};
use wgpu::TextureFormat::{Bgra8Unorm, Rgba8Unorm};
use winit::dpi::PhysicalSize;
use winit::event_loop::ActiveEventLoop;
use winit::window::Window;

/// Formats whose bytes are those that the shader returns.
const FORMATS: [wgpu::TextureFormat; 2] = [Bgra8Unorm, Rgba8Unorm];

/// A wgpu device and its queue.
#[derive(Clone)]
pub(crate) struct Gpu {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
}

impl Gpu {
    /// Opens a device that can draw into a surface, with all limits of its adapter.
    async fn open(instance: &wgpu::Instance, surface: &wgpu::Surface<'_>) -> Result<(Self, wgpu::Adapter)> {
        let options = wgpu::RequestAdapterOptions { compatible_surface: Some(surface), ..Default::default() };
        let adapter = instance.request_adapter(&options).await?;
        let required_limits = adapter.limits();
        let desc = wgpu::DeviceDescriptor { required_limits, ..wgpu::DeviceDescriptor::default() };
        let (device, queue) = adapter.request_device(&desc).await?;
        Ok((Self { device, queue }, adapter))
    }

    /// Makes a buffer.
    pub(crate) fn buffer(&self, label: &str, size: u64, usage: wgpu::BufferUsages) -> wgpu::Buffer {
        let label = Some(label);
        self.device.create_buffer(&wgpu::BufferDescriptor { label, size, usage, mapped_at_creation: false })
    }
}

/// A window with a surface that fills it.
pub(crate) struct Screen {
    pub(crate) gpu: Gpu,
    pub(crate) window: Arc<Window>,
    instance: wgpu::Instance,
    surface: wgpu::Surface<'static>,
    config: wgpu::SurfaceConfiguration,
    /// Number of errors that wgpu has reported outside of Fencepost's calls.
    errors: Arc<AtomicU32>,
}

impl Screen {
    /// Opens a window. With `paced`, frames wait for the display.
    pub(crate) fn open(events: &ActiveEventLoop, size: [u32; 2], paced: bool) -> Result<Self> {
        let [width, height] = size;
        let attributes = Window::default_attributes().with_title("Fencepost");
        let attributes = attributes.with_inner_size(PhysicalSize::new(width, height));
        let window = Arc::new(events.create_window(attributes).context("cannot open a window")?);
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
        let surface = instance.create_surface(window.clone())?;
        let (gpu, adapter) = pollster::block_on(Gpu::open(&instance, &surface))?;
        let errors = Arc::new(AtomicU32::new(0));
        let counter = errors.clone();
        gpu.device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            counter.fetch_add(1, Ordering::Relaxed);
            eprintln!("wgpu: {error}");
        }));

        let PhysicalSize { width, height } = window.inner_size();
        let config = surface.get_default_config(&adapter, width.max(1), height.max(1));
        let mut config = config.context("the adapter cannot draw into the window")?;
        let formats = surface.get_capabilities(&adapter).formats;
        let format = FORMATS.into_iter().find(|format| formats.contains(format));
        config.format = format
            .with_context(|| format!("the window has the formats {formats:?}, and none of {FORMATS:?}"))?;
        config.present_mode =
            if paced { wgpu::PresentMode::AutoVsync } else { wgpu::PresentMode::AutoNoVsync };
        surface.configure(&gpu.device, &config);
        Ok(Self { gpu, window, instance, surface, config, errors })
    }

    /// Returns the width and the height of the surface in pixels. Neither is 0.
    pub(crate) fn size(&self) -> [u32; 2] {
        [self.config.width, self.config.height]
    }

    /// Returns the format of the surface.
    pub(crate) fn format(&self) -> wgpu::TextureFormat {
        self.config.format
    }

    /// Returns the next texture of the surface, or the reason why there is none.
    pub(crate) fn texture(&self) -> wgpu::CurrentSurfaceTexture {
        self.surface.get_current_texture()
    }

    /// Makes the surface as large as the window. No side of the window may be 0, and nothing may be submitted meanwhile.
    pub(crate) fn configure(&mut self, [width, height]: [u32; 2]) {
        self.config.width = width;
        self.config.height = height;
        self.surface.configure(&self.gpu.device, &self.config);
    }

    /// Replaces a lost surface. Nothing may be submitted meanwhile.
    pub(crate) fn replace_surface(&mut self) -> Result<()> {
        self.surface = self.instance.create_surface(self.window.clone())?;
        self.surface.configure(&self.gpu.device, &self.config);
        Ok(())
    }

    /// Returns the number of errors that wgpu has reported so far.
    pub(crate) fn errors(&self) -> u32 {
        self.errors.load(Ordering::Relaxed)
    }
}
