//! Draws operations on memory: arrays and tables, parts of them, launches, transfers, maps.

use super::generate::Draft;
use super::legal::BINDING;
use super::op::{
    Contents, Ctx, Every, Frame, How, Id, Kernel, Maker, Op, Part, Pick, Rows, Steps, Ty, Window,
};

const LENGTHS: [usize; 7] = [1, 5, 16, 64, 100, 192, 256];

impl Draft {
    /// Draws an array or a table of a context.
    pub fn array(&mut self, at: Ctx) -> Op {
        let by = match self.queue_of(at).filter(|_| self.rng.bool()) {
            Some(q) => Maker::Queue(q),
            None => Maker::Context(at),
        };
        let a = self.id();
        let len = LENGTHS[self.rng.usize(..LENGTHS.len())];
        if self.rng.u32(0..4) == 0 {
            return self.new_table(by);
        }
        if self.style.encodes && at == 0 && self.rng.u32(0..4) == 0 {
            return Op::Array { a, by: Maker::Shared, ty: Ty::U32, len, contents: Contents::Zeros };
        }
        let ty = match self.rng.u32(0..12) {
            0..2 => Ty::I32,
            2..5 => Ty::F32,
            5 | 6 if self.style.indirect => Ty::Groups,
            _ => Ty::U32,
        };
        let contents = match self.rng.u32(0..6) {
            0 if ty != Ty::Groups => Contents::Empty,
            1 => Contents::Full(self.element(ty)),
            2 | 3 => Contents::Elements(self.rng.u32(..)),
            _ if ty == Ty::Groups => Contents::Full(1),
            _ => Contents::Zeros,
        };
        Op::Array { a, by, ty, len, contents }
    }

    /// Draws arrays that some operations need: a table, numbers of workgroups, and two arrays for encoded commands.
    pub fn special_arrays(&mut self, at: Ctx) -> Vec<Op> {
        let mut all = vec![self.new_table(Maker::Context(at))];
        if self.style.indirect {
            let contents = Contents::Elements(self.rng.u32(..));
            all.push(Op::Array { a: self.id(), by: Maker::Context(at), ty: Ty::Groups, len: 16, contents });
        }
        if self.style.encodes && at == 0 {
            all.extend([100, 64].map(|len| {
                let by = Maker::Shared;
                let contents = Contents::Zeros;
                Op::Array { a: self.id(), by, ty: Ty::U32, len, contents }
            }));
        }
        all
    }

    fn new_table(&mut self, by: Maker) -> Op {
        Op::Table { a: self.id(), by, frame: self.frame(), zeros: self.rng.u32(0..4) > 0 }
    }

    fn frame(&mut self) -> Frame {
        let rows = self.rng.usize(1..=8);
        let cols = [1, 4, 7, 12][self.rng.usize(0..4)];
        let mut padding = || if self.rng.bool() { 0 } else { self.rng.usize(1..=4) };
        Frame { rows, cols, padded_rows: rows + padding(), padded_cols: cols + padding() }
    }

    fn element(&mut self, ty: Ty) -> u32 {
        ty.element(self.rng.u32(..))
    }

    fn ty(&self, a: Id) -> Ty {
        self.legal.arrays[&a].ty
    }

    /// Draws a part of an array of a context.
    pub fn part(&mut self, home: Ctx, ty: Option<Ty>, binding: bool) -> Option<Part> {
        let fits = self.legal.arrays.iter().filter(|(_, shape)| {
            shape.home == home && shape.frame.is_none() && ty.is_none_or(|ty| ty == shape.ty)
        });
        let fits: Vec<(Id, usize)> = fits.map(|(&a, shape)| (a, shape.len)).collect();
        let (a, len) = self.pick(fits)?;
        if self.rng.bool() {
            return Some(Part { a, start: 0, len });
        }
        let step = if binding { BINDING } else { 1 };
        let start = self.rng.usize(0..len.div_ceil(step)) * step;
        Some(Part { a, start, len: self.rng.usize(1..=len - start) })
    }

