//! Finds structs whose `@align` naga ignores when they are nested in a struct or an array (section 14.4.1 of the
//! specification): naga aligns the members of a struct by their attributes, but the struct itself only by the types of
//! its members.

use std::collections::HashMap;

use crate::naga_guard::parse;
use crate::tokens::{Token, Tokens};
use crate::wording::Diagnostic;
use naga::proc::Layouter;
use naga::{Handle, Module, Span, Type, TypeInner};

/// Returns the first member that naga does not place as the specification requires.
pub(crate) fn misplaced(module: &Module, text: &str) -> Option<Diagnostic> {
    if !text.contains("align") {
        return None;
    }
    let tokens: Vec<Token<'_>> = Tokens::of(text).collect();
    let structs = aligned_members(&tokens);
    let has_alignment = |members: &HashMap<&str, Member<'_>>| members.values().any(|m| m.alignment.is_some());
    if !structs.values().any(has_alignment) {
        return None;
    }
    let values = Values { text, tokens: &tokens };
    let mut layouter = Layouter::default();
    layouter.update(module.to_ctx()).ok()?;
    let mut alignments: HashMap<Handle<Type>, u32> = HashMap::new();
    for (handle, ty) in module.types.iter() {
        let plain = layouter[handle].alignment.round_up(1);
        let alignment = match &ty.inner {
            TypeInner::Array { base, .. } => alignments[base],
            TypeInner::Struct { members, span } => {
                let name = ty.name.as_deref().unwrap_or_default();
                let written = structs.get(name);
                let mut all = 1;
                for member in members {
                    let known = member.name.as_deref().and_then(|member| written?.get(member));
                    let of_type = alignments[&member.ty];
                    let written = known.and_then(|known| values.of(known.alignment?));
                    let own = written.unwrap_or(1).max(of_type);
                    all = all.max(own);
                    if member.offset % own != 0 {
                        return Some(finding(name, known?, member.offset, own));
                    }
                }
                let is_sized = !ty.inner.is_dynamically_sized(&module.types);
                if is_sized && span % all != 0 {
                    let last = written?.get(members.last()?.name.as_deref()?)?;
                    let message = format!(
                        "`{name}` has {span} bytes here, and by its alignment of {all} bytes it has {}: write \
                         `@size({})` before its last member",
                        span.next_multiple_of(all),
                        span.next_multiple_of(all) - members.last()?.offset
                    );
                    return Some(Diagnostic { message, span: span_of(last.name) });
                }
                all
            }
            _ => plain,
        };
        alignments.insert(handle, alignment);
    }
    None
}

fn finding(of: &str, member: &Member<'_>, offset: u32, alignment: u32) -> Diagnostic {
    let name = member.name.text;
    let message = format!(
        "`{name}` is at byte {offset} of `{of}` here, and by the alignment of its type it begins at a multiple of \
         {alignment}: write `@align({alignment}) {name}`"
    );
    Diagnostic { message, span: span_of(member.name) }
}

fn span_of(token: Token<'_>) -> Span {
    Span::new(token.at as u32, token.end() as u32)
}

/// A member of a struct in the shader's text.
struct Member<'a> {
    name: Token<'a>,
    /// First and last token of the argument of `@align`.
    alignment: Option<(usize, usize)>,
}

/// Returns the members of each struct by name.
fn aligned_members<'a>(tokens: &[Token<'a>]) -> HashMap<&'a str, HashMap<&'a str, Member<'a>>> {
    let mut structs = HashMap::new();
    let mut at = 0;
    while at + 2 < tokens.len() {
        if tokens[at].text != "struct" {
            at += 1;
            continue;
        }
        let name = tokens[at + 1].text;
        let mut members = HashMap::new();
        at += 3;
        let mut alignment = None;
        let mut is_open = true; // attributes and a name may follow
        let mut depth = 0_usize;
        while let Some(token) = tokens.get(at).filter(|token| token.text != "}") {
            match token.text {
                "(" | "<" | "[" => depth += 1,
                ")" | ">" | "]" => depth = depth.saturating_sub(1),
                ">>" => depth = depth.saturating_sub(2),
                "," if depth == 0 => (alignment, is_open) = (None, true),
                ":" if depth == 0 && is_open => {
                    let name = tokens[at - 1];
                    members.insert(name.text, Member { name, alignment });
                    is_open = false;
                }
                "align" if depth == 0 && is_open && tokens[at - 1].text == "@" => {
                    let mut end = at + 2;
                    let mut inside = 1_usize;
                    while let Some(token) = tokens.get(end) {
                        match token.text {
                            "(" => inside += 1,
                            ")" => inside -= 1,
                            _ => {}
                        }
                        if inside == 0 {
                            break;
                        }
                        end += 1;
                    }
                    alignment = Some((at + 2, end));
                }
                _ => {}
            }
            at += 1;
        }
        structs.insert(name, members);
    }
    structs
}

