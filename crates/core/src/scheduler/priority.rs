//! The priority of a queue.

/// Urgency of a queue's work, compared with the other queues of its context.
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
    /// Work that runs after all other work but is never starved.
    Low,
    /// The default.
    #[default]
    Normal,
    /// Work that runs before all other work.
    High,
}

impl Priority {
    /// All priorities, the highest first.
    pub(crate) const ORDER: [Priority; 3] = [Priority::High, Priority::Normal, Priority::Low];

    /// Returns the priority for a number as CUDA and Warp define it: a negative number is more urgent. Numbers out of
    /// range are clamped.
    pub fn clamped(number: i32) -> Self {
        match number {
            ..0 => Priority::High,
            0 => Priority::Normal,
            1.. => Priority::Low,
        }
    }
}
