//! Conversion between arrays and pictures, with the crate `image`.

use crate::api::context::Context;
use crate::arrays::device_array::DeviceArray;
use crate::error::{ErrorDetail, Result};
use fencepost_kernels::Element;
use image::{DynamicImage, ImageBuffer};
use std::path::Path;

/// An element type that represents a pixel.
///
/// | element | colour | in a shader |
/// |---|---|---|
/// | `u8` | grey | four pixels in a `u32`: snippet `packed` |
/// | `u16` | grey | two pixels in a `u32`: snippet `packed` |
/// | `[u8; 4]` | red, green, blue, alpha | a `u32`: `unpack4x8unorm` |
/// | `[u16; 4]` | red, green, blue, alpha | two `u32` |
/// | `[f32; 4]` | red, green, blue, alpha, from 0 to 1 | a `vec4<f32>` |
///
/// # Example
/// ```no_run
/// use fencepost::DeviceArray;
/// # let (ctx, queue) = fencepost::doctest();
/// let photo = DeviceArray::<[f32; 4], 2>::load_image(&ctx, "photo.png")?;
/// let [height, width] = photo.shape();
/// # drop(queue);
/// # Ok::<(), fencepost::Error>(())
/// ```
#[cfg(feature = "image")]
pub trait Pixel: Element {
    /// Returns the pixels of a picture, row by row, converted to this type.
    fn of(image: &DynamicImage) -> Vec<Self>;

    /// Returns the picture of these pixels, row by row; `None` if there are fewer than `width * height` pixels.
    fn image(width: u32, height: u32, pixels: &[Self]) -> Option<DynamicImage>;
}

macro_rules! pixels {
    ($($pixel:ty => $convert:ident, $variant:ident),* $(,)?) => {$(
        impl Pixel for $pixel {
            fn of(image: &DynamicImage) -> Vec<Self> {
                bytemuck::cast_slice(image.$convert().as_raw()).to_vec()
            }

            fn image(width: u32, height: u32, pixels: &[Self]) -> Option<DynamicImage> {
                let parts = bytemuck::cast_slice(pixels).to_vec();
                ImageBuffer::from_raw(width, height, parts).map(DynamicImage::$variant)
            }
        }
    )*};
}

pixels! {
    u8 => to_luma8, ImageLuma8,
    u16 => to_luma16, ImageLuma16,
    [u8; 4] => to_rgba8, ImageRgba8,
    [u16; 4] => to_rgba16, ImageRgba16,
    [f32; 4] => to_rgba32f, ImageRgba32F,
}

// Repeats the `cfg` of the module, because the documentation of `fencepost` shows only a `cfg` on the item itself.
#[cfg(feature = "image")]
impl<P: Pixel> DeviceArray<P, 2> {
    /// Returns an array of shape `[height, width]` with the pixels of a picture, converted to the element type. The
    /// upload comes before every later use on any queue.
    ///
    /// # Errors
    /// The errors of [`Context::array`].
    ///
    /// # Example
    /// ```
    /// use fencepost::DeviceArray;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let pixels = image::GrayImage::from_fn(3, 2, |x, y| image::Luma([(10 * y + x) as u8]));
    /// let grey = image::DynamicImage::ImageLuma8(pixels);
    /// let x = DeviceArray::<u8, 2>::from_image(&ctx, &grey)?;
    /// assert_eq!((x.shape(), queue.read(&x).wait()?), ([2, 3], vec![0, 1, 2, 10, 11, 12]));
    /// assert_eq!(x.to_image()?, grey);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn from_image(ctx: &Context, image: &DynamicImage) -> Result<Self> {
        let shape = [image.height() as usize, image.width() as usize];
        ctx.array(&P::of(image))?.reshape(shape)
    }

    /// Returns an array with the pixels of an image file, as [`from_image`](Self::from_image) does. PNG and JPEG always
    /// work; other formats work if the program's own dependency on `image` enables them.
    ///
    /// # Errors
    /// [`ErrorDetail::Image`] if the file cannot be read; the errors of [`Context::array`].
    #[track_caller]
    pub fn load_image(ctx: &Context, path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        // The content of the file decides its format, not the file name.
        let read = image::ImageReader::open(path)
            .and_then(image::ImageReader::with_guessed_format)
            .map_err(image::ImageError::from)
            .and_then(image::ImageReader::decode);
        Self::from_image(ctx, &read.map_err(|error| failed(path, "read", &error))?)
    }

    /// Blocks until the pixels are on the host, as [`Context::to_vec`] does, and returns them as a picture.
    ///
    /// # Errors
    /// [`ErrorDetail::PictureTooLarge`] for more than 2^32 - 1 pixels along an axis; the errors of [`Context::to_vec`].
    #[track_caller]
    pub fn to_image(&self) -> Result<DynamicImage> {
        let [height, width] = self.shape();
        let (Ok(rows), Ok(columns)) = (u32::try_from(height), u32::try_from(width)) else {
            let array = self.label().to_owned();
            return Err(ErrorDetail::PictureTooLarge { array, height, width, limit: u32::MAX }.into());
        };
        let image =
            P::image(columns, rows, &Context { owner: self.array.storage.owner.clone() }.to_vec(self)?);
        Ok(image.expect("bug: a read returns fewer elements than its array has"))
    }

    /// Blocks until the pixels are on the host, and writes them to a file. The file extension decides the format. JPEG
    /// has no alpha and 8 bits per colour, so the pixels are converted to that.
    ///
    /// # Errors
    /// [`ErrorDetail::Image`] if the file cannot be written, or its format cannot hold such pixels; the errors of
    /// [`to_image`](Self::to_image).
    ///
    /// # Example
    /// ```no_run
    /// use fencepost::DeviceArray;
    /// # let (ctx, queue) = fencepost::doctest();
    /// let photo = DeviceArray::<[u8; 4], 2>::load_image(&ctx, "photo.jpg")?;
    /// photo.save_image("copy.png")?;
    /// # drop(queue);
    /// # Ok::<(), fencepost::Error>(())
    /// ```
    #[track_caller]
    pub fn save_image(&self, path: impl AsRef<Path>) -> Result<()> {
        let path = path.as_ref();
        let image = self.to_image()?;
        let image = match image::ImageFormat::from_path(path) {
            Ok(image::ImageFormat::Jpeg) if image.color().has_alpha() => image.to_rgb8().into(),
            Ok(image::ImageFormat::Jpeg) => image.to_luma8().into(),
            Ok(image::ImageFormat::Png) if matches!(image, DynamicImage::ImageRgba32F(_)) => {
                image.to_rgba16().into()
            }
            _ => image,
        };
        Ok(image.save(path).map_err(|error| failed(path, "written", &error))?)
    }
}

