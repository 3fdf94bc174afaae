//! Parses WGSL with naga and reads interfaces out of it.

use std::sync::Arc;

use naga::valid::{Capabilities, GlobalUse, ModuleInfo};
use naga::{AddressSpace, Binding as Binds, BuiltIn, GlobalVariable, Handle, ShaderStage};

use crate::interface::{Access, Binding, Interface, Needs, Override, ParamField, Params};
use crate::messages::instrument::MessageText;
use crate::naga_guard::{self, Invalid, ParseFailure, parse, validate};
use crate::source::{USE, USED};
use crate::splice::{LocatedArgument, SourceLocation, SplicedText};
use crate::wording::Diagnostic;
use crate::{
    Error, Excerpt, Messages, Result, ShaderLanguage, ShaderSource, Warning, aliasing, alignment, continuing,
    directives, entry_points, folds, grammar, immediate_block, inlined, nesting, override_mistake, overrides,
    spirv, stack, types, uniformity, variables, wording,
};

/// A parsed and validated shader.
///
/// Validation accepts every optional feature that naga knows. A device's own validation is stricter;
/// [`Interface::needs`] lists the features that the module uses.
#[derive(Debug)]
pub struct Module {
    source: Arc<SplicedText>,
    naga: naga::Module,
    info: ModuleInfo,
    needs: Needs,
    messages: Option<ModuleMessages>,
    /// Parts of the text that browsers refuse for any entry point.
    warnings: Vec<Warning>,
}

/// Messages of a module.
#[derive(Debug)]
struct ModuleMessages {
    messages: Messages,
    buffer: Handle<GlobalVariable>,
    /// The module without the code that writes messages.
    typed: naga::Module,
    /// Text of `typed`.
    without_messages_source: Arc<SplicedText>,
}

/// SourceMap of the bytes of a module's text in its files. A clone is cheap.
#[derive(Clone, Debug)]
pub struct SourceMap(Arc<SplicedText>);

impl SourceMap {
    /// Returns the place of a byte of [`Module::text`]: its file or label, its line and column from 1, and the line.
    pub fn place(&self, byte: usize) -> (&str, usize, usize, &str) {
        let SourceLocation { label, line, column, text } = self.0.origin(byte);
        (label, line, column, text)
    }

    /// Returns the text of the module in the form of [`ShaderSource::whole_text`].
    pub fn whole_text(&self) -> String {
        self.0.text.replace(USE, USED)
    }
}

impl Module {
    /// Appends snippets and files, parses and validates.
    ///
    /// # Errors
    /// [`Error::UnknownSnippet`]; [`Error::Wgsl`] with file, line, column and the source line, also for a shader that
    /// nests so deeply that translating it could overflow the stack.
    pub fn parse(source: &ShaderSource) -> Result<Self> {
        let source = source.splice()?;
        let module = source.label().to_owned();
        stack::on_compiler_stack(|| Self::of_text(source))
            .map_err(|error| Error::NoThread { module, reason: error.to_string() })?
    }

    fn of_text(mut source: SplicedText) -> Result<Self> {
        let names_subgroups = directives::remove_subgroups(&mut source.text);
        let source = Arc::new(source);
        if let Some(finding) = nesting::over_limit(&source.text) {
            return Err(located(&source, finding));
        }
        let mut module = match MessageText::read(&source).map_err(|finding| located(&source, finding))? {
            None => {
                let (naga, info) = parsed(&source)?;
                let needs = needs(&naga);
                Self { source: source.clone(), naga, info, needs, messages: None, warnings: Vec::new() }
            }
            Some(text) => Self::with_messages(&text)?,
        };
        let mut findings = grammar::findings(&source.text);
        if module.needs.subgroups
            && !names_subgroups
            && let Some(first) = directives::first_subgroup(&source.text)
        {
            let message = "operations of subgroups need `enable subgroups;` at the beginning of the text";
            let span = naga::Span::new(first.at as u32, first.end() as u32);
            findings.push(wording::Diagnostic { message: message.into(), span });
        }
        module.warnings = findings.into_iter().map(|finding| warning(&source, finding)).collect();
        let (typed, without_messages_source) = module.typed();
        let aliased: Vec<Warning> = aliasing::findings(typed)
            .into_iter()
            .map(|finding| warning(without_messages_source, finding))
            .collect();
        module.warnings.extend(aliased);
        let pointers = spirv::mistake(&module.naga, &module.info);
        module.warnings.extend(pointers.map(|finding| warning(&module.source, finding)));
        Ok(module)
    }

