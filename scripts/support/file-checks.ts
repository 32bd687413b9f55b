/** Checks that the gateway's files match their status answers. */

import { createHash } from "node:crypto";
import { decode } from "fast-png";
import { BufferSource, EncodedPacketSink, Input, type InputTrack, MP4 } from "mediabunny";
import type { Download } from "./api-client.ts";

const durationTolerance = 0.1;

/** Every difference between the bytes and the declared digest; empty if they are equal. */
export function digestFaults({ bytes, digest }: Download): string[] {
  const expected = `sha-256=:${createHash("sha256").update(bytes).digest("base64")}:`;
  return digest === expected ? [] : [`Repr-Digest is ${digest}, the bytes have ${expected}`];
}

/** Faults of an image: it must decode, and have the expected size if that is known. */
export function pngFaults({ bytes, type }: Download, expected?: { width: number; height: number }): string[] {
  const faults = type === "image/png" ? [] : [`content type is ${type}, not image/png`];
  try {
    const { width, height, data, channels } = decode(bytes, { checkCrc: true });
    if (data.length < width * height * channels) faults.push("the image is incomplete");
    if (expected && (width !== expected.width || height !== expected.height)) {
      faults.push(`the image has ${width}x${height} pixels, asked were ${expected.width}x${expected.height}`);
    }
  } catch (error) {
    faults.push(`no PNG: ${String(error)}`);
  }
  return faults;
}

/** Faults of a video: H.264 with AAC sound, with the size and duration of the status answer. */
export async function mp4Faults(
  { bytes, type }: Download,
  status: { duration?: number | undefined; size?: string | undefined },
): Promise<string[]> {
  const faults = type === "video/mp4" ? [] : [`content type is ${type}, not video/mp4`];
  const input = new Input({ source: new BufferSource(bytes), formats: [MP4] });
  try {
    const video = await input.getPrimaryVideoTrack();
    const audio = await input.getPrimaryAudioTrack();
    if (video?.codec !== "avc") faults.push(`the video track is ${video?.codec ?? "missing"}, not H.264`);
    if (audio?.codec !== "aac") faults.push(`the sound track is ${audio?.codec ?? "missing"}, not AAC`);
    for (const track of [video, audio])
      if (track && !(await isWhole(track))) faults.push(`the ${track.type} track cannot be read to its end`);
    const size = `${video?.displayWidth}x${video?.displayHeight}`;
    if (size !== status.size) faults.push(`the video is ${size}, the answer says ${status.size}`);
    const duration = await input.computeDuration();
    if (status.duration === undefined || Math.abs(duration - status.duration) > durationTolerance) {
      faults.push(`the video lasts ${duration} s, the answer says ${status.duration}`);
    }
  } catch (error) {
    faults.push(`no MP4: ${String(error)}`);
  } finally {
    input.dispose();
  }
  return faults;
}

/** True if a track starts with a key frame and its frames are contiguous to the end of the track. */
async function isWhole(track: InputTrack): Promise<boolean> {
  let end = 0;
  for await (const { type, data, timestamp, duration } of new EncodedPacketSink(track).packets()) {
    if (data.length === 0 || (end === 0 && type !== "key")) return false;
    end = Math.max(end, timestamp + duration);
  }
  return end > 0 && Math.abs(end - (await track.computeDuration())) <= durationTolerance;
}
