//! The cores that a rank may use.

use std::{fs, thread};

/// Returns a warning if this process may use one core only, and the machine has several.
pub(crate) fn warning() -> Option<String> {
    let usable = thread::available_parallelism().ok()?.get();
    let all = count(&fs::read_to_string("/sys/devices/system/cpu/online").ok()?)?;
    let is_bound = usable == 1 && all > 1;
    is_bound.then(|| {
        format!("warning: this rank may use 1 of {all} cores, so its device is slow: run mpirun with --bind-to none")
    })
}

/// Counts the cores of a list such as `0-3,8`.
fn count(list: &str) -> Option<usize> {
    let of_range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let first: usize = first.parse().ok()?;
        let last: usize = last.parse().ok()?;
        Some(last.checked_sub(first)? + 1)
    };
    list.trim().split(',').map(of_range).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cores_of_all_ranges_are_counted() {
        assert_eq!(count("0-3,8\n"), Some(5));
        assert_eq!(count("0\n"), Some(1));
        assert_eq!(count("3-1"), None);
    }
}
