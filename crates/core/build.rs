//! Gives the targets with a native backend a short name.

fn main() {
    println!("cargo::rustc-check-cfg=cfg(vulkan)");
    let system = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    if ["linux", "android", "freebsd", "windows"].contains(&system.as_str()) {
        println!("cargo::rustc-cfg=vulkan");
    }
    println!("cargo::rerun-if-changed=build.rs");
}
