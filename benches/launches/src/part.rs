//! The rows that an implementation takes part in.

use crate::rows::Row;

/// Rows that an implementation takes part in.
#[derive(Clone, Copy, Debug, Default)]
pub struct Part {
    /// Number of command queues that its launches can use; 0 if it launches nothing.
    pub queues: usize,
    /// `true` if it also launches while many other arrays are alive.
    pub live_arrays: bool,
    /// `true` if it takes part in the transfer rows.
    pub transfers: bool,
}

impl Part {
    /// Returns the largest number of queues that it uses in a row; 0 if it takes no part.
    pub fn in_row(&self, row: &Row) -> usize {
        match *row {
            Row::Launch { live, .. } if live > 0 && !self.live_arrays => 0,
            Row::Launch { .. } => self.queues,
            Row::Again { .. } | Row::LaunchWait => self.queues.min(1),
            Row::Transfer { .. } => usize::from(self.transfers),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Variant;

    #[test]
    fn an_implementation_without_live_arrays_skips_their_rows() {
        let row = |live| Row::Launch { variant: Variant::Independent, launches: 1, live };
        let part = Part { queues: 2, ..Part::default() };
        assert_eq!((part.in_row(&row(0)), part.in_row(&row(10))), (2, 0));
        assert_eq!(Part { live_arrays: true, ..part }.in_row(&row(10)), 2);
    }

    #[test]
    fn an_implementation_without_launches_still_transfers() {
        let part = Part { transfers: true, ..Part::default() };
        assert_eq!(part.in_row(&Row::LaunchWait), 0);
        assert_eq!(part.in_row(&Row::Transfer { direction: crate::transfer::Direction::Read, bytes: 4 }), 1);
    }
}
