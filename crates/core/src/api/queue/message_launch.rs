//! Launches of kernels that print or assert.

use crate::api::graph::tape::CapturedQueue;
use crate::api::grid::Grid;
use crate::api::queue::CommandQueue;
use crate::api::queue::launch::LaunchArguments;
use crate::api::queue::transfer::ArrayOps;
use crate::arrays::message_buffer::MessageBuffer;
use crate::error::site::CommandKind;
use crate::error::{Error, Kind, Result};
use crate::memory::message_source::MessageSource;
use crate::scheduler::ordering::admission::Admission;
use crate::work::step::{KindsOfWork, Work};
use fencepost_kernels::{Error as KernelError, Messages};
use fencepost_sync::Slot;
use fencepost_sync::prim::lock;
use smallvec::smallvec;
use std::panic::Location;
use std::sync::Arc;

/// Remedy for a launch with messages in a body.
const MESSAGES_IN_BODY: &str = "a kernel that prints or asserts runs once in a replay: launch it before or behind the condition or the loop";

impl CommandQueue {
    /// *Enqueues* a launch that lacks only its message buffer. For any other launch, returns `error`, the reason why
    /// the launch is not complete.
    #[cold]
    pub(super) fn launch_with_messages(
        &self,
        mut gather: LaunchArguments<'_>,
        grid: &Grid<'_>,
        by: Admission,
        error: Error,
    ) -> Result<()> {
        let mut works = self.works_with_messages(&mut gather, grid, by, error)?;
        let _nothing = self.bind_nothing_in(Some(by), &mut works)?;
        self.owner().engine().enqueue_launches(by, works)
    }

    /// Returns the clear of the message buffer, the launch and the read of the buffer, which no other command may
    /// separate. Returns `error` as [`launch_with_messages`](Self::launch_with_messages) does.
    #[cold]
    pub(super) fn works_with_messages(
        &self,
        gather: &mut LaunchArguments<'_>,
        grid: &Grid<'_>,
        by: Admission,
        error: Error,
    ) -> Result<KindsOfWork> {
        let Some(messages) = gather.missing_messages(&error) else { return Err(error) };
        let ops = ArrayOps { owner: self.owner(), by, captured: None };
        let buffer = gather.bind_messages(&ops, messages)?;
        let launch = gather.take(grid, by.at)?;
        if launch.is_empty() {
            return Ok(smallvec![(by.what, Work::Launch(launch))]);
        }
        Ok(smallvec![
            (CommandKind::Fill, buffer.clear()),
            (by.what, Work::Launch(launch)),
            (CommandKind::Read, buffer.read()),
        ])
    }

    /// Returns the error of a captured call that launches several entry points of which one prints or asserts.
    #[cold]
    pub(super) fn messages_of_several(&self, gather: &LaunchArguments<'_>, error: Error) -> Error {
        if gather.missing_messages(&error).is_none() {
            return error;
        }
        let problem = format!(
            "entry point `{}` prints or asserts: a capture launches it with a call of its own, not with several others",
            gather.launch.kernel().name
        );
        Kind::Graph { graph: self.label().into(), problem }.into()
    }
}

impl LaunchArguments<'_> {
    /// Completes a captured launch. If its kernel has messages, captures the clear of the message buffer before the
    /// launch. The buffer lives as long as the graph, and each replay reads it.
    pub(super) fn complete_captured(
        &mut self,
        captured: &CapturedQueue,
        grid: &Grid<'_>,
        (what, at): (CommandKind, &'static Location<'static>),
    ) -> Result<()> {
        let Err(error) = self.complete(grid, at) else { return Ok(()) };
        let Some(messages) = self.missing_messages(&error) else { return Err(error) };
        captured.not_in_body("a launch of a kernel that prints or asserts", at, MESSAGES_IN_BODY)?;
        let by = Admission { slot: Slot::CONTEXT, what, at };
        let ops = ArrayOps { owner: &captured.owner, by, captured: Some(captured) };
        let buffer = self.bind_messages(&ops, messages)?;
        self.complete(grid, at)?;
        captured.push((CommandKind::Fill, at), buffer.clear(), None, None)?;
        captured.with("launch", at, |state| state.messages.push(buffer))
    }

    /// Returns the messages of the kernel, if `error` says that only their buffer is missing.
    fn missing_messages(&self, error: &Error) -> Option<Messages> {
        let Kind::Kernel(KernelError::MissingArgument { arg, .. }) = error.kind() else { return None };
        let interface = &self.launch.kernel().interface;
        let buffer = interface.bindings.last()?;
        interface.messages.clone().filter(|_| buffer.name == *arg)
    }

    /// Allocates the message buffer and binds it as the last argument.
    fn bind_messages(&mut self, ops: &ArrayOps<'_>, messages: Messages) -> Result<MessageBuffer> {
        #[cfg(not(target_arch = "wasm32"))]
        ops.owner.threads().start_messages(ops.owner.engine());
        let kernel = self.launch.kernel();
        let capacity = lock(&ops.owner.engine().print_options).capacity;
        let size = u64::from(messages.buffer_size(capacity));
        let limit = ops.owner.device().caps().max_binding;
        if size > limit {
            return Err(Kind::MessagesTooLarge { kernel: kernel.name.to_string(), found: size, limit }.into());
        }
        let label: Arc<str> = format!("messages of kernel `{}`", kernel.name).into();
        let (at, source) = (
            kernel.interface.bindings.len() - 1,
            MessageSource { kernel: kernel.name.clone(), launch: ops.by.at, messages },
        );
        let storage = match ops.captured {
            None => ops.allocate(size, &label)?,
            Some(captured) => ops.allocate_captured(captured, size, &label)?,
        };
        let buffer = MessageBuffer { storage, size, source: Arc::new(source) };
        self.launch.bindings.push(buffer.bound(at));
        Ok(buffer)
    }
}
