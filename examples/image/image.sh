#!/bin/sh
# Makes an image, waits until it exists and saves it: BASE_URL=... API_KEY=... sh image.sh
set -e
ask() { curl -sS --fail-with-body -H "Authorization: Bearer $API_KEY" -H "Content-Type: application/json" "$BASE_URL$@"; }

task=$(ask /v1/images/generations -d '{"model": "imgA-4", "prompt": "A lighthouse in the fog"}') || { echo "$task" >&2; exit 1; }
id=$(echo "$task" | grep -o 'task_[^"]*')
while echo "$task" | grep -qE '"status": ?"(queued|in_progress)"'; do task=$(ask "/v1/tasks/$id?wait=60"); done
url=$(echo "$task" | grep -o 'https\?://[^"]*') || { echo "$task" >&2; exit 1; }
curl -sS --fail -o shell.png "$url"
