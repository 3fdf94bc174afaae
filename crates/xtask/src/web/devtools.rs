//! The DevTools protocol of Chromium: messages of JSON on a WebSocket of this machine.

use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};

/// File of a profile in which the browser names its port and its path.
const FILE: &str = "DevToolsActivePort";
/// Longest time until the browser has opened its port and a page.
const START: Duration = Duration::from_secs(60);
/// Longest time of an answer.
const ANSWER: Duration = Duration::from_secs(60);
/// Time between two looks for something that is not there yet.
const TICK: Duration = Duration::from_millis(100);

/// The tools of the page that a Chromium shows.
pub(crate) struct DevTools<S = TcpStream> {
    socket: Socket<S>,
    /// Session of the page; `None` until there is one.
    session: Option<String>,
    /// Number of calls so far.
    calls: u64,
}

impl DevTools {
    /// Connects to the page of the browser that runs with this profile. Waits until both are there.
    ///
    /// # Errors
    /// The browser opens no port or no page within a minute.
    pub(crate) fn connect(profile: &Path) -> Result<Self> {
        let start = Instant::now();
        let file = profile.join(FILE);
        let (port, path) = until(start, || port_and_path(&fs::read_to_string(&file).ok()?))
            .with_context(|| format!("the browser has not written {}", file.display()))?;
        let stream =
            TcpStream::connect((Ipv4Addr::LOCALHOST, port)).context("the browser has no DevTools")?;
        stream.set_read_timeout(Some(ANSWER)).context("a connection without time limits")?;
        let socket = Socket::open(stream, &format!("localhost:{port}"), &path)?;
        let mut tools = Self { socket, session: None, calls: 0 };
        let page = until(start, || page_of(&tools.call("Target.getTargets", json!({})).ok()?));
        let page = page.context("the browser shows no page")?;
        let attached = tools.call("Target.attachToTarget", json!({ "targetId": page, "flatten": true }))?;
        tools.session = attached["sessionId"].as_str().map(str::to_owned);
        ensure!(tools.session.is_some(), "the browser has no session for its page");
        Ok(tools)
    }
}

impl<S: Read + Write> DevTools<S> {
    /// Calls a method, and returns its result. Events that arrive before it are ignored.
    ///
    /// # Errors
    /// The browser refuses the call, or does not answer.
    pub(crate) fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        self.calls += 1;
        let mut message = json!({ "id": self.calls, "method": method, "params": params });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.socket.send(&message.to_string()).with_context(|| format!("cannot send `{method}`"))?;
        loop {
            let text = self.socket.receive().with_context(|| format!("no answer to `{method}`"))?;
            let mut answer: Value =
                serde_json::from_str(&text).with_context(|| format!("the browser answers `{text}`"))?;
            if answer["id"] != self.calls {
                continue;
            }
            if let Some(reason) = answer["error"]["message"].as_str() {
                bail!("the browser refuses `{method}`: {reason}");
            }
            return Ok(answer["result"].take());
        }
    }

    /// Returns the value of an expression of JavaScript; `null` if it throws.
    pub(crate) fn value_of(&mut self, expression: &str) -> Result<Value> {
        let params = json!({ "expression": expression, "returnByValue": true });
        let mut evaluated = self.call("Runtime.evaluate", params)?;
        Ok(evaluated["result"]["value"].take())
    }

    /// Returns a picture of the visible part of the page, as a PNG file.
    pub(crate) fn picture(&mut self) -> Result<Vec<u8>> {
        let taken = self.call("Page.captureScreenshot", json!({ "format": "png" }))?;
        taken["data"].as_str().and_then(decoded).context("the browser takes no picture")
    }
}

/// Calls `look` until it returns something, but no longer than [`START`] after `start`.
fn until<T>(start: Instant, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    loop {
        match look() {
            None if start.elapsed() < START => thread::sleep(TICK),
            found => return found,
        }
    }
}

/// Returns the port and the path in the file of a profile; `None` if the file is not complete.
fn port_and_path(text: &str) -> Option<(u16, String)> {
    let (port, path) = text.split_once('\n')?;
    Some((port.trim().parse().ok()?, path.trim().to_owned())).filter(|(_, path)| path.starts_with('/'))
}

/// Returns the name of the first page among the targets of a browser.
fn page_of(targets: &Value) -> Option<String> {
    let is_page = |target: &&Value| target["type"] == "page";
    let page = targets["targetInfos"].as_array()?.iter().find(is_page)?;
    page["targetId"].as_str().map(str::to_owned)
}

