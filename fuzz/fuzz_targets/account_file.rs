//! An account file, whatever it holds: a key of sixteen hex digits or a reason, the same with and
//! without a byte-order mark.
#![no_main]

use libfuzzer_sys::fuzz_target;
use resume_gate::claude::identity::key_in;

fuzz_target!(|file: &[u8]| {
    let key = key_in(file).ok();
    if let Some(key) = &key {
        assert!(key.len() == 16 && key.bytes().all(|byte| byte.is_ascii_hexdigit()));
    }
    if !file.starts_with(b"\xef\xbb\xbf") {
        let marked = [b"\xef\xbb\xbf", file].concat();
        assert_eq!(key_in(&marked).ok(), key);
    }
});
