//! The groups in plain Rust, to compare with those of the device.

use crate::{Groups, HOURS};
use anyhow::{Result, ensure};
use std::collections::BTreeMap;

/// Fails unless the groups of the device are those of the orders.
pub(crate) fn verify(customers: &[u32], hours: &[u32], amounts: &[f32], found: &Groups) -> Result<()> {
    let mut groups = BTreeMap::<u32, (f64, f64)>::new();
    let mut of_hours = [0.0; HOURS];
    for ((&customer, &hour), &amount) in customers.iter().zip(hours).zip(amounts) {
        let (sum, size) = groups.entry(customer).or_default();
        *sum += f64::from(amount);
        *size += 1.0;
        of_hours[hour as usize] += f64::from(amount);
    }
    // These sums are exact as `f64`, and those of the device are rounded once.
    ensure!(found.of_hours == of_hours.map(|sum| sum as f32), "the sum of an hour is wrong");
    ensure!(found.count == groups.len(), "{} groups instead of {}", found.count, groups.len());
    let mut means: Vec<f64> = groups.values().map(|(sum, size)| sum / size).collect();
    means.sort_by(|a, b| b.total_cmp(a));
    ensure!(found.listed.len() == found.means.len().min(means.len()), "the list has another length");
    for ((customer, &mean), expected) in found.listed.iter().zip(&found.means).zip(means) {
        let (sum, size) = groups[customer];
        let is_near = |expected: f64| (f64::from(mean) - expected).abs() <= 1e-6 * expected;
        ensure!(is_near(sum / size), "the mean of customer {customer} is {mean}");
        ensure!(is_near(expected), "a customer with a mean of {expected} is missing");
    }
    Ok(())
}
