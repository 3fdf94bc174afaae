/// Makes a function that calls `$work`, compiled for wide vectors where the processor has them. `$work` is inlined into it.
macro_rules! wide {
    ($(#[$doc:meta])* fn $name:ident($($arg:ident: $type:ty),*) $(-> $result:ty)? = $work:ident) => {
        $(#[$doc])*
        fn $name($($arg: $type),*) $(-> $result)? {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            fn with_avx2($($arg: $type),*) $(-> $result)? {
                $work($($arg),*)
            }
            #[cfg(target_arch = "x86_64")]
            if $crate::cpu::wide::has_wide() {
                #[allow(unsafe_code, reason = "the call of code for certain processors needs a check before")]
                // SAFETY: the processor has the features for which the function is compiled.
                return unsafe { with_avx2($($arg),*) };
            }
            $work($($arg),*)
        }
    };
}
pub(crate) use wide;

/// Returns the name of the vectors that the functions of [`wide`] use.
pub(crate) fn name() -> &'static str {
    if has_wide() { "AVX2" } else { "the vectors of the target" }
}

#[cfg(target_arch = "x86_64")]
pub(crate) fn has_wide() -> bool {
    std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("fma")
}

#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn has_wide() -> bool {
    false
}
