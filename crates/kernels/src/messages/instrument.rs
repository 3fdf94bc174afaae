//! The two forms of a shader with messages.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use naga::common::wgsl::TypeContext as _;
use naga::valid::ModuleInfo;
use naga::{BuiltIn, EntryPoint, Handle, Type};

use crate::messages::message_wgsl::{MessageNames, USED_NAMES};
use crate::messages::rewrite::Edit;
use crate::messages::statement::{MessageStatement, arguments, mistake, statements};
use crate::messages::value_type::ValueType;
use crate::messages::{MessageSite, Messages};
use crate::splice::SplicedText;
use crate::tokens::{Declaration, Token, Tokens, declarations};
use crate::wording::Diagnostic;

/// A shader that contains messages.
pub(crate) struct MessageText {
    written: Arc<SplicedText>,
    statements: Vec<MessageStatement>,
    names: MessageNames,
}

/// Text that writes the messages.
pub(crate) struct WithMessages {
    pub(crate) source: Arc<SplicedText>,
    pub(crate) messages: Messages,
    /// Name of the message buffer.
    pub(crate) buffer: String,
}

/// Text around the parts of a statement: the condition and the values.
struct Frame {
    /// Text before each part.
    before: Vec<String>,
    /// Text after the last part. It replaces a statement without parts.
    last: String,
}

impl MessageText {
    /// Reads a text. Returns `None` if it has no messages.
    ///
    /// # Errors
    /// Returns the first mistake in a statement.
    pub(crate) fn read(written: &Arc<SplicedText>) -> Result<Option<Self>, Diagnostic> {
        let text = &written.text;
        if !text.contains("print") && !text.contains("assert") {
            return Ok(None);
        }
        let tokens: Vec<Token<'_>> = Tokens::of(text).collect();
        let statements = statements(&tokens)?;
        if statements.is_empty() {
            return Ok(None);
        }
        if let Some(hides) = declarations(&tokens).iter().find(|it| USED_NAMES.contains(&it.name.text)) {
            let Token { at, text } = hides.name;
            let message = format!(
                "a shader with `print` or `assert` needs the `{text}` of WGSL, which this declaration hides: give it another name"
            );
            return Err(mistake(at..at + text.len(), message));
        }
        Ok(Some(Self { written: written.clone(), statements, names: MessageNames::for_text(text) }))
    }

    /// Returns the text of the program.
    pub(crate) fn written(&self) -> &SplicedText {
        &self.written
    }

    /// Returns the first form, with a variable for each value.
    pub(crate) fn typed(&self) -> Arc<SplicedText> {
        let mark = self.names.mark();
        let mut edits = Vec::new();
        for (site, statement) in self.statements.iter().enumerate() {
            let condition = statement.condition.iter().map(|_| self.names.condition(site));
            let values = (0..statement.values.len()).map(|value| self.names.value(site, value));
            let open = |(at, name): (usize, String)| match at {
                0 => format!("{{ {mark} = 1u; var {name} = ("),
                _ => format!("); var {name} = ("),
            };
            let before: Vec<String> = condition.chain(values).enumerate().map(open).collect();
            let last = if before.is_empty() { format!("{{ {mark} = 1u; }}") } else { "); }".into() };
            add_edits(statement, Frame { before, last }, &mut edits);
        }
        let end = self.written.text.len();
        edits.push(Edit { at: end..end, text: format!("\nvar<private> {mark}: u32;") });
        Arc::new(SplicedText::rewritten(&self.written, &edits))
    }

    /// Returns the statements with the types of their values. `typed` is the module of the first form.
    ///
    /// # Errors
    /// Returns the first value of a type that messages do not support.
    pub(crate) fn sites(&self, typed: &naga::Module) -> Result<Vec<MessageSite>, Diagnostic> {
        let variables = variables(typed);
        let statements = self.statements.iter().enumerate();
        statements.map(|(number, statement)| self.site(number, statement, typed, &variables)).collect()
    }

    /// Returns the second form. `typed` is the module of the first one.
    pub(crate) fn with_messages(
        &self,
        typed: &naga::Module,
        info: &ModuleInfo,
        sites: Vec<MessageSite>,
    ) -> WithMessages {
        let mut edits = Vec::new();
        for (number, (statement, site)) in self.statements.iter().zip(&sites).enumerate() {
            add_edits(statement, self.writing(number, site), &mut edits);
        }
        let messages = Messages::new(sites);
        let binding = typed.global_variables.iter().filter_map(|(_, variable)| variable.binding);
        let binding = binding.map(|binding| binding.binding + 1).max().unwrap_or(0);
        let mut added = self.names.declarations(binding, &messages);
        self.enter_all(typed, info, messages.asserts(), &mut edits, &mut added);
        edits.sort_by_key(|edit| edit.at.start);
        let end = self.written.text.len();
        edits.push(Edit { at: end..end, text: added });
        let source = Arc::new(SplicedText::rewritten(&self.written, &edits));
        WithMessages { source, messages, buffer: self.names.buffer() }
    }

