//! Gives the targets with a native backend a short name.

fn main() {
    cfg_aliases::cfg_aliases! {
        native: { not(target_arch = "wasm32") },
    }
}
