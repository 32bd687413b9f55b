<?php // Makes an image, waits until it exists and saves it: BASE_URL=... API_KEY=... php image.php
set_error_handler(fn($level, $message) => throw new ErrorException($message));
$headers = ["Authorization: Bearer " . getenv("API_KEY"), "Content-Type: application/json"];
$ask = fn($path, $options = []) => json_decode(file_get_contents(getenv("BASE_URL") . $path, false, stream_context_create(["http" => ["header" => $headers, "ignore_errors" => true] + $options])));

$task = $ask("/v1/images/generations", ["method" => "POST", "content" => '{"model": "imgA-4", "prompt": "A lighthouse in the fog"}']);
while (in_array($task->status ?? "", ["queued", "in_progress"]))
    $task = ($answer = $ask("/v1/tasks/$task->id?wait=50"))->data ?? $answer;
if (isset($task->error)) throw new Exception($task->error->message);
copy($task->result->images[0]->url[0], "php.png");
