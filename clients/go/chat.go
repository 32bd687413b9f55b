package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"strings"
)

const chatPath = "/v1/chat/completions"

// TextMessage is a message of text alone.
func TextMessage(role Role, text string) Message {
	var content Message_Content
	content.union, _ = json.Marshal(text)
	return Message{Role: role, Content: &content}
}

// Chat answers a conversation. It is not repeated once it may have begun: that was paid for.
func (c *Client) Chat(ctx context.Context, body ChatRequest) (ChatCompletion, error) {
	body.Stream = Ptr(false)
	var answer ChatCompletion
	err := c.json(ctx, request{method: "POST", path: chatPath, body: body}, &answer)
	return answer, err
}

// ChatStream answers a conversation in chunks. Leaving the loop ends the request.
func (c *Client) ChatStream(ctx context.Context, body ChatRequest) iter.Seq2[ChatCompletionChunk, error] {
	body.Stream = Ptr(true)
	return func(yield func(ChatCompletionChunk, error) bool) {
		response, err := c.open(ctx, request{method: "POST", path: chatPath, body: body})
		if err != nil {
			yield(ChatCompletionChunk{}, err)
			return
		}
		defer response.Body.Close()
		isEnded := false
		err = readEvents(response.Body, func(event serverEvent) bool {
			if event.data == "[DONE]" {
				isEnded = true
				return false
			}
			var chunk ChatCompletionChunk
			var err error
			if strings.HasPrefix(event.data, `{"error"`) {
				err = toError(500, response.Header, []byte(event.data))
			} else {
				err = json.Unmarshal([]byte(event.data), &chunk)
			}
			isEnded = !yield(chunk, err) || err != nil
			return !isEnded
		})
		if isEnded {
			return
		}
		if err == nil {
			err = &ConnectionError{Err: errors.New("the stream ended early"), HasBegun: true}
		}
		yield(ChatCompletionChunk{}, err)
	}
}

type serverEvent struct{ id, data string }

// readEvents calls `take` with each event that has data, until it returns false or the body ends.
func readEvents(body io.Reader, take func(serverEvent) bool) error {
	reader := bufio.NewReader(body)
	var event serverEvent
	hasData := false
	for {
		line, err := reader.ReadString('\n')
		if err != nil {
			if err == io.EOF {
				return nil
			}
			return err
		}
		line = strings.TrimRight(line, "\r\n")
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "":
			if hasData && !take(event) {
				return nil
			}
			event, hasData = serverEvent{}, false
		case name == "id":
			event.id = value
		case name == "data" && hasData:
			event.data += "\n" + value
		case name == "data":
			event.data, hasData = value, true
		}
	}
}
