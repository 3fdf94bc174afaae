//! The version of GL that a driver names.

/// First version of desktop GL whose shading language has compute shaders.
const FIRST_WITH_COMPUTE: (u32, u32) = (4, 3);

/// Returns `true` unless a driver of desktop GL names a version whose shading language has no compute shaders.
///
/// Such a driver may still report the ability, as an extension. wgpu then lists the adapter and cannot open it.
pub(crate) fn can_compute(version: &str) -> bool {
    let mut numbers = version.split(|letter: char| !letter.is_ascii_digit()).map(str::parse::<u32>);
    match (numbers.next(), numbers.next()) {
        (Some(Ok(major)), Some(Ok(minor))) => (major, minor) >= FIRST_WITH_COMPUTE,
        _ => true, // such as `OpenGL ES 3.2`
    }
}

#[cfg(test)]
mod tests {
    use super::can_compute;

    #[test]
    fn desktop_gl_computes_from_version_4_3_on_and_other_texts_decide_nothing() {
        for version in ["4.3.0 NVIDIA 580.159.04", "4.5 (Core Profile) Mesa 22.3.6", "4.10", "5.0"] {
            assert!(can_compute(version), "{version}");
        }
        for version in ["3.3.0 NVIDIA 580.159.04", "4.2 (Core Profile) Mesa 22.3.6", "2.1"] {
            assert!(!can_compute(version), "{version}");
        }
        for version in ["OpenGL ES 3.1 Mesa 22.3.6", "WebGL 2.0", ""] {
            assert!(can_compute(version), "{version}");
        }
    }
}
