//! Calls of convolutions over the channels of images.

use super::Calls;
use fencepost::algorithms::prelude::*;
use fencepost_oracles as host;

/// Shapes of the images and the weights; stride, padding and dilation; number of groups.
type Layer = ([usize; 4], [usize; 4], [[usize; 2]; 3], usize);

/// Layers with remainders of tiles, with none and with one more along each side; few kernels and many, in one group and
/// in several; sums of one share and of several; and a grid in several rows with a workgroup too many.
const LAYERS: [Layer; 12] = [
    ([2, 3, 5, 4], [5, 3, 2, 3], [[2, 1], [1, 2], [1, 2]], 1),
    ([2, 4, 4, 3], [6, 2, 2, 2], [[1, 2], [1, 0], [2, 1]], 2),
    ([1, 4, 4, 4], [18, 2, 1, 1], USUAL, 2),
    ([1, 5, 6, 4], [5, 1, 3, 3], [[1, 1], [1, 1], [1, 1]], 5),
    ([1, 2, 3, 3], [8, 1, 2, 2], USUAL, 2),
    ([1, 1, 9, 30], [1, 1, 2, 2], USUAL, 1),
    ([1, 1, 1, 101], [2, 1, 1, 1], USUAL, 1),
    ([1, 4, 1, 9], [33, 4, 1, 1], USUAL, 1),
    ([1, 2, 4, 4], [12, 2, 1, 1], USUAL, 1),
    ([1, 2, 1, 17], [6, 2, 1, 1], USUAL, 1),
    ([1, 40, 2, 2], [3, 40, 2, 1], USUAL, 1),
    ([2, 20, 1, 2], [5, 20, 1, 2], [[1, 1], [0, 1], [1, 1]], 1),
];
const USUAL: [[usize; 2]; 3] = [[1, 1], [0, 0], [1, 1]];

impl Calls {
    pub(super) fn channels(&mut self) {
        for (images, weights, [stride, padding, dilation], groups) in LAYERS {
            let layer = move || -> ConvolveChannels<'static, u32> {
                let layer = ConvolveChannels::default().stride(stride).padding(padding);
                layer.dilation(dilation).groups(groups)
            };
            let results = host::channel_results(images, weights, &layer()).expect("the shapes fit");
            let [of_images, of_weights, of_results] =
                [images, weights, results].map(|shape| shape.iter().product::<usize>());
            self.add(format!("convolve_channels of {images:?} by {weights:?}"), move |q, a| {
                let x = a.y.slice(0..of_images)?.reshape(images)?;
                let w = a.sorted.slice(0..of_weights)?.reshape(weights)?;
                let mut out = a.out.slice(0..of_results)?.reshape(results)?;
                q.convolve_channels(&x, &w, &mut out, layer())
            });
            self.add(format!("convolve_channels of {images:?} by {weights:?}, biased"), move |q, a| {
                let x = a.y.slice(0..of_images)?.reshape(images)?;
                let w = a.sorted.slice(0..of_weights)?.reshape(weights)?;
                let mut out = a.out.slice(0..of_results)?.reshape(results)?;
                let bias = a.y.slice(256..256 + weights[0])?;
                q.convolve_channels(&x, &w, &mut out, layer().bias(&bias).activation("x ^ 9u"))
            });
        }
        // Channels last in memory, and kernels last, from the last weight on.
        self.add("convolve_channels of views", |q, a| {
            let images = Strides { first: 4, strides: [36, 1, 9, 3] };
            let weights = Strides { first: 47, strides: [-1, -4, -24, -12] };
            let x = a.y.slice(0..76)?.matrices([2, 3, 4, 3], images);
            let w = a.sorted.slice(0..48)?.matrices([4, 3, 2, 2], weights);
            let mut out = a.out.slice(0..48)?.reshape([2, 4, 3, 2])?;
            q.convolve_channels(x, w, &mut out, ConvolveChannels::default())
        });
        self.add("convolve_channels of views in groups", |q, a| {
            let images = Strides { first: 1, strides: [60, 2, 20, 5] };
            let weights = Strides { first: 3, strides: [1, 0, 16, 8] };
            let x = a.y.slice(0..139)?.matrices([2, 2, 4, 4], images);
            let w = a.sorted.slice(0..35)?.matrices([8, 1, 2, 2], weights);
            let mut out = a.out.slice(0..144)?.reshape([2, 8, 3, 3])?;
            q.convolve_channels(x, w, &mut out, ConvolveChannels::default().groups(2))
        });
    }
}
