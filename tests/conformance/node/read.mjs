// SPDX-License-Identifier: Apache-2.0
// node read.mjs streamed|indexed CAPTURE: one line for each message, as the official TypeScript reader sees it, CRCs checked;
// then "end whole" or "end cut". Run in the folder that has node_modules.
import { createRequire } from "node:module";
import { open, readFile } from "node:fs/promises";

const require = createRequire(process.cwd() + "/");
const { McapIndexedReader, McapStreamReader } = require("@mcap/core");
const { crc32 } = require("@foxglove/crc");

function print(topic, m) {
  const name = Buffer.from(topic).toString("hex");
  const crc = crc32(m.data).toString(16).padStart(8, "0");
  console.log(`${name} ${m.sequence} ${m.logTime} ${m.publishTime} ${m.data.byteLength} ${crc}`);
}

const [mode, path] = process.argv.slice(2);
if (mode === "streamed") {
  const reader = new McapStreamReader({ validateCrcs: true });
  const topics = new Map();
  const data = await readFile(path);
  for (let at = 0; at < data.byteLength; at += 10007) {  // as it would come from a network
    reader.append(data.subarray(at, at + 10007));
    for (let record; (record = reader.nextRecord()); ) {
      if (record.type === "Channel") topics.set(record.id, record.topic);
      if (record.type === "Message") print(topics.get(record.channelId), record);
    }
  }
  console.log(reader.done() ? "end whole" : "end cut");
} else {
  const file = await open(path);
  const size = BigInt((await file.stat()).size);
  const readable = {
    size: async () => size,
    read: async (offset, length) => {
      const buffer = new Uint8Array(Number(length));
      await file.read(buffer, 0, Number(length), Number(offset));
      return buffer;
    },
  };
  const reader = await McapIndexedReader.Initialize({ readable });
  for await (const message of reader.readMessages({ validateCrcs: true })) {
    print(reader.channelsById.get(message.channelId).topic, message);
  }
  let found = false;
  for await (const record of reader.readMetadata({ name: "libdumphook" })) found = record.metadata.has("session");
  if (!found) throw new Error("the Metadata record is not indexed");
  await file.close();
  console.log("end whole");
}