    fn site(
        &self,
        number: usize,
        statement: &MessageStatement,
        typed: &naga::Module,
        variables: &HashMap<&str, Handle<Type>>,
    ) -> Result<MessageSite, Diagnostic> {
        let type_of = |name: String| variables.get(name.as_str()).copied();
        let text_of =
            |ty: Option<Handle<Type>>| ty.map_or("unknown".into(), |ty| typed.to_ctx().type_to_string(ty));
        if let Some(condition) = &statement.condition {
            let ty = type_of(self.names.condition(number));
            let is_bool = |ty: Handle<Type>| {
                typed.types[ty].inner.scalar() == Some(naga::Scalar::BOOL)
                    && ValueType::of(&typed.types[ty]).is_some_and(|of| of.len == 1)
            };
            if !ty.is_some_and(is_bool) {
                let found = text_of(ty);
                return Err(mistake(
                    condition.clone(),
                    format!("the condition of `assert` has the type `bool`, found `{found}`"),
                ));
            }
        }
        let mut types = Vec::new();
        for (value, at) in statement.values.iter().enumerate() {
            let ty = type_of(self.names.value(number, value));
            let Some(of) = ty.and_then(|ty| ValueType::of(&typed.types[ty])) else {
                let message = format!(
                    "a value of a message has the type `bool`, `i32`, `u32`, `f32` or `f16`, or is a vector of them, found \
                     `{}`: convert the value, or name its parts",
                    text_of(ty)
                );
                return Err(mistake(at.clone(), message));
            };
            if of.is_float() && is_whole(&self.written.text[at.clone()]) {
                let message =
                    "this number fits neither `i32` nor `u32`: write it with a dot to print a float";
                return Err(mistake(at.clone(), message.into()));
            }
            types.push(of);
        }
        let text = &self.written.text;
        let plain =
            |range: &Range<usize>| text[range.clone()].split_whitespace().collect::<Vec<_>>().join(" ");
        let origin = self.written.origin(statement.range.start);
        let place = format!("{}:{}:{}", origin.label, origin.line, origin.column);
        let condition = statement.condition.as_ref().map(plain);
        Ok(MessageSite { condition, pieces: statement.pieces.clone(), types, place })
    }

    /// Returns the text that writes a record, around the condition and the values.
    fn writing(&self, number: usize, site: &MessageSite) -> Frame {
        let is_assert = site.condition.is_some();
        let record = self.names.record(number, site.words(), &site.types, is_assert);
        let open = |value: usize| format!("let {} = (", self.names.value(number, value));
        let (condition, mut end, close) =
            if is_assert { (Some("{ if !(".to_owned()), ") {", "} }") } else { (None, "{", "}") };
        let mut before = Vec::from_iter(condition);
        for value in 0..site.types.len() {
            before.push(format!("{end} {}", open(value)));
            end = ");";
        }
        Frame { before, last: format!("{end} {record} {close}") }
    }

    /// Adds a call to each entry point that reaches a message, which stores the invocation.
    fn enter_all(
        &self,
        typed: &naga::Module,
        info: &ModuleInfo,
        asserts: bool,
        edits: &mut Vec<Edit>,
        added: &mut String,
    ) {
        let mark = self.names.mark();
        let mut globals = typed.global_variables.iter();
        let Some((mark, _)) = globals.find(|(_, variable)| variable.name.as_ref() == Some(&mark)) else {
            return;
        };
        let tokens: Vec<Token<'_>> = Tokens::of(&self.written.text).collect();
        let declared = declarations(&tokens);
        for (number, entry) in typed.entry_points.iter().enumerate() {
            let is_entry =
                |known: &&Declaration<'_, '_>| known.keyword.text == "fn" && known.name.text == entry.name;
            if let Some(function) = declared.iter().find(is_entry)
                && !info.get_entry_point(number)[mark].is_empty()
            {
                let size = asserts.then(|| self.workgroup(function));
                *added += &self.names.enter(number, size.as_ref().map(|[x, y]| [&**x, &**y]));
                self.enter(typed, entry, (number, function), asserts, edits);
            }
        }
    }

