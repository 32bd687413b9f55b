/** The caller's own files, and their download. */

import { file, fileList } from "../../../src/api/schema/files.ts";
import { fileQuery, pageQuery } from "../../../src/api/schema/queries.ts";
import { answer, tagged } from "../definition.ts";

const image = {
  id: "file_n4bQgYhMfWWaL-qgxVrQFaO_TxsrC4Is0V1sFbDwCggq3xT7mPz0kLw",
  object: "file",
  type: "image/png",
  bytes: 1_482_913,
  sha256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  created_at: 1_793_491_200,
  expires_at: 1_793_577_600,
};

const ofContent = ["etag", "accept-ranges", "cache-control", "content-disposition", "repr-digest"] as const;
const types = { "image/png": {}, "image/jpeg": {}, "image/webp": {}, "video/mp4": {}, "video/quicktime": {}, "application/jsonl": {} };

export const files = tagged("files", {
  "POST /v1/files": {
    id: "createFile",
    summary: "Upload a file",
    description:
      "A PNG, JPEG or WebP image up to 10 MiB, an MP4 or MOV video up to 100 MiB, or JSON lines up to 200 MiB. Bodies of submissions take its `id` wherever they take the URL of an image or video. A submission copies the file, so that it may be deleted at once.",
    query: fileQuery(),
    upload: true,
    answers: { 201: answer("The file.", file, { image }, ["location"]) },
    errors: ["too_many_files"],
    violation: { param: "file", rule: "bad_file_type" },
  },
  "GET /v1/files": {
    id: "listFiles",
    summary: "List files",
    description: "The account's files that have not expired, newest first.",
    query: pageQuery(),
    answers: { 200: answer("A page of files.", fileList, { files: { object: "list", data: [image], has_more: false } }) },
  },
  "GET /v1/files/{file_id}": {
    id: "getFile",
    summary: "Show a file",
    answers: { 200: answer("The file, without its bytes.", file, { image }) },
    errors: ["file_not_found"],
  },
  "GET /v1/files/{file_id}/content": {
    id: "getFileContent",
    summary: "Download a file",
    headers: ["Range", "If-Range", "If-None-Match"],
    answers: {
      200: { description: "The bytes.", headers: [...ofContent, "content-length"], content: types },
      206: { description: "The requested range.", headers: [...ofContent, "content-length", "content-range"], content: types },
      304: { description: "The file has not changed.", headers: [...ofContent] },
    },
    errors: ["file_not_found", "range_not_satisfiable"],
  },
  "DELETE /v1/files/{file_id}": {
    id: "deleteFile",
    summary: "Delete a file",
    description: "Its bytes are removed, unless another file of the account has the same.",
    answers: { 204: { description: "The file is deleted." } },
    errors: ["file_not_found"],
  },
});