    /// Returns the module without the code that writes messages, and its text.
    fn typed(&self) -> (&naga::Module, &SplicedText) {
        match &self.messages {
            Some(known) => (&known.typed, &known.without_messages_source),
            None => (&self.naga, &self.source),
        }
    }

    /// Returns the parts that browsers refuse in an entry point and in what it calls.
    fn warnings(&self, at: usize) -> Vec<Warning> {
        let (module, source) = self.typed();
        let subgroups = !directives::allows_diverging_subgroups(&source.text);
        let findings = uniformity::findings(module, &source.text, at, subgroups);
        let diverging = findings.into_iter().map(|finding| warning(source, finding));
        self.warnings.iter().cloned().chain(diverging).collect()
    }

    /// Parses both forms of a text with messages.
    fn with_messages(text: &MessageText) -> Result<Self> {
        let source = text.typed();
        let typed = translated(&source)?;
        // Before the validation, which would report a value of an unsupported type at the variable that replaces it.
        let sites = text.sites(&typed).map_err(|finding| located(text.written(), finding))?;
        let info = validated(&source, &typed)?;
        let needs = needs(&typed);
        let written = text.with_messages(&typed, &info, sites);
        let (naga, info) = parsed(&written.source)?;
        let buffer =
            naga.global_variables.iter().find(|(_, known)| known.name.as_ref() == Some(&written.buffer));
        let (buffer, _) = buffer.expect("bug: the text declares the message buffer");
        let without_messages_source = source;
        let messages =
            Some(ModuleMessages { messages: written.messages, buffer, typed, without_messages_source });
        Ok(Self { source: written.source, naga, info, needs, messages, warnings: Vec::new() })
    }

