//! Puts all variables of a shader into one bind group, because kernels have only one.

/// Replaces the group of each variable by 0, and its binding by a unique number.
pub(crate) fn in_one_group(text: &str) -> String {
    let mut next = 0;
    let numbered = replaced(text, "@binding(", || {
        next += 1;
        (next - 1).to_string()
    });
    replaced(&numbered, "@group(", || "0".into())
}

/// Replaces the argument of each attribute `open`.
fn replaced(text: &str, open: &str, mut argument: impl FnMut() -> String) -> String {
    let mut parts = text.split(open);
    let mut replaced = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(')').unwrap_or(part.len());
        replaced += open;
        replaced += &argument();
        replaced += &part[end..];
    }
    replaced
}

#[test]
fn each_variable_gets_a_binding_of_its_own() {
    let text = "@group(1) @binding(0) var a: A; @group(GROUP) @binding(0) var b: B;";
    let expected = "@group(0) @binding(0) var a: A; @group(0) @binding(1) var b: B;";
    assert_eq!(in_one_group(text), expected);
}