/// Returns the bytes of a text in base 64; `None` if the text is none.
fn decoded(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => Some(byte - b'A'),
        b'a'..=b'z' => Some(byte - b'a' + 26),
        b'0'..=b'9' => Some(byte - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    };
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    for four in text.trim_end_matches('=').as_bytes().chunks(4) {
        let mut bits = 0_u32;
        for &byte in four {
            bits = (bits << 6) | u32::from(digit(byte)?);
        }
        bits <<= 6 * (4 - four.len());
        bytes.extend_from_slice(&bits.to_be_bytes()[1..four.len()]);
    }
    Some(bytes)
}

/// Flag of the last frame of a message.
const LAST: u8 = 0x80;
/// Flag of a frame whose bytes are changed by a mask. A client must set it; a mask of zeros changes nothing.
const MASKED: u8 = 0x80;
/// Kinds of frames.
const CONTINUED: u8 = 0;
const TEXT: u8 = 1;
const CLOSED: u8 = 8;

/// A WebSocket to a server on this machine.
struct Socket<S>(S);

impl<S: Read + Write> Socket<S> {
    /// Asks the server for a WebSocket.
    fn open(mut stream: S, host: &str, path: &str) -> Result<Self> {
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Key: ZmVuY2Vwb3N0IGtleSAxNg==\r\nSec-WebSocket-Version: 13\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).context("cannot ask for a WebSocket")?;
        // The first frame may follow the head at once, so no byte behind the head may be read.
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            stream.read_exact(&mut byte).context("no answer to the request for a WebSocket")?;
            head.extend_from_slice(&byte);
        }
        let head = String::from_utf8_lossy(&head);
        ensure!(head.starts_with("HTTP/1.1 101 "), "the browser refuses a WebSocket: {}", head.trim());
        Ok(Self(stream))
    }

    /// Sends a text.
    fn send(&mut self, text: &str) -> io::Result<()> {
        let mut frame = vec![LAST | TEXT];
        match text.len() {
            short @ 0..126 => frame.push(MASKED | short as u8),
            medium @ 126..=0xffff => {
                frame.push(MASKED | 126);
                frame.extend_from_slice(&(medium as u16).to_be_bytes());
            }
            long => {
                frame.push(MASKED | 127);
                frame.extend_from_slice(&(long as u64).to_be_bytes());
            }
        }
        frame.extend_from_slice(&[0; 4]);
        frame.extend_from_slice(text.as_bytes());
        self.0.write_all(&frame)
    }

    /// Returns the next text.
    fn receive(&mut self) -> Result<String> {
        let mut message = Vec::new();
        loop {
            let [kind, length]: [u8; 2] = self.bytes()?;
            let length = match length {
                126 => u64::from(u16::from_be_bytes(self.bytes()?)),
                127 => u64::from_be_bytes(self.bytes()?),
                short => u64::from(short),
            };
            let mut part = Vec::new();
            (&mut self.0).take(length).read_to_end(&mut part)?;
            ensure!(part.len() as u64 == length, "the browser has closed the connection");
            match kind & !LAST {
                CONTINUED | TEXT => message.append(&mut part),
                CLOSED => bail!("the browser has closed the connection"),
                _ => continue, // such as a ping, which may come within a message
            }
            if kind & LAST != 0 {
                return String::from_utf8(message).context("the browser sends no text");
            }
        }
    }

    fn bytes<const N: usize>(&mut self) -> io::Result<[u8; N]> {
        let mut bytes = [0; N];
        self.0.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use super::*;

    /// A stream that has received these bytes, and keeps those that are sent.
    struct Recorded {
        received: Cursor<Vec<u8>>,
        sent: Vec<u8>,
    }

    impl Recorded {
        fn new(received: &[u8]) -> Self {
            Self { received: Cursor::new(received.to_vec()), sent: Vec::new() }
        }
    }

    impl Read for Recorded {
        fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
            self.received.read(bytes)
        }
    }

    impl Write for Recorded {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.sent.write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    /// Returns the frame of a server with a short text.
    fn frame(kind: u8, text: &str) -> Vec<u8> {
        let length = u8::try_from(text.len()).expect("it is short");
        assert!(length < 126, "a longer text has another head");
        [[kind, length].as_slice(), text.as_bytes()].concat()
    }

    fn tools(answers: &[&str]) -> DevTools<Recorded> {
        let received: Vec<u8> = answers.iter().flat_map(|answer| frame(LAST | TEXT, answer)).collect();
        DevTools { socket: Socket(Recorded::new(&received)), session: Some("s".into()), calls: 6 }
    }

    #[test]
    fn a_socket_begins_behind_the_head_of_the_answer() {
        let head = b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n";
        let stream = Recorded::new(&[head.to_vec(), frame(LAST | TEXT, "a")].concat());
        let mut socket = Socket::open(stream, "localhost:1", "/devtools/browser/b").expect("it is accepted");
        assert_eq!(socket.receive().expect("there is a frame"), "a");
        assert!(socket.0.sent.starts_with(b"GET /devtools/browser/b HTTP/1.1\r\nHost: localhost:1\r\n"));
        let refused = Socket::open(Recorded::new(b"HTTP/1.1 403 Forbidden\r\n\r\n"), "a", "/");
        assert!(refused.is_err_and(|error| error.to_string().contains("403")));
    }

    #[test]
    fn messages_of_all_lengths_and_in_parts_are_received_whole() {
        let medium = "m".repeat(300);
        let long = "l".repeat(70_000);
        let mut bytes =
            [frame(TEXT, "one"), frame(LAST | 9, "a ping"), frame(LAST | CONTINUED, " two")].concat();
        bytes.extend([LAST | TEXT, 126, 1, 44]);
        bytes.extend(medium.as_bytes());
        bytes.extend([LAST | TEXT, 127, 0, 0, 0, 0, 0, 1, 17, 112]);
        bytes.extend(long.as_bytes());
        bytes.extend(frame(LAST | CLOSED, ""));
        let mut socket = Socket(Recorded::new(&bytes));
        for text in ["one two", &medium, &long] {
            assert_eq!(socket.receive().expect("it is whole"), text);
        }
        assert!(socket.receive().is_err_and(|error| error.to_string().contains("closed")));
        assert!(Socket(Recorded::new(&[LAST | TEXT, 5, b'c'])).receive().is_err());
    }

    #[test]
    fn a_sent_text_has_its_length_and_a_mask() {
        let head = |length: usize| {
            let mut socket = Socket(Recorded::new(&[]));
            socket.send(&"a".repeat(length)).expect("it is sent");
            let sent = socket.0.sent;
            assert!(sent.ends_with(&vec![b'a'; length]));
            sent[..sent.len() - length].to_vec()
        };
        assert_eq!(head(125), [0x81, 0x80 | 125, 0, 0, 0, 0]);
        assert_eq!(head(126), [0x81, 0x80 | 126, 0, 126, 0, 0, 0, 0]);
        assert_eq!(head(65_536), [0x81, 0x80 | 127, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_call_returns_the_result_with_its_number() {
        let event = r#"{"method":"Page.loadEventFired","params":{}}"#;
        let earlier = r#"{"id":6,"result":{"data":"QUE="}}"#;
        let mut tools = tools(&[event, earlier, r#"{"id":7,"result":{"data":"QUI="}}"#]);
        assert_eq!(tools.picture().expect("there is one"), b"AB");
        let sent = String::from_utf8_lossy(&tools.socket.0.sent).into_owned();
        assert!(sent.contains(r#""id":7"#) && sent.contains(r#""sessionId":"s""#), "{sent}");
    }

    #[test]
    fn a_refused_call_is_an_error_with_the_reason() {
        let mut tools = tools(&[r#"{"id":7,"error":{"code":-32601,"message":"no such method"}}"#]);
        let error = tools.call("Page.none", json!({})).expect_err("it is refused").to_string();
        assert!(error.contains("Page.none") && error.contains("no such method"), "{error}");
    }

    #[test]
    fn an_expression_that_throws_has_no_value() {
        let thrown = r#"{"id":8,"result":{"result":{"type":"object"},"exceptionDetails":{}}}"#;
        let mut tools = tools(&[r#"{"id":7,"result":{"result":{"type":"number","value":3}}}"#, thrown]);
        assert_eq!(tools.value_of("1 + 2").expect("an answer"), 3);
        assert_eq!(tools.value_of("none").expect("an answer"), Value::Null);
    }

    #[test]
    fn base_64_has_three_bytes_in_four_letters() {
        assert_eq!(decoded("QUJD"), Some(b"ABC".to_vec()));
        assert_eq!(decoded("QUI="), Some(b"AB".to_vec()));
        assert_eq!(decoded("QQ=="), Some(b"A".to_vec()));
        assert_eq!(decoded("+/+/"), Some(vec![0xfb, 0xff, 0xbf]));
        assert_eq!(decoded(""), Some(Vec::new()));
        assert_eq!(decoded("QU I"), None);
    }

    #[test]
    fn the_file_of_a_profile_and_the_targets_name_the_page() {
        let found = port_and_path("33711\n/devtools/browser/6b0c");
        assert_eq!(found, Some((33711, "/devtools/browser/6b0c".into())));
        for incomplete in ["33711", "33711\n", ""] {
            assert_eq!(port_and_path(incomplete), None, "{incomplete:?}");
        }
        let target = |kind: &str, id: &str| json!({ "type": kind, "targetId": id });
        let targets =
            json!({ "targetInfos": [target("browser", "a"), target("page", "b"), target("page", "c")] });
        assert_eq!(page_of(&targets).as_deref(), Some("b"));
        assert_eq!(page_of(&json!({ "targetInfos": [] })), None);
    }
}