    /// Returns the names of the compute entry points.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        let compute = self.naga.entry_points.iter().filter(|entry| entry.stage == ShaderStage::Compute);
        compute.map(|entry| entry.name.as_str())
    }

    /// Returns the overrides that the module declares.
    pub fn overrides(&self) -> Vec<Override> {
        overrides::declared(&self.naga)
    }

    /// Returns one entry point with these values of overrides.
    ///
    /// # Errors
    /// [`Error::UnknownEntry`] and [`Error::UnknownOverride`] with the known names; [`Error::Override`] for a value that
    /// does not fit, and for an override without a value that the entry point uses; [`Error::Workgroup`] and
    /// [`Error::OverrideValues`]; the errors of [`arguments`](Self::arguments).
    pub fn entry(&self, entry: &str, overrides: &[(&str, f64)]) -> Result<Entry> {
        let made = stack::on_compiler_stack(|| self.applied(entry, overrides));
        let module = self.label().to_owned();
        made.map_err(|error| Error::NoThread { module, reason: error.to_string() })?
    }

    fn applied(&self, entry: &str, overrides: &[(&str, f64)]) -> Result<Entry> {
        let mut interface = self.arguments(entry)?;
        let values = overrides::Overrides::new(&self.naga, entry, overrides)?;
        let (module, info) = values.applied(&self.info)?.map_err(|problem| {
            self.override_mistake(entry, &values)
                .unwrap_or_else(|| Error::Overrides { kernel: entry.into(), problem })
        })?;
        let is_it = |known: &naga::EntryPoint| known.stage == ShaderStage::Compute && known.name == entry;
        let at = module.entry_points.iter().position(is_it);
        let at = at.expect("bug: naga dropped the entry point");
        let workgroup = module.entry_points[at].workgroup_size;
        let memory = workgroup_memory(&module, &info, at);
        interface.workgroup = workgroup;
        interface.workgroup_memory = memory;
        interface.folds = self.folds(self.entry_index(entry)?, workgroup[0]);
        Ok(Entry { interface, module, info })
    }

    /// Returns the interface of one entry point with these values of overrides.
    ///
    /// # Errors
    /// The errors of [`entry`](Self::entry).
    pub fn interface(&self, entry: &str, overrides: &[(&str, f64)]) -> Result<Interface> {
        Ok(self.entry(entry, overrides)?.interface)
    }

    /// Returns the interface of one entry point without values for overrides: the workgroup size and the workgroup
    /// memory are 0.
    ///
    /// A variable belongs to the interface if the entry point or a function it calls uses it, or if no entry point of
    /// the module uses it.
    ///
    /// # Errors
    /// [`Error::UnknownEntry`] with the known names; [`Error::Unsupported`] for groups other than 0, textures,
    /// samplers, and a second uniform block or a `var<immediate>` next to one.
    pub fn arguments(&self, entry: &str) -> Result<Interface> {
        let at = self.entry_index(entry)?;
        let mut interface = Interface {
            entry: entry.into(),
            workgroup: [0; 3],
            workgroup_memory: 0,
            bindings: Vec::new(),
            params: None,
            overrides: self.overrides(),
            needs: self.needs,
            folds: false,
            messages: None,
            warnings: self.warnings(at),
        };
        for (handle, variable) in self.naga.global_variables.iter() {
            if let Some(known) = self.messages.as_ref().filter(|known| known.buffer == handle) {
                if !self.mentions(at, handle) {
                    continue;
                }
                interface.messages = Some(known.messages.clone());
            }
            if variable.binding.is_some()
                && self.belongs(at, handle)
                && !self.is_spare_block(at, variable, handle)
            {
                self.add_variable(&mut interface, at, handle, variable)?;
            }
        }
        interface.bindings.sort_by_key(|binding| binding.index);
        Ok(interface)
    }

    /// Returns the mistake that values of overrides cause in an entry point, if there is one. A value can be a divisor
    /// that is 0, or the length of an array.
    fn override_mistake(&self, entry: &str, values: &overrides::Overrides<'_>) -> Option<Error> {
        let known = values.known();
        let mistake = override_mistake::find(&self.source.text, entry, &known)?;
        let values = mistake.overrides.iter().filter_map(|known| Some((&known.name, known.value?)));
        let values: Vec<String> =
            values.map(|(name, value)| format!("`{name}` = {}", overrides::short(value))).collect();
        let values = match &values[..] {
            [] => return None,
            [one] => format!("override {one}"),
            several => format!("overrides {}", several.join(", ")),
        };
        let mistake = Box::new(located(&self.source, mistake.finding));
        Some(Error::OverrideValues { kernel: entry.into(), values, mistake })
    }

    /// Returns `true` if an entry point numbers its invocations with the snippet `linear`.
    fn folds(&self, at: usize, width: u32) -> bool {
        // The code for messages uses the position of an invocation only in messages.
        let module = self.messages.as_ref().map_or(&self.naga, |known| &known.typed);
        Self::takes_grid(module, at) && folds::folds(module, &module.entry_points[at], width)
    }

    /// Returns `true` if an entry point takes the grid's size, which `linear_id` needs.
    fn takes_grid(module: &naga::Module, at: usize) -> bool {
        let is_size = |binding: &Option<Binds>| *binding == Some(Binds::BuiltIn(BuiltIn::NumWorkGroups));
        module.entry_points[at].function.arguments.iter().any(|argument| {
            let members = match &module.types[argument.ty].inner {
                naga::TypeInner::Struct { members, .. } => &members[..],
                _ => &[],
            };
            is_size(&argument.binding) || members.iter().any(|member| is_size(&member.binding))
        })
    }

    /// Returns the error for the first place that a back end translates wrongly or not at all, and that
    /// [`legalize`](crate::legalize) does not rewrite.
    pub fn translation_error(&self, shader_language: ShaderLanguage) -> Option<Error> {
        let finding = match shader_language {
            ShaderLanguage::Spirv => spirv::mistake(&self.naga, &self.info),
            _ => None,
        };
        // In these languages, functions copy a pointer's target and write the copy back, so aliases differ.
        if matches!(shader_language, ShaderLanguage::Glsl | ShaderLanguage::Hlsl) {
            let (typed, source) = self.typed();
            if let Some(aliased) = aliasing::findings(typed).into_iter().next() {
                return Some(located(source, aliased));
            }
        }
        // A browser has its own compiler, which translates `frexp`; but it passes all variables and calls to a driver.
        let is_text = shader_language == ShaderLanguage::Wgsl;
        let frexp = || if is_text { None } else { spirv::exponent_of_16_bits(&self.naga, &self.info) };
        let memory = || variables::too_large(&self.naga, &self.info);
        let calls = || inlined::too_many_calls(&self.naga);
        let finding = finding.or_else(frexp).or_else(memory).or_else(calls);
        finding.map(|finding| located(&self.source, finding))
    }

    /// Returns the error for the first call with a pointer to a part of a variable. A compiler without the language feature
    /// `unrestricted_pointer_parameters` may take no such pointer.
    #[doc(hidden)]
    pub fn pointer_error(&self) -> Option<Error> {
        spirv::mistake(&self.naga, &self.info).map(|finding| located(&self.source, finding))
    }

    /// Returns the whole WGSL text, snippets included.
    pub fn text(&self) -> &str {
        &self.source.text
    }

    /// Returns the file name, or the label of a source without a file.
    pub fn label(&self) -> &str {
        self.source.label()
    }

    /// Returns naga's form of the module.
    pub fn naga(&self) -> &naga::Module {
        &self.naga
    }

    /// Returns naga's analysis of the module.
    pub fn info(&self) -> &ModuleInfo {
        &self.info
    }

    /// Returns the places of the module's text.
    pub fn places(&self) -> SourceMap {
        SourceMap(self.source.clone())
    }

    fn entry_index(&self, entry: &str) -> Result<usize> {
        let mut entries = self.naga.entry_points.iter();
        entries.position(|e| e.stage == ShaderStage::Compute && e.name == entry).ok_or_else(|| {
            Error::UnknownEntry {
                module: self.label().into(),
                entry: entry.into(),
                known: self.entries().collect(),
            }
        })
    }

    fn belongs(&self, at: usize, variable: Handle<GlobalVariable>) -> bool {
        let mentions = |entry: usize| self.mentions(entry, variable);
        mentions(at) || !(0..self.naga.entry_points.len()).any(mentions)
    }

    /// Returns `true` for a uniform block that the entry point does not use, if it uses another.
    fn is_spare_block(&self, at: usize, variable: &GlobalVariable, handle: Handle<GlobalVariable>) -> bool {
        let is_block = |variable: &GlobalVariable| variable.space == AddressSpace::Uniform;
        let mut variables = self.naga.global_variables.iter();
        is_block(variable)
            && !self.mentions(at, handle)
            && variables.any(|(other, variable)| is_block(variable) && self.mentions(at, other))
    }

    fn mentions(&self, at: usize, variable: Handle<GlobalVariable>) -> bool {
        !self.info.get_entry_point(at)[variable].is_empty()
    }

    fn add_variable(
        &self,
        interface: &mut Interface,
        at: usize,
        handle: Handle<GlobalVariable>,
        variable: &GlobalVariable,
    ) -> Result<()> {
        let Some(binding) = variable.binding.filter(|binding| binding.group == 0) else {
            return Err(self.unsupported(variable, "arguments are in `@group(0)`, no other"));
        };
        match variable.space {
            AddressSpace::Storage { access } => {
                let used = access_of(self.info.get_entry_point(at)[handle]);
                interface.bindings.push(self.storage(variable, binding.binding, access, used));
                Ok(())
            }
            AddressSpace::Uniform if interface.params.is_some() => {
                Err(self.unsupported(variable, "a kernel has one uniform block; put all values into it"))
            }
            AddressSpace::Uniform => {
                interface.params = Some(self.uniform(variable, binding.binding));
                Ok(())
            }
            _ => Err(self
                .unsupported(variable, "textures, samplers and acceleration structures cannot be arguments")),
        }
    }

    fn storage(
        &self,
        variable: &GlobalVariable,
        index: u32,
        access: naga::StorageAccess,
        used: Option<Access>,
    ) -> Binding {
        let element = types::element(&self.naga, variable.ty);
        let writable = access.contains(naga::StorageAccess::STORE);
        Binding {
            name: variable.name.clone().unwrap_or_default(),
            index,
            declared: if writable { Access::ReadWrite } else { Access::Read },
            used,
            text: types::text(&self.naga, variable.ty),
            element: types::text(&self.naga, element.ty),
            layout: types::layout(&self.naga, element.ty, element.stride),
            stride: element.stride,
            min_size: u64::from(types::size(&self.naga, variable.ty)),
            runtime_sized: element.runtime_sized,
        }
    }

    /// Describes a uniform block. A block that is not a struct has one field, with the name of the variable.
    fn uniform(&self, variable: &GlobalVariable, index: u32) -> Params {
        let field = |name: &Option<String>, ty: Handle<naga::Type>, offset: u32| ParamField {
            name: name.clone().unwrap_or_default(),
            layout: types::layout(&self.naga, ty, types::size(&self.naga, ty)),
            text: types::text(&self.naga, ty),
            offset,
            size: types::size(&self.naga, ty),
        };
        let fields = match &self.naga.types[variable.ty].inner {
            naga::TypeInner::Struct { members, .. } => {
                members.iter().map(|member| field(&member.name, member.ty, member.offset)).collect()
            }
            _ => vec![field(&variable.name, variable.ty, 0)],
        };
        Params {
            name: variable.name.clone().unwrap_or_default(),
            index,
            size: types::size(&self.naga, variable.ty),
            fields,
        }
    }

    fn unsupported(&self, variable: &GlobalVariable, what: &str) -> Error {
        Error::Unsupported {
            module: self.label().into(),
            name: variable.name.clone().unwrap_or_default(),
            what: what.into(),
        }
    }
}

