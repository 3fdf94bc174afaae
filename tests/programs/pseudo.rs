//! Prints operations as lines of pseudo-code with `Debug`.

use super::op::{Contents, Every, How, Kernel, Maker, Op, Part, Pick, Rows, Steps, Ty, Wait};
use std::fmt;

impl fmt::Debug for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a{}[{}..{}]", self.a, self.start, self.end())
    }
}

impl fmt::Debug for Steps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a{}[{}..{}; {}]", self.part.a, self.part.start, self.part.end(), self.step)
    }
}

impl fmt::Debug for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.whole {
            return write!(f, "a{}", self.a);
        }
        write!(f, "a{}[{}..{}]", self.a, self.start, self.start + self.len)
    }
}

impl fmt::Debug for Pick {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let axis = |axis: Every| format!("{}..{}; {}", axis.first, axis.last() + 1, axis.step);
        match self {
            Pick::Steps(steps) => write!(f, "{steps:?}"),
            Pick::Window(window) => write!(f, "a{}[{}, {}]", window.a, axis(window.rows), axis(window.cols)),
        }
    }
}

impl fmt::Debug for Maker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Maker::Context(at) => write!(f, "ctx{at}"),
            Maker::Queue(q) => write!(f, "q{q}"),
            Maker::Shared => f.write_str("ctx0.shared"),
        }
    }
}

impl fmt::Debug for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ty::U32 => "u32",
            Ty::I32 => "i32",
            Ty::F32 => "f32",
            Ty::Groups => "groups",
        })
    }
}

impl fmt::Debug for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Wait::Block => f.write_str("wait()"),
            Wait::Await => f.write_str("await"),
            Wait::Within(us) => write!(f, "wait_timeout({us} us)"),
            Wait::Look => f.write_str("is_complete()"),
        }
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Kernel::Mix { a, b, x, y } => write!(f, "mix(y={y:?}, a={a}, x={x:?}, b={b})"),
            Kernel::Add { x, y, z } => write!(f, "add(x={x:?}, y={y:?}, z={z:?})"),
            Kernel::Saxpy { a, x, y } => write!(f, "saxpy(a={a}, x={x:?}, y={y:?})"),
            Kernel::Iota { start, step, out } => write!(f, "iota(start={start}, step={step}, out={out:?})"),
            Kernel::Histogram { values, bins } => write!(f, "histogram(values={values:?}, bins={bins:?})"),
        }
    }
}

