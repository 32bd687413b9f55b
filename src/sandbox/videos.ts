/** Videos of any length: the packets of a short clip and of a sound are repeated without decoding. */

import {
  BufferSource,
  BufferTarget,
  EncodedAudioPacketSource,
  EncodedPacketSink,
  EncodedVideoPacketSource,
  Input,
  MP4,
  Mp4OutputFormat,
  Output,
  type EncodedPacket,
} from "mediabunny";
import { stampVideo } from "./video-times.ts";
import { readClip, TONE } from "./clips.ts";
import { FRAME_RATE } from "./sizes.ts";

const SOUND_PACKET_S = 1024 / 48_000;

export interface VideoPlan {
  /** `16:9`, with a short side for which there is a clip. */
  ratio: string;
  shortSide: number;
  /** Seconds. */
  duration: number;
  /** Stored in the file; players show it. */
  title: string;
  /** Milliseconds since 1970. */
  createdAt: number;
}

/** Makes an MP4 (H.264, AAC) with its index first; the same plan gives the same bytes. Throws `RangeError` for a size without a clip. */
export async function makeVideo(plan: VideoPlan): Promise<Uint8Array<ArrayBuffer>> {
  const clip = new Input({ source: new BufferSource(readClip(plan.ratio, plan.shortSide)), formats: [MP4] });
  const tone = new Input({ source: new BufferSource(TONE), formats: [MP4] });
  const [videoTrack, soundTrack] = await Promise.all([clip.getPrimaryVideoTrack(), tone.getPrimaryAudioTrack()]);
  const [videoConfig, soundConfig] = await Promise.all([videoTrack?.getDecoderConfig(), soundTrack?.getDecoderConfig()]);
  if (!videoTrack || !soundTrack || !videoConfig || !soundConfig) throw new Error("a clip has lost its track");

  const output = new Output({ format: new Mp4OutputFormat({ fastStart: "in-memory" }), target: new BufferTarget() });
  const video = new EncodedVideoPacketSource("avc");
  const audio = new EncodedAudioPacketSource("aac");
  output.addVideoTrack(video, { frameRate: FRAME_RATE });
  output.addAudioTrack(audio);
  output.setMetadataTags({ title: plan.title, comment: "sandbox" });
  await output.start();

  // Video and sound alternate second by second, so that a player reads the file from front to back.
  const nextFrame = looped(await readPackets(videoTrack), 1 / FRAME_RATE);
  const nextSound = looped(await readPackets(soundTrack), SOUND_PACKET_S);
  const frames = Math.round(plan.duration * FRAME_RATE);
  const soundPackets = Math.floor(plan.duration / SOUND_PACKET_S);
  for (let second = 0; second < plan.duration; second++) {
    for (const frame of span(second * FRAME_RATE, Math.min(frames, (second + 1) * FRAME_RATE))) {
      await video.add(nextFrame(frame), { decoderConfig: videoConfig });
    }
    for (const place of span(Math.ceil(second / SOUND_PACKET_S), Math.min(soundPackets, Math.ceil((second + 1) / SOUND_PACKET_S)))) {
      await audio.add(nextSound(place), { decoderConfig: soundConfig });
    }
  }
  await output.finalize();
  if (!output.target.buffer) throw new Error("the video was not written");
  const bytes = new Uint8Array(output.target.buffer);
  stampVideo(bytes, plan.createdAt);
  return bytes;
}

/** The whole numbers from `from` (included) to `to` (excluded). */
function span(from: number, to: number): number[] {
  return Array.from({ length: Math.max(0, to - from) }, (_, index) => from + index);
}

type Track = ConstructorParameters<typeof EncodedPacketSink>[0];

async function readPackets(track: Track): Promise<EncodedPacket[]> {
  const packets: EncodedPacket[] = [];
  for await (const packet of new EncodedPacketSink(track).packets()) packets.push(packet);
  return packets;
}

/** The packet at each position of an endless loop, with its time there. */
function looped(packets: readonly EncodedPacket[], step: number): (place: number) => EncodedPacket {
  return (place) => {
    const packet = packets[place % packets.length];
    if (!packet) throw new Error("a clip is empty");
    return packet.clone({ timestamp: place * step, duration: step, sequenceNumber: place });
  };
}
