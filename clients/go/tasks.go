package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/url"
	"strconv"
	"time"
)

// Paths of submissions, for Submit and Generate.
const (
	Images = "/v1/images/generations"
	Videos = "/v1/videos/generations"
	// Models of any kind but text, such as one with its own input.
	Tasks = "/v1/tasks"
)

// Remix is the path of a remix of the video of an earlier task.
func Remix(videoID string) string { return "/v1/videos/" + url.PathEscape(videoID) + "/remix" }

// CallOption of a submission, an upload or a wait.
type CallOption func(*callOptions)

type callOptions struct {
	key        string
	deliverTo  *DeliverTo
	expiresIn  time.Duration
	onProgress func(Task)
}

// WithIdempotencyKey sets the key of a submission: for 24 hours the same key and body are one task and one charge, so that a restarted
// program continues. Random by default.
func WithIdempotencyKey(key string) CallOption { return func(o *callOptions) { o.key = key } }

// OnProgress is called with the task whenever its progress has changed.
func OnProgress(call func(Task)) CallOption { return func(o *callOptions) { o.onProgress = call } }

// WithDelivery sends the files of the task to a bucket once it has completed. Generate waits until they are there.
func WithDelivery(to DeliverTo) CallOption { return func(o *callOptions) { o.deliverTo = &to } }

// WithExpiry sets how long an uploaded file is kept: an hour to seven days. A day by default.
func WithExpiry(after time.Duration) CallOption { return func(o *callOptions) { o.expiresIn = after } }

func toOptions(options []CallOption) callOptions {
	result := callOptions{key: newKey()}
	for _, option := range options {
		option(&result)
	}
	return result
}

// Submit submits a body, such as an ImageRequest to Images or a VidCRequest to Videos, and returns at once. Repeats are one task.
func (c *Client) Submit(ctx context.Context, path string, body any, options ...CallOption) (Submission, error) {
	var submitted Submission
	given := toOptions(options)
	headers := map[string]string{"Idempotency-Key": given.key}
	body, err := withDelivery(body, given.deliverTo)
	if err != nil {
		return submitted, err
	}
	err = c.json(ctx, request{method: "POST", path: path, body: body, headers: headers}, &submitted)
	return submitted, err
}

func withDelivery(body any, to *DeliverTo) (any, error) {
	if to == nil {
		return body, nil
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("the body is no JSON: %w", err)
	}
	fields := map[string]any{}
	err = json.Unmarshal(data, &fields)
	fields["deliver_to"] = to
	return fields, err
}

// Generate submits and waits until the files are there. A task that failed is a *TaskFailedError, one whose files could not be delivered a
// *DeliveryFailedError.
func (c *Client) Generate(ctx context.Context, path string, body any, options ...CallOption) (Task, error) {
	submitted, err := c.Submit(ctx, path, body, options...)
	if err != nil {
		return Task{}, err
	}
	task, err := c.Wait(ctx, submitted.ID, options...)
	if err != nil || toOptions(options).deliverTo == nil {
		return task, err
	}
	for task.Delivery != nil && task.Delivery.Status == "pending" {
		if err := sleep(ctx, 2*time.Second); err != nil {
			return task, err
		}
		if task, err = c.Task(ctx, submitted.ID); err != nil {
			return task, err
		}
	}
	if task.Delivery != nil && task.Delivery.Status == "failed" {
		return task, &DeliveryFailedError{task}
	}
	return task, nil
}

// Estimate is the price of a submission or chat, or the error that it would get. Nothing is made.
func (c *Client) Estimate(ctx context.Context, body any) (DryRun, error) {
	var price DryRun
	err := c.Do(ctx, "POST", "/v1/estimates", body, &price)
	return price, err
}

// Task returns a task as it is now.
func (c *Client) Task(ctx context.Context, id string) (Task, error) {
	return c.task(ctx, id, 0)
}

func (c *Client) task(ctx context.Context, id string, wait int) (Task, error) {
	var answer TaskAnswer
	query := url.Values{}
	if wait > 0 {
		query.Set("wait", strconv.Itoa(wait))
	}
	err := c.json(ctx, request{method: "GET", path: taskPath(id), query: query}, &answer)
	return answer.Data, err
}

func taskPath(id string) string { return "/v1/tasks/" + url.PathEscape(id) }

