//! Gives the targets with a native backend a short name.

fn main() {
    cfg_aliases::cfg_aliases! {
        vulkan: { any(target_os = "linux", target_os = "android", target_os = "freebsd", windows) },
    }
}
