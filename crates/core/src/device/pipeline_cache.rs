//! A pipeline cache of wgpu for one form of a kernel, which is read from a file and written to it.

#[cfg(native)]
use crate::device::hal_pipeline::portable_cache;
use crate::device::kernel_folder::KernelFile;

/// The pipeline cache of one compilation, with its file.
pub(crate) struct PipelineCache {
    file: KernelFile,
    /// Data of the file, if there was a file.
    loaded: Option<Vec<u8>>,
    cache: wgpu::PipelineCache,
}

impl PipelineCache {
    /// Reads the file and makes the cache. The device has the feature `PIPELINE_CACHE`.
    pub(crate) fn open(device: &wgpu::Device, file: KernelFile) -> Option<Self> {
        let loaded = file.load();
        let cache = portable_cache(device, loaded.as_deref())?;
        Some(Self { file, loaded, cache })
    }

    pub(crate) fn cache(&self) -> &wgpu::PipelineCache {
        &self.cache
    }

    /// Writes the driver's data to the file if there was no file. An existing file stays as it is, because some drivers
    /// return more data each time for the same kernel.
    pub(crate) fn close(self) {
        if let (None, Some(data)) = (self.loaded, self.cache.get_data()) {
            self.file.keep(&data);
        }
    }
}

/// Returns `None`: no driver of this target returns compiled kernels.
#[cfg(not(native))]
fn portable_cache(_: &wgpu::Device, _: Option<&[u8]>) -> Option<wgpu::PipelineCache> {
    None
}
