//! Checks of the arguments of later launches.

use crate::api::grid::Grid;
use crate::api::kernel::{DynKernel, Kernel};
use crate::api::queue::CommandQueue;
use crate::api::queue::launch::{LaunchArguments, SameKernel};
use crate::error::Result;
use crate::error::site::CommandKind;
use crate::runtime::event::same_context;
use crate::scheduler::ordering::admission::Admission;
use crate::work::step::Work;
use fencepost_kernels::{KernelArgs, NamedArg, check_dyn};
use std::panic::Location;

impl CommandQueue {
    /// Checks arguments as a [`launch`](Self::launch) of `kernel` does, and enqueues nothing. In a capture it adds no
    /// node. A verb with several commands checks its later launches with it, before it enqueues the first command.
    #[doc(hidden)]
    #[track_caller]
    pub fn check_launch<F: KernelArgs>(
        &self,
        kernel: &Kernel<F>,
        args: impl KernelArgs<Family: SameKernel<F>>,
    ) -> Result<()> {
        same_context(self.owner(), &kernel.owner, || format!("kernel `{}`", kernel.inner.name))?;
        let mut gather = LaunchArguments::new(self, &kernel.inner, &kernel.plan);
        args.bind(&mut gather);
        self.check_arguments(gather, Location::caller())
    }

    /// Returns the error of a captured queue for `verb`, which returns a value to the host. A verb with several
    /// commands calls it before it enqueues the first one. `remedy` names the verb that a capture accepts.
    #[doc(hidden)]
    #[track_caller]
    pub fn check_value(&self, verb: &'static str, remedy: &'static str) -> Result<()> {
        self.not_captured(verb, remedy)
    }

    /// Checks arguments as a [`launch_dyn`](Self::launch_dyn) of `kernel` does, and enqueues nothing. In a capture it
    /// adds no node.
    #[doc(hidden)]
    #[track_caller]
    pub fn check_launch_dyn<'a>(&self, kernel: &DynKernel, args: impl AsRef<[NamedArg<'a>]>) -> Result<()> {
        same_context(self.owner(), &kernel.owner, || format!("kernel `{}`", kernel.inner.name))?;
        let plan = check_dyn(&kernel.inner.interface, args.as_ref())?;
        let mut gather = LaunchArguments::new(self, &kernel.inner, &plan);
        for (_, arg) in args.as_ref() {
            arg.bind(&mut gather);
        }
        self.check_arguments(gather, Location::caller())
    }

    fn check_arguments(&self, mut gather: LaunchArguments<'_>, at: &'static Location<'static>) -> Result<()> {
        let what = CommandKind::Launch(gather.launch.kernel().id);
        match self.slot() {
            Ok(slot) => {
                gather.complete(&Grid::groups([0]), at)?;
                let by = Admission { slot, what, at };
                self.owner().engine().check_only(by, &Work::Launch(gather.launch))
            }
            Err(error) => {
                let Some(captured) = self.captured_queue() else { return Err(error) };
                gather.complete(&Grid::groups([0]), at)?;
                captured.with(what.verb(), at, |_| ())
            }
        }
    }
}