    /// Draws a part with three numbers of groups.
    pub fn counts(&mut self, home: Ctx) -> Option<Part> {
        let part = self.part(home, Some(Ty::Groups), false)?;
        let start = part.start.min(self.legal.arrays[&part.a].len.checked_sub(3)?);
        Some(Part { start, len: 3, ..part })
    }

    fn table(&mut self, home: Ctx) -> Option<(Id, Frame)> {
        let tables = self.legal.arrays.iter().filter(|(_, shape)| shape.home == home);
        let tables: Vec<(Id, Frame)> = tables.filter_map(|(&a, shape)| Some((a, shape.frame?))).collect();
        self.pick(tables)
    }

    /// Draws a part that covers all of a table's memory.
    fn whole(&mut self, home: Ctx) -> Option<Part> {
        let (a, frame) = self.table(home)?;
        Some(Part { a, start: 0, len: frame.memory() })
    }

    fn rows(&mut self, home: Ctx) -> Option<Rows> {
        let (a, frame) = self.table(home)?;
        if self.rng.bool() {
            return Some(Rows { a, frame, start: 0, len: frame.rows, whole: true });
        }
        let start = self.rng.usize(0..frame.rows);
        Some(Rows { a, frame, start, len: self.rng.usize(1..=frame.rows - start), whole: false })
    }

    fn every(&mut self, len: usize) -> Every {
        let first = self.rng.usize(0..len.div_ceil(2));
        let step = self.rng.usize(1..=3);
        let most = (len - first).div_ceil(step);
        Every { first, count: if self.rng.bool() { most } else { self.rng.usize(1..=most) }, step }
    }

    fn window(&mut self, home: Ctx) -> Option<Window> {
        let (a, frame) = self.table(home)?;
        let rows = self.every(frame.rows);
        let cols = self.every(frame.cols);
        Some(Window { a, frame, rows, cols })
    }

    /// Draws a region of an array with elements of a type, or of a table.
    pub fn pick_of(&mut self, home: Ctx, ty: Option<Ty>) -> Option<Pick> {
        if self.rng.bool()
            && ty.is_none_or(|ty| ty == Ty::U32)
            && let Some(window) = self.window(home)
        {
            return Some(Pick::Window(window));
        }
        let part = self.part(home, ty, false)?;
        let step = self.rng.usize(1..=4);
        Some(Pick::Steps(Steps { part: Part { len: (part.len - 1) / step * step + 1, ..part }, step }))
    }

    /// Reduces two regions to the same shape.
    fn fit(&mut self, src: &mut Pick, dst: &mut Pick) {
        let (rows, cols) = match (&*src, &*dst) {
            (Pick::Window(x), Pick::Window(y)) => {
                (x.rows.count.min(y.rows.count), x.cols.count.min(y.cols.count))
            }
            (Pick::Window(x), Pick::Steps(y)) | (Pick::Steps(y), Pick::Window(x)) => {
                if self.rng.bool() {
                    (1, x.cols.count.min(y.count()))
                } else {
                    (x.rows.count.min(y.count()), 1)
                }
            }
            (Pick::Steps(x), Pick::Steps(y)) => (1, x.count().min(y.count())),
        };
        for pick in [src, dst] {
            match pick {
                Pick::Window(window) => (window.rows.count, window.cols.count) = (rows, cols),
                Pick::Steps(steps) => steps.part.len = (rows * cols - 1) * steps.step + 1,
            }
        }
    }

