//! Changes the access of the storage buffers in a text of WGSL.

use crate::tokens::Tokens;

/// Template of a declaration whose address space is `storage`.
struct Template {
    /// `true` for a pointer type, whose access comes after the type that it points to.
    is_pointer: bool,
    /// Byte after the opening bracket.
    start: usize,
    /// Number of open brackets, with the template's own.
    depth: usize,
    /// Bytes of the commas outside further brackets.
    commas: Vec<usize>,
}

/// Returns a text in which all storage buffers, and the pointers to them, have the access `read_write`.
pub fn with_writable_storage(text: &str) -> String {
    let mut changes: Vec<(std::ops::Range<usize>, &str)> = Vec::new();
    let mut open: Vec<Template> = Vec::new();
    let mut last = ["", ""];
    for token in Tokens::of(text) {
        if token.text == "storage" && last[1] == "<" && ["var", "ptr"].contains(&last[0]) {
            let start = token.at;
            open.push(Template { is_pointer: last[0] == "ptr", start, depth: 1, commas: Vec::new() });
        } else if let Some(template) = open.last_mut() {
            match token.text {
                "<" | "(" | "[" => template.depth += 1,
                ")" | "]" => template.depth = template.depth.saturating_sub(1),
                "," if template.depth == 1 => template.commas.push(token.at),
                _ => {}
            }
        }
        // The lexer takes two closing brackets of templates, or one before an equals sign, for one operator.
        let closed =
            if [">", ">>", ">="].contains(&token.text) { token.text.matches('>').count() } else { 0 };
        for nth in 0..closed {
            let Some(template) = open.last_mut() else { break };
            template.depth = template.depth.saturating_sub(1);
            if template.depth == 0 {
                let end = token.at + nth;
                changes.extend(open.pop().map(|template| template.change(end)));
            }
        }
        last = [last[1], token.text];
    }
    changes.sort_by_key(|(place, _)| place.start);
    let mut changed = String::with_capacity(text.len());
    let mut from = 0;
    for (place, with) in changes {
        changed += &text[from..place.start];
        changed += with;
        from = place.end;
    }
    changed + &text[from..]
}

impl Template {
    /// Returns the bytes to replace, and their replacement. The closing bracket is at `end`.
    fn change(self, end: usize) -> (std::ops::Range<usize>, &'static str) {
        match (self.is_pointer, self.commas.get(1)) {
            (false, _) => (self.start..end, "storage, read_write"),
            (true, Some(&comma)) => (comma..end, ", read_write"),
            (true, None) => (end..end, ", read_write"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Module, ShaderSource};

    #[test]
    fn every_buffer_and_every_pointer_to_one_becomes_writable() {
        for (text, writable) in [
            ("var<storage> a: array<f32>;", "var<storage, read_write> a: array<f32>;"),
            ("var<storage,read> a: array<vec2<f32>>;", "var<storage, read_write> a: array<vec2<f32>>;"),
            ("var < storage , read_write > a: T;", "var < storage, read_write> a: T;"),
            ("fn f(p: ptr<storage, array<f32>>) {}", "fn f(p: ptr<storage, array<f32>, read_write>) {}"),
            ("p: ptr<storage, array<f32, 4>, read>)", "p: ptr<storage, array<f32, 4>, read_write>)"),
            (
                "alias P = ptr<storage,array<vec2<f32>>,read>;",
                "alias P = ptr<storage,array<vec2<f32>>, read_write>;",
            ),
            ("let p: ptr<storage, u32>= &a;", "let p: ptr<storage, u32, read_write>= &a;"),
        ] {
            assert_eq!(with_writable_storage(text), writable);
        }
    }

    #[test]
    fn other_address_spaces_names_and_comments_stay() {
        for text in [
            "var<workgroup> a: array<f32, 4>; var<uniform> b: u32; var<private> c: i32;",
            "fn f(p: ptr<function, array<f32, 4>>) -> bool { return a < storage && b > c; }",
            "// var<storage> a\nconst storage = 1 << 2 >> 1;",
        ] {
            assert_eq!(with_writable_storage(text), text);
        }
    }

    #[test]
    fn the_changed_text_declares_no_buffer_that_is_only_read() {
        let text = "@group(0) @binding(0) var<storage> a: array<u32>;
            @group(0) @binding(1) var<storage, read_write> b: array<u32>;
            override WORKGROUP: u32 = 64;
            @compute @workgroup_size(WORKGROUP) fn main() { let p: ptr<storage, u32> = &a[0]; b[0] = *p >> 1u; }";
        let source = ShaderSource::text("a text", with_writable_storage(text));
        let module = Module::parse(&source).expect("it is valid");
        assert!(!module.text().contains("var<storage>"));
        let entry = module.entry("main", &[]).expect("it has the entry point");
        assert!(entry.interface().bindings.iter().all(|b| b.declared == crate::Access::ReadWrite));
    }
}