/// An entry point with values of overrides. naga has replaced each expression that depends on them by a constant.
#[derive(Clone, Debug)]
pub struct Entry {
    interface: Interface,
    module: naga::Module,
    info: ModuleInfo,
}

impl Entry {
    /// Returns everything that the host must know to launch the entry point.
    pub fn interface(&self) -> &Interface {
        &self.interface
    }

    /// Returns naga's module of the entry point and the items that it uses.
    pub fn module(&self) -> &naga::Module {
        &self.module
    }

    /// Returns naga's analysis of [`module`](Self::module).
    pub fn info(&self) -> &ModuleInfo {
        &self.info
    }

    /// Returns the same module with the uniform block moved to immediate data.
    ///
    /// The variable keeps its struct type, which every back end accepts, and loses its binding. Without a block the
    /// module is returned unchanged.
    ///
    /// # Errors
    /// [`Error::Unsupported`] if the block contains a type that immediates do not support, such as `f16`, or has more
    /// than 256 bytes; it must then stay a uniform.
    pub fn with_immediates(&self) -> Result<naga::Module> {
        let unsupported = |what: String| {
            let name = self.interface.params.as_ref().map_or_else(String::new, |params| params.name.clone());
            Error::Unsupported { module: self.interface.entry.clone(), name, what }
        };
        let mut module = self.module.clone();
        for (_, variable) in module.global_variables.iter_mut() {
            if variable.space == AddressSpace::Uniform {
                variable.space = AddressSpace::Immediate;
                variable.binding = None;
            }
        }
        if immediate_block::bytes(&module).is_some_and(|bytes| bytes > immediate_block::MAX_BYTES) {
            let what = format!(
                "the values of a launch have more than {} bytes, so they cannot be immediates",
                immediate_block::MAX_BYTES
            );
            return Err(unsupported(what));
        }
        validate(&module, Capabilities::all()).map_err(|error| {
            unsupported(match *error {
                Ok(error) => error.as_inner().to_string(),
                Err(panic) => naga_guard::said(&panic),
            })
        })?;
        Ok(module)
    }
}