fn failed(path: &Path, done: &'static str, error: &image::ImageError) -> ErrorDetail {
    ErrorDetail::Image { path: path.display().to_string(), done, reason: error.to_string() }
}

#[cfg(test)]
mod tests {
    use crate::api::context::Context;
    use crate::arrays::device_array::DeviceArray;
    use crate::error::ErrorDetail;
    use crate::record::cpu::cpu_recorder::SimulatorOptions;

    #[test]
    fn a_saved_picture_is_loaded_unchanged() {
        let ctx = Context::simulated(SimulatorOptions::default());
        let folder = std::env::temp_dir().join(format!("fencepost-pictures-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = |name: &str| folder.join(name);
        let grey: Vec<u8> = (0..35).map(|i| 7 * i).collect();
        let colours: Vec<[u8; 4]> = (0..35).map(|i| [i, 2 * i, 255 - i, 200]).collect();
        let x = ctx.array(&grey).unwrap().reshape([5, 7]).unwrap();
        let y = ctx.array(&colours).unwrap().reshape([5, 7]).unwrap();
        x.save_image(file("grey.png")).unwrap();
        y.save_image(file("colours.png")).unwrap();
        let back = DeviceArray::<u8, 2>::load_image(&ctx, file("grey.png")).unwrap();
        assert_eq!((back.shape(), ctx.to_vec(&back).unwrap()), ([5, 7], grey));
        assert_eq!(
            ctx.to_vec(&DeviceArray::<[u8; 4], 2>::load_image(&ctx, file("colours.png")).unwrap()).unwrap(),
            colours
        );
        let numbers = DeviceArray::<[f32; 4], 2>::load_image(&ctx, file("colours.png")).unwrap();
        assert!((ctx.to_vec(&numbers).unwrap()[3][0] - 3.0 / 255.0).abs() < 1e-6);
        numbers.save_image(file("numbers.png")).unwrap();
        assert_eq!(
            ctx.to_vec(&DeviceArray::<[u8; 4], 2>::load_image(&ctx, file("numbers.png")).unwrap()).unwrap(),
            colours
        );
        y.save_image(file("colours.jpg")).unwrap();
        assert_eq!(DeviceArray::<[u8; 4], 2>::load_image(&ctx, file("colours.jpg")).unwrap().shape(), [5, 7]);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn an_array_with_too_long_an_axis_is_no_picture() {
        let ctx = Context::simulated(SimulatorOptions::default());
        let x = ctx.zeros::<u8, 2>([0, 1 << 32]).unwrap().named("x");
        let error = x.to_image().unwrap_err();
        assert!(matches!(error.detail(), ErrorDetail::PictureTooLarge { .. }), "{error}");
        assert!(error.to_string().contains("at most 4294967295 pixels along an axis"), "{error}");
    }

    #[test]
    fn a_file_that_is_not_a_picture_is_an_error_of_its_kind() {
        let ctx = Context::simulated(SimulatorOptions::default());
        let text = std::env::temp_dir().join(format!("fencepost-no-picture-{}.png", std::process::id()));
        std::fs::write(&text, "no picture").unwrap();
        let missing = text.with_extension("missing");
        let x = ctx.zeros::<u8, 2>([2, 2]).unwrap();
        let errors = [
            DeviceArray::<u8, 2>::load_image(&ctx, &text).map(drop),
            DeviceArray::<u8, 2>::load_image(&ctx, &missing).map(drop),
            x.save_image("a.nothing"),
            x.save_image(text.join("b.png")),
        ];
        for error in errors.map(Result::unwrap_err) {
            assert!(matches!(error.detail(), ErrorDetail::Image { .. }), "{error}");
        }
        std::fs::remove_file(text).unwrap();
    }
}
