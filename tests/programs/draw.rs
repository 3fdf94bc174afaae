//! Draws operations about order: reads and their waits, events, scopes, queues.

use super::generate::Draft;
use super::op::{How, Id, Kernel, Op, Scope, Wait};

impl Draft {
    /// Draws an operation.
    pub fn any(&mut self) -> Option<Op> {
        match self.rng.u32(0..120) {
            0..24 => self.legal(Self::launch),
            24..42 => self.transfer(),
            42..51 => self.legal(Self::table_verb),
            51..66 => self.read(),
            66..82 => self.event(),
            82..88 => self.user_event(),
            88..97 => self.housekeeping(),
            97..102 => self.map(),
            102..107 => self.legal(Self::within),
            107..113 if self.contexts > 1 => self.legal(Self::across),
            113..115 if self.style.encodes => self.legal(Self::encode),
            _ if self.style.pinned => self.legal(Self::pinned),
            _ => self.transfer(),
        }
    }

    /// Returns the first valid operation of six that are drawn.
    fn legal(&mut self, draw: fn(&mut Self) -> Option<Op>) -> Option<Op> {
        (0..6).find_map(|_| draw(self).filter(|op| self.legal.admits(op)))
    }

    fn how(&mut self) -> Wait {
        match self.rng.u32(0..8) {
            0..4 => Wait::Block,
            4 => Wait::Await,
            5 | 6 => Wait::Within(self.rng.u64(0..3) * 100),
            _ => Wait::Look,
        }
    }

    /// Draws a way to wait other than a mere query.
    fn how_to_wait(&mut self) -> Wait {
        match self.how() {
            Wait::Look => Wait::Within(0),
            how => how,
        }
    }

    fn read(&mut self) -> Option<Op> {
        let pending = self.pick(self.legal.reads.keys().copied().collect::<Vec<_>>());
        match (self.rng.u32(0..8), pending) {
            (0..3, Some(r)) => Some(Op::WaitRead { r, how: self.how_to_wait() }),
            (3, Some(r)) => Some(Op::DropRead { r }),
            (4, _) => Some(Op::Finish { q: self.queue()?, how: self.how() }),
            (5, _) => {
                let q = self.queue()?;
                Some(Op::ReadRegion { r: self.id(), q, src: self.pick_of(self.legal.homes[&q], None)? })
            }
            _ => self.plain_read(),
        }
    }

    fn plain_read(&mut self) -> Option<Op> {
        let q = self.queue()?;
        Some(Op::Read { r: self.id(), q, src: self.part(self.legal.homes[&q], None, false)? })
    }

    fn some_event(&mut self) -> Option<Id> {
        self.pick(self.legal.events.keys().copied().collect::<Vec<_>>())
    }

    fn event(&mut self) -> Option<Op> {
        let q = self.queue()?;
        let event = self.some_event();
        Some(match (self.rng.u32(0..10), event) {
            (0..3, Some(e)) => {
                let mut events = vec![e];
                let more = self.some_event();
                events.extend(more.filter(|_| self.rng.bool()));
                Op::WaitFor { q, events }
            }
            (3, Some(e)) => Op::Record { e, q },
            (4, Some(e)) => Op::WaitEvent { e, how: self.how() },
            (5 | 6, _) => Op::WaitForQueue { q, other: self.queue()? },
            _ => Op::Mark { e: self.id(), q },
        })
    }

    fn user_event(&mut self) -> Option<Op> {
        let open: Vec<Id> = self.legal.open.iter().copied().collect();
        Some(match (self.rng.u32(0..5), self.pick(open)) {
            (0..2, Some(u)) => Op::Signal { u },
            (2..4, Some(u)) => Op::WaitForUser { q: self.queue()?, u },
            _ => Op::UserEvent { u: self.id(), at: self.context() },
        })
    }

    fn housekeeping(&mut self) -> Option<Op> {
        let at = self.context();
        Some(match self.rng.u32(0..12) {
            0 => Op::Trim,
            1 => Op::DropQueue { q: self.queue()? },
            2 => Op::Fork { q: self.id(), from: self.queue()? },
            3 => Op::Queue { q: self.id(), urgency: self.rng.i32(-1..=1), at },
            4 => Op::DropArray { a: self.pick(self.legal.arrays.keys().copied().collect::<Vec<_>>())? },
            5 => Op::Flush { q: self.queue()? },
            6 => Op::Callback { q: self.queue()? },
            7 => Op::MakeCurrent { q: self.queue()? },
            8 => Op::Synchronize { at, how: self.how_to_wait() },
            _ => self.array(at),
        })
    }

    /// Draws a verb without a queue: in the current queue, or in scopes of one or two queues.
    fn within(&mut self) -> Option<Op> {
        let at = self.context();
        let before = self.legal.current(at);
        if before.is_none() && self.rng.bool() {
            return Some(Op::Default { q: self.id(), at });
        }
        let mut scopes = Vec::new();
        for _ in 0..self.rng.u32(u32::from(before.is_none())..=2) {
            let q = self.queue_of(at)?;
            let waits = self.rng.u32(0..4) > 0;
            scopes.push(Scope { q, waits });
        }
        let current = scopes.last().map(|scope| scope.q).or(before)?;
        let op = Box::new(self.verb_on(current)?);
        Some(Op::Within { before, scopes, op })
    }

    /// Draws a verb that exists for contexts too, on a queue.
    fn verb_on(&mut self, on: Id) -> Option<Op> {
        let home = self.legal.homes[&on];
        let mut op = match self.rng.u32(0..4) {
            0 => self.launch_on(home)?,
            1 => Op::Read { r: self.id(), q: on, src: self.part(home, None, false)? },
            _ => self.transfer_on(home)?,
        };
        match &mut op {
            Op::Fill { q, .. }
            | Op::Upload { q, .. }
            | Op::Copy { q, .. }
            | Op::CopyRegion { q, .. }
            | Op::Read { q, .. }
            | Op::Launch { q, .. } => *q = on,
            _ => {}
        }
        Some(op)
    }

    fn launch(&mut self) -> Option<Op> {
        let home = self.context();
        self.launch_on(home)
    }

    fn launch_on(&mut self, home: usize) -> Option<Op> {
        let q = self.queue_of(home)?;
        if self.rng.u32(0..8) == 0 {
            return self.launch_on_tables(q, home);
        }
        let kernel = self.kernel(home)?;
        let how = match self.rng.u32(0..8) {
            0..3 if self.style.indirect => self.counts(home).map_or(How::Typed, How::Indirect),
            3 if matches!(kernel, Kernel::Mix { .. }) => How::Dyn,
            _ => How::Typed,
        };
        Some(Op::Launch { q, kernel, how })
    }

    fn transfer(&mut self) -> Option<Op> {
        let home = self.context();
        self.transfer_on(home)
    }
}
