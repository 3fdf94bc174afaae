//! A server of the files in one folder, for the browsers of this machine. It also receives what a page posts.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::mpsc::Sender;
use std::thread;

use anyhow::{Context, Result};

/// Port of the server, unless another program uses it.
const PORT: u16 = 8000;
/// Maximum size of a request with its body, in bytes.
const LONGEST: u64 = 1 << 20;
/// Type of a text for a person.
const TEXT: &str = "text/plain; charset=utf-8";

/// Serves a folder until the program is interrupted, and prints the address.
///
/// # Errors
/// No port is free.
pub(crate) fn serve(folder: &Path) -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT));
    let listener = listener.or_else(|_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)));
    let listener = listener.context("cannot listen on localhost")?;
    println!("http://{}/    Ctrl-C ends the server", listener.local_addr()?);
    accept(&listener, folder, None)
}

/// A server on a free port, as long as the process lives.
pub(crate) struct Server(SocketAddr);

impl Server {
    /// Serves a folder on a thread, and sends what pages post to `posts`.
    ///
    /// # Errors
    /// No port is free.
    pub(crate) fn start(folder: &Path, posts: Sender<String>) -> Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot listen on localhost")?;
        let address = listener.local_addr().context("the server has no address")?;
        let folder = folder.to_owned();
        thread::spawn(move || accept(&listener, &folder, Some(posts)));
        Ok(Self(address))
    }

    /// Returns the address of the page.
    pub(crate) fn address(&self) -> String {
        format!("http://{}/", self.0)
    }
}

/// Answers each request, on a thread for each connection: a browser also opens connections that it may use later.
fn accept(listener: &TcpListener, folder: &Path, posts: Option<Sender<String>>) -> Result<()> {
    for stream in listener.incoming() {
        let stream = stream.context("cannot accept a connection")?;
        let folder = folder.to_owned();
        let posts = posts.clone();
        thread::spawn(move || answer(&stream, &folder, posts.as_ref()));
    }
    Ok(())
}

/// Answers one request. The browser opens another connection for the next one.
fn answer(mut stream: &TcpStream, folder: &Path, posts: Option<&Sender<String>>) -> io::Result<()> {
    let mut reader = BufReader::new(stream.take(LONGEST));
    let mut request = String::new();
    reader.read_line(&mut request)?;
    // An empty line ends the headers. A connection that is closed before they are read may lose the answer.
    let mut header = String::new();
    let mut length = 0;
    while reader.read_line(&mut header)? > "\r\n".len() {
        let (name, value) = header.split_once(':').unwrap_or_default();
        if name.eq_ignore_ascii_case("Content-Length") {
            length = value.trim().parse().unwrap_or(0);
        }
        header.clear();
    }
    let Some(posts) = posts.filter(|_| request.starts_with("POST ")) else {
        return stream.write_all(&response(&request, folder));
    };
    let mut body = String::new();
    reader.take(length).read_to_string(&mut body)?;
    // The receiver is gone once the run has ended.
    let _ = posts.send(body);
    stream.write_all(&message("200 OK", TEXT, b""))
}

/// Returns the response to the first line of a request.
fn response(request: &str, folder: &Path) -> Vec<u8> {
    let mut words = request.split_whitespace();
    if words.next() != Some("GET") {
        return message("405 Method Not Allowed", TEXT, b"only GET is answered\n");
    }
    let name = words.next().and_then(file_name);
    let file = name.and_then(|name| Some((name, fs::read(folder.join(name)).ok()?)));
    match file {
        Some((name, bytes)) => message("200 OK", media_type(name), &bytes),
        None => message("404 Not Found", TEXT, b"there is no such file\n"),
    }
}

/// Returns the name of the file that a path means; `None` for a path with folders or unusual characters.
fn file_name(path: &str) -> Option<&str> {
    let path = path.strip_prefix('/')?;
    let name = path.split_once('?').map_or(path, |(name, _)| name);
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    match name {
        "" => Some("index.html"),
        name => (name.chars().all(is_plain) && !name.starts_with('.')).then_some(name),
    }
}

