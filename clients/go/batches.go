package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/url"
	"time"
)

// Batches is the path of batches, for Do and List.
const Batches = "/v1/batches"

// ID is the line's own id; empty if the line was not JSON, or had none.
func (r BatchResult) ID() string {
	if r.CustomID == nil {
		return ""
	}
	return *r.CustomID
}

func batchPath(id string) string { return Batches + "/" + url.PathEscape(id) }

// CreateBatch begins a batch. Repeats are one batch.
func (c *Client) CreateBatch(ctx context.Context, body NewBatch, options ...CallOption) (Batch, error) {
	var batch Batch
	given := toOptions(options)
	if given.deliverTo != nil {
		body.DeliverTo = given.deliverTo
	}
	headers := map[string]string{"Idempotency-Key": given.key}
	err := c.json(ctx, request{method: "POST", path: Batches, body: body, headers: headers}, &batch)
	return batch, err
}

// Batch returns a batch as it is now.
func (c *Client) Batch(ctx context.Context, id string) (Batch, error) {
	var batch Batch
	err := c.Do(ctx, "GET", batchPath(id), nil, &batch)
	return batch, err
}

// CancelBatch ends a batch: nothing new begins, and what runs ends.
func (c *Client) CancelBatch(ctx context.Context, id string) (Batch, error) {
	var batch Batch
	err := c.Do(ctx, "POST", batchPath(id)+"/cancel", nil, &batch)
	return batch, err
}

// DeliverBatch delivers again the files of completed lines that have not arrived. The batch's Deliveries tell how it goes.
func (c *Client) DeliverBatch(ctx context.Context, id string) (Batch, error) {
	var batch Batch
	err := c.Do(ctx, "POST", batchPath(id)+"/delivery", nil, &batch)
	return batch, err
}

// WaitBatch waits until the batch has ended.
func (c *Client) WaitBatch(ctx context.Context, id string) (Batch, error) {
	for {
		batch, err := c.Batch(ctx, id)
		if err != nil || batch.EndedAt != nil {
			return batch, err
		}
		if err := sleep(ctx, 3*time.Second); err != nil {
			return batch, err
		}
	}
}

// BatchResults yields the results that are there, in the order of the input, while they arrive. A cut answer is continued.
func (c *Client) BatchResults(ctx context.Context, id string) iter.Seq2[BatchResult, error] {
	return func(yield func(BatchResult, error) bool) {
		// How often a line of each id was yielded: two lines may have the same one, or none.
		yielded := map[string]int{}
		for cuts := 0; ; cuts++ {
			response, err := c.open(ctx, request{method: "GET", path: batchPath(id) + "/results"})
			if err != nil {
				yield(BatchResult{}, err)
				return
			}
			isEnded := false
			err = readLines(response.Body, yielded, func(result BatchResult) bool {
				isEnded = !yield(result, nil)
				return !isEnded
			})
			response.Body.Close()
			if isEnded || err == nil {
				return
			}
			if cuts == 3 || ctx.Err() != nil {
				var cut *ConnectionError
				if !errors.As(err, &cut) {
					err = &ConnectionError{Err: err, HasBegun: true}
				}
				yield(BatchResult{}, err)
				return
			}
		}
	}
}

func readLines(body io.Reader, yielded map[string]int, take func(BatchResult) bool) error {
	seen := map[string]int{}
	reader := bufio.NewReader(body)
	for {
		line, err := reader.ReadBytes('\n')
		if len(line) > 1 {
			var result BatchResult
			if err := json.Unmarshal(line, &result); err != nil {
				return err
			}
			id := result.ID()
			if seen[id]++; seen[id] > yielded[id] {
				yielded[id]++
				if !take(result) {
					return nil
				}
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
