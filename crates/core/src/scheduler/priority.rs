//! Defines the priority of a queue.

/// Sets how soon a queue's work runs, compared with the other queues of its context.
///
/// The priority is a hint. It decides which batch is submitted next and never interrupts a running batch. A batch that
/// a higher-priority batch depends on is raised to that priority.
///
/// # Example
/// ```
/// use fencepost::Priority;
/// assert_eq!(Priority::clamped(-100), Priority::High);    // CUDA's numbers: lower is more urgent
/// assert_eq!(Priority::clamped(0), Priority::Normal);
/// assert_eq!(Priority::clamped(100), Priority::Low);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Priority {
    /// Runs after all other work but is never starved.
    Low,
    /// Is the default priority of a queue.
    #[default]
    Normal,
    /// Runs before all other work.
    High,
}

impl Priority {
    /// Lists all priorities, the highest first.
    pub(crate) const ORDER: [Priority; 3] = [Priority::High, Priority::Normal, Priority::Low];

    /// Returns the priority of a number as CUDA and Warp define it: a negative number is more urgent. Numbers out of
    /// range are clamped.
    pub fn clamped(number: i32) -> Self {
        match number {
            ..0 => Priority::High,
            0 => Priority::Normal,
            1.. => Priority::Low,
        }
    }
}
