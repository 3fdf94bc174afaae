//! The engine that runs programs on a context of the library.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use bytemuck::{Pod, Zeroable};
use fencepost::interface::{BufferArg, DynArg, IntoArg, NamedArg};
use fencepost::{
    AdapterChoice, CommandQueue, Context, ContextOptions, DeviceArray, Element as HostElement, Error,
    ErrorDetail, Grid, Result,
};

use crate::data::Element;
use crate::engine::{Answer, Engine, Outputs};
use crate::program::{Buffer, ENTRY, Param, Program};

/// Time limit of one program. A program normally takes milliseconds.
const LIMIT: Duration = Duration::from_secs(60);
/// Number of programs after which the context is reopened, because it keeps compiled kernels.
const RENEWAL: u32 = 100;

/// An engine that runs programs on a context.
pub struct ContextEngine {
    name: String,
    open: Box<dyn Fn() -> Result<Context> + Send + Sync>,
    opened: Mutex<Opened>,
}

/// An open context.
#[derive(Default)]
struct Opened {
    context: Option<(Context, CommandQueue)>,
    /// Number of programs run so far, over all contexts.
    runs: u32,
}

/// The struct `Item` of the programs.
#[derive(Clone, Copy, Pod, Zeroable, HostElement)]
#[repr(C)]
struct Item {
    v: [f32; 3],
    n: u32,
    inner: Inner,
    k: [i32; 4],
}

/// The struct `Inner` of the programs.
#[derive(Clone, Copy, Pod, Zeroable, HostElement)]
#[repr(C)]
struct Inner {
    p: [i32; 2],
    q: u32,
    r: f32,
}

impl ContextEngine {
    /// Makes an engine that opens a context for its first program, and a new one after every hundred programs.
    pub fn new(name: impl Into<String>, open: impl Fn() -> Result<Context> + Send + Sync + 'static) -> Self {
        Self { name: name.into(), open: Box::new(open), opened: Mutex::default() }
    }

    /// Makes an engine that runs on an adapter.
    pub fn of_adapter(name: impl Into<String>, adapter: AdapterChoice) -> Self {
        let open = move || Context::with_options(ContextOptions::default().adapter(adapter.clone())).wait();
        Self::new(name, open)
    }

    fn try_run(&self, program: &Program) -> Result<Option<Outputs>> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if opened.runs.is_multiple_of(RENEWAL) {
            opened.context = None;
        }
        opened.runs += 1;
        let (ctx, queue) = match opened.context.take() {
            Some(context) => context,
            None => {
                let ctx = (self.open)()?;
                let queue = ctx.queue("fuzz");
                (ctx, queue)
            }
        };
        let outputs = launch(&ctx, &queue, program);
        if outputs.as_ref().err().is_none_or(lacks) {
            opened.context = Some((ctx, queue));
        }
        outputs
    }
}

impl Engine for ContextEngine {
    fn name(&self) -> &str {
        &self.name
    }

    fn run(&self, program: &Program) -> Answer {
        match self.try_run(program) {
            Ok(Some(outputs)) => Answer::Results(outputs),
            Ok(None) => Answer::Failed(format!("no result after {} s", LIMIT.as_secs())),
            Err(error) if lacks(&error) => Answer::Refused(error.to_string()),
            Err(error) => Answer::Failed(error.to_string()),
        }
    }
}

/// Returns `true` if the device lacks something that a program needs.
fn lacks(error: &Error) -> bool {
    matches!(error.detail(), ErrorDetail::Unsupported { .. })
}

/// Runs a program on a queue; returns `None` if it does not finish in time.
fn launch(ctx: &Context, queue: &CommandQueue, program: &Program) -> Result<Option<Outputs>> {
    let kernel = ctx.kernel_from(&program.text, ENTRY)?;
    let arrays =
        program.buffers.iter().map(|buffer| Array::new(queue, buffer)).collect::<Result<Vec<_>>>()?;
    let mut arguments: Vec<NamedArg<'_>> = Vec::new();
    for (name, param) in &program.params {
        arguments.push((Some((*name).into()), value(*param)));
    }
    for (buffer, array) in program.buffers.iter().zip(&arrays) {
        arguments.push((Some(buffer.name.into()), array.argument(buffer.is_written)));
    }
    queue.launch_dyn(&kernel, Grid::groups(program.groups), arguments)?;
    let mut outputs = Vec::new();
    for (buffer, array) in program.buffers.iter().zip(&arrays) {
        if buffer.is_written {
            let Some(words) = (array.words)(queue)? else { return Ok(None) };
            outputs.push(words);
        }
    }
    Ok(Some(outputs))
}

fn value(param: Param) -> DynArg<'static> {
    match param {
        Param::U32(value) => value.into_arg(),
        Param::I32(value) => value.into_arg(),
        Param::F32(value) => value.into_arg(),
        Param::VectorU32(value) => value.into_arg(),
        Param::VectorI32(value) => value.into_arg(),
        Param::VectorF32(value) => value.into_arg(),
    }
}

/// Reader of the words of a buffer; it returns `None` after the time limit.
type ReadWords = Box<dyn Fn(&CommandQueue) -> Result<Option<Vec<u32>>>>;

/// A buffer on the device.
struct Array {
    argument: Box<dyn BufferArg>,
    words: ReadWords,
}

impl Array {
    fn new(queue: &CommandQueue, buffer: &Buffer) -> Result<Self> {
        match buffer.element {
            Element::U32 | Element::AtomicU32 => Self::of::<u32>(queue, &buffer.words),
            Element::I32 | Element::AtomicI32 => Self::of::<i32>(queue, &buffer.words),
            Element::F32 | Element::AtomicF32 => Self::of::<f32>(queue, &buffer.words),
            Element::VectorF32 => Self::of::<[f32; 4]>(queue, &buffer.words),
            Element::Item => Self::of::<Item>(queue, &buffer.words),
        }
    }

    fn of<T: HostElement>(queue: &CommandQueue, words: &[u32]) -> Result<Self> {
        let array: DeviceArray<T> = queue.array(bytemuck::cast_slice::<u32, T>(words))?;
        let read = array.clone();
        let words = move |queue: &CommandQueue| -> Result<Option<Vec<u32>>> {
            let found = queue.read(&read).wait_timeout(LIMIT)?;
            Ok(found.map(|found| bytemuck::pod_collect_to_vec(&found[..])))
        };
        Ok(Self { argument: Box::new(array), words: Box::new(words) })
    }

    fn argument(&self, is_written: bool) -> DynArg<'_> {
        if is_written { DynArg::ReadWrite(&*self.argument) } else { DynArg::Read(&*self.argument) }
    }
}
