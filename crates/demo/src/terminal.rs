//! Shows pictures in terminals.

/// Protocol of a terminal that shows pictures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    /// Graphics protocol of kitty, which Ghostty has too.
    Kitty,
    /// Inline images of iTerm2, which WezTerm has too.
    Iterm2,
}

/// Maximum length of the data in a control sequence of kitty's protocol.
const KITTY_CHUNK: usize = 4096;

impl Protocol {
    /// Returns the protocol of the terminal that the environment variables describe; `None` if it does not show pictures,
    /// if standard output is not a terminal, or if the run is headless.
    ///
    /// Inside tmux or screen the result is `None`, because these programs do not pass the control sequences on.
    pub(crate) fn find(
        headless: bool,
        is_terminal: bool,
        var: impl Fn(&str) -> Option<String>,
    ) -> Option<Self> {
        let is =
            |name: &str, values: &[&str]| var(name).is_some_and(|value| values.contains(&value.as_str()));
        if headless || !is_terminal || var("TMUX").is_some() || var("STY").is_some() {
            None
        } else if var("KITTY_WINDOW_ID").is_some() || is("TERM", &["xterm-kitty", "xterm-ghostty"]) {
            Some(Self::Kitty)
        } else if is("TERM_PROGRAM", &["iTerm.app", "WezTerm"]) || is("LC_TERMINAL", &["iTerm2"]) {
            Some(Self::Iterm2)
        } else {
            None
        }
    }

    /// Returns the control sequences that show a PNG file at the cursor.
    pub(crate) fn sequences(self, png: &[u8]) -> String {
        let data = base64(png);
        match self {
            Self::Kitty => kitty(&data),
            Self::Iterm2 => format!("\x1b]1337;File=inline=1;size={}:{data}\x07", png.len()),
        }
    }
}

/// Cuts the data of a PNG file (`f=100`) into sequences. The last one ends the transfer (`m=0`). The terminal displays the
/// picture (`a=T`), and answers nothing (`q=2`).
fn kitty(data: &str) -> String {
    let mut sequences = String::new();
    let mut keys = "a=T,f=100,";
    let mut rest = data;
    loop {
        let (chunk, after) = rest.split_at(rest.len().min(KITTY_CHUNK));
        let more = u8::from(!after.is_empty());
        sequences += &format!("\x1b_G{keys}q=2,m={more};{chunk}\x1b\\");
        if after.is_empty() {
            return sequences;
        }
        keys = "";
        rest = after;
    }
}

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Returns the base64 form of bytes (RFC 4648): four digits for three bytes.
fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for group in bytes.chunks(3) {
        let [a, b, c] = [0_usize, 1, 2].map(|at| u32::from(group.get(at).copied().unwrap_or(0)));
        let bits = (a << 16) | (b << 8) | c;
        for digit in 0..4_usize {
            let index = (bits >> (18 - 6 * digit)) % 64;
            let is_padding = digit > group.len();
            text.push(if is_padding { '=' } else { char::from(DIGITS[index as usize]) });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(vars: &[(&str, &str)], name: &str) -> Option<String> {
        vars.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    }

    fn protocol(vars: &[(&str, &str)]) -> Option<Protocol> {
        Protocol::find(false, true, |name| value(vars, name))
    }

    #[test]
    fn only_terminals_that_show_pictures_have_a_protocol() {
        assert_eq!(protocol(&[("TERM", "xterm-kitty")]), Some(Protocol::Kitty));
        assert_eq!(protocol(&[("KITTY_WINDOW_ID", "1"), ("TERM", "xterm-256color")]), Some(Protocol::Kitty));
        assert_eq!(protocol(&[("TERM", "xterm-ghostty")]), Some(Protocol::Kitty));
        assert_eq!(protocol(&[("TERM_PROGRAM", "iTerm.app")]), Some(Protocol::Iterm2));
        assert_eq!(protocol(&[("TERM_PROGRAM", "WezTerm")]), Some(Protocol::Iterm2));
        assert_eq!(protocol(&[("LC_TERMINAL", "iTerm2")]), Some(Protocol::Iterm2));
        assert_eq!(protocol(&[("TERM", "xterm-256color"), ("TERM_PROGRAM", "Apple_Terminal")]), None);
        assert_eq!(protocol(&[]), None);
    }

    #[test]
    fn a_headless_run_and_a_file_get_no_picture() {
        for (headless, is_terminal) in [(true, true), (false, false)] {
            let found = Protocol::find(headless, is_terminal, |name| value(&[("TERM", "xterm-kitty")], name));
            assert_eq!(found, None);
        }
    }

    #[test]
    fn a_multiplexer_in_between_gets_no_picture() {
        assert_eq!(protocol(&[("TMUX", "/tmp/tmux"), ("TERM_PROGRAM", "WezTerm")]), None);
        assert_eq!(protocol(&[("STY", "1.a"), ("KITTY_WINDOW_ID", "1")]), None);
    }

    #[test]
    fn base64_is_that_of_the_test_vectors_of_its_definition() {
        let vectors = ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"];
        for (length, expected) in vectors.into_iter().enumerate() {
            assert_eq!(base64(&b"foobar"[..length]), expected);
        }
        assert_eq!(base64(&[0xfb, 0xff, 0xfe]), "+//+");
    }

    #[test]
    fn the_sequences_of_kitty_together_hold_the_file_and_only_the_last_one_ends_it() {
        let png: Vec<u8> = (0..7000_u32).map(|i| (i % 251) as u8).collect();
        let text = Protocol::Kitty.sequences(&png);
        let sequences: Vec<&str> = text.split_terminator("\x1b\\").collect();
        let parts: Vec<_> = sequences.iter().map(|sequence| sequence.split_once(';').unwrap()).collect();
        let keys: Vec<&str> = parts.iter().map(|(keys, _)| *keys).collect();
        assert_eq!(keys, ["\x1b_Ga=T,f=100,q=2,m=1", "\x1b_Gq=2,m=1", "\x1b_Gq=2,m=0"]);
        assert!(parts.iter().all(|(_, data)| data.len() <= KITTY_CHUNK));
        assert_eq!(parts.iter().map(|(_, data)| *data).collect::<String>(), base64(&png));
    }

    #[test]
    fn the_sequence_of_iterm2_has_the_size_and_the_file() {
        assert_eq!(Protocol::Iterm2.sequences(b"foo"), "\x1b]1337;File=inline=1;size=3:Zm9v\x07");
    }
}