impl fmt::Debug for Op {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Op::Queue { q, urgency, at } => write!(f, "q{q} = ctx{at}.queue(priority {urgency})"),
            Op::Default { q, at } => write!(f, "q{q} = ctx{at}.default_queue()"),
            Op::MakeCurrent { q } => write!(f, "q{q}.make_current()"),
            Op::Within { before, scopes, op } => {
                before.iter().try_for_each(|q| write!(f, "[current: q{q}] "))?;
                for scope in scopes {
                    write!(f, "q{}.scope{} ", scope.q, if scope.waits { "" } else { " without a wait" })?;
                }
                write!(f, "{{ {op:?} }}")
            }
            Op::Fork { q, from } => write!(f, "q{q} = q{from}.fork()"),
            Op::DropQueue { q } => write!(f, "drop(q{q})"),
            Op::Array { a, by, ty, len, contents } => {
                let what = match contents {
                    Contents::Zeros => "zeros(".into(),
                    Contents::Full(value) => format!("full({value}, "),
                    Contents::Elements(seed) => format!("array(random({seed}), "),
                    Contents::Empty => "empty(".into(),
                };
                write!(f, "a{a} = {by:?}.{what}{len} x {ty:?})")
            }
            Op::Table { a, by, frame, zeros } => {
                let what = if *zeros { "zeros" } else { "empty" };
                let shape = (frame.rows, frame.cols);
                let padded = (frame.padded_rows, frame.padded_cols);
                write!(f, "a{a} = {by:?}.{what}_padded({shape:?}, {padded:?})")
            }
            Op::DropArray { a } => write!(f, "drop(a{a})"),
            Op::Fill { q, dst, value } => write!(f, "q{q}.fill({dst:?}, {value})"),
            Op::Upload { q, dst, seed } => write!(f, "q{q}.upload(random({seed}), {dst:?})"),
            Op::Copy { q, src, dst } => write!(f, "q{q}.copy({src:?}, {dst:?})"),
            Op::CopyRegion { q, src, dst } => write!(f, "q{q}.copy_region({src:?}, {dst:?})"),
            Op::UploadRegion { q, dst, seed } => write!(f, "q{q}.upload_region(random({seed}), {dst:?})"),
            Op::FillRows { q, dst, value } => write!(f, "q{q}.fill({dst:?}, {value})"),
            Op::UploadRows { q, dst, seed } => write!(f, "q{q}.upload(random({seed}), {dst:?})"),
            Op::CopyRows { q, src, dst } => write!(f, "q{q}.copy({src:?}, {dst:?})"),
            Op::ReadRows { q, r, src } => write!(f, "r{r} = q{q}.read({src:?})"),
            Op::Encode { q, src: Some(src), dst } => write!(f, "q{q}.encode(copy {src:?} to {dst:?})"),
            Op::Encode { q, src: None, dst } => write!(f, "q{q}.encode(clear {dst:?})"),
            Op::Launch { q, kernel, how: How::Typed } => write!(f, "q{q}.launch {kernel:?}"),
            Op::Launch { q, kernel, how: How::Dyn } => write!(f, "q{q}.launch_dyn {kernel:?}"),
            Op::Launch { q, kernel, how: How::Indirect(counts) } => {
                write!(f, "q{q}.launch(indirect {counts:?}) {kernel:?}")
            }
            Op::Read { q, r, src } => write!(f, "r{r} = q{q}.read({src:?})"),
            Op::ReadRegion { q, r, src } => write!(f, "r{r} = q{q}.read_region({src:?})"),
            Op::WaitRead { r, how } => write!(f, "r{r}.{how:?}"),
            Op::DropRead { r } => write!(f, "drop(r{r})"),
            Op::Pin { p, len } => write!(f, "p{p} = ctx.pinned::<Upload>({len})"),
            Op::WritePinned { p, seed } => write!(f, "p{p}.write(random({seed}))"),
            Op::UploadPinned { q, p, start, dst } => write!(f, "q{q}.upload(p{p}[{start}..], {dst:?})"),
            Op::PinBack { d, len } => write!(f, "d{d} = ctx.pinned::<Download>({len})"),
            Op::Download { q, src, d } => write!(f, "q{q}.download({src:?}, d{d})"),
            Op::ReadPinned { d } => write!(f, "d{d}.read()"),
            Op::Mark { e, q } => write!(f, "e{e} = q{q}.marker()"),
            Op::Record { e, q } => write!(f, "e{e}.record(q{q})"),
            Op::WaitFor { q, events } => write!(f, "q{q}.wait_for(e{events:?})"),
            Op::WaitForQueue { q, other } => write!(f, "q{q}.wait_for(q{other})"),
            Op::WaitEvent { e, how } => write!(f, "e{e}.{how:?}"),
            Op::UserEvent { u, at } => write!(f, "u{u} = ctx{at}.user_event()"),
            Op::WaitForUser { q, u } => write!(f, "q{q}.wait_for(u{u})"),
            Op::Signal { u } => write!(f, "u{u}.signal()"),
            Op::Callback { q } => write!(f, "q{q}.callback(..)"),
            Op::Flush { q } => write!(f, "q{q}.flush()"),
            Op::Finish { q, how } => write!(f, "q{q}.finish().{how:?}"),
            Op::Synchronize { at, how } => write!(f, "ctx{at}.synchronize().{how:?}"),
            Op::MapRead { m, part } => write!(f, "m{m} = {part:?}.map_read()"),
            Op::MapWrite { m, part, seed } => write!(f, "m{m} = {part:?}.map_write() <- random({seed})"),
            Op::Unmap { m } => write!(f, "drop(m{m})"),
            Op::Trim => write!(f, "ctx.pool().trim()"),
        }
    }
}
