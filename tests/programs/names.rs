//! Checks that the objects of an operation exist and fit.

use super::legal::{BINDING, Legal, Shape};
use super::op::{Contents, How, Id, Kernel, Maker, Op, Part, Pick, Rows, Scope, Ty};
use super::touch::Memory;

impl Legal {
    /// Returns `true` if every object of `op` exists and fits.
    pub(super) fn names(&self, op: &Op) -> bool {
        self.at_home(op)
            && match op {
                Op::Queue { .. } | Op::Fork { .. } | Op::Default { .. } => self.new_queue(op),
                Op::MakeCurrent { q } => self.queues.contains(q),
                Op::Within { before, scopes, op } => self.within(*before, scopes, op),
                Op::Array { a, ty, contents, by, .. } => {
                    let written = *ty != Ty::Groups || *contents != Contents::Empty;
                    !self.arrays.contains_key(a)
                        && written
                        && (*by != Maker::Shared || *contents == Contents::Zeros)
                }
                Op::Table { a, .. } => !self.arrays.contains_key(a),
                Op::DropArray { a } => self.arrays.contains_key(a),
                Op::MapRead { m, part } | Op::MapWrite { m, part, .. } => {
                    !self.maps.contains_key(m) && (self.part(part) || self.table(part))
                }
                Op::Unmap { m } => self.maps.contains_key(m),
                Op::Trim | Op::Synchronize { .. } => true,
                _ if op.queue().is_some() => self.names_memory(op),
                _ => self.names_events(op),
            }
    }

    fn new_queue(&self, op: &Op) -> bool {
        let new = |q: &Id| !self.queue_gates.contains_key(q);
        match op {
            Op::Fork { q, from } => new(q) && self.queues.contains(from),
            Op::Default { q, at } => new(q) && !self.defaults.contains_key(at),
            Op::Queue { q, .. } => new(q),
            _ => false,
        }
    }

    /// Checks the memory of work on the device.
    fn names_memory(&self, op: &Op) -> bool {
        match op {
            Op::Fill { dst, .. } | Op::Upload { dst, .. } => self.part(dst),
            Op::Copy { src, dst, .. } => {
                self.part(src) && self.part(dst) && src.len == dst.len && self.alike(src.a, dst.a)
            }
            Op::CopyRegion { src, dst, .. } => {
                self.pick(src) && self.pick(dst) && src.shape() == dst.shape() && self.alike(src.a(), dst.a())
            }
            Op::UploadRegion { dst, .. } => self.pick(dst),
            Op::FillRows { dst, .. } | Op::UploadRows { dst, .. } => self.rows(dst),
            Op::CopyRows { src, dst, .. } => {
                self.rows(src) && self.rows(dst) && (src.len, src.frame.cols) == (dst.len, dst.frame.cols)
            }
            Op::ReadRows { r, src, .. } => !self.reads.contains_key(r) && self.rows(src),
            Op::Encode { src, dst, .. } => {
                let shared = |part: &Part| self.part(part) && self.arrays[&part.a].shared;
                let fits = |src: &Part| shared(src) && src.a != dst.a && src.len == dst.len;
                shared(dst) && src.as_ref().is_none_or(fits)
            }
            Op::Launch { kernel, how, .. } => self.kernel(kernel, *how),
            Op::Read { r, src, .. } => !self.reads.contains_key(r) && self.part(src),
            Op::ReadRegion { r, src, .. } => !self.reads.contains_key(r) && self.pick(src),
            Op::UploadPinned { p, start, dst, .. } => {
                self.up.get(p).is_some_and(|&len| start + dst.len <= len) && self.words(dst)
            }
            Op::Download { src, d, .. } => self.down.get(d) == Some(&src.len) && self.words(src),
            _ => false,
        }
    }

    /// Checks the objects of reads, pinned arrays, events and waits.
    fn names_events(&self, op: &Op) -> bool {
        let queue = |q: &Id| self.queues.contains(q);
        match op {
            Op::WaitRead { r, .. } | Op::DropRead { r } => self.reads.contains_key(r),
            Op::Pin { p, .. } => !self.up.contains_key(p),
            Op::PinBack { d, .. } => !self.down.contains_key(d),
            Op::WritePinned { p, .. } => self.up.contains_key(p),
            Op::ReadPinned { d } => self.down.contains_key(d),
            Op::Mark { e, q } => !self.events.contains_key(e) && queue(q),
            Op::Record { e, q } => self.event_homes.get(e) == self.homes.get(q) && queue(q),
            Op::WaitFor { q, events } => queue(q) && events.iter().all(|e| self.events.contains_key(e)),
            Op::WaitForQueue { q, other } => queue(q) && queue(other),
            Op::WaitEvent { e, .. } => self.events.contains_key(e),
            Op::UserEvent { u, .. } => !self.users.contains(u),
            Op::WaitForUser { q, u } => queue(q) && self.users.contains(u),
            Op::Signal { u } => self.open.contains(u),
            Op::DropQueue { q } => queue(q) && !self.defaults.values().any(|default| default == q),
            Op::Callback { q } | Op::Flush { q } | Op::Finish { q, .. } => queue(q),
            _ => false,
        }
    }

