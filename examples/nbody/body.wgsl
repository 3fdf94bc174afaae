// Defines a body, and a function for the pull of one body on another. Both kernels use this file.

override SOFTENING: f32; // bodies that are closer than this pass through each other

struct Body { position: vec3<f32>, mass: f32, velocity: vec3<f32> }

// Returns one over the distance.
fn nearness(offset: vec3<f32>) -> f32 { return inverseSqrt(dot(offset, offset) + SOFTENING * SOFTENING); }
