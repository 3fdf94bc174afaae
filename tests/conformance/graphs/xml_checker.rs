//! A strict check that a document is well-formed XML, for the subset of XML that drawings use.

/// An element of a document.
#[derive(Debug, PartialEq, Eq)]
pub struct Element {
    pub name: String,
    pub attributes: Vec<(String, String)>,
    /// Text directly in the element, with entity references replaced.
    pub text: String,
    pub children: Vec<Element>,
}

impl Element {
    /// Returns all elements with this name inside the element, in order.
    pub fn all<'e>(&'e self, name: &str) -> Vec<&'e Element> {
        let mut found = Vec::new();
        for child in &self.children {
            found.extend((child.name == name).then_some(child));
            found.extend(child.all(name));
        }
        found
    }

    pub fn attribute(&self, name: &str) -> &str {
        self.attributes.iter().find(|(own, _)| own == name).map_or("", |(_, value)| value)
    }
}

/// Parses a document of one element.
///
/// # Panics
/// Panics if the document is not well-formed.
pub fn parse(text: &str) -> Element {
    let allowed = |letter: char| matches!(letter, '\n' | '\t' | '\r') || !letter.is_control();
    assert!(text.chars().all(allowed), "a control character is in the document");
    let mut rest = text;
    let root = element(&mut rest);
    assert_eq!(rest.trim(), "", "text follows the root");
    root
}

fn take(rest: &mut &str, start: &str) -> bool {
    rest.strip_prefix(start).map(|after| *rest = after).is_some()
}

fn name(rest: &mut &str) -> String {
    let end = rest.find(|l: char| !l.is_ascii_alphanumeric() && l != '-').expect("a name has an end");
    let (name, after) = rest.split_at(end);
    assert!(name.starts_with(|l: char| l.is_ascii_alphabetic()), "`{name}` is not a name");
    *rest = after;
    name.into()
}

fn element(rest: &mut &str) -> Element {
    assert!(take(rest, "<"), "expected an element");
    let mut element =
        Element { name: name(rest), attributes: Vec::new(), text: String::new(), children: Vec::new() };
    while take(rest, " ") {
        *rest = rest.trim_start();
        let attribute = name(rest);
        assert!(element.attributes.iter().all(|(own, _)| *own != attribute), "`{attribute}` is there twice");
        assert!(take(rest, "=\""), "`{attribute}` has no value");
        let (value, after) = rest.split_once('"').expect("a value has an end");
        *rest = after;
        element.attributes.push((attribute, plain(value)));
    }
    if take(rest, "/>") {
        return element;
    }
    assert!(take(rest, ">"), "`{}` has no end", element.name);
    loop {
        let end = rest.find('<').expect("an element has an end");
        let (text, after) = rest.split_at(end);
        element.text += &plain(text);
        *rest = after;
        if take(rest, "</") {
            assert_eq!(name(rest), element.name);
            assert!(take(rest, ">"));
            return element;
        }
        element.children.push(self::element(rest));
    }
}

/// Returns text with entity references replaced.
fn plain(text: &str) -> String {
    assert!(!text.contains('<'), "`<` is in {text}");
    let mut plain = String::new();
    let mut parts = text.split('&');
    plain += parts.next().unwrap_or_default();
    for part in parts {
        let (reference, after) = part.split_once(';').expect("a reference has an end");
        plain.push(match reference {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            other => panic!("unknown reference `{other}`"),
        });
        plain += after;
    }
    plain
}
