//! Defines the cfg alias `native`: every target with threads.

fn main() {
    cfg_aliases::cfg_aliases! {
        native: { not(target_arch = "wasm32") },
    }
}
