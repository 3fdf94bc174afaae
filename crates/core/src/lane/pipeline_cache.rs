//! A pipeline cache of wgpu's for one form of a kernel, from a file and back to it.
#![allow(unsafe_code, reason = "what a driver left in a file goes back to the driver")]

use super::kernel_folder::KernelFile;

pub(super) struct PipelineCache {
    file: KernelFile,
    loaded: Option<Vec<u8>>,
    cache: wgpu::PipelineCache,
}

impl PipelineCache {
    /// The device must have the feature.
    pub(super) fn open(device: &wgpu::Device, file: KernelFile) -> Self {
        let loaded = file.load();
        let desc =
            wgpu::PipelineCacheDescriptor { label: Some("kernel"), data: loaded.as_deref(), fallback: true };
        // SAFETY: the bytes are those of a cache of this device and driver: name, length and checksum of the file say so, and
        // wgpu and the driver compare what they wrote at its beginning.
        let cache = unsafe { device.create_pipeline_cache(&desc) };
        Self { file, loaded, cache }
    }

    pub(super) fn cache(&self) -> &wgpu::PipelineCache {
        &self.cache
    }

    /// Keeps what the driver has made, if nothing was there: some drivers give more each time for the same kernel.
    pub(super) fn close(self) {
        if let (None, Some(data)) = (self.loaded, self.cache.get_data()) {
            self.file.keep(&data);
        }
    }
}
