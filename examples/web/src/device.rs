//! The device of the page: the visitor's GPU, or the CPU device if the browser offers none.

use fencepost::prelude::*;
use wasm_bindgen::prelude::wasm_bindgen;

/// Elements of an array that a measurement uses. On a GPU its arrays have 32 MiB, which no cache holds; on the CPU,
/// which interprets kernels in a browser, the measurement would take seconds.
const ELEMENTS: [usize; 2] = [1 << 23, 1 << 14];

/// The device of the page, with the context that all sections use.
#[wasm_bindgen]
pub struct Device {
    pub(crate) ctx: Context,
    pub(crate) is_cpu: bool,
}

/// Opens the GPU. If there is none, opens the CPU device.
///
/// # Errors
/// Fails if the CPU device cannot be opened.
pub async fn open() -> Result<Device> {
    let ctx = match Context::new().await {
        Ok(ctx) => ctx,
        Err(_) => cpu().await?,
    };
    let is_cpu = ctx.wgpu().is_none();
    Ok(Device { ctx, is_cpu })
}

/// Opens another context, on the CPU device.
///
/// # Errors
/// Fails if the CPU device cannot be opened.
pub async fn cpu() -> Result<Context> {
    Context::with_options(ContextOptions::default().adapter(AdapterChoice::Cpu)).await
}

impl Device {
    /// Returns the options that open another context on the same device.
    pub fn options(&self) -> ContextOptions {
        let adapter = if self.is_cpu { AdapterChoice::Cpu } else { AdapterChoice::Auto };
        ContextOptions::default().adapter(adapter)
    }

    /// Returns the number of elements of an array in a measurement.
    pub fn elements(&self) -> usize {
        self.choose(ELEMENTS[0], ELEMENTS[1])
    }

    /// Returns the first value for a GPU, and the second one for the CPU device.
    pub fn choose<T>(&self, on_gpu: T, on_cpu: T) -> T {
        if self.is_cpu { on_cpu } else { on_gpu }
    }

    /// Returns a line about the device.
    pub fn description(&self) -> String {
        if self.is_cpu {
            "This browser offers no WebGPU device, so Fencepost's CPU device runs this page: all of it works, more \
             slowly."
                .into()
        } else {
            format!("This page runs on {}.", self.ctx.info())
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Opens the device of a machine without a GPU, as the tests of all sections do.
    pub(crate) fn on_cpu() -> Device {
        Device { ctx: pollster::block_on(cpu()).expect("it needs no driver"), is_cpu: true }
    }

    #[test]
    fn without_a_gpu_the_page_says_that_the_cpu_runs_it() {
        let device = on_cpu();
        assert!(device.description().contains("CPU device runs this page"), "{}", device.description());
        assert_eq!(device.options().adapter, AdapterChoice::Cpu);
        assert_eq!((device.elements(), device.choose(1, 2)), (ELEMENTS[1], 2));
    }

    #[test]
    fn a_context_without_a_wgpu_device_is_on_the_cpu() {
        // The features of this package include no graphics interface.
        let device = pollster::block_on(open()).expect("the CPU needs no driver");
        assert!(device.is_cpu);
    }
}
