//! Turns panics of naga, and of driver code that contains it, into errors.
//!
//! naga panics on some shaders that are valid or only slightly wrong. Take no lock in the closure of
//! [`catch_naga_panic`], because a panic would poison it; a caller that needs one takes it before the call.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

use naga::Span;
use naga::front::wgsl::ParseError;
use naga::valid::{Capabilities, ModuleInfo, ValidationError, ValidationFlags, Validator};

use crate::returns;
use crate::tokens::{Token, Tokens, declarations};
use crate::wording::Diagnostic;

/// Message of a panic inside naga.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NagaPanic(pub String);

/// Calls naga, or code that contains it, and returns its panic as an error.
///
/// A program that is built with `panic = "abort"` aborts instead.
///
/// # Errors
/// Returns the message of the panic.
pub fn catch_naga_panic<T>(work: impl FnOnce() -> T) -> Result<T, NagaPanic> {
    // The values that `work` changes are dropped after a panic, or belong to naga.
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| NagaPanic(message(&*panic)))
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "no message".into())
}

/// Reason why naga did not parse a text.
pub(crate) enum ParseFailure {
    Mistake(ParseError),
    Panic(Diagnostic),
}

/// Parses a text.
pub(crate) fn parse(text: &str) -> Result<naga::Module, ParseFailure> {
    match catch_naga_panic(|| naga::front::wgsl::parse_str(text)) {
        Ok(parsed) => {
            let mut module = parsed.map_err(ParseFailure::Mistake)?;
            returns::complete(&mut module);
            Ok(module)
        }
        Err(panic) => Err(ParseFailure::Panic(place(text, &panic))),
    }
}

/// Reason why naga did not validate a module.
pub(crate) type Invalid = Result<naga::WithSpan<ValidationError>, NagaPanic>;

/// Validates a module.
pub(crate) fn validate(module: &naga::Module, allowed: Capabilities) -> Result<ModuleInfo, Box<Invalid>> {
    let validate = || Validator::new(ValidationFlags::all(), allowed).validate(module).map_err(Box::new);
    match catch_naga_panic(validate) {
        Ok(found) => found.map_err(|error| Box::new(Ok(*error))),
        Err(panic) => Err(Box::new(Err(panic))),
    }
}

/// Describes a panic of naga, with its place if that is known.
pub(crate) fn said(panic: &NagaPanic) -> String {
    format!(
        "naga, which translates WGSL here, fails on this: a constant may be outside the range of its type, as in \
         `f16(70000i)`; otherwise write it in another way (naga says: {})",
        panic.0
    )
}

/// Part of a text that the search for a panic can remove: a statement, or a block with its head.
struct TextPart<'t, 'a> {
    whole: &'t [Token<'a>],
    /// Tokens that an error marks: all tokens, or those before the block.
    marked: &'t [Token<'a>],
}

/// Finds the part of a text on which the parser panics.
///
/// Statements after that part do not affect the panic, so the shortest prefix of statements that still panics ends with
/// that part.
fn place(text: &str, panic: &NagaPanic) -> Diagnostic {
    let tokens: Vec<Token<'_>> = Tokens::of(text).collect();
    let panics = |without: &[TextPart<'_, '_>]| {
        let text = blanked(text, without);
        catch_naga_panic(|| naga::front::wgsl::parse_str(&text).map(drop)).is_err()
    };
    let statements = statements(&tokens);
    let marked = if panics(&statements) {
        let mut parts = declared(&tokens).into_iter().rev();
        parts.find(|part| !panics(std::slice::from_ref(part))).map(|part| part.marked)
    } else {
        // The first `enough` statements panic, and the first `few` do not.
        let mut few = 0;
        let mut enough = statements.len();
        while few + 1 < enough {
            let middle = few.midpoint(enough);
            if panics(&statements[middle..]) { enough = middle } else { few = middle }
        }
        statements.get(few).map(|part| part.marked)
    };
    let ends = marked.and_then(|marked| Some((marked.first()?.at, marked.last()?.end())));
    let span = ends.map_or(Span::UNDEFINED, |(start, end)| Span::new(start as u32, end as u32));
    Diagnostic { message: said(panic), span }
}

/// Returns the statements of all functions in the order in which they begin.
fn statements<'t, 'a>(tokens: &'t [Token<'a>]) -> Vec<TextPart<'t, 'a>> {
    let bodies = declarations(tokens).into_iter().filter(|declared| declared.keyword.text == "fn");
    let mut parts: Vec<TextPart<'t, 'a>> = Vec::new();
    for body in bodies {
        let Some(start) = body.rest.iter().position(|token| token.text == "{") else { continue };
        let rest = &body.rest[start + 1..];
        // The open blocks: the part of each, and the token at which it begins.
        let mut first = 0;
        let mut brackets = 0_usize;
        let mut blocks = Vec::new();
        for (at, token) in rest.iter().enumerate() {
            match token.text {
                "(" | "[" => brackets += 1,
                ")" | "]" => brackets = brackets.saturating_sub(1),
                "{" => {
                    blocks.push((parts.len(), first));
                    parts
                        .push(TextPart { whole: &rest[first..=at], marked: &rest[first..at.max(first + 1)] });
                }
                "}" => {
                    if let Some((part, first)) = blocks.pop() {
                        parts[part].whole = &rest[first..=at];
                    }
                }
                ";" if brackets == 0 && first < at => {
                    parts.push(TextPart { whole: &rest[first..at], marked: &rest[first..at] });
                }
                _ => {}
            }
            if matches!(token.text, "{" | "}") || token.text == ";" && brackets == 0 {
                first = at + 1;
            }
        }
    }
    parts
}

/// Returns the declarations outside of functions.
fn declared<'t, 'a>(tokens: &'t [Token<'a>]) -> Vec<TextPart<'t, 'a>> {
    let all = declarations(tokens).into_iter();
    let others = all.filter(|declared| !matches!(declared.keyword.text, "fn" | "struct"));
    let part = |start: usize, end: usize| {
        let first = tokens.partition_point(|token| token.at < start);
        let whole = &tokens[first..tokens.partition_point(|token| token.at < end)];
        TextPart { whole, marked: whole }
    };
    others.map(|declared| part(declared.start, declared.end)).collect()
}

/// Returns the text with some parts replaced by blanks.
fn blanked(text: &str, without: &[TextPart<'_, '_>]) -> String {
    let mut bytes = text.as_bytes().to_vec();
    for token in without.iter().flat_map(|part| part.whole) {
        bytes[token.at..token.end()].fill(b' ');
    }
    String::from_utf8(bytes).expect("bug: a token ends inside of a character")
}
