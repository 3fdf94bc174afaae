//! A client of the service, which verifies the answer.

use anyhow::{Context as _, Result, ensure};
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::{NUMBERS, ROUNDS};

/// Sends numbers. Returns `true` if the client waited for the answer. Fails if the answer is wrong.
pub(crate) async fn client(address: SocketAddr, id: u32) -> Result<bool> {
    let numbers: Vec<u32> = (0..NUMBERS).map(|i| id * NUMBERS + i).collect();
    let body: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    let length = body.len();
    let head = format!(
        "POST /scramble HTTP/1.1\r\nhost: {address}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n"
    );
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(&body).await?;
    if id.is_multiple_of(4) {
        return Ok(false); // closes the connection
    }
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await?;
    let blank = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").context("an answer has a head")?;
    let (head, body) = answer.split_at(blank + 4);
    ensure!(head.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&answer));
    let step = |x: u32, _| x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
    let expected = numbers.iter().flat_map(|x| (0..ROUNDS).fold(*x, step).to_le_bytes());
    ensure!(body.iter().copied().eq(expected), "client {id} has a wrong answer");
    Ok(true)
}
