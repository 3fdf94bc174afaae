//! What has to happen when a number is reached.

use std::collections::BTreeMap;

/// Tasks ordered by the number at which they are due; tasks of one number keep the order of their coming.
///
/// Take what is due under a lock, run it outside.
///
/// # Example
/// ```
/// let mut due = fencepost_sync::Due::default();
/// due.push(3, "late");
/// due.push(1, "early");
/// assert_eq!(due.take(2), ["early"]);
/// assert_eq!(due.take(9), ["late"]);
/// ```
#[derive(Debug)]
pub struct Due<T> {
    tasks: BTreeMap<u64, Vec<T>>,
}

impl<T> Default for Due<T> {
    fn default() -> Self {
        Self { tasks: BTreeMap::new() }
    }
}

impl<T> Due<T> {
    /// Adds a task that is due once `at` is reached.
    pub fn push(&mut self, at: u64, task: T) {
        self.tasks.entry(at).or_default().push(task);
    }

    /// Adds a task unless `same` holds for one of the same number: who asks again and again asks once.
    pub fn push_new(&mut self, at: u64, task: T, same: impl Fn(&T) -> bool) {
        let tasks = self.tasks.entry(at).or_default();
        if !tasks.iter().any(same) {
            tasks.push(task);
        }
    }

    /// Takes all that is due when the number has reached `reached`, in order.
    pub fn take(&mut self, reached: u64) -> Vec<T> {
        if self.tasks.first_key_value().is_none_or(|(&at, _)| at > reached) {
            return Vec::new();
        }
        let later = reached.checked_add(1).map(|next| self.tasks.split_off(&next)).unwrap_or_default();
        std::mem::replace(&mut self.tasks, later).into_values().flatten().collect()
    }

    /// Takes everything, due or not.
    pub fn take_all(&mut self) -> Vec<T> {
        self.take(u64::MAX)
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_keeps_the_order_of_coming() {
        let mut due = Due::default();
        for task in 0..5 {
            due.push(7, task);
        }
        assert!(due.take(6).is_empty());
        assert_eq!(due.take(7), [0, 1, 2, 3, 4]);
        assert!(due.is_empty());
    }

    #[test]
    fn take_all_reaches_the_last_number() {
        let mut due = Due::default();
        due.push(u64::MAX, ());
        assert_eq!(due.take_all().len(), 1);
    }
}
