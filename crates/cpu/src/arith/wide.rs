//! Functions that are compiled for the target's vectors, and again for wider vectors that the processor may support.

/// Defines functions of the crate with these bodies. The results have the same bits with all vectors, as no steps are
/// fused.
macro_rules! wide {
    ($(fn $name:ident($($x:ident: $ty:ty),+) = $body:expr;)+) => { $(
        pub(crate) fn $name($($x: $ty),+) {
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn with_avx2($($x: $ty),+) {
                    $body;
                }
                if std::arch::is_x86_feature_detected!("avx2") {
                    #[allow(unsafe_code, reason = "a call of code for certain processors needs a check before")]
                    // SAFETY: the processor supports the instructions that the function is compiled for.
                    return unsafe { with_avx2($($x),+) };
                }
            }
            $body;
        }
    )+ };
}
pub(crate) use wide;