    /// Returns `true` if a queue uses only memory of its context. Copies may use memory of both contexts.
    fn at_home(&self, op: &Op) -> bool {
        let Some(home) = op.queue().and_then(|q| self.homes.get(&q)) else { return true };
        let of = |memory: Memory| match memory {
            Memory::Array(a) => self.arrays.get(&a).map(|shape| shape.home),
            Memory::Up(_) | Memory::Down(_) => Some(0),
        };
        let mut homes = op.touches().into_iter().filter_map(|touch| of(touch.memory));
        match op.verb() {
            Op::Copy { .. } | Op::CopyRegion { .. } | Op::CopyRows { .. } => {
                homes.any(|other| other == *home)
            }
            _ => homes.all(|other| other == *home),
        }
    }

    fn within(&self, before: Option<Id>, scopes: &[Scope], op: &Op) -> bool {
        let verb = matches!(
            op,
            Op::Fill { .. } | Op::Upload { .. } | Op::Copy { .. } | Op::Launch { .. } | Op::Read { .. }
        );
        let Some(q) = op.queue().filter(|q| verb && self.queues.contains(q)) else { return false };
        let home = self.homes[&q];
        let here = |scope: &Scope| self.queues.contains(&scope.q) && self.homes[&scope.q] == home;
        self.current(home) == before
            && scopes.iter().all(here)
            && scopes.last().map(|scope| scope.q).or(before) == Some(q)
            && self.names(op)
    }

    fn mapped(&self, a: Id) -> bool {
        self.maps.values().any(|&mapped| mapped == a)
    }

    fn shape(&self, a: Id) -> Option<&Shape> {
        self.arrays.get(&a).filter(|_| !self.mapped(a))
    }

    fn part(&self, part: &Part) -> bool {
        self.shape(part.a).is_some_and(|shape| shape.frame.is_none() && part.end() <= shape.len)
    }

    /// Returns `true` if the part covers all of a table's memory.
    fn table(&self, part: &Part) -> bool {
        self.shape(part.a).is_some_and(|shape| shape.frame.is_some() && part.range() == (0..shape.len))
    }

    fn words(&self, part: &Part) -> bool {
        self.part(part) && self.arrays[&part.a].ty == Ty::U32
    }

    fn alike(&self, a: Id, b: Id) -> bool {
        self.arrays[&a].ty == self.arrays[&b].ty
    }

    fn rows(&self, rows: &Rows) -> bool {
        let fits = rows.len > 0 && rows.start + rows.len <= rows.frame.rows;
        fits && self.shape(rows.a).is_some_and(|shape| shape.frame == Some(rows.frame))
    }

    fn pick(&self, pick: &Pick) -> bool {
        match pick {
            Pick::Steps(steps) => {
                let part = steps.part;
                self.part(&part) && part.len > 0 && (part.len - 1).is_multiple_of(steps.step)
            }
            Pick::Window(window) => {
                let fits = window.rows.last() < window.frame.rows && window.cols.last() < window.frame.cols;
                fits && self.shape(window.a).is_some_and(|shape| shape.frame == Some(window.frame))
            }
        }
    }

    fn kernel(&self, kernel: &Kernel, how: How) -> bool {
        let (reads, write) = kernel.parts();
        let overlap = |p: &Part| p.a == write.a && p.start < write.end() && write.start < p.end();
        let all: Vec<Part> = reads.iter().copied().chain([write]).collect();
        let tables = how == How::Dyn;
        let binds = |part: &Part| self.part(part) || (tables && self.table(part));
        let fits = all.iter().all(|part| binds(part) && part.start % BINDING == 0 && part.len > 0);
        if !fits || reads.iter().any(overlap) || !self.counts(&all, how) {
            return false;
        }
        let ty = self.arrays[&write.a].ty;
        let takes = match kernel {
            Kernel::Mix { .. } => ty == Ty::U32,
            Kernel::Histogram { .. } => ty == Ty::U32 && how != How::Dyn,
            Kernel::Iota { start, step, .. } if ty == Ty::Groups => *start <= 1 && *step == 0,
            _ => ty != Ty::Groups && how != How::Dyn,
        };
        takes && all.iter().all(|part| self.arrays[&part.a].ty == ty) && self.bounds.fits(kernel)
    }

    /// Returns `true` if the three numbers of groups can be read, and are in an array that the kernel does not use.
    fn counts(&self, given: &[Part], how: How) -> bool {
        let How::Indirect(counts) = how else { return true };
        let apart = given.iter().all(|part| part.a != counts.a);
        apart && counts.len == 3 && self.part(&counts) && self.arrays[&counts.a].ty == Ty::Groups
    }
}
