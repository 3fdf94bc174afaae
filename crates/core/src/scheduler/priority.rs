//! The priority of a queue.

/// How soon a queue's work should run, compared with the other queues of its context.
///
/// A hint: it decides which batch is submitted next, never what is interrupted, and a batch that a more urgent one
/// depends on is lifted with it.
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
    /// After everything else, but never starved.
    Low,
    /// What a queue has unless said otherwise.
    #[default]
    Normal,
    /// Before everything else.
    High,
}

impl Priority {
    /// All of them, most urgent first.
    pub(crate) const ORDER: [Priority; 3] = [Priority::High, Priority::Normal, Priority::Low];

    /// The priority of a number as CUDA and Warp have them: negative is more urgent. Numbers out of range clamp.
    pub fn clamped(number: i32) -> Self {
        match number {
            ..0 => Priority::High,
            0 => Priority::Normal,
            1.. => Priority::Low,
        }
    }
}
