//! A local stand-in for the Messages API, for runs against a real provider: it answers on a port of
//! the loopback device with what the prompt asks for.
//!
//! The last text of the user steers it, as it steers the stub: `[[say:TEXT]]` is the reply,
//! `[[err:CODE]]` an error, `[[delay:SECONDS]]` and `[[hang]]` make it slow.

use serde_json::{Value, json};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::thread;
use std::time::Duration;

/// How long a hanging answer takes.
const FOREVER: Duration = Duration::from_secs(600);

/// Begins to answer; returns the port. The threads end with the test.
pub(crate) fn serve() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // A client that goes away ends its own connection only.
            thread::spawn(move || answer_all(stream).ok());
        }
    });
    port
}

fn answer_all(stream: TcpStream) -> io::Result<()> {
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut out = stream;
    while let Some((request_line, body)) = read_request(&mut reader)? {
        let path = request_line.split_whitespace().nth(1).unwrap_or_default();
        match path.split('?').next().unwrap_or_default() {
            "/v1/messages" => answer(&mut out, &serde_json::from_slice(&body).unwrap_or_default())?,
            "/v1/messages/count_tokens" => respond(&mut out, 200, &json!({ "input_tokens": 1 }))?,
            _ => respond(&mut out, 404, &error("not_found_error"))?,
        }
    }
    Ok(())
}

fn read_request(reader: &mut BufReader<TcpStream>) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut request_line = String::new();
    if reader.read_line(&mut request_line)? == 0 {
        return Ok(None);
    }
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        let Some((name, value)) = header.split_once(':') else { break };
        if name.eq_ignore_ascii_case("content-length") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(Some((request_line, body)))
}

fn answer(out: &mut TcpStream, request: &Value) -> io::Result<()> {
    let prompt = last_words(request);
    let marker = |name: &str| Some(prompt.split_once(&format!("[[{name}:"))?.1.split_once("]]")?.0.to_owned());
    if let Some(seconds) = marker("delay").and_then(|text| text.parse().ok()) {
        thread::sleep(Duration::from_secs_f64(seconds));
    }
    if prompt.contains("[[hang]]") {
        thread::sleep(FOREVER);
    }
    if let Some(status) = marker("err").and_then(|text| text.parse().ok()) {
        return respond(out, status, &error("api_error"));
    }
    let reply = marker("say").unwrap_or_else(|| "a reply".to_owned());
    let message = |content: Value, stop: Value| {
        json!({ "id": "msg_1", "type": "message", "role": "assistant", "model": request["model"], "content": content,
            "stop_reason": stop, "stop_sequence": null, "usage": { "input_tokens": 1, "output_tokens": 1 } })
    };
    if request["stream"] != true {
        return respond(out, 200, &message(json!([{ "type": "text", "text": reply }]), "end_turn".into()));
    }
    let events = [
        json!({ "type": "message_start", "message": message(json!([]), Value::Null) }),
        json!({ "type": "content_block_start", "index": 0, "content_block": { "type": "text", "text": "" } }),
        json!({ "type": "content_block_delta", "index": 0, "delta": { "type": "text_delta", "text": reply } }),
        json!({ "type": "content_block_stop", "index": 0 }),
        json!({ "type": "message_delta", "delta": { "stop_reason": "end_turn", "stop_sequence": null }, "usage": { "output_tokens": 1 } }),
        json!({ "type": "message_stop" }),
    ];
    let stream: String =
        events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect();
    send(out, 200, "text/event-stream", &stream)
}

/// The last text of the user's that is not the provider's own remark.
fn last_words(request: &Value) -> String {
    let messages = request["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(message) = messages.iter().rev().find(|message| message["role"] == "user") else {
        return String::new();
    };
    match &message["content"] {
        Value::String(text) => text.clone(),
        content => {
            let mut texts = content.as_array().into_iter().flatten().filter_map(|block| block["text"].as_str());
            texts.rfind(|text| !text.trim_start().starts_with("<system-reminder>")).unwrap_or_default().to_owned()
        }
    }
}

fn error(kind: &str) -> Value {
    json!({ "type": "error", "error": { "type": kind, "message": "the stand-in says no" } })
}

fn respond(out: &mut TcpStream, status: u16, body: &Value) -> io::Result<()> {
    send(out, status, "application/json", &body.to_string())
}

fn send(out: &mut TcpStream, status: u16, kind: &str, body: &str) -> io::Result<()> {
    let length = body.len();
    write!(out, "HTTP/1.1 {status} x\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}")?;
    out.flush()
}
