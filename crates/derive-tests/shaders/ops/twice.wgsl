//#use half
fn twice(x: f32) -> f32 { return 2.0 * x; }
