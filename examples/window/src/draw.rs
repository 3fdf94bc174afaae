//! The drawing of a frame, which both ways to compute it share.

use std::ops::Range;

use anyhow::Result;

use crate::picture::Offscreen;
use crate::screen::Gpu;

/// A way to compute the waves of a frame, and to draw them.
pub(crate) trait Way {
    /// Returns the name of the library that computes.
    fn name(&self) -> &'static str;

    /// Computes a frame and draws it. When the call returns, everything is submitted, so the frame may be presented; the
    /// device may still draw.
    fn frame(&mut self, frame: &Frame<'_>) -> Result<()>;

    /// Waits until the device has drawn every frame.
    fn finish(&self) -> Result<()>;
}

/// A frame to compute and draw.
pub(crate) struct Frame<'a> {
    /// Numbers of the steps, in the period of the source.
    pub(crate) steps: Range<u32>,
    /// Place of the source in cells.
    pub(crate) source: [f32; 2],
    pub(crate) painter: &'a Painter,
    /// View of the window's texture.
    pub(crate) view: &'a wgpu::TextureView,
    /// Texture for a second drawing of the frame, for a screenshot.
    pub(crate) copy: Option<&'a Offscreen>,
}

impl Frame<'_> {
    /// Records the drawing of a picture.
    pub(crate) fn record(&self, encoder: &mut wgpu::CommandEncoder, picture: &wgpu::BindGroup) {
        self.painter.draw(encoder, picture, self.view);
        if let Some(copy) = self.copy {
            self.painter.draw(encoder, picture, copy.view());
            copy.record(encoder);
        }
    }
}

/// A render pipeline that draws a buffer of pixels. Its fragment shader reads the buffer.
pub(crate) struct Painter {
    pipeline: wgpu::RenderPipeline,
    /// Sizes of the picture and of the view.
    sizes: wgpu::Buffer,
    cells: [u32; 2],
}

impl Painter {
    /// Makes a painter of pictures with `cells` pixels, for views of `view` pixels.
    pub(crate) fn new(gpu: &Gpu, format: wgpu::TextureFormat, cells: [u32; 2], view: [u32; 2]) -> Self {
        let source = wgpu::ShaderSource::Wgsl(include_str!("screen.wgsl").into());
        let desc = wgpu::ShaderModuleDescriptor { label: Some("screen"), source };
        let module = &gpu.device.create_shader_module(desc);
        let pipeline = gpu.device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: Some("screen"),
            layout: None,
            vertex: wgpu::VertexState {
                module,
                entry_point: None,
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                buffers: &[],
            },
            fragment: Some(wgpu::FragmentState {
                module,
                entry_point: None,
                compilation_options: wgpu::PipelineCompilationOptions::default(),
                targets: &[Some(format.into())],
            }),
            primitive: wgpu::PrimitiveState::default(),
            depth_stencil: None,
            multisample: wgpu::MultisampleState::default(),
            multiview_mask: None,
            cache: None,
        });
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let sizes = gpu.buffer("sizes", 16, usage);
        let painter = Self { pipeline, sizes, cells };
        painter.set_view(gpu, view);
        painter
    }

    /// Sets the size of the views, for the frames that are submitted afterwards.
    pub(crate) fn set_view(&self, gpu: &Gpu, view: [u32; 2]) {
        let words = [self.cells, view].into_iter().flatten();
        gpu.queue.write_buffer(&self.sizes, 0, &words.flat_map(u32::to_ne_bytes).collect::<Vec<u8>>());
    }

    /// Returns the binding of a buffer of pixels, with a byte each for red, green, blue and alpha.
    pub(crate) fn picture(&self, gpu: &Gpu, pixels: &wgpu::Buffer) -> wgpu::BindGroup {
        let [sizes, pixels] = [&self.sizes, pixels].map(wgpu::Buffer::as_entire_binding);
        gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("picture"),
            layout: &self.pipeline.get_bind_group_layout(0),
            entries: &[
                wgpu::BindGroupEntry { binding: 0, resource: sizes },
                wgpu::BindGroupEntry { binding: 1, resource: pixels },
            ],
        })
    }

    fn draw(&self, encoder: &mut wgpu::CommandEncoder, picture: &wgpu::BindGroup, view: &wgpu::TextureView) {
        let ops =
            wgpu::Operations { load: wgpu::LoadOp::Clear(wgpu::Color::BLACK), store: wgpu::StoreOp::Store };
        let attachment =
            wgpu::RenderPassColorAttachment { view, depth_slice: None, resolve_target: None, ops };
        let color_attachments = &[Some(attachment)];
        let desc = wgpu::RenderPassDescriptor { color_attachments, ..wgpu::RenderPassDescriptor::default() };
        let mut pass = encoder.begin_render_pass(&desc);
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, picture, &[]);
        pass.draw(0..3, 0..1);
    }
}
