use crate::rows::Row;

/// Which rows an implementation takes part in.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Part {
    /// How many command queues its launches can be spread over; 0 if it launches nothing.
    pub(crate) queues: usize,
    /// Whether it launches beside other live arrays, too.
    pub(crate) live_arrays: bool,
    /// Whether it moves bytes.
    pub(crate) transfers: bool,
}

impl Part {
    /// On how many queues it does a row at most; 0 if it takes no part in it.
    pub(crate) fn in_row(&self, row: &Row) -> usize {
        match *row {
            Row::Launch { live, .. } if live > 0 && !self.live_arrays => 0,
            Row::Launch { .. } => self.queues,
            Row::LaunchWait => self.queues.min(1),
            Row::Transfer { .. } => usize::from(self.transfers),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Variant;

    #[test]
    fn whoever_keeps_no_arrays_alive_takes_no_part_in_those_rows() {
        let row = |live| Row::Launch { variant: Variant::Independent, launches: 1, live };
        let part = Part { queues: 2, ..Part::default() };
        assert_eq!((part.in_row(&row(0)), part.in_row(&row(10))), (2, 0));
        assert_eq!(Part { live_arrays: true, ..part }.in_row(&row(10)), 2);
    }

    #[test]
    fn whoever_launches_nothing_still_moves_bytes() {
        let part = Part { transfers: true, ..Part::default() };
        assert_eq!(part.in_row(&Row::LaunchWait), 0);
        assert_eq!(part.in_row(&Row::Transfer { direction: crate::transfer::Direction::Read, bytes: 4 }), 1);
    }
}
