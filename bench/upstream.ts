/** The upstream of the measured gateway: images and characters are ready at once, videos never. */

const image = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==", "base64");
const anHourMs = 3_600_000;

/** Answers in the sandbox Worker's format. */
export async function upstream(request: {
  method: string;
  url: string;
  json(): Promise<unknown>;
  arrayBuffer(): Promise<ArrayBuffer>;
}): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (request.method === "POST" && pathname === "/v1/characters") {
    await request.arrayBuffer();
    return Response.json({ id: "character", status: "running", poll_after_ms: 1 });
  }
  if (request.method === "POST") {
    const { kind } = (await request.json()) as { kind: string };
    return Response.json({ id: kind, status: "running", poll_after_ms: kind === "image" ? 1 : anHourMs });
  }
  if (pathname === "/picture.png") return new Response(image, { headers: { "content-type": "image/png" } });
  if (pathname.endsWith("/image"))
    return Response.json({ id: "image", status: "succeeded", outputs: [{ url: "/picture.png", type: "image/png" }] });
  if (pathname.endsWith("/character")) {
    const character = { username: "amber.fox", display_name: "Amber Fox" };
    return Response.json({ id: "character", status: "succeeded", outputs: [{ url: "/picture.png", type: "image/png" }], character });
  }
  return Response.json({ id: "video", status: "running", progress: 10, poll_after_ms: anHourMs });
}
