//! A strict parser for the subset of the DOT language that dumps use.

use std::collections::BTreeMap;

/// Statements of a graph.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Dot {
    pub name: String,
    /// Attributes of each node, and the label of its cluster.
    pub nodes: BTreeMap<String, (Attributes, Option<String>)>,
    pub edges: Vec<(String, String, Attributes)>,
    /// Nodes with the same rank.
    pub ranks: Vec<Vec<String>>,
}

pub type Attributes = BTreeMap<String, String>;

#[derive(Debug, PartialEq, Eq, Clone)]
enum Token {
    Word(String),
    Sign(&'static str),
}

/// Parses a whole document.
pub fn parse(text: &str) -> Dot {
    let mut parser = Parser { tokens: tokens(text), at: 0, dot: Dot::default() };
    parser.sign_word("digraph");
    parser.dot.name = parser.word();
    parser.sign("{");
    parser.statements(None);
    assert_eq!(parser.at, parser.tokens.len(), "text follows the graph");
    let Dot { nodes, edges, ranks, .. } = &parser.dot;
    let ends = edges.iter().flat_map(|(from, to, _)| [from, to]).chain(ranks.iter().flatten());
    ends.for_each(|node| assert!(nodes.contains_key(node), "node {node} is used but not declared"));
    parser.dot
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            ' ' | '\n' => {}
            '"' => tokens.push(Token::Word(quoted(&mut letters))),
            '-' => {
                assert_eq!(letters.next(), Some('>'));
                tokens.push(Token::Sign("->"));
            }
            letter if letter.is_ascii_alphanumeric() || letter == '_' => {
                let mut word = String::from(letter);
                while let Some(more) = letters.next_if(|l| l.is_ascii_alphanumeric() || *l == '_') {
                    word.push(more);
                }
                tokens.push(Token::Word(word));
            }
            letter => {
                let sign =
                    ["{", "}", "[", "]", "=", ",", ";"].into_iter().find(|sign| sign.starts_with(letter));
                tokens.push(Token::Sign(sign.unwrap_or_else(|| panic!("unexpected `{letter}`"))));
            }
        }
    }
    tokens
}

/// Returns the text up to the closing quote.
fn quoted(letters: &mut impl Iterator<Item = char>) -> String {
    let mut word = String::new();
    loop {
        match letters.next().expect("a string has an end") {
            '"' => return word,
            '\\' => match letters.next() {
                Some('n') => word.push('\n'),
                Some(letter @ ('"' | '\\')) => word.push(letter),
                other => panic!("unexpected escape {other:?}"),
            },
            letter => {
                assert!(!letter.is_control(), "a control character in a string");
                word.push(letter);
            }
        }
    }
}

struct Parser {
    tokens: Vec<Token>,
    at: usize,
    dot: Dot,
}

impl Parser {
    fn next(&mut self) -> Token {
        self.at += 1;
        self.tokens.get(self.at - 1).expect("the graph has an end").clone()
    }

    fn take(&mut self, sign: &'static str) -> bool {
        let found = self.tokens.get(self.at) == Some(&Token::Sign(sign));
        self.at += usize::from(found);
        found
    }

    fn sign(&mut self, sign: &'static str) {
        assert!(self.take(sign), "expected `{sign}`, found {:?}", self.tokens.get(self.at));
    }

    fn word(&mut self) -> String {
        match self.next() {
            Token::Word(word) => word,
            Token::Sign(sign) => panic!("expected a word, found `{sign}`"),
        }
    }

    fn sign_word(&mut self, expected: &str) {
        assert_eq!(self.word(), expected);
    }

    /// Parses statements up to the closing brace.
    fn statements(&mut self, mut cluster: Option<String>) {
        while !self.take("}") {
            if self.take("{") {
                self.rank();
                continue;
            }
            let word = self.word();
            if word == "subgraph" {
                assert!(self.word().starts_with("cluster_"));
                self.sign("{");
                self.statements(Some(String::new()));
                continue;
            }
            if self.take("=") {
                let value = self.word();
                if let (Some(label), "label") = (&mut cluster, &*word) {
                    *label = value;
                }
            } else if self.take("->") {
                let to = self.word();
                let attributes = self.attributes();
                self.dot.edges.push((word, to, attributes));
            } else {
                let attributes = self.attributes();
                if word != "node" {
                    let earlier = self.dot.nodes.insert(word.clone(), (attributes, cluster.clone()));
                    assert!(earlier.is_none(), "node {word} is declared twice");
                }
            }
            self.sign(";");
        }
    }

    fn rank(&mut self) {
        self.sign_word("rank");
        self.sign("=");
        self.sign_word("same");
        self.sign(";");
        let mut nodes = Vec::new();
        while !self.take("}") {
            nodes.push(self.word());
            self.sign(";");
        }
        self.dot.ranks.push(nodes);
    }

    fn attributes(&mut self) -> Attributes {
        let mut attributes = Attributes::new();
        if self.take("[") {
            loop {
                let name = self.word();
                self.sign("=");
                let value = self.word();
                assert!(attributes.insert(name, value).is_none());
                if self.take("]") {
                    break;
                }
                self.sign(",");
            }
        }
        attributes
    }
}