/// Returns the size in bytes of the workgroup variables that an entry point uses, each rounded up to 16 as WebGPU
/// counts them.
fn workgroup_memory(module: &naga::Module, info: &ModuleInfo, at: usize) -> u64 {
    let uses = info.get_entry_point(at);
    let variables = module.global_variables.iter();
    let used =
        variables.filter(|(handle, v)| v.space == AddressSpace::WorkGroup && !uses[*handle].is_empty());
    used.map(|(_, v)| types::bytes(module, v.ty).next_multiple_of(16)).fold(0, u64::saturating_add)
}

fn access_of(used: GlobalUse) -> Option<Access> {
    let atomic = used.contains(GlobalUse::ATOMIC);
    match (used.contains(GlobalUse::READ) || atomic, used.contains(GlobalUse::WRITE) || atomic) {
        (true, true) => Some(Access::ReadWrite),
        (true, false) => Some(Access::Read),
        (false, true) => Some(Access::Write),
        (false, false) => None,
    }
}

/// Parses and validates a text.
fn parsed(source: &SplicedText) -> Result<(naga::Module, ModuleInfo)> {
    let naga = translated(source)?;
    let info = validated(source, &naga)?;
    if let Some(finding) =
        entry_points::location(&naga, &source.text).or_else(|| continuing::skipped_value(&naga))
    {
        return Err(located(source, finding));
    }
    Ok((naga, info))
}

/// Returns naga's form of a text, in which a `var<immediate>` is a uniform block.
fn translated(source: &SplicedText) -> Result<naga::Module> {
    let mut naga = parse(&source.text).map_err(|error| match error {
        ParseFailure::Mistake(error) => unparsed(source, &error),
        ParseFailure::Panic(finding) => located(source, finding),
    })?;
    if let Some(finding) = alignment::misplaced(&naga, &source.text) {
        return Err(located(source, finding));
    }
    if let Some(bytes) = immediate_block::bytes(&naga) {
        // After `adopt`, two such variables would be reported as a binding conflict.
        if bytes <= immediate_block::MAX_BYTES {
            validated(source, &naga)?;
        }
        immediate_block::adopt(&mut naga);
    }
    Ok(naga)
}