    /// Draws a kernel on arrays of a context.
    pub fn kernel(&mut self, home: Ctx) -> Option<Kernel> {
        let arrays = self.legal.arrays.values().filter(|shape| shape.home == home);
        let ty = match self.pick(arrays.map(|shape| shape.ty).collect::<Vec<_>>())? {
            Ty::Groups if self.rng.u32(0..3) > 0 => Ty::U32,
            ty => ty,
        };
        let mut part = |ty| self.part(home, Some(ty), true);
        let mix = (part(Ty::U32), part(Ty::U32));
        let x = part(ty);
        let y = part(ty);
        let z = part(ty);
        let (a, b) = match ty {
            Ty::F32 => (self.element(ty), self.element(ty)),
            Ty::Groups => (self.element(ty), 0),
            Ty::U32 | Ty::I32 => (self.rng.u32(..) | 1, self.rng.u32(..)),
        };
        let drawn = if ty == Ty::Groups { 0 } else { self.rng.u32(0..8) };
        Some(match drawn {
            0 => Kernel::Iota { start: a, step: b, out: x? },
            1 | 2 => Kernel::Add { x: x?, y: y?, z: z? },
            3 | 4 => Kernel::Saxpy { a: if ty == Ty::F32 { small(a) } else { a }, x: x?, y: y? },
            5 => Kernel::Histogram { values: mix.0?, bins: mix.1? },
            _ => Kernel::Mix { a: self.rng.u32(..) | 1, b: self.rng.u32(..), x: mix.0?, y: mix.1? },
        })
    }

    /// Draws a launch that accesses the padding of tables.
    pub fn launch_on_tables(&mut self, q: Id, home: Ctx) -> Option<Op> {
        let (x, y) = match self.rng.u32(0..3) {
            0 => (self.whole(home)?, self.whole(home)?),
            1 => (self.part(home, Some(Ty::U32), true)?, self.whole(home)?),
            _ => (self.whole(home)?, self.part(home, Some(Ty::U32), true)?),
        };
        let kernel = Kernel::Mix { a: self.rng.u32(..) | 1, b: self.rng.u32(..), x, y };
        Some(Op::Launch { q, kernel, how: How::Dyn })
    }

    /// Draws a fill, an upload or a copy on a queue of a context.
    pub fn transfer_on(&mut self, home: Ctx) -> Option<Op> {
        let q = self.queue_of(home)?;
        Some(match self.rng.u32(0..6) {
            0 => {
                let dst = self.part(home, None, false)?;
                Op::Fill { q, dst, value: self.element(self.ty(dst.a)) }
            }
            1 => Op::Upload { q, dst: self.part(home, None, false)?, seed: self.rng.u32(..) },
            2 | 3 => return self.copy_region(q, home, home),
            _ => return self.copy(q, home, home),
        })
    }

    fn copy(&mut self, q: Id, from: Ctx, to: Ctx) -> Option<Op> {
        let mut src = self.part(from, None, false)?;
        let mut dst = self.part(to, Some(self.ty(src.a)), false)?;
        src.len = src.len.min(dst.len);
        dst.len = src.len;
        Some(Op::Copy { q, src, dst })
    }

    fn copy_region(&mut self, q: Id, from: Ctx, to: Ctx) -> Option<Op> {
        let mut src = self.pick_of(from, None)?;
        let mut dst = self.pick_of(to, Some(self.ty(src.a())))?;
        self.fit(&mut src, &mut dst);
        Some(Op::CopyRegion { q, src, dst })
    }

    fn copy_window(&mut self, q: Id, from: Ctx, to: Ctx) -> Option<Op> {
        let mut src = Pick::Window(self.window(from)?);
        let mut dst = Pick::Window(self.window(to)?);
        self.fit(&mut src, &mut dst);
        Some(Op::CopyRegion { q, src, dst })
    }

    fn copy_rows(&mut self, q: Id, from: Ctx, to: Ctx) -> Option<Op> {
        let mut src = self.rows(from)?;
        let mut dst = self.rows(to)?;
        for rows in [&mut src, &mut dst] {
            rows.whole = false;
        }
        src.len = src.len.min(dst.len);
        dst.len = src.len;
        for rows in [&mut src, &mut dst] {
            rows.whole = rows.len == rows.frame.rows && self.rng.bool();
        }
        Some(Op::CopyRows { q, src, dst })
    }

