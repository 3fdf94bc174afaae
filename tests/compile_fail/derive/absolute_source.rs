use fencepost_derive::KernelArgs;

#[derive(KernelArgs)]
#[kernel(source = "/shaders/saxpy.wgsl", crate = fencepost_kernels)]
struct Saxpy {
    a: f32,
}

fn main() {}
