//! Gives the targets with a native backend a short name.

fn main() {
    cfg_aliases::cfg_aliases! {
        native: { not(target_arch = "wasm32") },
        metal: { all(target_vendor = "apple", feature = "metal") },
        dx12: { all(windows, feature = "dx12") },
        vulkan: {
            all(any(target_os = "linux", target_os = "android", target_os = "freebsd", windows), feature = "vulkan")
        },
        gles: {
            all(any(target_os = "linux", target_os = "android", target_os = "freebsd", windows), feature = "gles")
        },
        cpu: { any(test, feature = "cpu") },
        cpu_threads: { all(feature = "cpu", not(target_arch = "wasm32")) },
    }
}
