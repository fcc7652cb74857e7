//! What the provider says when it will not resume.

use resume_gate::claude::rejection::{REJECTIONS, is_rejection, is_still_running, rejection};

#[test]
fn the_texts_of_the_cli_are_rejections() {
    let texts = [
        "No conversation found with session ID: 99999999-2222-4333-8444-555555555555\n",
        "Error: --resume requires a valid session ID when used with --print\nUsage: claude -p --resume <session-id>\n",
        "Error: --resume requires a valid session ID or session title when used with --print. Usage: …\n",
        "Failed to resume session: EISDIR: illegal operation on a directory, read\n",
        "a warning\n\x1b[31m\x1b[1mNo conversation found with session ID: x\x1b[0m\r\n",
    ];
    for text in texts {
        assert!(is_rejection(text.as_bytes()), "{text}");
    }
    for known in REJECTIONS {
        assert_eq!(rejection(known.text.as_bytes()), Some(&known));
    }
}

#[test]
fn other_errors_are_not() {
    for text in [
        "",
        "\n\n",
        "API Error: 500 {\"type\":\"error\"}\n",
        "Error: no such option --resumes\n",
        "the tool printed: No conversation found with session ID: x\n",
        "\x1b[",
        "\x1b[31m",
    ] {
        assert!(!is_rejection(text.as_bytes()), "{text}");
    }
    assert!(!is_rejection(b"\xff\xfe\n\xff"));
    assert!(!is_rejection("\x1b[m".repeat(1 << 20).as_bytes()));
}

#[test]
fn a_session_that_is_still_running_is_not_dead() {
    let text = b"Error: session 5f2c is currently running in the background\n";
    assert!(is_still_running(text));
    assert!(!is_rejection(text));
    assert!(!is_still_running(b"No conversation found with session ID: currently running"));
}
