use cubecl::prelude::*;

#[cube(launch)]
fn saxpy(a: f32, x: &[f32], y: &mut [f32]) {
    if ABSOLUTE_POS < y.len() {
        y[ABSOLUTE_POS] += a * x[ABSOLUTE_POS];
    }
}

fn main() {
    let client = cubecl::Device::default().client();
    let array = |contents: &[f32]| client.create_from_slice(bytemuck::cast_slice(contents));
    let x = array(&[1.0, 2.0, 3.0, 4.0]);
    let y = array(&[1.0; 4]);
    // SAFETY: both have four elements.
    let [of_x, of_y] = [&x, &y].map(|handle| unsafe { BufferArg::from_raw_parts(handle.clone(), 4) });
    saxpy::launch(&client, CubeCount::Static(1, 1, 1), CubeDim::new_1d(64), 2.0, of_x, of_y);
    println!("{:?}", bytemuck::cast_slice::<u8, f32>(&client.read_one_unchecked(y)));
}
