// SPDX-License-Identifier: Apache-2.0
// mcap_check streamed|indexed CAPTURE: one line for each message, as the official Rust reader sees it, CRCs checked;
// then "end whole", or "end cut: why".
use mcap::read::Options;
use mcap::{McapResult, Message, MessageStream, Summary};

fn print(message: &Message) {
    let topic: String = message.channel.topic.bytes().map(|b| format!("{b:02x}")).collect();
    let crc = crc32fast::hash(&message.data);
    println!(
        "{topic} {} {} {} {} {crc:08x}",
        message.sequence, message.log_time, message.publish_time, message.data.len()
    );
}

fn streamed(data: &[u8]) -> McapResult<()> {
    for message in MessageStream::new_with_options(data, Options::ValidateChunkCrcs.into())? {
        print(&message?);
    }
    Ok(())
}

// Every chunk by its index, and every message by its own; what the summary counts is there.
fn indexed(data: &[u8]) -> McapResult<()> {
    let summary = Summary::read(data)?.expect("a summary");
    let statistics = summary.stats.clone().expect("statistics");
    let mut count = 0;
    for chunk in &summary.chunk_indexes {
        let mut in_chunk = 0;
        for message in summary.stream_chunk(data, chunk)? {
            print(&message?);
            in_chunk += 1;
        }
        let indexes = summary.read_message_indexes(data, chunk)?;
        assert_eq!(in_chunk, indexes.values().map(|entries| entries.len()).sum::<usize>(), "message indexes");
        for (channel, entries) in &indexes {
            for entry in entries {
                let message = summary.seek_message(data, chunk, entry)?;
                assert_eq!((message.channel.id, message.log_time), (channel.id, entry.log_time), "message index");
            }
        }
        count += in_chunk as u64;
    }
    assert_eq!(count, statistics.message_count, "statistics");
    assert_eq!(summary.chunk_indexes.len() as u32, statistics.chunk_count, "statistics");
    assert_eq!(summary.metadata_indexes.len(), 1, "metadata");
    mcap::read::metadata(data, &summary.metadata_indexes[0])?;
    Ok(())
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let data = std::fs::read(&arguments[2]).expect("the capture");
    let end = if arguments[1] == "streamed" { streamed(&data) } else { indexed(&data) };
    match end {
        Ok(()) => println!("end whole"),
        Err(why) => println!("end cut: {why}"),
    }
}
