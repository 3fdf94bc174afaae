//! Images of handwritten digits, divided into a part for training and one for a test.

use fencepost::prelude::*;
use smartcore::dataset::digits::load_dataset;

/// Number of pixels of an image, which has 8 rows.
pub(crate) const PIXELS: usize = 64;
pub(crate) const CLASSES: usize = 10;

/// Images with the digits that they show.
#[derive(Default)]
pub(crate) struct Samples {
    /// Brightness of each pixel, from 0 to 1.
    images: Vec<f32>,
    pub(crate) digits: Vec<usize>,
}

/// The same samples on the device.
pub(crate) struct DeviceSamples {
    /// Images, with a row for each.
    pub(crate) images: DeviceArray<f32, 2>,
    /// Probabilities of the digits: 1 for the right one, else 0.
    pub(crate) targets: DeviceArray<f32, 2>,
}

impl Samples {
    /// Returns the samples for training, and those for the test. In the data set, most groups of ten images have each
    /// digit once. Each fifth group is in the test.
    pub(crate) fn load() -> [Self; 2] {
        let data = load_dataset();
        let mut parts = [Self::default(), Self::default()];
        for (at, (image, digit)) in data.data.chunks(PIXELS).zip(&data.target).enumerate() {
            let part = &mut parts[usize::from(at / 10 % 5 == 4)];
            part.images.extend(image.iter().map(|grey| grey / 16.0));
            part.digits.push(*digit as usize);
        }
        parts
    }

    pub(crate) fn len(&self) -> usize {
        self.digits.len()
    }

    /// Returns the pixels of an image.
    pub(crate) fn image(&self, at: usize) -> Vec<f64> {
        self.images[at * PIXELS..][..PIXELS].iter().copied().map(f64::from).collect()
    }

    /// Makes arrays with the samples.
    pub(crate) fn upload(&self, ctx: &Context) -> Result<DeviceSamples> {
        let target = |&digit: &usize| (0..CLASSES).map(move |class| f32::from(class == digit));
        let targets: Vec<f32> = self.digits.iter().flat_map(target).collect();
        Ok(DeviceSamples {
            images: ctx.array(&self.images)?.reshape([self.len(), PIXELS])?,
            targets: ctx.array(&targets)?.reshape([self.len(), CLASSES])?,
        })
    }
}