/// Returns the media type of a file. A browser compiles WebAssembly while it arrives only if the type is right.
fn media_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, ending)| ending) {
        "html" => "text/html; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "wasm" => "application/wasm",
        _ => "application/octet-stream",
    }
}

/// Returns a whole message. The two headers about other origins isolate the page, which gives it finer clocks.
fn message(status: &str, media_type: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {media_type}\r\nContent-Length: {}\r\nCache-Control: no-store\r\n\
         Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Embedder-Policy: require-corp\r\n\
         Connection: close\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

#[cfg(test)]
mod tests {
    use std::net::Shutdown;

    use super::*;

    /// Returns the status, the media type and the body of the response to a request for a folder with three files.
    fn parts(request: &str) -> (String, String, Vec<u8>) {
        let dir = tempfile::tempdir().expect("a temporary directory");
        for (name, text) in [("index.html", "home"), ("a_bg.wasm", "code"), (".hidden", "no")] {
            fs::write(dir.path().join(name), text).expect("written");
        }
        let message = response(request, dir.path());
        let end = message.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("the head has an end");
        let head = String::from_utf8(message[..end].to_vec()).expect("the head is text");
        let value = |start: &str| head.lines().find_map(|line| line.strip_prefix(start)).unwrap_or_default();
        let body = message[end + 4..].to_vec();
        assert_eq!(value("Content-Length: "), body.len().to_string(), "{head}");
        (value("HTTP/1.1 ").to_owned(), value("Content-Type: ").to_owned(), body)
    }

    #[test]
    fn a_file_comes_with_its_media_type() {
        let ok = "200 OK".to_owned();
        let home = (ok.clone(), "text/html; charset=utf-8".to_owned(), b"home".to_vec());
        assert_eq!(parts("GET / HTTP/1.1\r\n"), home);
        assert_eq!(parts("GET /index.html?a=b HTTP/1.1\r\n"), home);
        assert_eq!(parts("GET /a_bg.wasm HTTP/1.1\r\n"), (ok, "application/wasm".into(), b"code".to_vec()));
        assert_eq!(media_type("page.js"), "text/javascript; charset=utf-8");
    }

    #[test]
    fn only_files_of_the_folder_are_served() {
        let outside =
            ["/../secret", "/..", "//etc/passwd", "/%2e%2e/a", "/.hidden", "/a/b", "a", "/none", "/C:x"];
        for path in outside {
            assert_eq!(parts(&format!("GET {path} HTTP/1.1\r\n")).0, "404 Not Found", "{path}");
        }
    }

    #[test]
    fn another_method_and_an_empty_request_are_refused() {
        for request in ["POST / HTTP/1.1\r\n", "", "\r\n"] {
            assert_eq!(parts(request).0, "405 Method Not Allowed", "{request:?}");
        }
    }

    #[test]
    fn a_connection_gets_the_whole_answer_and_is_closed() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        fs::write(dir.path().join("index.html"), "x".repeat(1 << 20)).expect("written");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port is free");
        let mut client = TcpStream::connect(listener.local_addr().expect("it has one")).expect("connected");
        client.write_all(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n").expect("sent");
        client.shutdown(Shutdown::Write).expect("it is connected");
        let served = listener.accept().expect("accepted").0;
        let folder = dir.path().to_owned();
        let server = thread::spawn(move || answer(&served, &folder, None));
        let mut received = Vec::new();
        client.read_to_end(&mut received).expect("received");
        server.join().expect("no panic").expect("answered");
        assert!(received.starts_with(b"HTTP/1.1 200 OK\r\n") && received.len() > 1 << 20);
    }

    #[test]
    fn what_a_page_posts_is_received() {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let (posts, received) = std::sync::mpsc::channel();
        let server = Server::start(dir.path(), posts).expect("a port is free");
        let mut client = TcpStream::connect(server.0).expect("connected");
        client.write_all(b"POST /entry HTTP/1.1\r\ncontent-length: 5\r\n\r\nhello").expect("sent");
        let mut answered = String::new();
        client.read_to_string(&mut answered).expect("answered");
        assert!(answered.starts_with("HTTP/1.1 200 OK"), "{answered}");
        assert_eq!(received.recv().as_deref(), Ok("hello"));
    }
}