    /// Draws a verb on rows of tables, or on regions.
    pub fn table_verb(&mut self) -> Option<Op> {
        let home = self.context();
        let q = self.queue_of(home)?;
        Some(match self.rng.u32(0..7) {
            0 => Op::FillRows { q, dst: self.rows(home)?, value: self.rng.u32(..) },
            1 => Op::UploadRows { q, dst: self.rows(home)?, seed: self.rng.u32(..) },
            2 => return self.copy_rows(q, home, home),
            3 => Op::ReadRows { q, r: self.id(), src: self.rows(home)? },
            4 | 5 => return self.copy_window(q, home, home),
            _ => Op::UploadRegion { q, dst: self.pick_of(home, None)?, seed: self.rng.u32(..) },
        })
    }

    /// Draws a copy between the two contexts, on a queue of either. Under `Checked`, such a copy adds waits that are
    /// not visible in the program, so programs under `Checked` contain none.
    pub fn across(&mut self) -> Option<Op> {
        if self.style.policy == fencepost::Policy::Checked {
            return None;
        }
        let from = self.context();
        let q = self.queue()?;
        let to = 1 - from;
        match self.rng.u32(0..6) {
            0 => self.copy_window(q, from, to),
            1 => self.copy_region(q, from, to),
            2 => self.copy_rows(q, from, to),
            _ => self.copy(q, from, to),
        }
    }

    /// Draws an operation that encodes wgpu commands.
    pub fn encode(&mut self) -> Option<Op> {
        let shared = |(_, shape): &(&Id, &super::legal::Shape)| shape.shared;
        let arrays: Vec<(Id, usize)> =
            self.legal.arrays.iter().filter(shared).map(|(&a, shape)| (a, shape.len)).collect();
        let x = self.pick(arrays.clone())?;
        let y = self.pick(arrays)?;
        let len = self.rng.usize(1..=x.1.min(y.1));
        let mut part = |(a, all): (Id, usize)| Part { a, start: self.rng.usize(0..=all - len), len };
        let src = part(x);
        let dst = part(y);
        Some(Op::Encode { q: self.queue_of(0)?, src: (src.a != dst.a).then_some(src), dst })
    }

    pub fn map(&mut self) -> Option<Op> {
        let open = self.pick(self.legal.maps.keys().copied().collect::<Vec<_>>());
        let home = self.context();
        Some(match (self.rng.u32(0..4), open) {
            (0..3, Some(m)) => Op::Unmap { m },
            (0 | 3, _) => Op::MapRead { m: self.id(), part: self.mappable(home)? },
            _ => Op::MapWrite { m: self.id(), part: self.mappable(home)?, seed: self.rng.u32(..) },
        })
    }

    fn mappable(&mut self, home: Ctx) -> Option<Part> {
        if self.rng.u32(0..4) == 0 { self.whole(home) } else { self.part(home, None, false) }
    }

    pub fn pinned(&mut self) -> Option<Op> {
        let (up, down): (Vec<_>, Vec<_>) =
            (self.legal.up.clone().into_iter().collect(), self.legal.down.clone().into_iter().collect());
        let len = LENGTHS[self.rng.usize(..LENGTHS.len())];
        Some(match self.rng.u32(0..8) {
            0 => Op::Pin { p: self.id(), len },
            1 => Op::PinBack { d: self.id(), len },
            2 => Op::WritePinned { p: self.pick(up)?.0, seed: self.rng.u32(..) },
            3 => Op::ReadPinned { d: self.pick(down)?.0 },
            4 | 5 => {
                let ((p, len), mut dst) = (self.pick(up)?, self.part(0, Some(Ty::U32), false)?);
                let start = self.rng.usize(0..len);
                dst.len = dst.len.min(len - start);
                Op::UploadPinned { q: self.queue_of(0)?, p, start, dst }
            }
            _ => {
                let ((d, len), src) = (self.pick(down)?, self.part(0, Some(Ty::U32), false)?);
                let start = src.start.min(self.legal.arrays[&src.a].len.checked_sub(len)?);
                let src = Part { start, len, ..src };
                Op::Download { q: self.queue_of(0)?, src, d }
            }
        })
    }
}

/// Returns a factor of less than 3.
fn small(bits: u32) -> u32 {
    (f32::from_bits(bits) % 3.0 + 0.0).to_bits()
}