/// Evaluator of the arguments of attributes.
struct Values<'t, 'a> {
    text: &'a str,
    tokens: &'t [Token<'a>],
}

impl Values<'_, '_> {
    /// Returns the value of the expression between two tokens: naga evaluates it if it is not a number.
    fn of(&self, (first, end): (usize, usize)) -> Option<u32> {
        let start = self.tokens.get(first)?.at;
        let end = self.tokens.get(end)?.at;
        let expression = self.text[start..end].trim().trim_end_matches(',');
        let plain = expression.trim_end_matches(['u', 'i']);
        if let Ok(number) = plain.parse() {
            return Some(number);
        }
        let name = "an_alignment_of_this_text";
        let text = format!("{}\nconst {name} = u32({expression});", self.text);
        let module = parse(&text).ok()?;
        let (_, value) = module.constants.iter().find(|(_, known)| known.name.as_deref() == Some(name))?;
        match module.global_expressions[value.init] {
            naga::Expression::Literal(naga::Literal::U32(value)) => Some(value),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Module, ShaderSource};

    fn parsed(declarations: &str) -> Result<(), String> {
        let text = format!(
            "{declarations}
@group(0) @binding(0) var<storage, read_write> o: Outer;
@compute @workgroup_size(1) fn k() {{ _ = &o; }}"
        );
        Module::parse(&ShaderSource::text("k.wgsl", text)).map(drop).map_err(|error| error.to_string())
    }

    #[test]
    fn a_member_whose_type_has_an_attribute_of_alignment_must_have_it_too() {
        let error =
            parsed("struct Inner { @align(64) x: u32 }\nstruct Outer { x: u32, y: Inner }").unwrap_err();
        assert!(error.starts_with("k.wgsl:2:24: `y` is at byte 4 of `Outer`"), "{error}");
        assert!(error.contains("multiple of 64: write `@align(64) y`"), "{error}");
        let cases = [
            "const A = 16; struct Inner { @align(A * 2) x: u32 } struct Outer { x: u32, y: Inner }",
            "struct Inner { @align(0x20) x: u32 } struct Outer { x: u32, y: array<Inner, 2> }",
            "struct Outer { x: u32, y: Middle } struct Middle { i: Inner } struct Inner { x: f32, @align(16u) y: u32 }",
            "struct Inner { @align(64) x: u32 } struct Outer { y: Inner, x: u32 }",
            "struct Inner { @size(32) @align(32) x: u32 } struct Outer { x: vec4f, @align(16) y: Inner, z: u32 }",
        ];
        for case in cases {
            let error = parsed(case).expect_err(case);
            assert!(error.contains("alignment"), "{error}");
        }
    }

    #[test]
    fn structs_whose_places_are_those_of_the_specification_are_taken() {
        for text in [
            "struct Inner { @align(64) x: u32 } struct Outer { y: Inner, @size(64) x: u32 }",
            "struct Inner { @align(64) x: u32 } struct Outer { x: u32, @align(64) y: Inner }",
            "struct Outer { x: u32, @align(16) y: u32, @size(16) z: array<vec2<u32>, 2> }",
            "struct Inner { @align(16) x: vec3f } struct Outer { x: vec4f, y: array<Inner, 3>, z: array<Inner> }",
            "fn align(x: u32) -> u32 { return x; } struct Outer { align: u32 }",
        ] {
            assert_eq!(parsed(text), Ok(()), "{text}");
        }
    }
}
