//! A real browser behind WebDriver, spoken to over one plain connection a request.
#![allow(
    unreachable_pub,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::allow_attributes,
    reason = "tests"
)]

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A headless Chromium with one window; both processes end with it.
pub struct Browser {
    driver: Child,
    port: u16,
    session: String,
}

impl Browser {
    /// Starts it, or says why there is none on this machine.
    pub fn start(width: u32, height: u32, dark: bool) -> Result<Self, String> {
        let mut driver = Command::new("chromedriver")
            .args(["--port=0", "--log-level=SEVERE"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("chromedriver cannot be started: {error}"))?;
        let mut told = BufReader::new(driver.stdout.take().unwrap()).lines();
        let port = told
            .find_map(|line| line.unwrap().split("successfully on port ").nth(1)?.trim_end_matches('.').parse().ok())
            .expect("chromedriver names its port");
        std::thread::spawn(move || told.for_each(drop));
        let mut browser = Self { driver, port, session: String::new() };
        let mut args =
            vec!["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"];
        if dark {
            args.push("--force-dark-mode");
        }
        let options = json!({ "capabilities": { "alwaysMatch": {
            "goog:chromeOptions": { "args": args },
            "goog:loggingPrefs": { "browser": "ALL" },
        } } });
        // Without a browser the driver says so; anything else that goes wrong is a failure.
        let session = match browser.request("POST", "/session", &options) {
            Err(reason) if reason.contains("binary") => return Err(reason),
            session => session.unwrap(),
        };
        browser.session = format!("/session/{}", session["sessionId"].as_str().unwrap());
        browser.post(
            "/goog/cdp/execute",
            json!({ "cmd": "Emulation.setDeviceMetricsOverride",
            "params": { "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600 } }),
        );
        let scheme = if dark { "dark" } else { "light" };
        browser.post("/goog/cdp/execute", json!({ "cmd": "Emulation.setEmulatedMedia",
            "params": { "features": [{ "name": "prefers-color-scheme", "value": scheme }, { "name": "prefers-reduced-motion", "value": "reduce" }] } }));
        Ok(browser)
    }

    /// Loads a file and waits until it has been.
    pub fn open(&self, file: &std::path::Path) {
        self.post("/url", json!({ "url": format!("file://{}", file.display()) }));
    }

    /// Runs the body of a function in the page and gives what it returns.
    pub fn run(&self, script: &str) -> Value {
        self.post("/execute/sync", json!({ "script": script, "args": [] }))
    }

    /// Waits until an expression is true in the page.
    pub fn wait_for(&self, expression: &str) {
        let until = Instant::now() + Duration::from_secs(60);
        while self.run(&format!("return Boolean({expression})")) != json!(true) {
            assert!(Instant::now() < until, "never true in the page: {expression}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Presses keys, one after the other, wherever the focus is.
    pub fn press(&self, keys: &[&str]) {
        let presses: Vec<Value> = keys
            .iter()
            .flat_map(|key| [json!({ "type": "keyDown", "value": key }), json!({ "type": "keyUp", "value": key })])
            .collect();
        self.post("/actions", json!({ "actions": [{ "type": "key", "id": "keyboard", "actions": presses }] }));
    }

    /// What the page wrote to the console and what it failed to load.
    pub fn console(&self) -> Vec<String> {
        let log = self.post("/se/log", json!({ "type": "browser" }));
        log.as_array().unwrap().iter().map(|entry| entry["message"].to_string()).collect()
    }

    /// The answer of a developer-tools command.
    pub fn devtools(&self, command: &str, parameters: Value) -> Value {
        self.post("/goog/cdp/execute", json!({ "cmd": command, "params": parameters }))
    }

    fn post(&self, path: &str, body: Value) -> Value {
        self.request("POST", &format!("{}{path}", self.session), &body)
            .unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    fn request(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        let body = body.to_string();
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).map_err(|error| error.to_string())?;
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(body.as_bytes()))
            .map_err(|e| e.to_string())?;
        let mut answer = BufReader::new(stream);
        let mut length = 0;
        loop {
            let mut line = String::new();
            answer.read_line(&mut line).map_err(|error| error.to_string())?;
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().unwrap();
            }
            if line.trim().is_empty() {
                break;
            }
        }
        let mut content = vec![0; length];
        answer.read_exact(&mut content).map_err(|error| error.to_string())?;
        let answer: Value = serde_json::from_slice(&content).map_err(|error| error.to_string())?;
        match answer["value"].get("error") {
            Some(_) => Err(answer["value"]["message"].as_str().unwrap_or("an error without a message").to_owned()),
            None => Ok(answer["value"].clone()),
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.request("DELETE", &self.session, &json!({}));
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}
