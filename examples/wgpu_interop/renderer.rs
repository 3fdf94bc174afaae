//! Draws only with wgpu.

use anyhow::{Context as _, Result};

pub(crate) const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;

const SHADER: &str = "
    @vertex fn corner(@location(0) at: vec2<f32>) -> @builtin(position) vec4<f32> { return vec4(at, 0.0, 1.0); }
    @fragment fn colour() -> @location(0) vec4<f32> { return vec4(1.0, 0.0, 0.0, 1.0); }
";

/// Opens a device on the adapter with this name and this backend.
pub(crate) async fn device(name: &str, backend: &str) -> Result<(wgpu::Device, wgpu::Queue)> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let adapters = instance.enumerate_adapters(wgpu::Backends::all()).await;
    let is_it = |adapter: &wgpu::Adapter| {
        let info = adapter.get_info();
        info.name == name && info.backend.to_str().eq_ignore_ascii_case(backend)
    };
    let adapter = adapters.into_iter().find(is_it).context("the adapter is gone")?;
    let required_limits = adapter.limits();
    let desc = wgpu::DeviceDescriptor { required_limits, ..wgpu::DeviceDescriptor::default() };
    Ok(adapter.request_device(&desc).await?)
}

/// Makes a pipeline that draws triangles in red, from two f32 a corner.
pub(crate) fn pipeline(device: &wgpu::Device) -> wgpu::RenderPipeline {
    let source = wgpu::ShaderSource::Wgsl(SHADER.into());
    let module = &device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
    let corner = wgpu::VertexBufferLayout {
        array_stride: 8,
        step_mode: wgpu::VertexStepMode::Vertex,
        attributes: &wgpu::vertex_attr_array![0 => Float32x2],
    };
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: Some("triangles"),
        layout: None,
        vertex: wgpu::VertexState {
            module,
            entry_point: None,
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            buffers: &[Some(corner)],
        },
        fragment: Some(wgpu::FragmentState {
            module,
            entry_point: None,
            compilation_options: wgpu::PipelineCompilationOptions::default(),
            targets: &[Some(FORMAT.into())],
        }),
        primitive: wgpu::PrimitiveState::default(),
        depth_stencil: None,
        multisample: wgpu::MultisampleState::default(),
        multiview_mask: None,
        cache: None,
    })
}

/// Draws triangles on a black background.
pub(crate) fn draw(
    encoder: &mut wgpu::CommandEncoder,
    pipeline: &wgpu::RenderPipeline,
    corners: wgpu::BufferSlice<'_>,
    target: &wgpu::Texture,
) {
    let ops = wgpu::Operations { load: wgpu::LoadOp::Clear(wgpu::Color::BLACK), store: wgpu::StoreOp::Store };
    let view = target.create_view(&wgpu::TextureViewDescriptor::default());
    let attachment =
        wgpu::RenderPassColorAttachment { view: &view, depth_slice: None, resolve_target: None, ops };
    let color_attachments = &[Some(attachment)];
    let desc = wgpu::RenderPassDescriptor { color_attachments, ..wgpu::RenderPassDescriptor::default() };
    let mut pass = encoder.begin_render_pass(&desc);
    pass.set_pipeline(pipeline);
    pass.set_vertex_buffer(0, corners);
    pass.draw(0..(corners.size() / 8) as u32, 0..1);
}
