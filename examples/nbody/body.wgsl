// What the kernels share: a body, and the pull of one on another.

override SOFTENING: f32; // bodies that are closer than this pass through each other

struct Body { position: vec3<f32>, mass: f32, velocity: vec3<f32> }

// One over the distance.
fn nearness(offset: vec3<f32>) -> f32 { return inverseSqrt(dot(offset, offset) + SOFTENING * SOFTENING); }
