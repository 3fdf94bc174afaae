//! The graphs that a recorder has replayed, with what it has resolved for them.

use crate::device::wgpu_device::WgpuDevice;
use crate::driver::backend::Backend;
use crate::driver::reusable_encoders::ReusableEncoders;
use crate::error::Result;
use crate::record::hal::stretch::ResolvedGraph;
use crate::work::graph_data::graph_plan::PlanId;
use crate::work::graph_data::graph_run::GraphStep;
use rustc_hash::FxHashMap;
use std::sync::{Arc, Weak};

/// Resolved parts of graphs, by the number of their plan's commands and the number of their segment.
pub(crate) struct KnownGraphs<A: Backend> {
    graphs: FxHashMap<(u64, u32), KnownGraph<A>>,
    /// Maker of the encoders of native bodies: `None` before the first body, `Some(None)` if the device makes none.
    encoders: Option<Option<Arc<dyn ReusableEncoders<A>>>>,
}

struct KnownGraph<A: Backend> {
    /// Alive while a graph, one of its replays or an edit still has a plan with these commands.
    commands: Weak<PlanId>,
    /// `None` until the second replay: a graph that is replayed once would gain nothing.
    resolved: Option<Arc<ResolvedGraph<A>>>,
}

impl<A: Backend> Default for KnownGraphs<A> {
    fn default() -> Self {
        Self { graphs: FxHashMap::default(), encoders: None }
    }
}

impl<A: Backend> KnownGraphs<A> {
    /// Forgets the graphs whose plans are gone.
    #[inline]
    pub(crate) fn sweep(&mut self) {
        if !self.graphs.is_empty() {
            self.graphs.retain(|_, known| known.commands.strong_count() > 0);
        }
    }

    /// Returns the resolved part of a graph, which the second replay makes with `resolve`. Returns `None` at the first
    /// replay, and always on a backend whose buffers must be in exact states.
    ///
    /// # Errors
    /// Returns the error of `resolve`.
    pub(crate) fn get(
        &mut self,
        graph: &GraphStep,
        resolve: impl FnOnce() -> Result<ResolvedGraph<A>>,
    ) -> Result<Option<Arc<ResolvedGraph<A>>>> {
        let plan = &graph.run.plan;
        let Some(segment) = graph.segment.filter(|_| !A::EXACT) else { return Ok(None) };
        let key = (plan.commands.0, segment);
        let Some(known) = self.graphs.get_mut(&key) else {
            let first = KnownGraph { commands: Arc::downgrade(&plan.commands), resolved: None };
            self.graphs.insert(key, first);
            return Ok(None);
        };
        if known.resolved.is_none() {
            known.resolved = Some(Arc::new(resolve()?));
        }
        Ok(known.resolved.clone())
    }

    /// Returns the maker of encoders for native bodies, if the device has one.
    pub(crate) fn encoders(&mut self, device: &WgpuDevice) -> Option<&Arc<dyn ReusableEncoders<A>>> {
        let make = || {
            let parts = &device.parts;
            A::reusable_encoders(&parts.device, &parts.queue, parts.adapter.as_ref()).map(Arc::from)
        };
        self.encoders.get_or_insert_with(make).as_ref()
    }
}
