//! Numbers of bytes as readable text.

/// Writes the bytes in the largest unit that gives a whole number; otherwise with one decimal.
pub(crate) fn bytes(count: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let power = (count.max(1).ilog2() / 10) as usize;
    let unit = 1_u64 << (10 * power);
    if count.is_multiple_of(unit) {
        format!("{} {}", count / unit, units[power])
    } else {
        format!("{:.1} {}", count as f64 / unit as f64, units[power])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_the_largest_unit_that_fits() {
        let texts = [0, 1023, 1024, 1536, 128 << 20, (4 << 30) - 1, u64::MAX].map(bytes);
        assert_eq!(texts, ["0 B", "1023 B", "1 KiB", "1.5 KiB", "128 MiB", "4.0 GiB", "16.0 EiB"]);
    }
}
