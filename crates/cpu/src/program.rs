//! One entry point of a module, ready for an engine.

use crate::error::{Error, Place, Result};
use crate::variables;
use fencepost_kernels::{Entry, Module, SourceMap};
#[cfg(all(feature = "compile", not(target_family = "wasm")))]
use fencepost_kernels::{NagaPanic, catch_naga_panic};
use naga::proc::{Alignment, Layouter};
use naga::valid::ModuleInfo;
use naga::{AddressSpace, EntryPoint, GlobalVariable, Handle, ShaderStage, Span, VectorSize};

/// An entry point with its overrides applied, and the variables that the host binds.
pub struct Program {
    module: naga::Module,
    info: ModuleInfo,
    /// Index of the entry point.
    entry: usize,
    layouter: Layouter,
    /// Storage variable of each buffer of a run, or `None` if the entry point does not use the buffer.
    buffers: Vec<Option<Handle<GlobalVariable>>>,
    /// Uniform block, if the entry point uses it.
    params: Option<Handle<GlobalVariable>>,
    places: SourceMap,
}

impl Program {
    /// Creates the program of an entry point of a module, whose overrides have values.
    ///
    /// # Errors
    /// [`Error::TooMuchMemory`], and [`Error::Unsupported`] for a type without a layout.
    pub fn new(text: &Module, entry: &Entry) -> Result<Self> {
        let interface = entry.interface();
        let module = entry.module().clone();
        let info = entry.info().clone();
        let kernel = &interface.entry;
        let is_entry = |entry: &EntryPoint| entry.stage == ShaderStage::Compute && entry.name == *kernel;
        let entry =
            module.entry_points.iter().position(is_entry).expect("bug: the module lost its entry point");
        let mut layouter = Layouter::default();
        layouter.update(module.to_ctx()).map_err(|error| Error::Unsupported {
            kernel: kernel.clone(),
            what: error.to_string(),
            place: None,
        })?;
        let uses = info.get_entry_point(entry);
        let bound = |index: u32, is_params: bool| {
            let mut variables = module.global_variables.iter();
            variables.find_map(|(handle, variable)| {
                let fits = match variable.space {
                    AddressSpace::Uniform | AddressSpace::Immediate => is_params,
                    AddressSpace::Storage { .. } => !is_params,
                    _ => false,
                };
                let at = variable.binding.is_some_and(|at| at.group == 0 && at.binding == index);
                (fits && at && !uses[handle].is_empty()).then_some(handle)
            })
        };
        let buffers = interface.bindings.iter().map(|binding| bound(binding.index, false)).collect();
        let params = interface.params.as_ref().and_then(|params| bound(params.index, true));
        let program = Self { buffers, params, entry, layouter, info, module, places: text.places() };
        variables::check(&program)?;
        Ok(program)
    }

    /// Returns the program with a transformed module, which must have the same types, variables and entry points.
    ///
    /// # Errors
    /// Returns naga's reason if it refuses the module.
    #[cfg(all(feature = "compile", not(target_family = "wasm")))]
    pub(crate) fn with_module(&self, module: naga::Module) -> std::result::Result<Self, String> {
        use naga::valid::{Capabilities, ValidationFlags, Validator};
        let reason = |error: &dyn std::error::Error| {
            std::iter::successors(Some(error), |error| error.source())
                .map(ToString::to_string)
                .collect::<Vec<_>>()
                .join(": ")
        };
        // The original module was validated, and the uniformity of its control flow is unchanged.
        let flags = ValidationFlags::all() - ValidationFlags::CONTROL_FLOW_UNIFORMITY;
        let info = catch_naga_panic(|| {
            Validator::new(flags, Capabilities::all()).validate(&module).map_err(Box::new)
        });
        let info = info.map_err(|NagaPanic(panic)| panic)?.map_err(|error| reason(error.as_inner()))?;
        let mut layouter = Layouter::default();
        layouter.update(module.to_ctx()).map_err(|error| reason(&error))?;
        Ok(Self {
            module,
            info,
            layouter,
            entry: self.entry,
            buffers: self.buffers.clone(),
            params: self.params,
            places: self.places.clone(),
        })
    }

    /// Returns the name of the entry point.
    pub fn name(&self) -> &str {
        &self.entry().name
    }

    /// Returns the invocations of a workgroup along each axis.
    pub fn workgroup(&self) -> [u32; 3] {
        self.entry().workgroup_size
    }

    /// Returns the module, whose overrides are constants.
    pub fn module(&self) -> &naga::Module {
        &self.module
    }

    /// Returns naga's analysis of the module.
    pub fn info(&self) -> &ModuleInfo {
        &self.info
    }

    /// Returns the entry point.
    pub fn entry(&self) -> &EntryPoint {
        &self.module.entry_points[self.entry]
    }

    /// Returns the index of the entry point.
    pub fn entry_index(&self) -> usize {
        self.entry
    }

    /// Returns the sizes and alignments of the module's types.
    pub fn layouter(&self) -> &Layouter {
        &self.layouter
    }

    /// Returns the storage variable of each buffer of a run, or `None` for a buffer that the entry point does not use.
    pub fn buffers(&self) -> &[Option<Handle<GlobalVariable>>] {
        &self.buffers
    }

    /// Returns the uniform block, if the entry point uses it.
    pub fn params(&self) -> Option<Handle<GlobalVariable>> {
        self.params
    }

    /// Returns the text of the module in the form of
    /// [`ShaderSource::whole_text`](fencepost_kernels::ShaderSource::whole_text).
    #[cfg(all(feature = "twins", not(target_family = "wasm")))]
    pub(crate) fn whole_text(&self) -> String {
        self.places.whole_text()
    }

    /// Returns the place of a span, if naga knows it.
    pub fn place(&self, span: Span) -> Option<Place> {
        let at = span.is_defined().then(|| span.to_range()).flatten()?.start;
        let (label, line, column, text) = self.places.place(at);
        Some(Place { label: label.into(), line, column, text: text.into() })
    }

    /// Returns the error for an unsupported feature of the program.
    pub fn unsupported(&self, what: impl Into<String>, span: Span) -> Error {
        Error::Unsupported { kernel: self.name().into(), what: what.into(), place: self.place(span) }
    }
}

#[cfg(test)]
impl Program {
    /// Creates the program of the first entry point of a text.
    pub(crate) fn of_text(wgsl: impl Into<String>) -> std::sync::Arc<Self> {
        let source = fencepost_kernels::ShaderSource::text("test.wgsl", wgsl.into());
        let module = std::sync::Arc::new(Module::parse(&source).unwrap_or_else(|error| panic!("{error}")));
        let entry = module.entries().next().expect("the text has an entry point").to_owned();
        let entry = module.entry(&entry, &[]).unwrap_or_else(|error| panic!("{error}"));
        std::sync::Arc::new(Self::new(&module, &entry).unwrap_or_else(|error| panic!("{error}")))
    }
}

/// Returns the bytes from one column of a matrix to the next.
pub(crate) fn column_stride(rows: VectorSize, scalar: naga::Scalar) -> u32 {
    Alignment::from(rows) * u32::from(scalar.width)
}
