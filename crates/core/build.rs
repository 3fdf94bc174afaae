//! Gives the targets with a native backend a short name.

fn main() {
    cfg_aliases::cfg_aliases! {
        native: { not(target_arch = "wasm32") },
        metal: { target_vendor = "apple" },
        dx12: { windows },
        vulkan: { any(target_os = "linux", target_os = "android", target_os = "freebsd", windows) },
    }
}