    /// Adds the call to one entry point, and missing arguments.
    fn enter(
        &self,
        typed: &naga::Module,
        entry: &EntryPoint,
        (number, function): (usize, &Declaration<'_, '_>),
        asserts: bool,
        edits: &mut Vec<Edit>,
    ) {
        let p = &self.names.prefix;
        let Some((own, end)) = arguments(function.rest, 2) else { return };
        let mut missing = String::new();
        let mut argument = |wanted: BuiltIn, text: &str, name: &str| {
            built_in(typed, entry, wanted).unwrap_or_else(|| {
                let comma = if missing.is_empty() { "" } else { ", " };
                missing += &format!("{comma}@builtin({text}) {p}{name}: vec3<u32>");
                format!("{p}{name}")
            })
        };
        let mut passed = argument(BuiltIn::GlobalInvocationId, "global_invocation_id", "gid");
        if asserts {
            passed += &format!(", {}", argument(BuiltIn::NumWorkGroups, "num_workgroups", "groups"));
        }
        if !missing.is_empty() {
            let comma = if own.is_empty() { "" } else { ", " };
            let at = function.rest[1].end();
            edits.push(Edit { at: at..at, text: format!("{missing}{comma}") });
        }
        if let Some(body) = function.rest[end..].iter().find(|token| token.text == "{") {
            let at = body.end();
            edits.push(Edit { at: at..at, text: format!(" {p}enter_{number}({passed});") });
        }
    }

    /// Returns the expressions of the workgroup size of an entry point along x and y.
    fn workgroup(&self, function: &Declaration<'_, '_>) -> [String; 2] {
        let tokens = function.attributes;
        let at = tokens.iter().position(|token| token.text == "workgroup_size");
        let sizes = at.and_then(|at| arguments(tokens, at + 2)).map(|(sizes, _)| sizes).unwrap_or_default();
        [0, 1].map(|axis| {
            let size = sizes.get(axis);
            size.map_or("1".into(), |of| {
                self.written.text[tokens[of.start].at..tokens[of.end - 1].end()].to_owned()
            })
        })
    }
}

/// Returns `true` for an expression made of untyped integers.
fn is_whole(value: &str) -> bool {
    let is_whole = |number: &str| {
        let digits = number.strip_prefix("0x").or_else(|| number.strip_prefix("0X"));
        digits.map_or(number.bytes().all(|byte| byte.is_ascii_digit()), |digits| {
            digits.bytes().all(|byte| byte.is_ascii_hexdigit())
        })
    };
    Tokens::of(value).all(|token| match token.text.chars().next() {
        Some('0'..='9') => is_whole(token.text),
        Some(first) if first.is_alphabetic() => matches!(token.text, "vec2" | "vec3" | "vec4"),
        first => first != Some('_'),
    })
}

/// Replaces a statement by a frame around its condition and its values.
fn add_edits(statement: &MessageStatement, frame: Frame, edits: &mut Vec<Edit>) {
    let parts = statement.condition.iter().chain(&statement.values);
    let mut from = statement.range.start;
    for (part, text) in parts.zip(frame.before) {
        edits.push(Edit { at: from..part.start, text });
        from = part.end;
    }
    edits.push(Edit { at: from..statement.range.end, text: frame.last });
}

/// Maps the names of all variables of functions to their types.
fn variables(module: &naga::Module) -> HashMap<&str, Handle<Type>> {
    let functions = module.functions.iter().map(|(_, function)| function);
    let all = functions.chain(module.entry_points.iter().map(|entry| &entry.function));
    let variables = all.flat_map(|function| function.local_variables.iter());
    variables.filter_map(|(_, variable)| Some((variable.name.as_deref()?, variable.ty))).collect()
}

/// Returns the expression of a built-in argument of an entry point: the argument, or a member of one.
fn built_in(module: &naga::Module, entry: &EntryPoint, wanted: BuiltIn) -> Option<String> {
    let is_wanted = |binding: &Option<naga::Binding>| *binding == Some(naga::Binding::BuiltIn(wanted));
    entry.function.arguments.iter().find_map(|argument| {
        let name = argument.name.as_deref()?;
        if is_wanted(&argument.binding) {
            return Some(name.to_owned());
        }
        let naga::TypeInner::Struct { members, .. } = &module.types[argument.ty].inner else { return None };
        let member = members.iter().find(|member| is_wanted(&member.binding))?;
        Some(format!("{name}.{}", member.name.as_deref()?))
    })
}