// Wait waits until the task is completed. One that failed is a *TaskFailedError.
func (c *Client) Wait(ctx context.Context, id string, options ...CallOption) (Task, error) {
	given := toOptions(options)
	wait, last := 30, -1
	if given.onProgress != nil {
		wait = 3
	}
	// Held for half of the time limit at most, which is for the whole answer.
	wait = max(1, min(wait, int(c.options.Timeout/(2*time.Second))))
	for {
		task, err := c.task(ctx, id, wait)
		if err != nil {
			return task, err
		}
		if given.onProgress != nil && task.Progress > last {
			given.onProgress(task)
		}
		last = task.Progress
		switch task.Status {
		case "completed":
			return task, nil
		case "failed":
			return task, &TaskFailedError{task}
		}
	}
}

// Stream yields the task at every change until it is final. A cut stream is continued.
func (c *Client) Stream(ctx context.Context, id string) iter.Seq2[Task, error] {
	return func(yield func(Task, error) bool) {
		last := ""
		for empty := 1; ; empty++ {
			headers := map[string]string{}
			if last != "" {
				headers["Last-Event-ID"] = last
			}
			began := time.Now()
			response, err := c.open(ctx, request{method: "GET", path: taskPath(id) + "/events", headers: headers})
			if err != nil {
				yield(Task{}, err)
				return
			}
			// The final state was already sent.
			if response.StatusCode == 204 {
				response.Body.Close()
				return
			}
			isEnded := false
			err = readEvents(response.Body, func(event serverEvent) bool {
				var task Task
				if err := json.Unmarshal([]byte(event.data), &task); err != nil {
					isEnded = true
					yield(Task{}, err)
					return false
				}
				last, empty = event.id, 0
				isEnded = !yield(task, nil) || task.Status == "completed" || task.Status == "failed"
				return !isEnded
			})
			response.Body.Close()
			var cut *ConnectionError
			switch {
			case isEnded:
				return
			case err != nil && !errors.As(err, &cut):
				yield(Task{}, err)
				return
			// A state may last longer than a stream, but not every stream ends at once without one.
			case time.Since(began) > time.Minute:
				empty = 0
			case empty > 4:
				yield(Task{}, &ConnectionError{Err: fmt.Errorf("the events of %s do not arrive", id), HasBegun: true})
				return
			}
			if err := sleep(ctx, time.Second<<max(empty-1, 0)/2); err != nil {
				yield(Task{}, err)
				return
			}
		}
	}
}

// Cancel asks to cancel a task.
func (c *Client) Cancel(ctx context.Context, id string) (Task, error) {
	var answer TaskAnswer
	err := c.Do(ctx, "POST", taskPath(id)+"/cancel", nil, &answer)
	return answer.Data, err
}

// Deliver delivers at once the files that have not arrived in the bucket, or all again. The task's Delivery tells how it goes.
func (c *Client) Deliver(ctx context.Context, id string) (Task, error) {
	var answer TaskAnswer
	err := c.Do(ctx, "POST", taskPath(id)+"/delivery", nil, &answer)
	return answer.Data, err
}

// Receipt returns the signed receipt of a task, for VerifyReceipt.
func (c *Client) Receipt(ctx context.Context, id string) (ReceiptAnswer, error) {
	var answer ReceiptAnswer
	err := c.Do(ctx, "GET", taskPath(id)+"/receipt", nil, &answer)
	return answer, err
}

// List yields the rows of every page of a list, such as List[Task](ctx, client, "/v1/tasks", url.Values{"kind": {"image"}}).
func List[Row any](ctx context.Context, c *Client, path string, query url.Values) iter.Seq2[Row, error] {
	return func(yield func(Row, error) bool) {
		asked := url.Values{}
		for name, values := range query {
			asked[name] = values
		}
		for {
			var page struct {
				Data      []json.RawMessage `json:"data"`
				HasMore   bool              `json:"has_more"`
				NextAfter string            `json:"next_after"`
			}
			err := c.json(ctx, request{method: "GET", path: path, query: asked}, &page)
			next := struct{ ID string }{page.NextAfter}
			for _, raw := range page.Data {
				var row Row
				if err = json.Unmarshal(raw, &row); err != nil {
					break
				}
				if !yield(row, nil) {
					return
				}
				if page.NextAfter == "" {
					err = json.Unmarshal(raw, &next)
				}
			}
			if err != nil {
				var none Row
				yield(none, err)
				return
			}
			if !page.HasMore || next.ID == "" {
				return
			}
			asked.Set("after", next.ID)
		}
	}
}
