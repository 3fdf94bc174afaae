use fencepost_derive::Element;

#[derive(Clone, Copy, Element)]
#[element(crate = fencepost_kernels)]
struct Particle {
    position: [f32; 3],
    mass: f32,
}

fn main() {}