fn validated(source: &SplicedText, naga: &naga::Module) -> Result<ModuleInfo> {
    validate(naga, Capabilities::all()).map_err(|error| invalid(source, naga, &error))
}

// A module needs a feature if validation fails without it.
fn needs(module: &naga::Module) -> Needs {
    let int64 = Capabilities::SHADER_INT64
        | Capabilities::SHADER_INT64_ATOMIC_MIN_MAX
        | Capabilities::SHADER_INT64_ATOMIC_ALL_OPS;
    let subgroups = Capabilities::SUBGROUP | Capabilities::SUBGROUP_BARRIER;
    let optional = Capabilities::SHADER_FLOAT16
        | Capabilities::FLOAT64
        | int64
        | subgroups
        | Capabilities::SHADER_FLOAT32_ATOMIC;
    let fails_without = |ability| validate(module, Capabilities::all() - ability).is_err();
    if !fails_without(optional) {
        return Needs::default();
    }
    Needs {
        f16: fails_without(Capabilities::SHADER_FLOAT16),
        f64: fails_without(Capabilities::FLOAT64),
        int64: fails_without(int64),
        subgroups: fails_without(subgroups),
        float32_atomics: fails_without(Capabilities::SHADER_FLOAT32_ATOMIC),
    }
}

fn invalid(source: &SplicedText, module: &naga::Module, error: &Invalid) -> Error {
    located(
        source,
        match error {
            Ok(error) => wording::finding(module, &source.text, error),
            Err(panic) => Diagnostic { message: naga_guard::said(panic), span: naga::Span::UNDEFINED },
        },
    )
}

// If a file ends too early, the parser reports the mistake at the beginning of the next file.
fn unparsed(source: &SplicedText, error: &naga::front::wgsl::ParseError) -> Error {
    let mut finding = wording::parsing(error);
    if finding.message == wording::NESTED {
        finding.span = nesting::deepest(&source.text);
        finding.message += &format!(": {}", nesting::NESTING_ADVICE);
    }
    if finding.message.starts_with(wording::DIRECTIVE) {
        finding.message += &format!(": move this line to the beginning of `{}`", source.label());
    }
    let at = finding.span.to_range().map_or(0, |range| range.start);
    for (start, text) in source.parts().take_while(|(start, text)| start + text.len() <= at) {
        if let Err(ParseFailure::Mistake(error)) = parse(text)
            && let Diagnostic { message, span } = wording::parsing(&error)
            && let Some(range) = span.to_range()
            && range.start >= text.trim_end().len()
        {
            let last = (start + text.trim_end().len()) as u32;
            return located(source, Diagnostic { message, span: naga::Span::new(last, last + 1) });
        }
    }
    located(source, finding)
}

fn located(source: &SplicedText, finding: Diagnostic) -> Error {
    let Diagnostic { message, span } = finding;
    let range = span.is_defined().then(|| span.to_range()).flatten().unwrap_or(0..1);
    match source.used_variable(range.start) {
        Some(used) => of_variable(used, &message),
        None => at_origin(&source.origin(range.start), message, range.len()),
    }
}

fn warning(source: &SplicedText, finding: wording::Diagnostic) -> Warning {
    match located(source, finding) {
        Error::Wgsl { label, line, column, message, excerpt } => {
            Warning { label, line, column, message, excerpt }
        }
        other => unreachable!("bug: a place became the error {other}"),
    }
}

fn at_origin(
    &SourceLocation { label, line, column, text }: &SourceLocation<'_>,
    message: String,
    length: usize,
) -> Error {
    let excerpt = Excerpt { text: text.into(), column, length };
    Error::Wgsl { label: label.into(), line, column, message, excerpt }
}

/// Returns the error for a mistake in a snippet for a variable, at the line that names the variable.
fn of_variable(used: LocatedArgument<'_>, message: &str) -> Error {
    let LocatedArgument { snippet, name, origin } = used;
    let message = if message.ends_with(&format!("identifier: `{name}`")) {
        format!("the shader has no variable `{name}`, which the snippet `{snippet}` takes")
    } else {
        format!("the snippet `{snippet}` does not fit `{name}`: {message}")
    };
    at_origin(&origin, message, name.len())
}
