// SPDX-License-Identifier: Apache-2.0
//! The official MCAP writer, as a C function: see mcap_writer.h.
use std::collections::BTreeMap;
use std::ffi::{c_char, c_int, CStr};
use std::fs::File;

use mcap::records::MessageHeader;
use mcap::{Compression, WriteOptions};

#[repr(C)]
pub struct Message {
    topic: *const c_char,
    data: *const u8,
    bytes: usize,
}

fn write(path: &str, messages: &[Message], lz4: bool) -> Result<(), Box<dyn std::error::Error>> {
    let mut writer = WriteOptions::new()
        .compression(lz4.then_some(Compression::Lz4))
        .chunk_size(Some(1 << 20))
        .create(File::create(path)?)?;
    let schema = writer.add_schema("tensor", "flatbuffer", &[])?;
    for (i, message) in messages.iter().enumerate() {
        // The caller's strings and bytes outlive the call.
        let (topic, data) = unsafe {
            (CStr::from_ptr(message.topic).to_str()?, std::slice::from_raw_parts(message.data, message.bytes))
        };
        let channel_id = writer.add_channel(schema, topic, "flatbuffer", &BTreeMap::new())?;
        let header = MessageHeader { channel_id, sequence: i as u32, log_time: i as u64, publish_time: i as u64 };
        writer.write_to_known_channel(&header, data)?;
    }
    writer.finish()?;
    Ok(())
}

/// # Safety
/// `path` is a C string, `messages` points to `count` messages whose pointers are valid.
#[no_mangle]
pub unsafe extern "C" fn mcap_writer_write(
    path: *const c_char,
    messages: *const Message,
    count: usize,
    lz4: c_int,
) -> c_int {
    let Ok(path) = CStr::from_ptr(path).to_str() else { return -1 };
    match write(path, std::slice::from_raw_parts(messages, count), lz4 != 0) {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("mcap_writer: {error}");
            -1
        }
    }
}
