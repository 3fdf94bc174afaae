//! Numbers as the page shows them: three digits and a unit.

/// Returns the rate of moving `bytes` bytes in some seconds, such as `12.3 GB/s`.
pub fn rate(bytes: f64, seconds: f64) -> String {
    if seconds > 0.0 {
        scaled(bytes / seconds, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"])
    } else {
        "too fast to measure".into()
    }
}

/// Returns a number of bytes, such as `1.50 MB`.
pub fn size(bytes: f64) -> String {
    scaled(bytes, ["B", "kB", "MB", "GB", "TB"])
}

/// Returns a time, such as `2.25 ms`.
pub fn time(seconds: f64) -> String {
    scaled(seconds * 1e9, ["ns", "µs", "ms", "s", "thousand s"])
}

/// Returns a count with commas between its thousands.
pub fn count(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a value with three digits, in the first of the units in which it is below 1000. Each unit is a thousand of
/// the one before.
fn scaled(mut value: f64, units: [&str; 5]) -> String {
    let mut unit = 0;
    // 999.5 is the first value that is rounded to four digits.
    while value >= 999.5 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let places = if unit == 0 && value.fract() == 0.0 {
        0
    } else if value < 9.995 {
        2
    } else if value < 99.95 {
        1
    } else {
        0
    };
    format!("{value:.places$} {}", units[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_has_three_digits_and_the_unit_in_which_it_is_below_a_thousand() {
        assert_eq!(rate(1e9, 2.0), "500 MB/s");
        assert_eq!(rate(12.345e9, 1.0), "12.3 GB/s");
        assert_eq!(rate(1.0, 1e-12), "1.00 TB/s");
        assert_eq!(rate(1e19, 1.0), "10000000 TB/s");
    }

    #[test]
    fn a_value_that_rounds_to_a_thousand_has_the_next_unit() {
        assert_eq!(size(999_499.0), "999 kB");
        assert_eq!(size(999_500.0), "1.00 MB");
        assert_eq!(time(0.009_996), "10.0 ms");
    }

    #[test]
    fn whole_bytes_have_no_decimals() {
        assert_eq!([size(0.0), size(7.0), size(1024.0)], ["0 B", "7 B", "1.02 kB"]);
    }

    #[test]
    fn a_rate_without_a_time_is_not_infinite() {
        assert_eq!(rate(1e9, 0.0), "too fast to measure");
    }

    #[test]
    fn a_count_has_a_comma_before_each_group_of_three_digits() {
        assert_eq!(
            [0, 999, 1000, 65_536, 1_234_567].map(count),
            ["0", "999", "1,000", "65,536", "1,234,567"]
        );
    }
}
